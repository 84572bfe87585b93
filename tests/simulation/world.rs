//! The world of one run: it knows the true time, carries the messages, and lets misfortunes happen.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;

use counterfoil::election::elector::{Acquired, Attempt, Effect, Event, Fit, Installed};
use counterfoil::election::reason::{Ineligible, Reason, Role};
use counterfoil::election::{FencingToken, Owner};
use counterfoil::instant::Boot;
use uuid::Uuid;

use crate::dice::{Dice, Nanos, ms, secs};
use crate::judge::{Judge, Tally, Violation, show};
use crate::postgres::{Installation, Postgres, Said, Transaction};
use crate::redis::{Command, Data, Redis, nanos};
use crate::replica::{Clocks, Replica};
use crate::weather::{CALM, FAULTY, Fault, SETTLED, Weather};

/// A transaction whose client went away is ended by the server after this: the backstop, where nobody evicts.
const BACKSTOP: Nanos = secs(60);

/// What is under way: to a server, to a replica, or to come.
#[derive(Debug, Clone)]
enum Message {
    // To Redis, and from one server of it to the other.
    Command {
        server: usize,
        command: Command,
    },
    Copy {
        generation: u32,
        data: Data,
    },
    // To Postgres.
    Ask(Attempt),
    Install(Installation),
    InstallBound(u64),
    /// The session that says that a leader is there has ended.
    StandsDown(Option<Owner>),
    Evict(Attempt),
    Enter(Transaction),
    Commit(u64),
    SessionEnds(u64),
    StrangerLeaves,
    // To a replica.
    Tick(u64),
    Heard(Event),
    Entered(u64),
    StepOver {
        transaction: u64,
        refused: Option<FencingToken>,
    },
    Redial,
    /// It looks at what a leader needs, once a heartbeat.
    Look,
    Work,
    WorkStops(FencingToken),
    // To the world.
    Happens(Fault),
}

struct Envelope {
    replica: usize,
    life: u32,
    message: Message,
}

pub(crate) struct World {
    dice: Dice,
    weather: Weather,
    now: Nanos,
    /// When, in which order, and where in `mail`.
    queue: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
    mail: Vec<Option<Envelope>>,
    free: Vec<usize>,
    sent: u64,
    replicas: Vec<Replica>,
    redis: Redis,
    postgres: Postgres,
    judge: Judge,
    /// Commands that each replica sent to Redis.
    commands: Vec<u64>,
    history: Option<String>,
}

/// Writes a line of the history, if one is kept.
macro_rules! note {
    ($world:expr, $($said:tt)*) => {
        if let Some(history) = &mut $world.history {
            let line = format!($($said)*);
            // Nonces are small numbers here: only the end of them differs.
            let line = line.replace("00000000-0000-4000-8000-00000000", "");
            let _ = writeln!(history, "{:>12}  {line}", show($world.now));
        }
    };
}

impl World {
    pub(crate) fn new(seed: u64, tells: bool) -> Self {
        let mut dice = Dice::new(seed);
        let weather = Weather::of(seed, &mut dice);
        let replicas = (0..weather.replicas).map(|index| {
            let skew = i64::try_from(dice.below(2 * weather.skew + 1)).expect("small");
            let clocks =
                Clocks::new(secs(1000 * (index as u64 + 1)), skew - i64::try_from(weather.skew).expect("small"));
            Replica::new(0, weather.timings(index), clocks, 0, dice.next())
        });
        let replicas: Vec<_> = replicas.collect();
        let faults = weather.faults(&mut dice);
        let mut world = Self {
            dice,
            now: 0,
            queue: BinaryHeap::new(),
            mail: Vec::new(),
            free: Vec::new(),
            sent: 0,
            commands: vec![0; replicas.len()],
            replicas,
            redis: Redis::default(),
            postgres: Postgres::default(),
            judge: Judge::default(),
            history: tells.then(String::new),
            weather,
        };
        note!(world, "seed {seed}: {:?}", world.weather);
        for replica in 0..world.replicas.len() {
            world.post(0, replica, Message::Tick(0));
        }
        for (at, fault) in faults {
            world.post(at, 0, Message::Happens(fault));
        }
        world
    }

