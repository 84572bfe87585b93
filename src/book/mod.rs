//! The company's side: its own postings to the cash account, and its own balance.
//!
//! Amounts are signed as everywhere: a debit to the cash account is `+`, a credit `−`. An entry is known by (source,
//! account, id); the same id with other content is a new revision of it.

mod amount;
mod balances;
mod cells;
pub mod date;
mod entries;
mod header;
mod json;
pub mod profile;
mod read;
mod suggest;
mod table;
#[cfg(test)]
mod tests;

use chrono::NaiveDate;

use self::profile::Profile;
use crate::diagnostic::{Diagnostic, Severity};
use crate::money::Money;
use crate::reference::Reference;

pub use read::{faults_of_columns, looks_like_one, parse, parse_items};

/// What a book reader is given.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The file's bytes.
    pub bytes: &'a [u8],
    /// The declared dialect of CSV; without one, the plain format of a book file. JSON lines, and files with the plain
    /// format's own header, are read as what they are, whatever the profile.
    pub profile: Option<&'a Profile>,
}

/// One posting of the company's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookLine {
    /// The ledger's own id of it, unique within its source and account.
    pub id: String,
    /// The account, as the book names it: an account id of the settings, or a number or alias.
    pub account: String,
    /// Posting date.
    pub date: NaiveDate,
    /// Signed.
    pub amount: Money,
    /// What it is a posting of.
    pub references: Vec<Reference>,
    /// Who.
    pub counterparty: Option<String>,
    /// Prose.
    pub description: String,
    /// Batch, settlement or remittance that it belongs to. Content like any other (another group is a new revision), and
    /// kept with the line: matching one to one does not ask for it, matching by groups will.
    pub group: Option<String>,
    /// The id of the posting that this one voids.
    pub reverses: Option<String>,
    /// Place in the file, from 1, header not counted.
    pub ordinal: u32,
    /// Line in the file, from 1.
    pub line: u32,
}

/// The ledger's own balance of the cash account at the end of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerBalance {
    /// The account, as in [`BookLine::account`].
    pub account: String,
    /// The end of this day.
    pub date: NaiveDate,
    /// How much.
    pub closing: Money,
    /// Line in the file, from 1.
    pub line: u32,
}

/// What came out of a book file. An error among the diagnostics means that the file is refused; then the rest is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedBook {
    /// Its postings, in file order.
    pub lines: Vec<BookLine>,
    /// Its balances, in file order.
    pub balances: Vec<LedgerBalance>,
    /// Findings.
    pub diagnostics: Vec<Diagnostic>,
}

// === impl ParsedBook ===

impl ParsedBook {
    /// Was the file refused? Then nothing of it was taken.
    pub fn is_refused(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}
