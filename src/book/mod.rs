//! The company's side: its own postings to the cash account, and its own balance.
//!
//! Amounts are signed as everywhere: a debit to the cash account is `+`, a credit `−`. An entry is known by (source,
//! account, id); the same id with other content is a new revision of it.

pub mod date;
pub mod profile;

use chrono::NaiveDate;

use crate::diagnostic::Diagnostic;
use crate::money::Money;
use crate::reference::Reference;

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
    /// Batch, settlement or remittance that it belongs to.
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
#[derive(Debug, Default)]
pub struct ParsedBook {
    /// Its postings, in file order.
    pub lines: Vec<BookLine>,
    /// Its balances, in file order.
    pub balances: Vec<LedgerBalance>,
    /// Findings.
    pub diagnostics: Vec<Diagnostic>,
}
