//! Every metric, as data: what `/metrics` serves, what `docs/metrics.md` prints, what rules and dashboards may name.
//!
//! Names: one prefix, base units, the unit as suffix, `_total` for counters. Every series carries the label `lease`
//! besides (one process serves one lease), so that several books can be scraped as one job.

use super::labels::{
    AccountDayOutcome, AccountDayState, CronTick, Dependency, ErrorKind, FileOutcome, LabelDeclaration, LineOutcome,
    LogLevel, RunOutcome, ScheduledDate, StepOutcome, WorkPass, WriteOperation,
};
use crate::election::reason::{ElectionOutcome, Ineligible, Reason, RenewalOutcome};
use crate::matching::{BreakClass, Rule, Side};
use crate::proof::{ProofId, ProofStatus};
use crate::report::left::WhyLeft;
use crate::run::plan::Step;

/// One metric, declared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// Its full name.
    pub name: &'static str,
    /// What kind.
    pub kind: Kind,
    /// Who knows it, and so how to aggregate it over replicas.
    pub scope: Scope,
    /// Its labels, `lease` excepted.
    pub labels: &'static [LabelDeclaration],
    /// What it says, in one sentence; and what is normal, where that is not plain.
    pub help: &'static str,
}

/// What kind of metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Only rises; back to zero when the process starts.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Observations in buckets, given by their upper bounds.
    Histogram(&'static [f64]),
}

/// Who knows a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// This replica, of itself: add up over replicas.
    Replica,
    /// The whole fleet: every replica reads it from Postgres and tells the same. `max by (job, lease)`, never a sum.
    Cluster,
}

/// Round trips to a server on the same network.
const LATENCY: &[f64] = &[0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];
/// Steps: from one small file to a day of ten million lines.
const WORK: &[f64] = &[0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0];
/// How long a term lasts: seconds when it flaps, days when all is well.
const TENURE: &[f64] = &[1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0, 604_800.0];