    /// Runs the bad days and the calm after them.
    pub(crate) fn run(&mut self) -> Result<Tally, Violation> {
        self.run_until(FAULTY + SETTLED);
        let (terms, commands) = (self.postgres.terms.len(), self.commands.clone());
        self.judge.tally.settled_after = self.judge.disorder.saturating_sub(FAULTY);
        self.run_until(FAULTY + SETTLED + CALM);
        self.judge_the_calm(terms, &commands);
        self.judge.verdict.take().map_or(Ok(self.judge.tally), Err)
    }

    /// What happened, line by line, if it was kept.
    pub(crate) fn history(&self) -> &str {
        self.history.as_deref().unwrap_or_default()
    }

    fn run_until(&mut self, end: Nanos) {
        while self.judge.verdict.is_none() {
            let Some(Reverse((at, _, slot))) = self.queue.peek().copied().filter(|Reverse((at, ..))| *at <= end) else {
                break;
            };
            self.queue.pop();
            self.now = at;
            self.free.push(slot);
            if let Some(Envelope { replica, life, message }) = self.mail[slot].take() {
                self.deliver(replica, life, message);
            }
            self.judge.believers(self.now, &self.replicas, self.weather.forgets);
        }
        self.now = end;
    }

    fn is_faulty(&self) -> bool {
        self.now < FAULTY
    }

    fn chance(&mut self, in_a_thousand: u64) -> bool {
        self.is_faulty() && self.dice.chance(in_a_thousand)
    }

    /// The end of a misfortune that begins now: it does not outlast the bad days.
    fn end_of(&self, span: Nanos) -> Nanos {
        (self.now + span).min(FAULTY.max(self.now))
    }

    fn post(&mut self, after: Nanos, replica: usize, message: Message) {
        let life = self.replicas[replica].life;
        self.post_to(after, replica, life, message);
    }

    fn post_to(&mut self, after: Nanos, replica: usize, life: u32, message: Message) {
        self.sent += 1;
        let envelope = Some(Envelope { replica, life, message });
        let slot = self.free.pop().unwrap_or_else(|| {
            self.mail.push(None);
            self.mail.len() - 1
        });
        self.mail[slot] = envelope;
        self.queue.push(Reverse((self.now + after, self.sent, slot)));
    }

    /// Over the network: delayed, and perhaps lost, late or doubled.
    fn send(&mut self, replica: usize, message: Message) {
        let life = self.replicas[replica].life;
        self.send_to(replica, life, message);
    }

    fn send_to(&mut self, replica: usize, life: u32, message: Message) {
        if self.chance(self.weather.doubled) {
            self.send_once(replica, life, message.clone());
        }
        self.send_once(replica, life, message);
    }

    fn send_once(&mut self, replica: usize, life: u32, message: Message) {
        if self.chance(self.weather.lost) {
            note!(self, "lost: {message:?}");
            return;
        }
        let late = self.chance(self.weather.late);
        let delay = self.dice.below(if late { secs(30) } else { ms(20) });
        let delay = if late { self.end_of(delay) - self.now } else { delay };
        self.post_to(delay, replica, life, message);
    }

