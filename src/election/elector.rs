//! The elector: the state machine that decides when this replica asks, believes and stops believing.
//!
//! It is pure. [`Elector::step`] takes an event and the time, and answers with [`Effect`]s that the keeper carries out;
//! their outcomes come back as events. No clock, no I/O, no chance inside (jitter comes from a seed), so the
//! simulation and the model drive the very code that the worker runs.
//!
//! ```text
//!                 a release is heard, or the holder's lease ends
//!        ┌─────────┐   eligible → acquire → won   ┌───────────┐   term installed   ┌────────┐
//!  ────► │FOLLOWER │ ───────────────────────────► │ CANDIDATE │ ─────────────────► │ LEADER │ ◄─┐ renewed
//!        └─────────┘ ◄─────────────────────────── └───────────┘                    └────────┘ ──┘
//!             ▲        refused, lost, too slow:                                        │
//!             │        release, unpublished                                            │ lost, expired, fenced,
//!             │                                                                        ▼ stalled, suspended, …
//!             └──── release ◄── the work has stopped ◄── tell the work to stop ◄── stop trusting
//! ```
//!
//! Who decides: Redis decides who *tries*, Postgres who *leads*, and this machine's boot clock until when it may be
//! *believed*: `trusted_until = instant before the attempt was sent + ttl − margin`, for two reasons. Redis cannot have
//! begun to count before we sent; and what took long to answer may have been granted long ago. Only Redis' own answer
//! "lost" ends a term at once. Every error is passing, and is tried again until trust ends.
//!
//! Attempts time out here, not only in the shell: a reply that never comes must not leave the machine waiting. A late
//! reply is judged by the instant at which its question was sent, so that it can only tell the truth.

mod event;
mod following;
mod leading;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use event::{Acquired, Attempt, Change, Effect, Event, Fit, Installed, Renewed, Standing};

use super::reason::{Ineligible, Reason, Role};
use super::timing::Timings;
use super::{FencingToken, Owner, StoreId};
use crate::instant::{Boot, Reading};

/// The state machine of one replica and one lease.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub struct Elector {
    node: String,
    timings: Timings,
    dice: Dice,
    phase: Phase,
    /// The candidacy whose outcome is not known: its owner is used again until there is an answer, or one ttl has
    /// passed since it last sent, by when Redis has forgotten whatever it did grant.
    candidacy: Option<Candidacy>,
    attempts: u64,
    /// Failures in a row, of any kind: each doubles the pause.
    setbacks: u32,
    /// Terms lost involuntarily, since the last stable one.
    losses: u32,
    /// Until then others go first, if there are others.
    hold_until: Boot,
    /// The last term was lost to a newer one: there are others, however alone this replica's Redis makes it look.
    fenced: bool,
    /// Since when Redis has said that the leader's is another one.
    elsewhere_since: Option<Boot>,
    /// Until then others go first, whether or not there are any.
    resigned_until: Boot,
    /// Until then nodes that lead fewer books go first.
    gives_way_until: Option<Boot>,
    /// How often in a row it gave the lease up for a node that did not take it.
    given_up: u32,
    /// A release was heard while a question was under way: ask again at once if it was answered "held".
    heard: bool,
    slept: Option<Duration>,
    ending: bool,
    held_back: Option<Ineligible>,
    last_reason: Option<Reason>,
}

#[derive(Debug, Clone)]
#[cfg_attr(test, derive(PartialEq, Eq, Hash))]
struct Candidacy {
    owner: Owner,
    last_sent: Boot,
}

/// A lease that we hold, as far as we know.
#[derive(Debug, Clone)]
#[cfg_attr(test, derive(PartialEq, Eq, Hash))]
struct Holding {
    owner: Owner,
    token: FencingToken,
    store: StoreId,
    trusted_until: Boot,
    renewal: Renewal,
}

#[derive(Debug, Clone, Copy)]
#[cfg_attr(test, derive(PartialEq, Eq, Hash))]
enum Renewal {
    Due(Boot),
    Sent(Attempt),
}

