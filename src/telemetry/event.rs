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
        "A part of the worker ended that must not, or not in time: the process ends too.";
    PANIC = "error" "worker.panic" ["thread", "place", "message"]
        "A bug. The step that panicked failed; the message is the program's own.";

    // Leadership.
    TRANSITION = "info" "leader.transition" ["from", "to", "reason", "token", "owner", "lasted_seconds"]
        "This replica's role changed.";
    STEPPING_DOWN = "info" "leader.stepping_down" ["token", "reason"]
        "This replica's term ends, and its work is told to stop.";
    TERM_CHANGED = "info" "leader.term_changed" ["token", "owner"]
        "Postgres has a newer term than this replica last saw.";
    INELIGIBLE = "warn" "leader.ineligible" ["reason"]
        "This replica does not campaign, and why. Said once a reason.";
    ELIGIBLE = "info" "leader.eligible" []
        "This replica campaigns again.";
    INSTALL_REFUSED = "warn" "leader.install_refused" ["installed"]
        "Postgres has a term that is as high or higher: this candidacy ends.";
    INSTALL_IMPOSSIBLE = "error" "leader.install_impossible" []
        "Postgres cannot take this term, and will not until somebody does what the message says.";
    INSTALL_FAILED = "warn" "leader.install_failed" ["error"]
        "The install had no good answer. It is tried again while trust lasts.";
    EVICTED = "warn" "leader.evicted" ["token", "evicted", "out_of_reach"]
        "Sessions of an earlier term held the lock past the bound, and were ended.";
    EVICTION_FAILED = "warn" "leader.eviction_failed" ["error"]
        "Sessions that hold the lease's lock could not be ended; the message names them, and says what to do.";
    HISTORY_FAILED = "warn" "leader.history_failed" ["kind", "error"]
        "An entry of the history of leadership could not be written. Nothing else depends on it.";
    LEASE_LOST = "warn" "lease.lost" ["holder"]
        "Redis says that the lease is another's, or nobody's.";
    LEASE_LONG = "warn" "lease.long" ["holder"]
        "Another holds the lease for far longer than this replica's ttl, and is waited for. Said once a holder.";
    LEASE_MENDED = "warn" "lease.mended" ["holder"]
        "The lease in Redis had no end, and was given one: somebody wrote it by hand.";
    COUNTER_RAISED = "warn" "lease.counter_raised" ["floor"]
        "Redis had lost its counter of tokens; it goes on from the term that Postgres holds.";
    WRITE_REFUSED = "error" "fence.write_refused" ["operation", "token", "installed", "error"]
        "Postgres refused a write of a term that is not the installed one. Nothing was written.";
    COMMIT_UNKNOWN = "warn" "fence.commit_unknown" ["transaction", "error"]
        "A commit was not answered: Postgres is asked what became of it.";

    // Servers.
    DEPENDENCY_DOWN = "warn" "dependency.down" ["dependency"]
        "A server does not answer as it should; the message has its words. Said once, not at each attempt.";
    DEPENDENCY_UP = "info" "dependency.up" ["dependency"]
        "It answers again.";

    // Schedule and requests.
    DATE_PLANNED = "info" "schedule.planned" ["business_date", "due", "deadline"]
        "A business date was entered in the ledger of runs.";
    DATE_SKIPPED = "warn" "schedule.skipped" ["business_date", "reason"]
        "A business date was recorded as skipped: nobody will reconcile it unless asked.";
    REQUEST_ANSWERED = "info" "request.answered" ["request", "business_date", "actor", "accepted", "answer"]
        "An operator's request was served, or refused with the reason.";

    // The run.
    WORK_BEGAN = "info" "work.began" ["token"]
        "The work of a term began.";
    WORK_ENDED = "info" "work.ended" ["token", "reason"]
        "The work of a term has stopped; every session of it is closed.";
    PASS_ENDED_EARLY = "warn" "work.pass_ended_early" ["error"]
        "A look at what there is to do was cut short by something passing. Said once, and not again by the next ones, which begin within a minute.";
    PASSES_AGAIN = "info" "work.passes_again" ["passes"]
        "After so many looks in a row that failed, one succeeded.";
    RUN_STATUS = "info" "run.status" ["business_date", "status", "digest"]
        "A run came to stand otherwise: complete, failed, or due again.";
    RUN_INCOMPLETE = "warn" "run.incomplete" ["business_date", "deadline", "accounts"]
        "The deadline passed, and these accounts still wait.";
    ACCOUNT_WAITING = "info" "account.waiting" ["business_date", "account", "reason"]
        "An account-day lacks its statement or its books. Said once a reason.";
    ACCOUNTS_CLAIMED = "info" "account.claimed" ["claimed"]
        "Accounts of these settings that were no book's belong to this one now.";
    ACCOUNT_ELSEWHERE = "warn" "account.elsewhere" ["account", "reason"]
        "An account of these settings belongs to another book, and is not worked on. Said once a reason.";
    ACCOUNT_GIVEN_UP = "info" "account.given_up" ["account", "to"]
        "An account was given up for another book, whose leader takes it.";
    ACCOUNT_TAKEN = "info" "account.taken" ["account"]
        "An account that another book gave up belongs to this one now.";
    PROOF_FAILED = "error" "proof.failed" ["business_date", "account", "proof", "scope", "difference"]
        "An account-day was closed with a proof that failed: nothing of it should be relied on before the cause is found.";
    ACCOUNT_FAILED = "error" "account.failed" ["business_date", "account", "error"]
        "An account-day failed after its last attempt. Other accounts go on.";
    RESUMED = "info" "account.resumed" ["business_date", "account", "step"]
        "An account-day goes on where an earlier term ended.";
    BEGUN_AGAIN = "warn" "account.begun_again" ["business_date", "account", "pass", "engine"]
        "An account-day that another version, or one with other settings, had begun is begun again from its manifest.";
    STEP_COMMITTED = "info" "step.committed" ["step", "account", "key", "took_ms"]
        "A step was committed together with its checkpoint.";
    STEP_ALREADY_DONE = "info" "step.already_done" ["step", "account", "key", "token"]
        "A step had been committed before, by this token.";
    STEP_FAILED = "warn" "step.failed" ["step", "account", "key", "attempt", "error"]
        "An attempt at a step failed. It is tried again up to run.step_attempts.";
    FILE_TAKEN = "info" "file.taken" ["side", "sha256", "status", "new", "known", "revised"]
        "A file of the inbox was accepted, and what is new in it was stored.";
    FILE_NOT_TAKEN = "warn" "file.not_taken" ["side", "sha256", "status", "waiting", "codes"]
        "A file of the inbox was refused, quarantined or held, for the reasons of these codes. `counterfoil runs` names it.";
    FILE_LEFT = "warn" "file.left" ["why", "error", "sha256"]
        "A file lies in the inbox and nothing of it is taken: it cannot be read, is too large, or has books that were taken before. Said once as long as it does not change. `counterfoil status` names it.";
    FILES_PASSED_OVER = "warn" "file.passed_over" ["links", "special", "folders"]
        "So many links, so many pipes, sockets and devices, and so many folders that cannot be listed or lie too deep are in the inbox and are not read. Said once a change.";
    BOOKS_UNREAD = "warn" "books.unread" ["error"]
        "The company's database could not be asked for the books, or its answer could not be taken: it is asked again.";
    FILE_GIVEN_UP = "error" "file.given_up" ["sha256", "error"]
        "A file could not be taken in after the last attempt. The other files go on.";
    REPORT_GIVEN_UP = "error" "report.given_up" ["business_date", "account", "error"]
        "A report could not be made after the last attempt. The account-day is closed all the same.";
    PUBLISHED = "info" "report.published" ["path"]
        "A file was put into the outbox.";
    NOT_PUBLISHED = "warn" "report.not_published" ["business_date", "error"]
        "The outbox could not be written. The report stays in Postgres, and is tried again.";
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
