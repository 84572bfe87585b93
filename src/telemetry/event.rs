//! Every log event, as data: its name, its level, its fields, and what it means.
//!
//! A call reads `tracing::info!(event = event::TERM_CHANGED, token, owner, "a newer term is installed")`: the name for
//! machines, the sentence for people. Fields are the closed list below. None of them holds an account's number, a
//! person's or a company's name, a line's text or amount, or a secret. Accounts are named by the id that the settings
//! give them, files by their hash: banks write account numbers into file names.

/// One kind of log event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its name, the value of the field `event`.
    pub name: &'static str,
    /// Its level.
    pub level: &'static str,
    /// Its own fields.
    pub fields: &'static [&'static str],
    /// What it means.
    pub says: &'static str,
}

/// Declares the events, and the list of all of them.
macro_rules! events {
    ($($id:ident = $level:literal $name:literal [$($field:literal),*] $says:literal;)+) => {
        $(
            #[doc = concat!("`", $name, "`, ", $level, ": ", $says)]
            pub const $id: &str = $name;
        )+

        /// Every event.
        pub static EVENTS: &[Event] =
            &[$(Event { name: $name, level: $level, fields: &[$($field),*], says: $says }),+];
    };
}

events! {
    // The process.
    WORKER_STARTED = "info" "worker.started" ["version", "node", "lease", "listen"]
        "A replica began: its settings are sound.";
    WORKER_TIMINGS = "info" "worker.timings" ["outage_tolerated", "worst_takeover", "graceful_takeover"]
        "What follows from the lease's timings.";
    WORKER_STOPPING = "info" "worker.stopping" ["signal"]
        "A replica was told to end: it stops its work, then releases the lease.";
    WORKER_STOPPED = "info" "worker.stopped" []
        "A replica ended in order.";
    TASK_ENDED = "error" "worker.task_ended" ["task", "error"]
        "A part of the worker ended that must not: the process ends too, and is started again by whoever runs it.";
    PANIC = "error" "worker.panic" ["thread", "place", "message"]
        "A bug. The step that panicked failed; the message is the program's own.";

    // Leadership.
    TRANSITION = "info" "leader.transition" ["from", "to", "reason", "token", "owner"]
        "This replica's role changed.";
    TERM_CHANGED = "info" "leader.term_changed" ["token", "owner"]
        "Postgres has a newer term than this replica last saw.";
    INELIGIBLE = "warn" "leader.ineligible" ["reason"]
        "This replica does not campaign, and why. Said once a reason.";
    ELIGIBLE = "info" "leader.eligible" []
        "This replica campaigns again.";
    RENEWAL_FAILED = "warn" "lease.renewal_failed" ["outcome", "error", "trust_remaining"]
        "A renewal had no good answer. It is tried again until trust ends.";
    EVICTED = "warn" "leader.evicted" ["sessions"]
        "Sessions of an earlier term held the lock, and were ended.";
    NOT_RELEASED = "error" "leader.not_released" ["reason", "drain"]
        "Work did not stop within the drain: the lease is left to expire, and the process ends.";
    WRITE_REFUSED = "warn" "fence.write_refused" ["operation", "token", "installed"]
        "Postgres refused a write of a term that is no longer the installed one. Nothing was written.";
    COMMIT_UNKNOWN = "warn" "fence.commit_unknown" ["transaction", "error"]
        "A commit was not answered: the checkpoint is asked what became of it.";

    // Servers.
    DEPENDENCY_DOWN = "warn" "dependency.down" ["dependency", "error"]
        "A server stopped answering. Said once, not at each attempt.";
    DEPENDENCY_UP = "info" "dependency.up" ["dependency"]
        "It answers again.";

    // Schedule and requests.
    DATE_PLANNED = "info" "schedule.planned" ["business_date", "deadline"]
        "A business date was entered in the ledger of runs.";
    DATE_SKIPPED = "warn" "schedule.skipped" ["business_date", "reason"]
        "A business date was recorded as skipped: nobody will reconcile it unless asked.";
    PLANNER_FAILED = "error" "schedule.failed" ["error"]
        "The planner could not read or write the ledger of runs. It is asked again within a minute.";
    REQUEST_SERVED = "info" "request.served" ["request", "kind", "actor", "outcome"]
        "An operator's request was served, or refused with the reason.";

    // The run.
    RUN_STARTED = "info" "run.started" ["business_date", "resumed"]
        "Work on a business date began, or went on.";
    RUN_ENDED = "info" "run.ended" ["business_date", "outcome", "digest"]
        "A run came to its end.";
    ACCOUNT_WAITING = "warn" "account.waiting" ["business_date", "account", "missing"]
        "An account-day has no statement or no books. Said once, and again at the deadline.";
    ACCOUNT_ENDED = "info" "account.ended" ["business_date", "account", "outcome", "digest"]
        "An account-day was closed, failed or was skipped.";
    STEP_COMMITTED = "info" "step.committed" ["business_date", "step", "key", "took", "token"]
        "A step was committed together with its checkpoint.";
    STEP_FAILED = "warn" "step.failed" ["business_date", "step", "key", "attempt", "error", "again"]
        "An attempt at a step failed; it says whether it is tried again.";
    STEP_ABORTED = "info" "step.aborted" ["business_date", "step", "key", "reason"]
        "A step was given up because this replica no longer leads. Nothing of it is stored.";
    PROOF_FAILED = "error" "proof.failed" ["business_date", "account", "proof", "scope"]
        "An identity does not hold: money does not add up.";
    FILE_TAKEN = "info" "file.taken" ["sha256", "side", "outcome", "lines"]
        "A file of the inbox was accepted, or is held until an earlier one comes.";
    FILE_REFUSED = "warn" "file.refused" ["sha256", "side", "outcome", "codes"]
        "A file was quarantined or refused. What is wrong is in Postgres and in the report.";
    PUBLISHED = "info" "report.published" ["business_date", "account", "path"]
        "A report was put into the outbox.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_event_s_alone() {
        let names: std::collections::BTreeSet<_> = EVENTS.iter().map(|event| event.name).collect();
        assert_eq!(names.len(), EVENTS.len());
    }

    #[test]
    fn no_field_is_made_for_what_must_not_be_logged() {
        let private = ["number", "iban", "name", "counterparty", "description", "amount", "url", "password", "file"];
        for event in EVENTS {
            for field in event.fields {
                assert!(!private.contains(field), "{} has a field {field}", event.name);
            }
        }
    }
}
