//! The protocol, explored whole: every order of every event among a few replicas, up to a stated size.
//!
//! The electors are the product's own ([`Elector::step`] is called, nothing is copied). What surrounds them is small: a
//! Redis that may lose its last write or all of them, a Postgres with one row and one lock, and messages that may take for
//! ever. A replica's *check* ("do I lead?"), its *enter* and its *commit* are three moves, with anything between them.
//!
//! Time is steps of one second: a ttl is two or three of them, the margin one, and trust what remains. Instants are kept
//! relative to now, so the space is finite. Where a timer says "not before", the model says "at any moment": a pause, a
//! heartbeat, a time-out may come early or late. So it does more than the product can, never less; a machine that sleeps
//! or is stopped is one that makes no moves while time passes.
//!
//! It is exhausted within its bounds, and these are its bounds: [`Size`]. Tokens end (Redis then refuses, as the real one
//! does at 2⁵³); messages under way to and from one replica are at most so many, and one too many loses the oldest; Redis
//! loses data, and processes die, so many times.

mod moves;
mod relative;
mod servers;
mod state;

use std::time::Duration;

use stateright::{Checker, HasDiscoveries, Model, Property};

use super::Elector;
use crate::election::timing::Timings;
use moves::Move;
use state::{Broken, State, Step};

/// A promise that the model must keep, and its name.
const PROMISES: [(Broken, &str); 9] = [
    (Broken::TermWentBack, "installed terms rise, each with one owner"),
    (Broken::WriteOutsideTerm, "what commits is of the installed term"),
    (Broken::WriteWentBack, "writes never go back in term"),
    (Broken::TokenNotAboveFloor, "a token won is above the term that its candidate read"),
    (Broken::TrustOutlivesLease, "trust ends before the lease as Redis granted it, less the margin"),
    (Broken::TwoBelieve, "while Redis loses nothing, one at most believes that it leads"),
    (Broken::ActsAfterStepDown, "nobody acts between a step-down and the next term"),
    (Broken::ReleasedWhileWorking, "no lease is released while its work is alive"),
    (Broken::BegunOverOldWork, "no term begins over older work"),
];

/// How much is explored.
#[derive(Debug, Clone, Copy)]
struct Size {
    replicas: usize,
    /// In steps of time.
    ttl: u8,
    /// The last token that Redis hands out.
    tokens: u64,
    /// Messages under way to and from one replica.
    mail: usize,
    /// How often Redis loses its last write, or everything.
    losses: u8,
    /// An operator may ask a leader to resign, at any moment.
    resigns: bool,
    /// How often a process dies and is started anew.
    crashes: u8,
}

/// A rule of the protocol that is left out, to see that the model needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// None: the protocol as it is.
    Sound,
    /// The counter goes on from itself, whatever Postgres holds.
    NoFloor,
    /// An install accepts a token that equals the installed one.
    EqualTokenInstalls,
    /// Writers are compared with the term when they enter, and hold no lock until they commit.
    NoLock,
    /// A renewal extends whatever lease is there.
    RenewsAnybodys,
}

#[derive(Debug, Clone, Copy)]
struct Protocol {
    size: Size,
    flaw: Flaw,
}

/// One step of time.
const TICK: Duration = Duration::from_secs(1);

fn timings(ttl: u8) -> Timings {
    Timings {
        ttl: TICK * u32::from(ttl),
        heartbeat: Duration::from_millis(600),
        attempt_timeout: Duration::from_millis(100),
        margin: TICK,
        drain: TICK,
        stall_limit: TICK * 10,
    }
}

fn elector(ttl: u8) -> Elector {
    Elector::new("r", timings(ttl), false, 0)
}