#[derive(Debug, Clone, Copy)]
#[cfg_attr(test, derive(PartialEq, Eq, Hash))]
enum Install {
    Sent(Attempt),
    Evicting(Attempt),
    Pausing(Boot),
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
enum Phase {
    /// Follower, asleep.
    Resting { until: Boot, wakeable: bool },
    /// Follower, finding out whether it may campaign.
    Asking(Attempt),
    /// Follower, waiting for Redis' answer.
    Campaigning(Attempt),
    /// The lease is won.
    Candidate { holding: Holding, install: Install, since: Boot },
    /// The term is installed.
    Leader { holding: Holding, since: Boot, beat: Option<Boot> },
    /// Trust has ended; the work has not yet.
    Draining { holding: Holding, since: Boot, reason: Reason, until: Boot, renews: bool, releases: bool },
    /// The work has ended; the lease is being released.
    Releasing { holding: Holding, attempt: Attempt, again: bool, publish: bool, change: Change },
    /// Nothing more will come.
    Ended,
}

/// Jitter from a seed (splitmix64): the same seed, the same choices.
#[derive(Debug, Clone)]
#[cfg_attr(test, derive(PartialEq, Eq, Hash))]
struct Dice(u64);

/// An eligibility question may take this many attempt time-outs: it makes more than one call.
const ASK_ATTEMPTS: u32 = 3;
/// A jump between the clocks below this is two readings that were not taken together.
const SUSPENSION: Duration = Duration::from_millis(500);

// === impl Elector ===

impl Elector {
    /// A follower, at once on its way to its first campaign. `seed` decides its jitter; replicas need different ones.
    pub fn new(node: impl Into<String>, timings: Timings, never_leads: bool, seed: u64) -> Self {
        Self {
            node: node.into(),
            timings,
            dice: Dice(seed),
            phase: Phase::Resting { until: if never_leads { Boot::NEVER } else { Boot::ZERO }, wakeable: !never_leads },
            candidacy: None,
            attempts: 0,
            setbacks: 0,
            losses: 0,
            hold_until: Boot::ZERO,
            fenced: false,
            elsewhere_since: None,
            resigned_until: Boot::ZERO,
            gives_way_until: None,
            given_up: 0,
            heard: false,
            slept: None,
            ending: false,
            held_back: never_leads.then_some(Ineligible::NeverLeads),
            last_reason: None,
        }
    }

    /// Takes an event at a time, and tells what to do, in this order. Whatever the event, what time has ended ends
    /// first: a machine that slept, or whose trust has run out, steps down before it looks at anything else.
    pub fn step(&mut self, event: Event, now: Reading) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.notice_sleep(now, &mut effects);
        let now = now.boot;
        self.notice_end_of_trust(now, &mut effects);
        match event {
            Event::Tick => {}
            Event::Woken => self.on_woken(now),
            Event::Eligibility { attempt, answer } => self.on_eligibility(attempt, answer, now, &mut effects),
            Event::Acquired { attempt, owner, answer } => self.on_acquired(attempt, &owner, answer, now, &mut effects),
            Event::Renewed { attempt, token, answer } => self.on_renewed(attempt, token, answer, now, &mut effects),
            Event::Installed { attempt, answer } => self.on_installed(attempt, answer, now, &mut effects),
            Event::Evicted { attempt } => self.on_evicted(attempt, now, &mut effects),
            Event::OutOfReach { attempt } => self.on_out_of_reach(attempt, now, &mut effects),
            Event::Released { attempt, answered } => self.on_released(attempt, answered, now, &mut effects),
            Event::Beat(beat) => self.on_beat(beat),
            Event::TermSeen { token } => self.on_term_seen(token, now, &mut effects),
            Event::WriteRefused { token } => self.on_write_refused(token, now, &mut effects),
            Event::Unfit => self.on_unfit(now, &mut effects),
            Event::Failing { token } => self.on_failing(token, now, &mut effects),
            Event::Crowded { token } => self.on_crowded(token, now, &mut effects),
            Event::Resign { token } => self.on_resign(token, now, &mut effects),
            Event::WorkStopped { token } => self.on_work_stopped(token, now, &mut effects),
            Event::Shutdown => self.on_shutdown(now, &mut effects),
        }
        self.do_what_is_due(now, &mut effects);
        effects
    }

    /// When the next [`Event::Tick`] is wanted, if nothing happens before.
    pub fn due(&self) -> Boot {
        let limit = self.timings.attempt_timeout;
        let of_holding = |holding: &Holding| match holding.renewal {
            Renewal::Due(at) => at,
            Renewal::Sent(attempt) => attempt.sent + limit,
        };
        match &self.phase {
            Phase::Resting { until, .. } => *until,
            Phase::Asking(attempt) => attempt.sent + limit * ASK_ATTEMPTS,
            Phase::Campaigning(attempt) | Phase::Releasing { attempt, .. } => attempt.sent + limit,
            Phase::Candidate { holding, install, since } => {
                let install = match install {
                    Install::Sent(attempt) | Install::Evicting(attempt) => attempt.sent + self.install_overdue(),
                    Install::Pausing(until) => *until,
                };
                let end = holding.trusted_until.min(*since + self.candidacy_limit());
                of_holding(holding).min(install).min(end)
            }
            Phase::Leader { holding, beat, .. } => {
                let stalled = beat.map_or(Boot::NEVER, |beat| beat + self.timings.stall_limit);
                of_holding(holding).min(holding.trusted_until).min(stalled)
            }
            Phase::Draining { holding, until, renews, .. } => {
                if *renews {
                    of_holding(holding).min(*until)
                } else {
                    *until
                }
            }
            Phase::Ended => Boot::NEVER,
        }
    }