    fn deliver(&mut self, replica: usize, life: u32, message: Message) {
        let thaw = match &message {
            Message::Command { server, .. } => self.redis.frozen_until(*server),
            Message::Ask(_)
            | Message::Install(_)
            | Message::InstallBound(_)
            | Message::StandsDown(_)
            | Message::Evict(_)
            | Message::Enter(_)
            | Message::Commit(_)
            | Message::SessionEnds(_) => self.postgres.frozen_until,
            Message::Tick(_)
            | Message::Heard(_)
            | Message::Entered(_)
            | Message::StepOver { .. }
            | Message::Redial
            | Message::Look
            | Message::Work
            | Message::WorkStops(_) => {
                if self.replicas[replica].life != life {
                    return;
                }
                // A stopped process does nothing: what was sent to it waits, and its timers ring when it goes on.
                self.replicas[replica].paused_until
            }
            Message::Copy { .. } | Message::StrangerLeaves | Message::Happens(_) => 0,
        };
        if self.now < thaw {
            return self.post_to(thaw - self.now, replica, life, message);
        }
        let mut said = Vec::new();
        match message {
            Message::Command { server, command } => self.at_redis(replica, life, server, command),
            Message::Copy { generation, data } => self.redis.copy(generation, data),
            Message::Ask(attempt) => self.at_desk(replica, life, attempt),
            Message::Install(asked) => {
                let bound = nanos(self.replicas[replica].timings.install_bound());
                if let Some(ticket) = self.postgres.install(asked, &mut said) {
                    self.post_to(bound, replica, life, Message::InstallBound(ticket));
                }
            }
            Message::InstallBound(ticket) => self.postgres.give_up(ticket, &mut said),
            Message::StandsDown(owner) => self.postgres.stand_down(replica, life, owner.as_ref()),
            Message::Evict(attempt) => {
                self.judge.tally.evictions += 1;
                note!(self, "Postgres evicts whoever holds the lock, for replica {replica}");
                let beyond = self.postgres.evict(&mut said);
                self.judge.tally.out_of_reach += u64::from(beyond);
                if self.replicas[replica].life == life {
                    self.replicas[replica].beyond = beyond;
                }
                let event = if beyond { Event::OutOfReach { attempt } } else { Event::Evicted { attempt } };
                self.send_to(replica, life, Message::Heard(event));
            }
            Message::Enter(transaction) => self.postgres.enter(transaction, &mut said),
            Message::Commit(id) => self.commit(id, &mut said),
            Message::SessionEnds(id) => self.postgres.end(id, &mut said),
            Message::StrangerLeaves => self.postgres.stranger_leaves(&mut said),
            Message::Tick(timer) if timer != self.replicas[replica].timer => {}
            Message::Tick(_) => self.tell(replica, Event::Tick),
            Message::Heard(event) => self.tell(replica, event),
            Message::Entered(id) if self.replicas[replica].step == Some(id) => {
                let long = self.chance(200);
                let delay = self.dice.below(if long { secs(5) } else { ms(400) });
                self.post(delay, replica, Message::Commit(id));
            }
            Message::Entered(_) => {}
            Message::StepOver { transaction, refused } => {
                if self.replicas[replica].step == Some(transaction) {
                    self.replicas[replica].step = None;
                    self.tell(replica, Event::Beat(None));
                }
                if let Some(token) = refused {
                    self.tell(replica, Event::WriteRefused { token });
                }
            }
            Message::Redial => self.replicas[replica].server = self.redis.primary(),
            Message::Look => self.look(replica),
            Message::Work => self.work(replica),
            Message::WorkStops(token) => self.work_stops(replica, token),
            Message::Happens(fault) => self.happens(fault),
        }
        self.tell_what_postgres_said(said);
    }

    // === Redis ===

    fn at_redis(&mut self, replica: usize, life: u32, server: usize, command: Command) {
        let ttl = self.replicas[replica].timings.ttl;
        self.commands[replica] += 1;
        note!(self, "Redis {server}, for replica {replica}: {command:?}");
        let outcome = self.redis.carry_out(server, command, ttl, self.now);
        if let Some(token) = outcome.granted {
            self.judge.granted(token, self.now + nanos(ttl));
        }
        let broken = matches!(outcome.event, Event::Acquired { answer: Acquired::Obstructed, .. });
        self.judge.tally.obstructed += u64::from(broken);
        if outcome.below_floor {
            self.judge.condemn(self.now, format!("a token was won that is not above its floor: {:?}", outcome.event));
        }
        if let Some(data) = outcome.copied {
            let lag = self.dice.below(self.weather.lag);
            self.post_to(lag, replica, life, Message::Copy { generation: self.redis.generation, data });
        }
        if outcome.published {
            for listener in 0..self.replicas.len() {
                self.send(listener, Message::Heard(Event::Woken));
            }
        }
        if outcome.read_only {
            self.post_to(0, replica, life, Message::Redial);
        }
        self.send_to(replica, life, Message::Heard(outcome.event));
    }

