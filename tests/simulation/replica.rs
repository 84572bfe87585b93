//! One replica: the elector as it is in the product, the clocks of its machine, and the work of its term.

use std::time::Duration;

use counterfoil::election::elector::Elector;
use counterfoil::election::timing::Timings;
use counterfoil::election::{FencingToken, Owner};
use counterfoil::instant::{Boot, Reading};

use crate::dice::Nanos;
use crate::redis::nanos;

/// A process on its machine.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) elector: Elector,
    pub(crate) timings: Timings,
    pub(crate) clocks: Clocks,
    /// Rises at each restart: what was meant for an earlier life is dropped.
    pub(crate) life: u32,
    pub(crate) paused_until: Nanos,
    pub(crate) unfit_until: Nanos,
    /// An eviction found a holder of the lock that it may not end: looked for before the next candidacy.
    pub(crate) beyond: bool,
    /// The term whose work runs: it began, and was not told to stop.
    pub(crate) work: Option<(FencingToken, Owner)>,
    /// The term whose work was told to stop, and has not.
    pub(crate) stopping: Option<FencingToken>,
    /// The transaction of the open step.
    pub(crate) step: Option<u64>,
    /// The timer that is set; one that was set before rings unheard.
    pub(crate) timer: u64,
    /// Which of the two servers of Redis it is connected to.
    pub(crate) server: usize,
    /// As which term it believes that it leads, and until when: its standing after the last event.
    pub(crate) believes: Option<(FencingToken, Boot)>,
}

/// The clocks of a machine, as functions of the world's time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clocks {
    /// What the boot clock showed at the beginning.
    base: Nanos,
    slept: Nanos,
    /// How many parts in a thousand they run fast.
    pub(crate) rate: i64,
}

// === impl Replica ===

impl Replica {
    /// A process that has just started. All of them have one configured name: the nonces must keep them apart (S10).
    pub(crate) fn new(life: u32, timings: Timings, clocks: Clocks, server: usize, seed: u64) -> Self {
        Self {
            elector: Elector::new("r", timings, false, seed),
            timings,
            clocks,
            life,
            paused_until: 0,
            unfit_until: 0,
            beyond: false,
            work: None,
            stopping: None,
            step: None,
            timer: 0,
            server,
            believes: None,
        }
    }

    /// Takes up what the elector says of itself after an event.
    pub(crate) fn take_standing(&mut self) {
        let standing = self.elector.standing();
        self.believes = standing.trusted_until.zip(standing.token).map(|(until, token)| (token, until));
    }

    /// The term that it acts for at this moment, if it acts. Compares the clock, as the worker does before each act.
    pub(crate) fn leads_at(&self, now: Nanos) -> Option<FencingToken> {
        let (token, until) = self.believes?;
        (now >= self.paused_until && self.clocks.at(now).boot < until).then_some(token)
    }
}

// === impl Clocks ===

impl Clocks {
    pub(crate) fn new(base: Nanos, rate: i64) -> Self {
        Self { base, slept: 0, rate }
    }

    /// Both clocks at a time of the world.
    pub(crate) fn at(&self, now: Nanos) -> Reading {
        let run = self.base + scaled(now, 1000 + self.rate, 1000);
        Reading { boot: Boot::from_nanos(run), awake: Duration::from_nanos(run - self.slept) }
    }

    /// The machine sleeps this long, by the boot clock.
    pub(crate) fn sleep(&mut self, span: Nanos) {
        self.slept += scaled(span, 1000 + self.rate, 1000);
    }

    /// How long the world takes for what these clocks call so long.
    pub(crate) fn world_span(&self, span: Duration) -> Nanos {
        scaled(nanos(span), 1000, 1000 + self.rate) + 1
    }

    /// When the boot clock will show an instant, by the world's time.
    pub(crate) fn world_time(&self, boot: Boot) -> Nanos {
        scaled(boot.nanos().saturating_sub(self.base), 1000, 1000 + self.rate)
    }
}

fn scaled(span: Nanos, by: i64, over: i64) -> Nanos {
    let scaled = i128::from(span) * i128::from(by) / i128::from(over);
    Nanos::try_from(scaled).expect("a time in the world")
}
