//! What the work is given when a term begins, and how it says that it has stopped.
//!
//! A [`Tenure`] is handed over once a term, by value. While it lives, work of its term may be alive; dropping it says
//! that none is, and that none will write again. So a work side that returns early, fails or panics says so too.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::term::Term;
use super::{FencingToken, Owner};
use crate::clock::Clock;
use crate::instant::Boot;

/// One term, in the hands of the work.
///
/// Drop it last: after the last session of the term is closed. The lease is released then, and not before.
#[derive(Debug)]
pub struct Tenure {
    term: Arc<Term>,
    stop: CancellationToken,
    trust: Trust,
    progress: Progress,
    said: mpsc::UnboundedSender<Said>,
    /// Set by the first refusal: the others say the same.
    refused: AtomicBool,
    /// Counts the tenures that are alive in this process.
    alive: Arc<AtomicUsize>,
}

/// Until when this replica may be believed. Asked before every step: it compares the clock, and believes no flag.
#[derive(Debug, Clone)]
pub struct Trust {
    until: Arc<AtomicU64>,
    clock: Arc<dyn Clock>,
}

/// The open steps, and when each last showed progress. A leader whose step shows none for `lease.stall_limit` lets the
/// lease go; one without open steps cannot stall.
#[derive(Debug, Clone)]
pub struct Progress {
    open: Arc<Mutex<Open>>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    steps: BTreeMap<u64, (Boot, Option<AtWork>)>,
}

/// Which step is at work, for `/status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtWork {
    /// The step's name.
    pub step: &'static str,
    /// The account; empty where the step is no account's.
    pub account: String,
    /// What it is a step of: a file's hash, or a business date and what follows it.
    pub key: String,
}

/// A step that is open until this is dropped.
#[derive(Debug)]
pub struct OpenStep {
    id: u64,
    progress: Progress,
}

/// What the work says to the keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// No work of this term is alive.
    Stopped(FencingToken),
    /// The work of this term fails, pass after pass, for this cause.
    Failing(FencingToken, String),
    /// Postgres refused a write of this term, in these words.
    Refused(Owner, FencingToken, String),
}

// === impl Tenure ===

impl Tenure {
    pub(super) fn new(
        term: Term,
        trust: Trust,
        progress: Progress,
        said: mpsc::UnboundedSender<Said>,
        alive: Arc<AtomicUsize>,
    ) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        let refused = AtomicBool::new(false);
        Self { term: Arc::new(term), stop: CancellationToken::new(), trust, progress, said, refused, alive }
    }

    /// The right to write.
    pub fn term(&self) -> &Arc<Term> {
        &self.term
    }

    /// Cancelled when the work must stop.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// May a step begin now? Not once the term was told to end, nor when trust has run out.
    pub fn leads(&self) -> bool {
        !self.stop.is_cancelled() && self.trust.holds()
    }

    /// The open steps: open one for each step at work, and beat it per chunk.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Says that the work of this term fails, pass after pass, and why: another replica shall try.
    pub fn is_failing(&self, why: String) {
        let _ = self.said.send(Said::Failing(self.term.token(), why));
    }

    /// Says that Postgres refused a write of this term, and in which words: they are written into the history, and the
    /// replica steps down, as *fenced*.
    pub fn was_refused(&self, verdict: impl Into<String>) {
        if self.refused.swap(true, Ordering::SeqCst) {
            return;
        }
        // The keeper is gone only when the process ends.
        let _ = self.said.send(Said::Refused(self.term.owner().clone(), self.term.token(), verdict.into()));
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
        let _ = self.said.send(Said::Stopped(self.term.token()));
    }
}

// === impl Trust ===