    // === Postgres ===

    fn at_desk(&mut self, replica: usize, life: u32, attempt: Attempt) {
        self.replicas[replica].beyond &= self.postgres.is_out_of_reach();
        let answer = if self.now < self.replicas[replica].unfit_until {
            Err(Ineligible::InboxUnreadable)
        } else if self.replicas[replica].beyond {
            self.judge.tally.obstructed += 1;
            Err(Ineligible::Obstructed)
        } else if self.chance(20) {
            Err(Ineligible::PostgresUnreachable)
        } else {
            self.sent += 1;
            let nonce = Uuid::from_u128((0x4000 << 64) | (0x8000 << 48) | u128::from(self.sent));
            Ok(Fit {
                floor: self.postgres.floor(),
                incumbent: self.postgres.incumbent(),
                load: 0,
                nonce,
                alone: self.dice.chance(100),
            })
        };
        self.send_to(replica, life, Message::Heard(Event::Eligibility { attempt, answer }));
    }

    fn commit(&mut self, id: u64, said: &mut Vec<Said>) {
        let Some(done) = self.postgres.commit(id, said) else { return };
        note!(self, "Postgres commits a write of term {} for replica {}", done.token, done.replica);
        self.judge.written(self.now, &self.postgres.written);
        if !self.postgres.terms.iter().any(|(token, owner)| (*token, owner) == (done.token, &done.owner)) {
            self.judge.condemn(self.now, format!("term {} wrote, and was never installed", done.token));
        }
        self.post_to(ms(5), done.replica, done.life, Message::StepOver { transaction: id, refused: None });
    }

    fn tell_what_postgres_said(&mut self, said: Vec<Said>) {
        for said in said {
            match said {
                Said::Entered(Transaction { id, replica, life, .. }) => {
                    self.post_to(BACKSTOP, replica, life, Message::SessionEnds(id));
                    if !self.chance(self.weather.lost / 4) {
                        let delay = self.dice.below(ms(20));
                        self.post_to(delay, replica, life, Message::Entered(id));
                    }
                }
                Said::Refused(Transaction { id, replica, life, token, .. }) => {
                    self.judge.tally.refused_writes += 1;
                    note!(self, "Postgres refuses a write of term {token} of replica {replica}");
                    self.post_to(ms(5), replica, life, Message::StepOver { transaction: id, refused: Some(token) });
                }
                Said::Install(asked, answer) => {
                    note!(self, "Postgres, asked to install {} for replica {}: {answer:?}", asked.token, asked.replica);
                    if answer == Installed::Done {
                        let asker = &self.replicas[asked.replica];
                        if asker.life != asked.life || asker.elector.standing().owner.as_ref() != Some(&asked.owner) {
                            // Whoever gave it up has closed its session, or said so behind it.
                            self.postgres.stand_down(asked.replica, asked.life, Some(&asked.owner));
                        }
                        self.judge.installed(self.now, &self.postgres.terms);
                        for observer in 0..self.replicas.len() {
                            self.send(observer, Message::Heard(Event::TermSeen { token: asked.token }));
                        }
                    }
                    self.judge.tally.refused_installs += u64::from(answer == Installed::Refused);
                    let answer = if self.chance(30) { Installed::Failed } else { answer };
                    let heard = Event::Installed { attempt: asked.attempt, answer };
                    self.send_to(asked.replica, asked.life, Message::Heard(heard));
                }
            }
        }
    }

    // === Replicas ===

