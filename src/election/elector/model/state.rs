//! One state of the whole: replicas, servers, what is under way, and what may still go wrong.

use std::sync::Arc;

use super::servers::{MARGIN, Postgres, Redis};
use super::{Size, TICK, elector};
use uuid::Uuid;

use crate::election::elector::{Attempt, Effect, Elector, Event, Fit, Install, Phase};
use crate::election::{FencingToken, Owner};
use crate::instant::{Boot, Reading};

/// Now, always: instants are kept relative to it.
pub(super) const NOW: Reading =
    Reading { boot: Boot::from_nanos(1_000_000_000_000), awake: std::time::Duration::from_secs(1000) };

/// The nonce of a new candidacy: owners are numbered from 1 after each move.
const FRESH: Uuid = Uuid::from_u128(1000);

/// Everything, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) replicas: Vec<Arc<Replica>>,
    pub(super) redis: Redis,
    pub(super) postgres: Postgres,
    /// For how many steps of time Redis granted each term's lease, whatever it lost afterwards.
    pub(super) granted: Vec<(FencingToken, u8)>,
    pub(super) losses: u8,
    pub(super) crashes: u8,
    /// Redis has lost something.
    pub(super) lossy: bool,
    pub(super) broken: Option<Broken>,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Replica {
    pub(super) elector: Elector,
    /// Requests and answers under way, the oldest first.
    pub(super) mail: Vec<Mail>,
    /// The term whose work runs.
    pub(super) work: Option<FencingToken>,
    /// The term whose work was told to stop.
    pub(super) stopping: Option<FencingToken>,
    pub(super) step: Option<Step>,
}

/// A step of the work: it was checked; it entered its transaction; it will commit, unless it is ended first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Step {
    pub(super) token: FencingToken,
    pub(super) owner: Owner,
    /// It holds the lock.
    pub(super) entered: bool,
    /// Its process has given it up, or is gone; what it sent may arrive all the same.
    pub(super) orphan: bool,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Mail {
    Acquire { attempt: Attempt, owner: Owner, floor: u64 },
    Renew { attempt: Attempt, owner: Owner, token: FencingToken },
    Release { attempt: Attempt, owner: Owner, token: FencingToken },
    Install { attempt: Attempt, owner: Owner, token: FencingToken },
    Evict { attempt: Attempt },
    Answer(Event),
}

/// A promise that was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Broken {
    TermWentBack,
    WriteOutsideTerm,
    WriteWentBack,
    TokenNotAboveFloor,
    TrustOutlivesLease,
    TwoBelieve,
    ActsAfterStepDown,
    ReleasedWhileWorking,
    BegunOverOldWork,
}

// === impl State ===

impl State {
    pub(super) fn new(size: Size) -> Self {
        let replica = |_| Arc::new(Replica::new(size.ttl));
        let mut state = Self {
            replicas: (0..size.replicas).map(replica).collect(),
            redis: Redis::default(),
            postgres: Postgres::default(),
            granted: Vec::new(),
            losses: size.losses,
            crashes: size.crashes,
            lossy: false,
            broken: None,
        };
        state.settle();
        state
    }

    pub(super) fn break_promise(&mut self, broken: Broken) {
        self.broken.get_or_insert(broken);
    }

    pub(super) fn replica(&mut self, index: usize) -> &mut Replica {
        Arc::make_mut(&mut self.replicas[index])
    }

    pub(super) fn has_writers(&self) -> bool {
        self.replicas.iter().any(|replica| replica.step.as_ref().is_some_and(|step| step.entered))
    }

    pub(super) fn believers(&self) -> usize {
        self.replicas.iter().filter(|replica| replica.elector.standing().leads_at(NOW.boot)).count()
    }

    pub(super) fn grant(&mut self, token: FencingToken, ttl: u8) {
        self.granted.retain(|(granted, _)| *granted != token);
        self.granted.push((token, ttl));
        self.granted.sort_unstable();
    }

