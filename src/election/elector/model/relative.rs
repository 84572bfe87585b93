//! States that will behave alike are made equal: instants relative to now, attempts and owners numbered anew.
//!
//! Between moves every timer stands still (`calm`); a move that is a timer hurries the one that it means. That a pause or a
//! time-out may so come at any moment only adds behaviour, and takes its length out of the state: the growing pauses after
//! failures, the holds after losses and how long a term has lasted need not be remembered.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use uuid::Uuid;

use super::TICK;
use super::servers::Redis;
use super::state::{Mail, NOW, Replica, State};
use crate::election::elector::{Acquired, Attempt, Dice, Elector, Event, Holding, Install, Phase, Renewal, Renewed};
use crate::election::reason::{Reason, Role};
use crate::election::{FencingToken, Owner};
use crate::instant::Boot;

/// So many owners of one replica can be under way.
const FAMILY: usize = 8;

/// The owners of the first replica, of the second, of the third, and those that no replica knows any more.
static NAMES: LazyLock<Vec<Owner>> =
    LazyLock::new(|| (1..=32).map(|number| Owner::new("r", Uuid::from_u128(number))).collect());

/// Numbers the owners of one replica by the order in which they are met.
#[derive(Default)]
struct Names {
    met: Vec<Owner>,
}

// === impl State ===

impl State {
    /// Makes the state the one that stands for all that behave like it.
    pub(super) fn settle(&mut self) {
        for index in 0..self.replicas.len() {
            let replica = Arc::make_mut(&mut self.replicas[index]);
            replica.calm();
            replica.renumber();
        }
        if self.losses == 0 {
            self.redis.before = None;
        }
        let (redis, floor) = (&self.redis, self.postgres.floor());
        for replica in &mut self.replicas {
            let replica = Arc::make_mut(replica);
            let Replica { elector, mail, .. } = replica;
            mail.retain(|mail| mail.may_matter(elector, redis, floor));
            // An abandoned step of a term that is over would be refused, and nobody would hear of it.
            if replica.step.as_ref().is_some_and(|step| step.orphan && !step.entered && step.token.get() < floor) {
                replica.step = None;
            }
        }
        // Grants are remembered for those who might yet believe in them.
        let replicas = &self.replicas;
        self.granted.retain(|(token, _)| replicas.iter().any(|replica| replica.may_believe(*token)));
        self.order_and_rename();
    }

    /// Replicas are alike: which of them does what makes no difference. They are put in the order of what they are, and
    /// their owners numbered by that.
    fn order_and_rename(&mut self) {
        let mut ordered: Vec<(u64, Names, Arc<Replica>)> = Vec::with_capacity(self.replicas.len());
        for mut replica in self.replicas.drain(..) {
            let mut names = Names::default();
            Arc::make_mut(&mut replica).each_owner(|owner| names.rename(owner, 0));
            let mut hasher = DefaultHasher::new();
            replica.hash(&mut hasher);
            ordered.push((hasher.finish(), names, replica));
        }
        ordered.sort_by_key(|(hash, ..)| *hash);
        let mut foreign = Names::default();
        let rename = |owner: &mut Owner, foreign: &mut Names| {
            let found =
                ordered.iter().enumerate().find_map(|(place, (_, names, _))| Some((place, names.place(owner)?)));
            match found {
                Some((place, at)) => owner.clone_from(&NAMES[place * FAMILY + at]),
                None => foreign.rename(owner, FAMILY * 3),
            }
        };
        for data in [Some(&mut self.redis.data), self.redis.before.as_mut()].into_iter().flatten() {
            if let Some(held) = &mut data.holder {
                rename(&mut held.owner, &mut foreign);
            }
        }
        if let Some((_, owner)) = &mut self.postgres.installed {
            rename(owner, &mut foreign);
        }
        for (place, (_, _, mut replica)) in ordered.into_iter().enumerate() {
            if place > 0 {
                let mut names = Names::default();
                Arc::make_mut(&mut replica).each_owner(|owner| names.rename(owner, place * FAMILY));
            }
            self.replicas.push(replica);
        }
    }
}

// === impl Replica ===

impl Replica {
    fn may_believe(&self, token: FencingToken) -> bool {
        let won = |mail: &Mail| match mail {
            Mail::Answer(Event::Acquired { answer: Acquired::Won { token: won, .. }, .. }) => *won == token,
            _ => false,
        };
        held_by(&self.elector).is_some_and(|holding| holding.token == token) || self.mail.iter().any(won)
    }

