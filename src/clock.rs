//! The only place that reads a clock.
//!
//! Everything else is given the time, as a value or as a [`Clock`]: so tests move it by hand, and no answer depends on
//! when it was asked. Two kinds of time, never mixed: [`Boot`] for how long something lasts (leases, trust, limits),
//! and wall time for what a person reads (business dates, history, reports).

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use rustix::time::{ClockId, clock_gettime};

pub use crate::instant::{Boot, Reading};

/// Something that tells the time. Cheap to ask.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Boot time and awake time, of one moment.
    fn reading(&self) -> Reading;

    /// Wall time. May jump either way; good for dates and records, never for a limit.
    fn wall(&self) -> DateTime<Utc>;

    /// Boot time alone.
    fn now(&self) -> Boot {
        self.reading().boot
    }
}

/// The clocks of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// A clock that stands still until it is moved. Its copies share the time.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<Mutex<Manual>>);

#[derive(Debug, Clone, Copy, Default)]
struct Manual {
    reading: Reading,
    wall: DateTime<Utc>,
}

// === impl SystemClock ===

impl SystemClock {
    /// Two clocks cannot be read at once. The pair is taken again if more than this went by between them (a process
    /// stopped in between would look like a machine that slept).
    const TOGETHER: Duration = Duration::from_millis(1);
    const TRIES: u32 = 100;

    fn boot_time() -> Boot {
        Boot::from_duration(read(ClockId::Boottime))
    }
}

impl Clock for SystemClock {
    fn reading(&self) -> Reading {
        let mut boot = Self::boot_time();
        let mut awake = read(ClockId::Monotonic);
        for _ in 0..Self::TRIES {
            let after = Self::boot_time();
            if after.since(boot) <= Self::TOGETHER {
                break;
            }
            boot = Self::boot_time();
            awake = read(ClockId::Monotonic);
        }
        Reading { boot, awake }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    fn wall(&self) -> DateTime<Utc> {
        Utc::now()
    }

    fn now(&self) -> Boot {
        Self::boot_time()
    }
}

fn read(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanos)
}

// === impl ManualClock ===

impl ManualClock {
    /// A clock that shows `wall`, an hour after boot.
    pub fn at(wall: DateTime<Utc>) -> Self {
        let reading = Reading::default().later(Duration::from_hours(1));
        Self(Arc::new(Mutex::new(Manual { reading, wall })))
    }

    /// Lets time pass.
    pub fn advance(&self, span: Duration) {
        let mut time = self.lock();
        time.reading = time.reading.later(span);
        time.wall += span;
    }

    /// Lets the machine sleep: boot time and wall time go on, awake time does not.
    pub fn sleep(&self, span: Duration) {
        let mut time = self.lock();
        time.reading.boot = time.reading.boot + span;
        time.wall += span;
    }

    /// Sets the wall clock, as an operator or a time server may; nothing else moves.
    pub fn set_wall(&self, wall: DateTime<Utc>) {
        self.lock().wall = wall;
    }

    fn lock(&self) -> MutexGuard<'_, Manual> {
        // A poisoned lock still holds a whole value: each change is of plain fields.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn reading(&self) -> Reading {
        self.lock().reading
    }

    fn wall(&self) -> DateTime<Utc> {
        self.lock().wall
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_clocks_move_forward_together() {
        let clock = SystemClock;
        let first = clock.reading();
        let second = clock.reading();
        assert!(second.boot >= first.boot && second.awake >= first.awake);
        let drift = second.slept().abs_diff(first.slept());
        assert!(drift < Duration::from_millis(5), "a machine that stayed awake seems to have slept {drift:?}");
    }

    #[test]
    fn copies_of_a_manual_clock_share_the_time() {
        let clock = ManualClock::at(DateTime::UNIX_EPOCH);
        let copy = clock.clone();
        clock.advance(Duration::from_secs(5));
        copy.sleep(Duration::from_mins(1));
        assert_eq!(clock.reading(), copy.reading());
        assert_eq!(clock.reading().slept(), Duration::from_mins(1));
        assert_eq!(copy.wall(), DateTime::UNIX_EPOCH + Duration::from_secs(65));
    }
}