impl Model for Protocol {
    type State = State;
    type Action = Move;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self.size)]
    }

    fn actions(&self, state: &State, moves: &mut Vec<Move>) {
        if state.broken.is_none() {
            self.moves(state, moves);
        }
    }

    fn next_state(&self, last: &State, made: Move) -> Option<State> {
        let mut next = last.clone();
        self.make(&mut next, made);
        next.settle();
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(PROMISES[0].1, |_, state: &State| state.broken != Some(PROMISES[0].0)),
            Property::always(PROMISES[1].1, |_, state: &State| state.broken != Some(PROMISES[1].0)),
            Property::always(PROMISES[2].1, |_, state: &State| state.broken != Some(PROMISES[2].0)),
            Property::always(PROMISES[3].1, |_, state: &State| state.broken != Some(PROMISES[3].0)),
            Property::always(PROMISES[4].1, |_, state: &State| state.broken != Some(PROMISES[4].0)),
            Property::always(PROMISES[5].1, |_, state: &State| state.broken != Some(PROMISES[5].0)),
            Property::always(PROMISES[6].1, |_, state: &State| state.broken != Some(PROMISES[6].0)),
            Property::always(PROMISES[7].1, |_, state: &State| state.broken != Some(PROMISES[7].0)),
            Property::always(PROMISES[8].1, |_, state: &State| state.broken != Some(PROMISES[8].0)),
            // And it is no empty room: what the promises are about does happen.
            Property::sometimes("a second term writes", |_, state: &State| state.postgres.last_write() >= 2),
            Property::sometimes("a writer holds off an install", |_, state: &State| {
                state.replicas.iter().any(|replica| replica.is_evicting()) && state.has_writers()
            }),
            Property::sometimes("a step that was checked is overtaken by another term", |_, state: &State| {
                let installed = state.postgres.floor();
                state.replicas.iter().any(
                    |replica| matches!(&replica.step, Some(Step { token, entered: false, .. }) if token.get() < installed),
                )
            }),
            Property::sometimes("Redis counts from below the installed term", |_, state: &State| {
                state.redis.counter() < state.postgres.floor()
            }),
            Property::sometimes("two believe that they lead, once Redis lost a lease", |_, state: &State| {
                state.believers() > 1
            }),
        ]
    }
}

/// Nothing is lost: then one at most believes that it leads.
const FAITHFUL: Size = Size { replicas: 2, ttl: 2, tokens: 2, mail: 1, losses: 0, resigns: true, crashes: 0 };
/// Redis loses its last write, or everything, once.
const FORGETFUL: Size = Size { losses: 1, resigns: false, ..FAITHFUL };
/// For `make model`, which takes its time: more tokens, more messages under way, a process that dies.
const LARGE: [Size; 4] = [
    Size { losses: 1, ..FAITHFUL },
    Size { crashes: 1, ..FAITHFUL },
    Size { mail: 2, ..FAITHFUL },
    Size { ttl: 3, tokens: 3, ..FAITHFUL },
];

/// Explores a size whole: the number of states.
fn exhaust(size: Size) -> usize {
    let checker = Protocol { size, flaw: Flaw::Sound }.checker().threads(2).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!("{size:?}: {states} states, {} moves, {} deep", checker.state_count(), checker.max_depth());
    for (_, promise) in PROMISES {
        checker.assert_no_discovery(promise);
    }
    for happens in ["a second term writes", "a writer holds off an install"] {
        checker.assert_any_discovery(happens);
    }
    if size.losses > 0 {
        checker.assert_any_discovery("Redis counts from below the installed term");
        checker.assert_any_discovery("two believe that they lead, once Redis lost a lease");
    }
    states
}

#[test]
fn the_timings_of_the_model_are_sound() {
    assert_eq!([timings(2).check(), timings(3).check()], [Vec::<String>::new(), Vec::new()]);
}

#[test]
fn every_order_of_events_keeps_every_promise() {
    assert_eq!(exhaust(FAITHFUL), 85_990, "another protocol, or another model: say so in docs/verification.md");
}

#[test]
fn every_order_of_events_keeps_every_promise_though_redis_forgets() {
    let sizes = if option_env!("COUNTERFOIL_MODEL").is_some() { &LARGE[..] } else { &[] };
    assert_eq!(exhaust(FORGETFUL), 515_671, "another protocol, or another model: say so in docs/verification.md");
    for size in sizes {
        exhaust(*size);
    }
}

#[test]
fn each_rule_is_needed_without_it_the_model_breaks_a_promise() {
    let flaws = [
        (Flaw::NoFloor, "a token won is above the term that its candidate read"),
        (Flaw::EqualTokenInstalls, "installed terms rise, each with one owner"),
        (Flaw::NoLock, "what commits is of the installed term"),
        (Flaw::RenewsAnybodys, "trust ends before the lease as Redis granted it, less the margin"),
    ];
    // A ttl of three: a lease that is lost while it is still trusted.
    let size = Size { ttl: 3, ..FORGETFUL };
    for (flaw, promise) in flaws {
        let found = HasDiscoveries::AnyOf([promise].into());
        let checker = Protocol { size, flaw }.checker().threads(2).finish_when(found).spawn_bfs().join();
        let moves = checker.assert_any_discovery(promise).into_actions();
        println!("{flaw:?}: {moves:?}");
    }
}