    /// What this replica is, and until when it may be believed. Whoever acts on it compares the clock with
    /// `trusted_until`, and believes no role.
    pub fn standing(&self) -> Standing {
        let mut standing = Standing {
            role: Role::Follower,
            owner: None,
            token: None,
            trusted_until: None,
            reason: self.last_reason,
            held_back: self.held_back,
            draining: matches!(self.phase, Phase::Draining { .. }),
        };
        let (role, holding) = match &self.phase {
            Phase::Candidate { holding, .. } => (Role::Candidate, holding),
            Phase::Leader { holding, .. } => (Role::Leader, holding),
            _ => return standing,
        };
        standing.role = role;
        standing.owner = Some(holding.owner.clone());
        standing.token = Some(holding.token);
        standing.trusted_until = (role == Role::Leader).then_some(holding.trusted_until);
        standing
    }

    /// It has come to its end: no event changes anything any more.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    fn notice_sleep(&mut self, now: Reading, effects: &mut Vec<Effect>) {
        let slept = now.slept();
        let jumped = self.slept.is_some_and(|before| slept > before + SUSPENSION);
        self.slept = Some(slept);
        if jumped {
            match self.phase {
                Phase::Candidate { .. } => self.abandon(Reason::Suspended, now.boot, effects),
                Phase::Leader { .. } => self.step_down(Reason::Suspended, now.boot, effects),
                _ => {}
            }
        }
    }

    fn notice_end_of_trust(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        match &self.phase {
            Phase::Candidate { holding, .. } if now >= holding.trusted_until => {
                self.abandon(Reason::Expired, now, effects);
            }
            Phase::Leader { holding, .. } if now >= holding.trusted_until => {
                self.step_down(Reason::Expired, now, effects);
            }
            _ => {}
        }
    }

    fn do_what_is_due(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        let limit = self.timings.attempt_timeout;
        match &self.phase {
            Phase::Resting { until, .. } if now >= *until => self.ask(now, effects),
            Phase::Asking(attempt) if now >= attempt.sent + limit * ASK_ATTEMPTS => {
                self.hold_back(Ineligible::PostgresUnreachable, now);
            }
            Phase::Campaigning(attempt) if now >= attempt.sent + limit => self.on_no_answer(now, effects),
            Phase::Candidate { .. } => self.go_on_as_candidate(now, effects),
            Phase::Leader { .. } => self.go_on_as_leader(now, effects),
            Phase::Draining { .. } => self.go_on_draining(now, effects),
            Phase::Releasing { attempt, .. } if now >= attempt.sent + limit => self.release_again(now, effects),
            _ => {}
        }
    }

    fn attempt(&mut self, now: Boot) -> Attempt {
        self.attempts += 1;
        Attempt { id: self.attempts, sent: now }
    }

    /// The pause after the n-th failure in a row: doubling, up to one ttl, and a fifth of jitter.
    fn backoff(&mut self, failures: u32) -> Duration {
        let least = (self.timings.heartbeat / 4).max(Duration::from_millis(50));
        let pause = least.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(self.timings.ttl);
        pause + self.dice.below(pause / 5)
    }

    /// When a question about the term is given up: its bound in Postgres, and the way there and back.
    fn install_overdue(&self) -> Duration {
        self.timings.install_bound() + self.timings.attempt_timeout
    }

    /// A candidate that renews could hold the lease for ever without ever leading: not longer than this.
    fn candidacy_limit(&self) -> Duration {
        self.timings.ttl * 2
    }
}

// === impl Dice ===

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A span in 0 … `span`.
    fn below(&mut self, span: Duration) -> Duration {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let scaled = (u128::from(self.next()) * u128::from(nanos)) >> 64;
        Duration::from_nanos(u64::try_from(scaled).unwrap_or(nanos))
    }

    /// A heartbeat, give or take a fifth.
    fn heartbeat(&mut self, timings: &Timings) -> Duration {
        let spread = timings.heartbeat / 5;
        timings.heartbeat.saturating_sub(spread) + self.below(spread * 2)
    }
}