    /// No timer is due.
    fn calm(&mut self) {
        let elector = &mut self.elector;
        elector.dice = Dice(1);
        elector.setbacks = 0;
        elector.losses = 0;
        elector.hold_until = Boot::ZERO;
        elector.fenced = false;
        elector.resigned_until = Boot::ZERO;
        elector.held_back = None;
        elector.last_reason = None;
        let later = NOW.boot + TICK;
        match &mut elector.phase {
            Phase::Resting { until, wakeable } => {
                *until = later;
                *wakeable = true;
            }
            Phase::Asking(attempt) | Phase::Campaigning(attempt) => attempt.sent = NOW.boot,
            Phase::Candidate { holding, install, since } => {
                *since = NOW.boot;
                holding.calm();
                match install {
                    Install::Sent(attempt) | Install::Evicting(attempt) => attempt.sent = NOW.boot,
                    Install::Pausing(until) => *until = later,
                }
            }
            Phase::Leader { holding, since, .. } => {
                *since = NOW.boot;
                holding.calm();
            }
            Phase::Draining { holding, since, reason, until, .. } => {
                *until = later;
                *since = NOW.boot;
                *reason = Reason::Lost;
                holding.calm();
                holding.trusted_until = NOW.boot;
            }
            Phase::Releasing { holding, attempt, publish, change, .. } => {
                *publish = true;
                change.from = Role::Leader;
                attempt.sent = NOW.boot;
                holding.calm();
                holding.renewal = Renewal::Due(later);
                holding.trusted_until = NOW.boot;
                change.since = NOW.boot;
                change.trust_left = Duration::ZERO;
                change.reason = Reason::Lost;
            }
            Phase::Ended => {}
        }
        for mail in &mut self.mail {
            // Trust counts from the sending of an acquire or a renewal; when another question was sent counts for nothing.
            if !mail.grants() {
                mail.attempt().sent = NOW.boot;
            }
            if let Mail::Answer(Event::Acquired { answer: Acquired::Held { left }, .. }) = mail {
                *left = Duration::ZERO;
            }
        }
    }

    /// A renewal is due.
    pub(super) fn hurry_heartbeat(&mut self) {
        if let Some(holding) = holding(&mut self.elector) {
            holding.renewal = Renewal::Due(NOW.boot);
        }
    }

    /// The other timer rings.
    pub(super) fn hurry_timer(&mut self) {
        match &mut self.elector.phase {
            Phase::Resting { until, .. }
            | Phase::Draining { until, .. }
            | Phase::Candidate { install: Install::Pausing(until), .. } => *until = NOW.boot,
            Phase::Asking(attempt)
            | Phase::Campaigning(attempt)
            | Phase::Releasing { attempt, .. }
            | Phase::Candidate { install: Install::Sent(attempt) | Install::Evicting(attempt), .. } => {
                attempt.sent = Boot::ZERO;
            }
            _ => {}
        }
    }

    /// Time has passed: whatever lies at an instant lies further back now, and no further than it matters.
    pub(super) fn grow_older(&mut self, span: Duration) {
        let elector = &mut self.elector;
        // So long ago that no trust is left of it.
        let spent = NOW.boot.minus(elector.timings.ttl.saturating_sub(elector.timings.margin));
        let oldest = NOW.boot.minus(elector.timings.ttl);
        if let Some(candidacy) = &mut elector.candidacy {
            candidacy.last_sent = candidacy.last_sent.minus(span).max(oldest);
        }
        if let Some(holding) = holding(elector) {
            holding.trusted_until = holding.trusted_until.minus(span).max(NOW.boot);
        }
        for attempt in self.mail.iter_mut().map(Mail::attempt) {
            attempt.sent = attempt.sent.minus(span).max(spent);
        }
    }

    /// Attempts are told apart only by "is it the one that is awaited?".
    fn renumber(&mut self) {
        let awaited = awaited_by(&mut self.elector).map(|attempt| std::mem::replace(&mut attempt.id, 1));
        self.elector.attempts = 1;
        for attempt in self.mail.iter_mut().map(Mail::attempt) {
            attempt.id = u64::from(awaited == Some(attempt.id));
        }
    }

    fn each_owner(&mut self, mut visit: impl FnMut(&mut Owner)) {
        if let Some(candidacy) = &mut self.elector.candidacy {
            visit(&mut candidacy.owner);
        }
        match &mut self.elector.phase {
            Phase::Candidate { holding, .. } | Phase::Leader { holding, .. } | Phase::Draining { holding, .. } => {
                visit(&mut holding.owner);
            }
            Phase::Releasing { holding, change, .. } => {
                visit(&mut holding.owner);
                visit(&mut change.owner);
            }
            _ => {}
        }
        if let Some(step) = &mut self.step {
            visit(&mut step.owner);
        }
        for mail in &mut self.mail {
            match mail {
                Mail::Acquire { owner, .. }
                | Mail::Renew { owner, .. }
                | Mail::Release { owner, .. }
                | Mail::Install { owner, .. }
                | Mail::Answer(Event::Acquired { owner, .. }) => visit(owner),
                _ => {}
            }
        }
    }
}