    fn tell(&mut self, index: usize, event: Event) {
        let replica = &mut self.replicas[index];
        let reading = replica.clocks.at(self.now);
        let life = replica.life;
        if !matches!(event, Event::Tick) {
            note!(self, "replica {index} is told: {event:?}");
        }
        let replica = &mut self.replicas[index];
        let effects = replica.elector.step(event, reading);
        replica.take_standing();
        let due = replica.elector.due();
        for effect in effects {
            self.carry_out(index, effect);
        }
        let replica = &mut self.replicas[index];
        if replica.life != life {
            return; // the process ended
        }
        if due <= reading.boot {
            let what = format!("due at once again, which would spin: {:?}", replica.elector);
            return self.judge.condemn(self.now, what);
        }
        self.judge.trust(self.now, index, replica);
        if due != Boot::NEVER {
            let wait = replica.clocks.world_span(due.left(reading.boot));
            replica.timer = self.sent + 1;
            let timer = replica.timer;
            self.post(wait, index, Message::Tick(timer));
        }
    }

    fn carry_out(&mut self, index: usize, effect: Effect) {
        note!(self, "replica {index}: {effect:?}");
        match effect {
            Effect::Ask { attempt, .. } => self.send(index, Message::Ask(attempt)),
            Effect::Acquire { attempt, owner, floor, incumbent } => {
                self.command(index, Command::Acquire { attempt, owner, floor, incumbent });
            }
            Effect::Renew { attempt, owner, token } => self.command(index, Command::Renew { attempt, owner, token }),
            Effect::Release { attempt, owner, token, publish } => {
                let replica = &self.replicas[index];
                let works = replica.work.as_ref().is_some_and(|(working, _)| *working == token);
                if works || replica.stopping == Some(token) {
                    self.judge
                        .condemn(self.now, format!("replica {index} releases term {token} while its work is alive"));
                }
                self.command(index, Command::Release { attempt, owner, token, publish });
            }
            Effect::Install { attempt, owner, token, store } => {
                // What it lacks it may notice in the middle of a candidacy.
                if self.chance(20) {
                    let span = self.dice.below(secs(10));
                    self.replicas[index].unfit_until = self.end_of(span);
                    self.post(0, index, Message::Look);
                }
                let life = self.replicas[index].life;
                self.send(index, Message::Install(Installation { replica: index, life, attempt, token, owner, store }));
            }
            Effect::Evict { attempt, .. } => self.send(index, Message::Evict(attempt)),
            Effect::Lead { token, owner } => self.begin_work(index, token, owner),
            Effect::StopWork { token, reason, owner, .. } => {
                if reason.is_involuntary() {
                    self.send_standing_down(index, owner);
                }
                self.stop_work(index, token);
            }
            Effect::Announce(change) => {
                if change.reason == Reason::Ineligible {
                    self.judge.tally.unfit_leaders += u64::from(change.from == Role::Leader);
                    self.judge.tally.unfit_candidates += u64::from(change.from == Role::Candidate);
                }
                if change.to == Role::Follower {
                    self.send_standing_down(index, change.owner.clone());
                }
                if change.from == Role::Leader && change.work_stopped == self.replicas[index].stopping.is_some() {
                    self.judge.condemn(self.now, format!("replica {index} announces wrongly whether its work stopped"));
                }
            }
            Effect::Exit { work_stopped } => {
                if !work_stopped && self.replicas[index].stopping.is_none() {
                    self.judge.condemn(self.now, format!("replica {index} exits for work that had stopped"));
                }
                self.restart(index);
            }
        }
    }

    /// A session is closed, or its lock given up: neither gets lost.
    fn send_standing_down(&mut self, index: usize, owner: Owner) {
        let delay = self.dice.below(ms(20));
        self.post(delay, index, Message::StandsDown(Some(owner)));
    }

    fn command(&mut self, index: usize, command: Command) {
        let server = self.replicas[index].server;
        self.send(index, Message::Command { server, command });
    }

