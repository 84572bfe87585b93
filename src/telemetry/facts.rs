//! What is worked out at each scrape: the replica's own standing, and the facts of the cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use super::labels::{AccountDayState, Dependency};
use crate::election::FencingToken;
use crate::election::reason::Ineligible;
use crate::instant::Boot;
use crate::matching::BreakClass;
use crate::report::left::WhyLeft;

/// How long cluster facts are told after they were last read. Older ones are dropped: a replica that is cut off from
/// Postgres must not hold up yesterday's number of breaks against those that know better.
pub const FACTS_LIFE: Duration = Duration::from_mins(5);

/// This replica, at the moment of the scrape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Local {
    /// When this was worked out. [`ClusterFacts`] are aged against it.
    pub at: Boot,
    /// How long it may still act as leader. Zero when it does not lead, or when its trust has ended.
    pub trust_remaining: Duration,
    /// Why it does not campaign, if so.
    pub ineligible: Option<Ineligible>,
    /// Did the latest call of Redis succeed?
    pub redis: bool,
    /// Did the latest call of Postgres succeed, and does it take writes?
    pub postgres: bool,
    /// Could the inbox be read at the latest look?
    pub inbox: bool,
}

/// What every replica reads from Postgres and tells alike. Times are seconds since the epoch; `None` means never, or
/// none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterFacts {
    /// The installed term.
    pub token: Option<FencingToken>,
    /// When the next business date becomes due.
    pub next_due: Option<i64>,
    /// Deadline of the oldest business date that is not finished.
    pub pending_deadline: Option<i64>,
    /// When a run last became complete.
    pub last_success: Option<i64>,
    /// When a run last failed.
    pub last_failure: Option<i64>,
    /// Midnight UTC of the latest complete business date.
    pub last_complete_date: Option<i64>,
    /// How long the latest complete run took.
    pub last_duration: Option<Duration>,
    /// The current run: the oldest that is not finished.
    pub run: Option<RunFacts>,
    /// Files that lie in the inbox and of which nothing is taken. A reason that is not here has none.
    pub files_left: BTreeMap<WhyLeft, u64>,
    /// Lines open at the end of the latest closed day of each account. A class that is not here has none.
    pub breaks_open: BTreeMap<BreakClass, u64>,
    /// Midnight UTC of the business date whose run took the oldest open line.
    pub oldest_break: Option<i64>,
    /// Every account of this replica's settings is another book's: the sentence that says so.
    pub no_account: Option<String>,
    /// This replica's wall clock minus the database's, in milliseconds, measured with this reading.
    pub clock_skew_ms: Option<i64>,
}

/// The run that is not finished.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunFacts {
    /// Has it steps that can be worked on now? A run that only waits for files has none.
    pub in_progress: bool,
    /// When it began.
    pub started: i64,
    /// When it last committed a step; its start if it has committed none.
    pub last_progress: i64,
    /// Steps committed.
    pub steps_done: u64,
    /// Steps known.
    pub steps_planned: u64,
    /// Account-days by state. A state that is not here has none.
    pub accounts: BTreeMap<AccountDayState, u64>,
}

impl Local {
    /// Does it lead, at this moment?
    pub fn leads(&self) -> bool {
        !self.trust_remaining.is_zero()
    }

    /// Is it up, as far as this replica knows?
    pub fn up(&self, dependency: Dependency) -> bool {
        match dependency {
            Dependency::Redis => self.redis,
            Dependency::Postgres => self.postgres,
            Dependency::Inbox => self.inbox,
        }
    }
}
