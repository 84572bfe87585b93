//! Labels, each with the closed list of its values.

use crate::election::reason::{ElectionOutcome, Ineligible, Reason, RenewalOutcome};
use crate::matching::{BreakClass, Rule, Side};
use crate::proof::{ProofId, ProofStatus};
use crate::report::left::WhyLeft;
use crate::run::plan::Step;

/// A label whose values are a closed list.
pub trait Label: Copy + 'static {
    /// The label's name.
    const NAME: &'static str;
    /// Every variant.
    const ALL: &'static [Self];
    /// Every value, in the same order.
    const VALUES: &'static [&'static str];
    /// This one's value.
    fn value(self) -> &'static str;
}

/// A label as it is declared in the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelDeclaration {
    /// Its name.
    pub name: &'static str,
    /// Every value that it can have; empty where the process has one of its own (a version, a node id).
    pub values: &'static [&'static str],
}

/// The label of an own type, whose match is exhaustive: a new variant without a value does not compile.
macro_rules! label {
    ($type:ty, $name:literal, { $($variant:ident = $value:literal),+ $(,)? }) => {
        impl Label for $type {
            const NAME: &'static str = $name;
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            const VALUES: &'static [&'static str] = &[$($value),+];
            fn value(self) -> &'static str {
                match self {
                    $(Self::$variant => $value),+
                }
            }
        }
    };
}

