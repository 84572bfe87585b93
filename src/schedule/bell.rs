//! The bell: wakes the planner.
//!
//! tokio-cron-scheduler rings, in UTC, at every minute's second that the schedule itself names. It is a bell and not a
//! clock: it freezes a zone's offset when a job is made, forgets the ticks that it missed, lets jobs overlap, kills a
//! job for good whose closure panics, and its helper tasks outlive it. So there is one scheduler for the life of the
//! process, in UTC, whose one job does one thing that can neither fail nor wait; and beside it a plain timer, so
//! that a bell that died costs punctuality of at most a minute, and no day.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};

use super::planner::Timetable;

/// Without a ring for so long, the planner is asked all the same.
const PATIENCE: Duration = Duration::from_mins(1);

/// Wakes whoever waits for [`Bell::rung`]. One a process, for its life.
pub struct Bell {
    rope: Rope,
    timer: Interval,
    // Kept, since dropping it would not end its tasks anyway, and keeping it says who owns them.
    _scheduler: JobScheduler,
}

/// Rings the bell by hand: leadership was gained, a request came.
#[derive(Debug, Clone, Default)]
pub struct Rope(Arc<Notify>);

/// What rang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ring {
    /// The scheduler, or somebody at the rope.
    Bell,
    /// Nobody, for a minute.
    Timer,
}

// === impl Bell ===

impl Bell {
    /// Hangs the bell. It rings at each minute's seconds that the timetable names: whatever the zone's offset is, its
    /// occurrences are among them.
    pub async fn hang(timetable: &Timetable) -> Result<Self, JobSchedulerError> {
        Self::hang_at(&format!("{} * * * * *", chrono::Timelike::second(&timetable.time()))).await
    }

    async fn hang_at(pattern: &str) -> Result<Self, JobSchedulerError> {
        let rope = Rope::default();
        let scheduler = JobScheduler::new().await?;
        let rung = rope.clone();
        let job = Job::new_async(pattern, move |_, _| {
            // Here and not in the future: the future would be one more task, and this can neither panic nor wait.
            rung.ring();
            Box::pin(async {})
        })?;
        scheduler.add(job).await?;
        scheduler.start().await?;
        let mut timer = tokio::time::interval(PATIENCE);
        timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        timer.reset();
        Ok(Self { rope, timer, _scheduler: scheduler })
    }

    /// To ring it by hand.
    pub fn rope(&self) -> Rope {
        self.rope.clone()
    }

    /// Waits for a ring. Rings that nobody waited for are one ring. Cancel-safe.
    pub async fn rung(&mut self) -> Ring {
        let ring = tokio::select! {
            () = self.rope.0.notified() => Ring::Bell,
            _ = self.timer.tick() => Ring::Timer,
        };
        self.timer.reset();
        ring
    }
}

// === impl Rope ===

impl Rope {
    /// Rings. A ring that finds nobody waiting is kept for who comes next.
    pub fn ring(&self) {
        self.0.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_scheduler_rings_and_a_ring_that_nobody_waited_for_is_kept() {
        let mut bell = Bell::hang_at("* * * * * *").await.unwrap();
        let rung = tokio::time::timeout(Duration::from_secs(10), bell.rung()).await;
        assert_eq!(rung, Ok(Ring::Bell), "a job each second rings within seconds");

        bell.rope().ring();
        bell.rope().ring();
        let kept = tokio::time::timeout(Duration::from_millis(100), bell.rung()).await;
        assert_eq!(kept, Ok(Ring::Bell));
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_bell_costs_a_minute_and_no_more() {
        // A pattern that does not happen within the test, on a clock that is not the scheduler's: only the timer is left.
        let mut bell = Bell::hang_at("0 0 0 29 2 *").await.unwrap();
        let before = bell.timer.period();
        assert_eq!(bell.rung().await, Ring::Timer);
        assert_eq!(before, PATIENCE);
    }
}