    /// The process ends, whatever it was doing, and is started anew on the same machine.
    fn restart(&mut self, index: usize) {
        note!(self, "replica {index} ends, and is started anew");
        let replica = &self.replicas[index];
        let (step, paused_until, unfit_until) = (replica.step, replica.paused_until, replica.unfit_until);
        let (life, timings, clocks) = (replica.life + 1, replica.timings, replica.clocks);
        let delay = self.dice.below(secs(2));
        self.post(delay, index, Message::StandsDown(None));
        self.replicas[index] = Replica::new(life, timings, clocks, self.redis.primary(), self.dice.next());
        // Its machine may be asleep.
        self.replicas[index].paused_until = paused_until;
        self.replicas[index].unfit_until = unfit_until;
        if let Some(transaction) = step {
            let delay = self.dice.below(secs(2));
            self.post(delay, index, Message::SessionEnds(transaction));
        }
        self.post(ms(500), index, Message::Tick(0));
    }

    /// Its inbox is gone for a while, and it notices.
    fn fall_unfit(&mut self, index: usize, span: Nanos) {
        self.replicas[index].unfit_until = self.end_of(span);
        let delay = self.dice.below(secs(4));
        self.post(delay, index, Message::Look);
    }

    /// What it lacks is told at each look, whatever it is just then.
    fn look(&mut self, index: usize) {
        if self.now < self.replicas[index].unfit_until {
            self.post(secs(4), index, Message::Look);
            let life = self.replicas[index].life;
            self.tell(index, Event::Unfit);
            if self.replicas[index].life == life && self.replicas[index].believes.is_some() {
                self.judge.condemn(self.now, format!("replica {index} leads on, and knows that it cannot do the work"));
            }
        }
    }

    // === The work of a term ===

    fn begin_work(&mut self, index: usize, token: FencingToken, owner: Owner) {
        let replica = &mut self.replicas[index];
        if replica.work.is_some() || replica.stopping.is_some() {
            return self.judge.condemn(self.now, format!("replica {index} begins term {token} over older work"));
        }
        replica.work = Some((token, owner));
        self.post(ms(100), index, Message::Work);
    }

    /// Begins a step, if it leads: it compares the clock with the end of its trust, as the worker does.
    fn work(&mut self, index: usize) {
        let replica = &self.replicas[index];
        let leads = replica.leads_at(self.now);
        let Some((token, owner)) = replica.work.clone() else {
            if let Some(token) = leads {
                self.judge
                    .condemn(self.now, format!("replica {index} acts for term {token}, whose work was told to stop"));
            }
            return;
        };
        if leads.is_some_and(|leads| leads != token) {
            self.judge.condemn(self.now, format!("replica {index} leads {leads:?}, and its work is of term {token}"));
        }
        if leads.is_some() && replica.step.is_none() {
            self.sent += 1;
            let id = self.sent;
            let boot = replica.clocks.at(self.now).boot;
            let life = replica.life;
            self.replicas[index].step = Some(id);
            note!(self, "replica {index} begins a step of term {token}");
            self.send_once(index, life, Message::Enter(Transaction { id, replica: index, life, token, owner }));
            // What hangs is given up by the work in the end, unless the term ends before.
            self.post(secs(45), index, Message::StepOver { transaction: id, refused: None });
            self.tell(index, Event::Beat(Some(boot)));
        }
        self.post(ms(2500), index, Message::Work);
    }

    fn stop_work(&mut self, index: usize, token: FencingToken) {
        let replica = &mut self.replicas[index];
        if replica.elector.standing().trusted_until.is_some() {
            self.judge.condemn(self.now, format!("replica {index} tells its work to stop before it stopped trusting"));
        }
        match replica.work.take() {
            Some((working, _)) if working == token => replica.stopping = Some(token),
            other => {
                return self
                    .judge
                    .condemn(self.now, format!("replica {index} stops term {token}, and {other:?} works"));
            }
        }
        if !self.chance(20) {
            let delay = self.dice.below(secs(4));
            self.post(delay, index, Message::WorkStops(token));
        }
    }

    fn work_stops(&mut self, index: usize, token: FencingToken) {
        let replica = &mut self.replicas[index];
        if replica.stopping != Some(token) {
            return;
        }
        replica.stopping = None;
        // A step that is not at its commit ends by closing its session; a commit that is on its way may still arrive.
        if let Some(transaction) = replica.step.take() {
            let delay = self.dice.below(ms(500));
            self.post(delay, index, Message::SessionEnds(transaction));
        }
        self.tell(index, Event::WorkStopped { token });
    }