    /// Gives an event to a replica, carries its effects out, and judges.
    pub(super) fn tell(&mut self, index: usize, event: Event, size: Size) {
        let mail = size.mail;
        let floor = self.postgres.floor();
        let effects = self.replica(index).elector.step(event, NOW);
        for effect in effects {
            let replica = self.replica(index);
            match effect {
                // Postgres is asked, and answers, at once: the floor grows old all the same, while the acquire is under
                // way with it.
                Effect::Ask { attempt, .. } => {
                    let fit = Fit { floor, incumbent: None, load: 0, nonce: FRESH, alone: true };
                    self.tell(index, Event::Eligibility { attempt, answer: Ok(fit) }, size);
                }
                Effect::Acquire { attempt, owner, floor, .. } => {
                    replica.send(Mail::Acquire { attempt, owner, floor }, mail);
                }
                Effect::Renew { attempt, owner, token } => replica.send(Mail::Renew { attempt, owner, token }, mail),
                Effect::Release { attempt, owner, token, .. } => {
                    let alive = [replica.work, replica.stopping].contains(&Some(token));
                    replica.send(Mail::Release { attempt, owner, token }, mail);
                    if alive {
                        self.break_promise(Broken::ReleasedWhileWorking);
                    }
                }
                Effect::Install { attempt, owner, token, .. } => {
                    replica.send(Mail::Install { attempt, owner, token }, mail);
                }
                Effect::Evict { attempt, .. } => replica.send(Mail::Evict { attempt }, mail),
                Effect::Lead { token, .. } => {
                    let over_old = replica.work.is_some() || replica.stopping.is_some();
                    replica.work = Some(token);
                    if over_old {
                        self.break_promise(Broken::BegunOverOldWork);
                    }
                }
                Effect::StopWork { token, .. } => {
                    replica.work = None;
                    replica.stopping = Some(token);
                }
                Effect::Announce(_) => {}
                Effect::Exit { .. } => self.restart(index, size),
            }
        }
        self.judge(index);
    }

    /// The process ends, and another begins; what it sent is still under way.
    pub(super) fn restart(&mut self, index: usize, size: Size) {
        let replica = self.replica(index);
        replica.elector = elector(size.ttl);
        replica.mail.retain(|mail| !matches!(mail, Mail::Answer(_)));
        replica.work = None;
        replica.stopping = None;
        replica.orphan_step();
    }

    fn judge(&mut self, index: usize) {
        let standing = self.replicas[index].elector.standing();
        if standing.leads_at(NOW.boot) {
            if standing.token != self.replicas[index].work {
                self.break_promise(Broken::ActsAfterStepDown);
            }
            let left = standing.trusted_until.map_or(0, |until| until.left(NOW.boot).as_secs());
            let granted = self.granted.iter().find(|(token, _)| Some(*token) == standing.token);
            let granted = granted.map_or(0, |(_, left)| *left);
            if left + u64::from(MARGIN) > u64::from(granted) {
                self.break_promise(Broken::TrustOutlivesLease);
            }
        }
        if !self.lossy && self.believers() > 1 {
            self.break_promise(Broken::TwoBelieve);
        }
    }

    /// Time passes, for all of them.
    pub(super) fn pass(&mut self) {
        self.redis.pass();
        self.granted.iter_mut().for_each(|(_, left)| *left -= 1);
        self.granted.retain(|(_, left)| *left > 0);
        for replica in &mut self.replicas {
            Arc::make_mut(replica).grow_older(TICK);
        }
    }
}

// === impl Replica ===

impl Replica {
    pub(super) fn new(ttl: u8) -> Self {
        Self { elector: elector(ttl), mail: Vec::new(), work: None, stopping: None, step: None }
    }

    /// One message too many, and the oldest is lost.
    pub(super) fn send(&mut self, mail: Mail, most: usize) {
        if self.mail.len() >= most {
            self.mail.remove(0);
        }
        self.mail.push(mail);
    }

    pub(super) fn orphan_step(&mut self) {
        if let Some(step) = &mut self.step {
            step.orphan = true;
        }
    }

    pub(super) fn is_evicting(&self) -> bool {
        matches!(self.elector.phase, Phase::Candidate { install: Install::Evicting(_), .. })
    }
}
