//! What a replica says about itself: metrics and log events.
//!
//! Every metric is declared once, in [`catalogue`], with its labels and the closed list of their values
//! ([`labels`]); every event once, in [`event`]. Callers say what happened, in types (`telemetry::renewal(…)`), and
//! never write a metric's name or a free label, so a dashboard or a rule cannot outlive the thing that it watches.
//!
//! Two kinds of metrics. *Recorded*: counters and histograms of what this replica did, at zero from its start.
//! *Scraped*: facts, worked out anew at each scrape from the replica's status and from [`ClusterFacts`], so that a task
//! that is stuck cannot leave a stale "I lead" behind.

pub mod catalogue;
pub mod event;
mod exposition;
pub mod facts;
pub mod labels;
pub mod logging;
pub mod metrics;
mod process;

pub use facts::{ClusterFacts, Local, RunFacts};
pub use labels::{
    AccountDayOutcome, AccountDayState, CronTick, Dependency, ErrorKind, FileOutcome, Label, LineOutcome, LogLevel,
    RunOutcome, ScheduledDate, StepOutcome, WorkPass, WriteOperation,
};
pub use metrics::{
    BuildInfo, InstallError, Telemetry, account_day, attempt, breaks, cron_tick, dependency_error, election, evicted,
    fencing_rejection, file, install, leader_changed, lease_timings, lines, log_message, matches, panicked, proof,
    renewal, resumed, run, scheduled_date, step, tenure, transition,
};