impl Trust {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { until: Arc::new(AtomicU64::new(0)), clock }
    }

    /// Sets the instant at which trust ends; `None`: it has ended.
    pub(super) fn set(&self, until: Option<Boot>) {
        self.until.store(until.map_or(0, Boot::nanos), Ordering::SeqCst);
    }

    /// Does it hold now?
    pub fn holds(&self) -> bool {
        !self.left().is_zero()
    }

    /// How much of it is left.
    pub fn left(&self) -> std::time::Duration {
        Boot::from_nanos(self.until.load(Ordering::SeqCst)).left(self.clock.now())
    }
}

// === impl Progress ===

impl Progress {
    /// None open.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { open: Arc::default(), clock }
    }

    /// Opens a step; that is its first beat.
    pub fn open(&self) -> OpenStep {
        self.open_as(None)
    }

    /// Opens a step, and says which.
    pub fn open_as(&self, which: impl Into<Option<AtWork>>) -> OpenStep {
        let now = self.clock.now();
        let mut open = self.lock();
        open.next += 1;
        let id = open.next;
        open.steps.insert(id, (now, which.into()));
        OpenStep { id, progress: self.clone() }
    }

    /// The step that was opened first among those that are open and said which they are.
    pub fn at_work(&self) -> Option<AtWork> {
        self.lock().steps.values().find_map(|(_, which)| which.clone())
    }

    /// The oldest last beat among open steps.
    pub fn oldest(&self) -> Option<Boot> {
        self.lock().steps.values().map(|(beat, _)| *beat).min()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        // A poisoned lock still holds a whole map: each change of it is one call.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl OpenStep ===

impl OpenStep {
    /// Shows progress: once a chunk, not once a line.
    pub fn beat(&self) {
        let now = self.progress.clock.now();
        if let Some((beat, _)) = self.progress.lock().steps.get_mut(&self.id) {
            *beat = now;
        }
    }
}

impl Drop for OpenStep {
    fn drop(&mut self) {
        self.progress.lock().steps.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::DateTime;

    use super::*;
    use crate::clock::ManualClock;
    use crate::election::{LeaseName, Owner};

    fn clock() -> ManualClock {
        ManualClock::at(DateTime::UNIX_EPOCH)
    }

    #[test]
    fn the_step_that_is_longest_without_a_beat_is_the_one_that_counts() {
        let clock = clock();
        let progress = Progress::new(Arc::new(clock.clone()));
        assert_eq!(progress.oldest(), None, "an idle leader cannot stall");
        let stuck = progress.open();
        let begun = clock.now();
        let lively = progress.open();
        clock.advance(Duration::from_secs(9));
        lively.beat();
        assert_eq!(progress.oldest(), Some(begun));
        stuck.beat();
        assert_eq!(progress.oldest(), Some(clock.now()));
        drop((stuck, lively));
        assert_eq!(progress.oldest(), None);
    }

    #[test]
    fn trust_ends_by_the_clock_with_nobody_there_to_end_it() {
        let clock = clock();
        let trust = Trust::new(Arc::new(clock.clone()));
        assert!(!trust.holds());
        trust.set(Some(clock.now() + Duration::from_secs(3)));
        assert!(trust.holds());
        clock.sleep(Duration::from_secs(3));
        assert!(!trust.holds(), "a machine that slept may not go on");
    }

    #[test]
    fn dropping_a_tenure_says_that_its_work_has_stopped() {
        let clock: Arc<dyn Clock> = Arc::new(clock());
        let (said, mut heard) = mpsc::unbounded_channel();
        let token = FencingToken::new(3).unwrap();
        let term = Term::claim(LeaseName::new("x").unwrap(), token, Owner::from_stored("a:1"));
        let alive = Arc::new(AtomicUsize::new(0));
        let tenure = Tenure::new(term, Trust::new(Arc::clone(&clock)), Progress::new(clock), said, Arc::clone(&alive));
        assert_eq!(alive.load(Ordering::SeqCst), 1);
        assert!(!tenure.leads());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _tenure = tenure;
            panic!("in the middle of a step");
        }));
        assert!(panicked.is_err());
        assert_eq!(heard.try_recv().unwrap(), Said::Stopped(token));
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    }
}
