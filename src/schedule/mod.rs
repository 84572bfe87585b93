//! When: which business dates are due.
//!
//! [`planner`] decides, and is pure: a cron expression in its IANA zone, the business calendar, the ledger of runs and
//! now. [`bell`] only wakes it: at the schedule's second, and every minute. A bell that rings late, twice or not at all
//! changes nothing but the moment at which the planner is asked, and the planner answers the same whoever asks.

pub mod bell;
pub mod planner;

/// What came of one ring of the bell. The words are labels of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tick {
    /// This replica leads; it asked the planner, and something was due.
    Acted,
    /// This replica leads; nothing was due.
    NothingDue,
    /// This replica leads, and the planner rests until `resume`.
    Paused,
    /// This replica follows. Counted, and nothing done.
    SkippedNotLeader,
    /// The planner could not be asked, or its answer not recorded; the next ring asks again.
    Failed,
}

// === impl Tick ===

impl Tick {
    /// Every outcome, so that each label exists from the start.
    pub const ALL: [Self; 5] = [Self::Acted, Self::NothingDue, Self::Paused, Self::SkippedNotLeader, Self::Failed];

    /// The label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Acted => "acted",
            Self::NothingDue => "nothing_due",
            Self::Paused => "paused",
            Self::SkippedNotLeader => "skipped_not_leader",
            Self::Failed => "failed",
        }
    }
}
