//! Labels, each with the closed list of its values.

use crate::matching::{BreakClass, Rule, Side};
use crate::proof::{ProofId, ProofStatus};

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

/// Why leadership was won or lost: the elector's closed list, the same in metrics, logs and history.
pub const TRANSITION_REASONS: &[&str] =
    &["installed", "lost", "expired", "fenced", "stalled", "suspended", "resigned", "shutdown", "not_installed"];

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
    /// How a candidacy ended.
    ElectionOutcome as "outcome" {
        /// Lease won and term installed.
        Won = "won",
        /// Another holds the lease: the normal end.
        Lost = "lost",
        /// Lease won, term not installed: refused, or not done before trust ended.
        NotInstalled = "not_installed",
        /// No answer from Redis.
        Error = "error",
    }

    /// What a renewal came to.
    RenewalOutcome as "outcome" {
        /// Extended.
        Ok = "ok",
        /// No answer, or an error: passing, tried again.
        Failed = "failed",
        /// The script's own answer: the lease is no longer ours.
        Lost = "lost",
    }

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

    /// A step of a run.
    Step as "step" {
        /// A file: parse, prove, store.
        Ingest = "ingest",
        /// A source of book entries.
        Book = "book",
        /// What an account-day is computed from.
        Manifest = "manifest",
        /// Matching.
        Match = "match",
        /// Proofs, breaks, ageing.
        Close = "close",
        /// The report's bytes.
        Report = "report",
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

    /// A server that the worker needs.
    Dependency as "dependency" {
        /// Redis, for the lease.
        Redis = "redis",
        /// Postgres, for everything else.
        Postgres = "postgres",
    }

    /// How a call of a dependency failed.
    ErrorKind as "kind" {
        /// No answer in time.
        Timeout = "timeout",
        /// No connection, or a broken one.
        Connection = "connection",
        /// The server answered with an error.
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

label!(ProofId, "proof", { P1 = "p1", P2 = "p2", P3 = "p3", P4 = "p4", P5 = "p5", P6 = "p6", P7 = "p7" });

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

    #[test]
    fn rules_and_sides_carry_the_same_name_in_metrics_as_in_reports() {
        for rule in [Rule::Reversal, Rule::StrongReference, Rule::RareToken, Rule::AmountWindow] {
            assert_eq!(rule.value(), rule.name());
        }
        assert_eq!(Side::Bank.value(), Side::Bank.name());
        assert_eq!(Side::Book.value(), Side::Book.name());
    }

    #[test]
    fn break_classes_carry_the_same_name_in_metrics_as_in_json_but_in_lower_case() {
        for class in [BreakClass::MissingInBank, BreakClass::DupBook, BreakClass::BookChanged] {
            let json = serde_json::to_value(class).unwrap();
            assert_eq!(json.as_str().unwrap().to_lowercase(), class.value());
        }
    }
}
