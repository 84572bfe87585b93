//! When a leader whose passes fail hands the lead on: another replica may have a mount, a network or a machine that is
//! better than this one's. Where none has, handing on only costs hand-overs: so each replica that is handed the lead for
//! this cause waits twice as long before it hands it on in its turn.
//!
//! What counts is a pass that was cut short, and one whose reports could not be published. Waiting is no failure: neither
//! for files that have not come nor for a company's database that does not answer, which is away for everybody.

use std::time::Duration;

use crate::instant::Boot;

/// Passes that failed, one after the other.
#[derive(Debug)]
pub(super) struct Failing {
    since: Boot,
    passes: u32,
    /// How many terms in a row before this one ended for the same cause; none while that is not known.
    pub(super) handed_on: Option<u32>,
}

/// So many passes must have failed.
const PASSES: u32 = 3;
/// The longest pause between two passes, which is also the bell's.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// The longest time for which passes fail before the lead is handed on.
const LONGEST: Duration = Duration::from_hours(1);

// === impl Failing ===

impl Failing {
    /// None yet.
    pub(super) fn since(now: Boot) -> Self {
        Self { since: now, passes: 0, handed_on: None }
    }

    /// Another one failed.
    pub(super) fn count(&mut self) {
        self.passes = self.passes.saturating_add(1);
    }

    /// How many.
    pub(super) fn passes(&self) -> u32 {
        self.passes
    }

    /// Shall another replica try? Where nobody handed the lead on before, after `stall_limit`.
    pub(super) fn is_enough(&self, now: Boot, stall_limit: Duration) -> bool {
        let doubled = stall_limit.saturating_mul(1 << self.handed_on.unwrap_or(0).min(16));
        self.passes >= PASSES && now.since(self.since) >= doubled.min(LONGEST.max(stall_limit))
    }

    /// Until the next pass.
    pub(super) fn pause(&self) -> Duration {
        Duration::from_secs(1 << self.passes.saturating_sub(1).min(6)).min(LONGEST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Boot {
        Boot::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn three_passes_that_failed_for_a_stall_limit_are_enough_and_neither_alone_is() {
        let limit = Duration::from_mins(2);
        let mut failing = Failing::since(at(0));
        failing.count();
        failing.count();
        assert!(!failing.is_enough(at(600), limit), "two passes, however long");
        failing.count();
        assert!(!failing.is_enough(at(119), limit), "three passes, soon after each other");
        assert!(failing.is_enough(at(120), limit));
    }

    #[test]
    fn where_it_fails_for_everybody_it_is_handed_on_ever_more_seldom_and_once_an_hour_in_the_end() {
        let limit = Duration::from_mins(2);
        let mut failing = Failing::since(at(0));
        (0..9).for_each(|_| failing.count());
        for (before, after) in [(1, 4 * 60), (2, 8 * 60), (5, 60 * 60), (40, 60 * 60)] {
            failing.handed_on = Some(before);
            assert!(!failing.is_enough(at(after - 1), limit) && failing.is_enough(at(after), limit), "{before}");
        }
        assert_eq!(failing.pause(), LONGEST_PAUSE);
    }
}
