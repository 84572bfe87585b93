//! Instants as the machine itself counts them, and the jump that tells that it slept.
//!
//! Plain values: [`crate::clock`] is the only place that makes real ones. Trust in a lease is counted on boot time,
//! which goes on while the machine sleeps. `std::time::Instant` does not (rust-lang/rust#87906), so a machine that
//! slept ten minutes would wake believing that it still leads.

use std::fmt;
use std::ops::Add;
use std::time::Duration;

/// A point on the boot clock: nanoseconds since the machine was started, sleep included. Means nothing on another
/// machine or after a restart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Boot(u64);

/// Both clocks of the machine, read at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Time since boot, sleep included (`CLOCK_BOOTTIME`).
    pub boot: Boot,
    /// Time since boot, sleep left out (`CLOCK_MONOTONIC`).
    pub awake: Duration,
}

// === impl Boot ===

impl Boot {
    /// The instant of the start.
    pub const ZERO: Self = Self(0);
    /// An instant that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant that lies `since_boot` after the start. Saturates, after 584 years.
    pub fn from_duration(since_boot: Duration) -> Self {
        Self(u64::try_from(since_boot.as_nanos()).unwrap_or(u64::MAX))
    }

    /// How long after `earlier` this is; zero if it is not after.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// How long from `now` until this; zero if it has passed.
    pub fn left(self, now: Self) -> Duration {
        self.since(now)
    }

    /// This much earlier, at the earliest the start.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(Self::from_duration(span).0))
    }

    /// Nanoseconds since the start: for an atomic that several threads share.
    pub fn nanos(self) -> u64 {
        self.0
    }

    /// The instant of a number that [`Self::nanos`] gave.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
}

impl Add<Duration> for Boot {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(Self::from_duration(span).0))
    }
}

impl fmt::Debug for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER { f.write_str("never") } else { Duration::from_nanos(self.0).fmt(f) }
    }
}

// === impl Reading ===

impl Reading {
    /// How long the machine has slept since it was started, as far as these two clocks tell.
    pub fn slept(self) -> Duration {
        Duration::from_nanos(self.boot.0).saturating_sub(self.awake)
    }

    /// The same moment `span` later, on a machine that stays awake.
    #[must_use]
    pub fn later(self, span: Duration) -> Self {
        Self { boot: self.boot + span, awake: self.awake + span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_instants_never_underflow() {
        let early = Boot::from_duration(Duration::from_secs(1));
        let late = early + Duration::from_secs(2);
        assert_eq!(late.since(early), Duration::from_secs(2));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(early.minus(Duration::from_secs(9)), Boot::ZERO);
        assert_eq!(Boot::NEVER + Duration::from_secs(1), Boot::NEVER);
    }

    #[test]
    fn sleep_is_what_the_boot_clock_counts_and_the_other_does_not() {
        let reading = Reading { boot: Boot::from_duration(Duration::from_secs(10)), awake: Duration::from_secs(7) };
        assert_eq!(reading.slept(), Duration::from_secs(3));
        assert_eq!(reading.later(Duration::from_secs(5)).slept(), Duration::from_secs(3));
    }
}
