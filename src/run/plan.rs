//! A run's steps, their keys and their order, as data. Pure.
//!
//! Every step is one fenced transaction that commits its writes and its own checkpoint together, so the set of
//! checkpoints *is* how far the work has come; a new leader asks [`Step::next`] of it and needs no other memory.
//!
//! ```text
//!   ingest(file) ─┐
//!                 ├─▶ manifest(account) ─▶ match(account) ─▶ close(account) ─▶ report(account)
//!   book(source) ─┘
//! ```
//!
//! The first two belong to no date: lines do, files don't. What an account-day needs of them is that its statement and
//! its books have come, which is a question to the account and not to a checkpoint; so `manifest` has no
//! predecessor here, and names the files that it saw.

use std::fmt;

/// One kind of step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Parse a statement file, prove it, store it. Key: the file's SHA-256.
    Ingest,
    /// Read the company's entries. Key: the source; of a file, its SHA-256.
    Book,
    /// Fix what an account-day is computed from. Key: the account.
    Manifest,
    /// Match the account-day's lines. Key: the account.
    Match,
    /// Prove, class and age what is open, carry it forward. Key: the account.
    Close,
    /// Store the report's bytes. Key: the account.
    Report,
}

/// What a step's key names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyOf {
    /// A file, by the hexadecimal of its SHA-256: known once, whatever the date.
    File,
    /// An account of one business date and revision.
    AccountDay,
}

// === impl Step ===

impl Step {
    /// Every step, in order.
    pub const ALL: [Self; 6] = [Self::Ingest, Self::Book, Self::Manifest, Self::Match, Self::Close, Self::Report];

    /// The steps of an account-day, in order.
    pub const OF_ACCOUNT_DAY: [Self; 4] = [Self::Manifest, Self::Match, Self::Close, Self::Report];

    /// The word in rows, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Book => "book",
            Self::Manifest => "manifest",
            Self::Match => "match",
            Self::Close => "close",
            Self::Report => "report",
        }
    }

    /// The step of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    /// What its key names.
    pub fn key_of(self) -> KeyOf {
        match self {
            Self::Ingest | Self::Book => KeyOf::File,
            Self::Manifest | Self::Match | Self::Close | Self::Report => KeyOf::AccountDay,
        }
    }

    /// What must have been committed, under the same key, before it. Asserted again in SQL by the transaction.
    pub fn predecessor(self) -> Option<Self> {
        match self {
            Self::Ingest | Self::Book | Self::Manifest => None,
            Self::Match => Some(Self::Manifest),
            Self::Close => Some(Self::Match),
            Self::Report => Some(Self::Close),
        }
    }

    /// The first step of an account-day that is not among the committed ones; `None` when all are.
    pub fn next(committed: &[Self]) -> Option<Self> {
        Self::OF_ACCOUNT_DAY.into_iter().find(|step| !committed.contains(step))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_leader_goes_on_at_the_first_step_without_a_checkpoint() {
        let mut committed = Vec::new();
        let mut order = Vec::new();
        while let Some(step) = Step::next(&committed) {
            assert!(step.predecessor().is_none_or(|before| committed.contains(&before)), "{step} before its turn");
            order.push(step);
            committed.push(step);
        }
        assert_eq!(order, Step::OF_ACCOUNT_DAY);
    }

    #[test]
    fn a_name_is_its_steps_alone() {
        for step in Step::ALL {
            assert_eq!(Step::named(step.name()), Some(step));
        }
        assert_eq!(Step::named("reconcile"), None);
    }
}