    // === Misfortunes ===

    fn happens(&mut self, fault: Fault) {
        let leader = self.replicas.iter().position(|replica| replica.work.is_some());
        let hit = leader.filter(|_| self.dice.chance(500));
        note!(self, "misfortune: {fault:?} (the leader is {leader:?}, hit: {})", hit.is_some());
        match fault {
            Fault::Pause { replica, span } => {
                let replica = hit.unwrap_or(replica);
                self.replicas[replica].paused_until = self.end_of(span);
                self.falls_silent(replica);
            }
            Fault::Sleep { replica, span } => {
                let replica = hit.unwrap_or(replica);
                let until = self.end_of(span);
                self.replicas[replica].paused_until = until;
                self.replicas[replica].clocks.sleep(until - self.now);
                self.falls_silent(replica);
            }
            Fault::Crash { replica } => self.restart(hit.unwrap_or(replica)),
            Fault::Terminate { replica } => {
                self.post(0, hit.unwrap_or(replica), Message::Heard(Event::Shutdown));
            }
            Fault::Resign => {
                if let Some((leader, (token, _))) =
                    leader.zip(leader.and_then(|leader| self.replicas[leader].work.clone()))
                {
                    self.send(leader, Message::Heard(Event::Resign { token }));
                }
            }
            Fault::Unfit { replica, span } => self.fall_unfit(hit.unwrap_or(replica), span),
            Fault::RedisFreezes { span } => self.redis.freeze(self.end_of(span)),
            Fault::RedisForgets => self.redis.forget(),
            Fault::CounterLost => self.redis.lose_counter(),
            Fault::Failover { zombie } => {
                self.redis.fail_over(self.now, self.end_of(zombie) - self.now);
                for replica in 0..self.replicas.len() {
                    let delay = self.dice.below(secs(10));
                    let delay = self.end_of(delay) - self.now;
                    self.post(delay, replica, Message::Redial);
                }
            }
            Fault::ClockSet { forward } => self.redis.set_clock(forward),
            Fault::PostgresFreezes { span } => self.postgres.frozen_until = self.end_of(span),
            Fault::CounterBroken { span } => self.redis.break_counter(self.end_of(span)),
            Fault::HolderOverwritten { span } => self.redis.overwrite_holder(self.end_of(span)),
            Fault::LockHeld { span, beyond } => {
                self.postgres.stranger_comes(beyond);
                let until = self.end_of(span);
                self.post(until - self.now, 0, Message::StrangerLeaves);
            }
        }
    }

    /// Postgres ends the session of a leader that has not said for a ttl that it is there.
    fn falls_silent(&mut self, replica: usize) {
        let ttl = nanos(self.replicas[replica].timings.ttl);
        if self.now + ttl < self.replicas[replica].paused_until {
            self.post(ttl, replica, Message::StandsDown(None));
        }
    }

    fn judge_the_calm(&mut self, terms: usize, commands: &[u64]) {
        if self.judge.verdict.is_some() {
            return;
        }
        let leaders: Vec<usize> =
            (0..self.replicas.len()).filter(|index| self.replicas[*index].leads_at(self.now).is_some()).collect();
        if leaders.len() != 1 || self.judge.disorder > FAULTY + SETTLED || self.postgres.terms.len() != terms {
            let what = format!(
                "the faults are over since {}, and leaders are {leaders:?}, disorder ended at {}, {} terms began in the calm",
                show(self.now - FAULTY),
                show(self.judge.disorder),
                self.postgres.terms.len() - terms
            );
            return self.judge.condemn(self.now, what);
        }
        for (index, replica) in self.replicas.iter().enumerate().filter(|(index, _)| *index != leaders[0]) {
            let sent = self.commands[index] - commands[index];
            if sent > 2 * (CALM / nanos(replica.timings.ttl) + 1) {
                let what = format!("replica {index}, an idle follower, sent {sent} commands in {}", show(CALM));
                return self.judge.condemn(self.now, what);
            }
        }
    }
}