/// Declares the metrics, and the catalogue of all of them: none can be declared and left out.
macro_rules! catalogue {
    ($($(#[$section:meta])* $id:ident = $kind:expr, $scope:ident, $name:literal, [$($label:expr),*], $help:literal;)+) => {
        $(
            #[doc = concat!("`", $name, "`: ", $help)]
            pub static $id: Metric =
                Metric { name: $name, kind: $kind, scope: Scope::$scope, labels: &[$($label),*], help: $help };
        )+

        /// Every metric.
        pub static CATALOGUE: &[&Metric] = &[$(&$id),+];
    };
}

catalogue! {
    // Leadership.
    LEADER_STATUS = Kind::Gauge, Replica, "counterfoil_leader_status", [],
        "1 while this replica leads and its trust has not ended, worked out at each scrape; else 0.";
    FENCING_TOKEN = Kind::Gauge, Cluster, "counterfoil_leader_fencing_token", [],
        "The token of the installed term, as Postgres has it. Absent until it was read once. Each hand-over raises it.";
    ELECTIONS = Kind::Counter, Replica, "counterfoil_leader_elections_total", [LabelDeclaration::of::<ElectionOutcome>()],
        "Attempts to win the lease, by outcome. Held is the normal one: another replica leads.";
    LEADER_CHANGES = Kind::Counter, Replica, "counterfoil_leader_changes_total", [],
        "Changes of the installed term that this replica has seen. Every replica counts them: take the maximum.";
    TRANSITIONS = Kind::Counter, Replica, "counterfoil_leader_transitions_total",
        [LabelDeclaration::of::<Reason>()],
        "Changes of this replica's own state, by the elector's reason.";
    INELIGIBLE = Kind::Gauge, Replica, "counterfoil_leader_ineligible", [LabelDeclaration::of::<Ineligible>()],
        "1 for the reason why this replica does not campaign; 0 for all others, and for all while it may.";
    TENURE_SECONDS = Kind::Histogram(TENURE), Replica, "counterfoil_leader_tenure_seconds", [],
        "How long a term lasted, observed when it ended. Short terms mean that leadership flaps.";
    TRUST_REMAINING = Kind::Gauge, Replica, "counterfoil_lease_trust_remaining_seconds", [],
        "How long this replica may still act as leader without another renewal, worked out at each scrape. 0 when it does not lead.";
    RENEWALS = Kind::Counter, Replica, "counterfoil_lease_renewals_total", [LabelDeclaration::of::<RenewalOutcome>()],
        "Renewals of the lease by outcome. Time-outs and errors pass; a lost one ends the term.";
    RENEW_SECONDS = Kind::Histogram(LATENCY), Replica, "counterfoil_lease_renew_duration_seconds", [],
        "Round trip of a renewal, failed ones included.";
    LEASE_TTL = Kind::Gauge, Replica, "counterfoil_lease_ttl_seconds", [],
        "Setting lease.ttl. Must be the same on every replica.";
    LEASE_HEARTBEAT = Kind::Gauge, Replica, "counterfoil_lease_heartbeat_seconds", [],
        "Setting lease.heartbeat: how often the leader renews.";
    LEASE_MARGIN = Kind::Gauge, Replica, "counterfoil_lease_margin_seconds", [],
        "Setting lease.margin: how long before the lease ends trust ends.";
    FENCING_REJECTIONS = Kind::Counter, Replica, "counterfoil_fencing_rejections_total", [LabelDeclaration::of::<WriteOperation>()],
        "Writes that Postgres refused because the term is no longer the installed one. The fence worked; ask why it had to.";
    EVICTIONS = Kind::Counter, Replica, "counterfoil_term_evictions_total", [],
        "Database sessions of an earlier term that were ended to install this replica's own.";

    // Schedule and runs.
    CRON_TICKS = Kind::Counter, Replica, "counterfoil_cron_ticks_total", [LabelDeclaration::of::<CronTick>()],
        "Ticks of the bell by what came of them. Followers skip theirs.";
    WORK_PASSES = Kind::Counter, Replica, "counterfoil_work_passes_total", [LabelDeclaration::of::<WorkPass>()],
        "Looks of a leader at everything there is to do, by how they ended. Whoever fails again and again hands the lead on.";
    WORK_LAST_PASS = Kind::Gauge, Replica, "counterfoil_work_last_pass_timestamp_seconds", [],
        "When such a look of this replica last succeeded; 0 if never. Followers make none.";
    SCHEDULED_DATES = Kind::Counter, Replica, "counterfoil_schedule_dates_total", [LabelDeclaration::of::<ScheduledDate>()],
        "Business dates that this replica entered in the ledger of runs. A skipped one is older than catch_up allows.";
    NEXT_DUE = Kind::Gauge, Cluster, "counterfoil_schedule_next_due_timestamp_seconds", [],
        "When the next business date becomes due. Absent until it was worked out.";
    RUN_DEADLINE = Kind::Gauge, Cluster, "counterfoil_run_pending_deadline_timestamp_seconds", [],
        "Deadline of the oldest business date that is not finished; 0 when none is pending.";
    RUN_LAST_SUCCESS = Kind::Gauge, Cluster, "counterfoil_run_last_success_timestamp_seconds", [],
        "When a run last became complete; 0 if never.";
    RUN_LAST_FAILURE = Kind::Gauge, Cluster, "counterfoil_run_last_failure_timestamp_seconds", [],
        "When a run last failed; 0 if never.";
    RUN_LAST_DATE = Kind::Gauge, Cluster, "counterfoil_run_last_success_business_date_timestamp_seconds", [],
        "Midnight UTC of the latest complete business date; 0 if none. A late run for yesterday must not look like today's.";
    RUN_IN_PROGRESS = Kind::Gauge, Cluster, "counterfoil_run_in_progress", [],
        "1 while a run has unfinished steps that can be worked on.";
    RUN_STARTED = Kind::Gauge, Cluster, "counterfoil_run_start_timestamp_seconds", [],
        "When the current run began; 0 when there is none.";
    RUN_LAST_PROGRESS = Kind::Gauge, Cluster, "counterfoil_run_last_progress_timestamp_seconds", [],
        "When the current run last committed a step; 0 when there is no run.";
    RUN_LAST_DURATION = Kind::Gauge, Cluster, "counterfoil_run_last_duration_seconds", [],
        "How long the latest complete run took, from when it was planned until it was complete; 0 if none.";
    RUN_STEPS_DONE = Kind::Gauge, Cluster, "counterfoil_run_steps_done", [],
        "Steps of account-days of the current run that are committed.";
    RUN_STEPS_PLANNED = Kind::Gauge, Cluster, "counterfoil_run_steps_planned", [],
        "Steps of account-days that the current run has in all.";
    RUN_ACCOUNTS = Kind::Gauge, Cluster, "counterfoil_run_accounts", [LabelDeclaration::of::<AccountDayState>()],
        "Account-days of the current run by state. Waiting ones lack a statement or books.";
    RUNS = Kind::Counter, Replica, "counterfoil_runs_total", [LabelDeclaration::of::<RunOutcome>()],
        "Runs that this replica brought to an end.";
    ACCOUNT_DAYS = Kind::Counter, Replica, "counterfoil_accounts_ended_total", [LabelDeclaration::of::<AccountDayOutcome>()],
        "Account-days that this replica brought to an end.";
    STEPS = Kind::Counter, Replica, "counterfoil_steps_total",
        [LabelDeclaration::of::<Step>(), LabelDeclaration::of::<StepOutcome>()],
        "Steps by how an attempt at them ended.";
    ATTEMPTS = Kind::Counter, Replica, "counterfoil_step_attempts_total", [LabelDeclaration::of::<Step>()],
        "Attempts at steps, each recorded before it begins.";
    RESUMES = Kind::Counter, Replica, "counterfoil_step_resumes_total", [LabelDeclaration::of::<Step>()],
        "Steps at which this replica went on with a run that an earlier term had begun.";
    STEP_SECONDS = Kind::Histogram(WORK), Replica, "counterfoil_step_duration_seconds", [LabelDeclaration::of::<Step>()],
        "How long a step took that was committed, from its first read to its commit.";

    // Money.
    FILES = Kind::Counter, Replica, "counterfoil_files_total",
        [LabelDeclaration::of::<Side>(), LabelDeclaration::of::<FileOutcome>()],
        "Files of the inbox by what became of them.";
    FILES_LEFT = Kind::Gauge, Cluster, "counterfoil_files_left", [LabelDeclaration::of::<WhyLeft>()],
        "Files that lie in the inbox and of which nothing is taken, by reason, as the leader's last look found them.";
    LINES = Kind::Counter, Replica, "counterfoil_lines_total",
        [LabelDeclaration::of::<Side>(), LabelDeclaration::of::<LineOutcome>()],
        "Lines read, by what became of them.";
    MATCHES = Kind::Counter, Replica, "counterfoil_matches_total", [LabelDeclaration::of::<Rule>()],
        "Matches made, by rule. Those of amount_window are suggestions.";
    BREAKS_DETECTED = Kind::Counter, Replica, "counterfoil_breaks_detected_total", [LabelDeclaration::of::<BreakClass>()],
        "Lines that a run left open, by class. One that stays open counts once a run.";
    BREAKS_OPEN = Kind::Gauge, Cluster, "counterfoil_breaks_open", [LabelDeclaration::of::<BreakClass>()],
        "Lines open at the end of the latest closed day of each account, by class.";
    BREAKS_OLDEST = Kind::Gauge, Cluster, "counterfoil_breaks_oldest_open_timestamp_seconds", [],
        "Midnight UTC of the business date whose run took the oldest open line; 0 when none is open.";
    PROOFS = Kind::Counter, Replica, "counterfoil_proofs_total",
        [LabelDeclaration::of::<ProofId>(), LabelDeclaration::of::<ProofStatus>()],
        "Proofs evaluated, by identity and status. A failed one is money that does not add up.";

    // Servers and process.
    DEPENDENCY_UP = Kind::Gauge, Replica, "counterfoil_dependency_up", [LabelDeclaration::of::<Dependency>()],
        "1 when this replica's latest call of the server succeeded, or its latest look into the inbox. A Postgres that takes no writes is 0.";
    DEPENDENCY_ERRORS = Kind::Counter, Replica, "counterfoil_dependency_errors_total",
        [LabelDeclaration::of::<Dependency>(), LabelDeclaration::of::<ErrorKind>()],
        "Calls of a server, or looks into the inbox, that failed, by kind.";
    CLOCK_SKEW = Kind::Gauge, Replica, "counterfoil_database_clock_skew_seconds", [],
        "This replica's wall clock minus that of Postgres. Absent until it was measured. No decision about leadership uses it.";
    FACTS_AGE = Kind::Gauge, Replica, "counterfoil_cluster_facts_age_seconds", [],
        "How long ago this replica last read the facts of the cluster from Postgres. Absent until it did; they are dropped after five minutes.";
    BUILD_INFO = Kind::Gauge, Replica, "counterfoil_build_info",
        [LabelDeclaration::own("version"), LabelDeclaration::own("revision")],
        "Always 1; says which build runs.";
    NODE_INFO = Kind::Gauge, Replica, "counterfoil_node_info", [LabelDeclaration::own("node")],
        "Always 1; says which node this replica is, by its setting node.id.";
    LOG_MESSAGES = Kind::Counter, Replica, "counterfoil_log_messages_total", [LabelDeclaration::of::<LogLevel>()],
        "Log messages by level.";
    PANICS = Kind::Counter, Replica, "counterfoil_panics_total", [],
        "Panics of this process. Each is a bug.";
    PROCESS_START = Kind::Gauge, Replica, "process_start_time_seconds", [],
        "When the process started, in seconds since the epoch.";
    PROCESS_CPU = Kind::Counter, Replica, "process_cpu_seconds_total", [],
        "Time on a processor, user and system.";
    PROCESS_MEMORY = Kind::Gauge, Replica, "process_resident_memory_bytes", [],
        "Memory in use.";
    PROCESS_FDS = Kind::Gauge, Replica, "process_open_fds", [],
        "Open file descriptors.";
}
