//! An account of the company: how it is found in files, where it starts, and its days.
//!
//! [`registry`] says which account a file speaks of, [`clash`] which two no file could tell apart; [`opening`] reads
//! where an account starts; [`ledger`] decides which statements chain to what is known (anchors, coverage, occurrences);
//! [`day`] computes one account-day from what its manifest names: lines taken, positions, proofs.

pub mod book_ledger;
pub mod clash;
pub mod day;
mod discover;
pub mod ledger;
pub mod lines;
pub mod opening;
pub mod readiness;
pub mod registry;

use std::fmt;
use std::sync::Arc;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::calendar::Calendar;
use crate::matching::{OpenLine, Side};
use crate::money::{Currency, Money};
use crate::statement::DayComplete;

/// The settings' own name of an account: letters, digits, `-`, `_`, `.`; it names folders, rows and reports.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AccountId(Arc<str>);

/// An id that cannot name a folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no account id: letters, digits, '-', '_' and '.' only, at most 64, and not beginning with '.'")]
pub struct BadAccountId(pub String);

/// An account, as declared (or, without settings, as found).
#[derive(Debug, Clone)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// Bank code, ISPB or BIC.
    pub bank: Option<String>,
    /// Branch.
    pub branch: Option<String>,
    /// IBAN or number.
    pub number: String,
    /// Other spellings of the number.
    pub aliases: Vec<String>,
    /// Its currency.
    pub currency: Currency,
    /// When its bank works.
    pub calendar: Arc<Calendar>,
    /// Where it starts; without one, at the first statement's stated opening.
    pub opening: Option<Opening>,
    /// How often it expects a statement.
    pub statements: Cadence,
    /// When an OFX statement's last day is over.
    pub day_complete: DayComplete,
    /// When its books are complete for a day.
    pub book_complete: BookComplete,
}

/// The position at the end of a day, from which reconciliation starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The end of this day.
    pub date: NaiveDate,
    /// The bank's balance.
    pub bank: Money,
    /// The books' balance.
    pub book: Money,
    /// Lines open then. bank − book = Σ bank items − Σ book items, checked when settings are read.
    pub items: Vec<(Side, OpenLine)>,
}

/// How often an account expects a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cadence {
    /// Each business day of its calendar.
    #[default]
    Daily,
    /// Only when something moved: the deadline closes a day without one as `no_movement_assumed`.
    OnMovement,
}

/// When the books are complete for a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BookComplete {
    /// The ledger's own balance for the day has come.
    #[default]
    Balance,
    /// A line or balance dated on the day or later was seen.
    Seen,
}

// === impl AccountId ===

impl AccountId {
    /// Checks the form.
    pub fn new(id: &str) -> Result<Self, BadAccountId> {
        let fits = !id.is_empty()
            && id.len() <= 64
            && !id.starts_with('.')
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        if fits { Ok(Self(Arc::from(id))) } else { Err(BadAccountId(id.to_owned())) }
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AccountId {
    type Error = BadAccountId;
    fn try_from(id: String) -> Result<Self, Self::Error> {
        Self::new(&id)
    }
}

impl From<AccountId> for String {
    fn from(id: AccountId) -> Self {
        id.0.to_string()
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