/// A type that is nothing but a label.
macro_rules! labels {
    ($($(#[$meta:meta])* $type:ident as $name:literal { $($(#[$doc:meta])* $variant:ident = $value:literal),+ $(,)? })+) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $type {
                $($(#[$doc])* $variant),+
            }
            label!($type, $name, { $($variant = $value),+ });
        )+
    };
}

labels! {
    /// What a replica asked to write when Postgres refused its term.
    WriteOperation as "operation" {
        /// Entering a term, before any write.
        Enter = "enter",
        /// The ledger of runs: dates planned and skipped, requests served.
        Schedule = "schedule",
        /// An attempt at a step.
        Attempt = "attempt",
        /// Step ingest.
        Ingest = "ingest",
        /// Step book.
        Book = "book",
        /// Step manifest.
        Manifest = "manifest",
        /// Step match.
        Match = "match",
        /// Step close.
        Close = "close",
        /// Step report.
        Report = "report",
        /// Anything else.
        Other = "other",
    }

    /// What a tick of the bell came to.
    CronTick as "outcome" {
        /// This replica leads, and the planner was woken.
        Woke = "woke",
        /// This replica follows: nothing was done.
        SkippedNotLeader = "skipped_not_leader",
        /// The planner is paused by an operator.
        SkippedPaused = "skipped_paused",
        /// The planner was asked, and failed.
        Failed = "failed",
    }

    /// How a look at everything there is to do ended.
    WorkPass as "outcome" {
        /// All that could be done was done, and published.
        Succeeded = "succeeded",
        /// It was cut short, or could not publish.
        Failed = "failed",
    }

    /// What became of a business date that was due.
    ScheduledDate as "outcome" {
        /// A run was written for it.
        Planned = "planned",
        /// Recorded as skipped, with the reason.
        Skipped = "skipped",
    }

    /// How a run ended.
    RunOutcome as "outcome" {
        /// Every account-day closed.
        Complete = "complete",
        /// Past its deadline with an account still waiting.
        Incomplete = "incomplete",
        /// An account-day failed.
        Failed = "failed",
    }

    /// How an account-day ended.
    AccountDayOutcome as "outcome" {
        /// Closed: final.
        Closed = "closed",
        /// Failed after its last attempt.
        Failed = "failed",
        /// Skipped by an operator, with the reason.
        Skipped = "skipped",
    }

    /// Where an account-day of the current run stands.
    AccountDayState as "state" {
        /// Its statement or its books have not come.
        Waiting = "waiting",
        /// At work, or about to be.
        Open = "open",
        /// Closed.
        Closed = "closed",
        /// Failed.
        Failed = "failed",
        /// Skipped.
        Skipped = "skipped",
    }

    /// How one attempt at a step ended.
    StepOutcome as "outcome" {
        /// Committed with its checkpoint.
        Completed = "completed",
        /// The checkpoint was there: another attempt had committed it.
        AlreadyDone = "already_done",
        /// Failed, and will be tried again.
        Retried = "retried",
        /// Failed for the last time.
        Failed = "failed",
        /// Given up because this replica no longer leads.
        Aborted = "aborted",
    }

    /// What became of a file of the inbox.
    FileOutcome as "outcome" {
        /// Taken in.
        Accepted = "accepted",
        /// Taken in, waiting for an earlier statement.
        Held = "held",
        /// Its own figures do not close.
        Quarantined = "quarantined",
        /// Not readable as anything that we know.
        Refused = "refused",
    }

    /// What became of a line that was read.
    LineOutcome as "outcome" {
        /// Stored: not seen before.
        New = "new",
        /// Known already, with the same content.
        Known = "known",
        /// Known with other content: a new revision.
        Revised = "revised",
        /// Not taken, with a diagnostic.
        Refused = "refused",
    }

    /// What the worker needs besides itself: two servers, and the folder that files come from.
    Dependency as "dependency" {
        /// Redis, for the lease.
        Redis = "redis",
        /// Postgres, for everything else.
        Postgres = "postgres",
        /// The inbox, where files come from.
        Inbox = "inbox",
    }

    /// How a call of a dependency failed.
    ErrorKind as "kind" {
        /// No answer in time.
        Timeout = "timeout",
        /// No connection, or a broken one.
        Connection = "connection",
        /// It answered with an error.
        Server = "server",
    }

    /// The level of a log message.
    LogLevel as "level" {
        /// Something failed that a person should know of.
        Error = "error",
        /// Odd, or passing.
        Warn = "warn",
        /// The story of the day.
        Info = "info",
    }
}

label!(ElectionOutcome, "outcome", { Won = "won", Held = "held", Error = "error" });

label!(RenewalOutcome, "outcome", { Ok = "ok", Lost = "lost", Timeout = "timeout", Error = "error" });

label!(Reason, "reason", {
    Won = "won",
    Installed = "installed",
    Lost = "lost",
    Expired = "expired",
    Fenced = "fenced",
    Stalled = "stalled",
    Suspended = "suspended",
    Failing = "failing",
    SharedOut = "shared_out",
    Ineligible = "ineligible",
    Resigned = "resigned",
    Shutdown = "shutdown",
    InstallRefused = "install_refused",
    InstallFailed = "install_failed",
});

label!(Ineligible, "reason", {
    PostgresUnreachable = "postgres_unreachable",
    PostgresInRecovery = "postgres_in_recovery",
    PostgresReadOnly = "postgres_read_only",
    SchemaUnknown = "schema_unknown",
    PrivilegesUnsound = "privileges_unsound",
    InboxUnreadable = "inbox_unreadable",
    Obstructed = "obstructed",
    OtherRedis = "other_redis",
    Resigned = "resigned",
    NeverLeads = "never_leads",
    OldWorkAlive = "old_work_alive",
});

label!(Step, "step", {
    Ingest = "ingest",
    Book = "book",
    Manifest = "manifest",
    Match = "match",
    Close = "close",
    Report = "report",
});

label!(WhyLeft, "why", { Unreadable = "unreadable", TooLarge = "too_large", TakenBefore = "taken_before" });

label!(Side, "side", { Bank = "bank", Book = "book" });

label!(Rule, "rule", {
    Reversal = "reversal",
    StrongReference = "strong_reference",
    RareToken = "rare_token",
    AmountWindow = "amount_window",
});

label!(BreakClass, "class", {
    MissingInBank = "missing_in_bank",
    MissingInBook = "missing_in_book",
    Amount = "amount",
    DateWindow = "date_window",
    Direction = "direction",
    RefConflict = "ref_conflict",
    Ambiguous = "ambiguous",
    DupBank = "dup_bank",
    DupBook = "dup_book",
    ReversalUnpaired = "reversal_unpaired",
    FeeUnbooked = "fee_unbooked",
    Unconfirmed = "unconfirmed",
    BookChanged = "book_changed",
});

label!(ProofId, "proof", { P1 = "P1", P2 = "P2", P3 = "P3", P4 = "P4", P5 = "P5", P6 = "P6", P7 = "P7" });

label!(ProofStatus, "status", {
    Proved = "proved",
    Derived = "derived",
    Unprovable = "unprovable",
    Failed = "failed",
});

// === impl LabelDeclaration ===

impl LabelDeclaration {
    /// The declaration of a typed label.
    pub const fn of<L: Label>() -> Self {
        Self { name: L::NAME, values: L::VALUES }
    }

    /// A label with one value in each process, known when it starts.
    pub const fn own(name: &'static str) -> Self {
        Self { name, values: &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of a label beside the names that its own room gives.
    fn same<L: Label>(name: impl Fn(&L) -> &'static str) {
        for (one, value) in L::ALL.iter().zip(L::VALUES) {
            assert_eq!(name(one), *value);
        }
    }

    #[test]
    fn a_word_in_metrics_is_the_same_in_logs_history_and_reports() {
        same::<ElectionOutcome>(|one| one.name());
        same::<RenewalOutcome>(|one| one.name());
        same::<Reason>(|one| one.name());
        same::<Ineligible>(|one| one.name());
        same::<Step>(|one| one.name());
        same::<Side>(|one| one.name());
        same::<Rule>(|one| one.name());
        same::<WhyLeft>(|one| one.name());
        same::<ProofId>(|one| one.name());
        same::<ProofStatus>(|one| one.name());
    }

    #[test]
    fn break_classes_carry_the_same_name_in_metrics_as_in_json_but_in_lower_case() {
        for class in BreakClass::ALL {
            let json = serde_json::to_value(class).unwrap();
            assert_eq!(json.as_str().unwrap().to_lowercase(), class.value());
        }
    }
}