impl Holding {
    /// No renewal is due; one without an answer counts as given up. An answer that comes after all is taken as it is.
    fn calm(&mut self) {
        self.renewal = Renewal::Due(NOW.boot + TICK);
    }
}

fn holding(elector: &mut Elector) -> Option<&mut Holding> {
    match &mut elector.phase {
        Phase::Candidate { holding, .. } | Phase::Leader { holding, .. } | Phase::Draining { holding, .. } => {
            Some(holding)
        }
        _ => None,
    }
}

fn held_by(elector: &Elector) -> Option<&Holding> {
    match &elector.phase {
        Phase::Candidate { holding, .. } | Phase::Leader { holding, .. } | Phase::Draining { holding, .. } => {
            Some(holding)
        }
        _ => None,
    }
}

fn awaited_by(elector: &mut Elector) -> Option<&mut Attempt> {
    match &mut elector.phase {
        Phase::Asking(attempt)
        | Phase::Campaigning(attempt)
        | Phase::Releasing { attempt, .. }
        | Phase::Candidate { install: Install::Sent(attempt) | Install::Evicting(attempt), .. } => Some(attempt),
        _ => None,
    }
}

impl Mail {
    /// Trust may come of it.
    fn grants(&self) -> bool {
        match self {
            Self::Acquire { .. } | Self::Renew { .. } => true,
            Self::Answer(event) => matches!(
                event,
                Event::Acquired { answer: Acquired::Won { .. }, .. } | Event::Renewed { answer: Renewed::Kept, .. }
            ),
            _ => false,
        }
    }

    /// Whether its arrival could change anything, now or later. What could not is as good as lost.
    fn may_matter(&self, elector: &Elector, redis: &Redis, floor: u64) -> bool {
        let awaited = |attempt: &Attempt| attempt.id != 0;
        let holds = |token: FencingToken| held_by(elector).is_some_and(|holding| holding.token == token);
        let releasing = matches!(elector.phase, Phase::Releasing { .. });
        match self {
            Self::Acquire { .. } | Self::Evict { .. } => true,
            Self::Renew { owner, token, .. } => holds(*token) || redis.knows(owner, *token),
            Self::Release { owner, token, .. } => releasing || redis.knows(owner, *token),
            Self::Install { attempt, token, .. } => awaited(attempt) || token.get() > floor,
            Self::Answer(event) => match event {
                Event::Acquired { owner, answer: Acquired::Won { .. }, .. } => {
                    elector.candidacy.as_ref().is_some_and(|candidacy| candidacy.owner == *owner)
                }
                // Another holding of the same token may follow, where Redis loses what it granted.
                Event::Renewed { token, .. } => holds(*token) || token.get() > floor,
                Event::Released { .. } => releasing,
                Event::Acquired { attempt, .. } | Event::Installed { attempt, .. } | Event::Evicted { attempt } => {
                    awaited(attempt)
                }
                _ => true,
            },
        }
    }

    fn attempt(&mut self) -> &mut Attempt {
        match self {
            Self::Acquire { attempt, .. }
            | Self::Renew { attempt, .. }
            | Self::Release { attempt, .. }
            | Self::Install { attempt, .. }
            | Self::Evict { attempt }
            | Self::Answer(
                Event::Acquired { attempt, .. }
                | Event::Renewed { attempt, .. }
                | Event::Installed { attempt, .. }
                | Event::Evicted { attempt }
                | Event::Released { attempt, .. },
            ) => attempt,
            Self::Answer(event) => unreachable!("{event:?} is no answer"),
        }
    }
}

// === impl Names ===

impl Names {
    fn place(&self, owner: &Owner) -> Option<usize> {
        self.met.iter().position(|met| met == owner)
    }

    /// Gives an owner the name of its place, counted from `first`.
    fn rename(&mut self, owner: &mut Owner, first: usize) {
        let at = self.place(owner).unwrap_or_else(|| {
            self.met.push(owner.clone());
            self.met.len() - 1
        });
        if *owner != NAMES[first + at] {
            owner.clone_from(&NAMES[first + at]);
        }
    }
}
