//! The outcome of an account-day, and its faces: text, JSON, CSV, HTML, and the digest.
//!
//! [`AccountOutcome`] is the one shape that everything is rendered from, whether it was computed in memory by
//! `counterfoil reconcile` or loaded from Postgres by the worker.

pub mod csv;
pub mod digest;
pub mod html;
pub mod inspect;
pub mod json;
pub mod left;
pub mod open;
pub mod overview;
pub mod summary;
pub mod text;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::account::AccountId;
use crate::matching::{BreakClass, Match, Nearest, OpenLine, Side};
use crate::money::{Currency, Money, Total};
use crate::proof::Proof;

/// An account-day, reconciled.
#[derive(Debug, Clone)]
pub struct AccountOutcome {
    /// Which account.
    pub account: AccountId,
    /// Its currency.
    pub currency: Currency,
    /// The business date.
    pub date: NaiveDate,
    /// 0 unless reopened.
    pub revision: u32,
    /// Hash of the rule set, hex.
    pub rule_set: String,
    /// Lines and sum that this run took from the bank.
    pub bank: Taken,
    /// Lines and sum that this run took from the books.
    pub book: Taken,
    /// The position at the end of the date.
    pub position: Position,
    /// Matches made in this run, and the suggestions of this run, in canonical order.
    pub matches: Vec<Match>,
    /// Every open line, once, in canonical order.
    pub breaks: Vec<Break>,
    /// P1–P7, in order.
    pub proofs: Vec<Proof>,
    /// The lines that matches and breaks name, by side and id.
    pub lines: Lines,
}

/// The lines that an outcome speaks of.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    /// Bank lines by id.
    pub bank: std::collections::BTreeMap<String, OpenLine>,
    /// Book lines by id.
    pub book: std::collections::BTreeMap<String, OpenLine>,
}

/// A count with its noun: `1 line`, `2 lines`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// How many lines a run took from a side, and their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Taken {
    /// How many.
    pub lines: u64,
    /// Their sum.
    pub sum: Total,
}

/// Where an account stands at the end of a day: both balances, and what is between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The bank's balance.
    pub bank_closing: Total,
    /// Did the bank state it for this very day?
    pub bank_stated: bool,
    /// The books' balance, by our own sum.
    pub book_closing: Total,
    /// The books' balance as the ledger stated it, if it did.
    pub book_stated: Option<Money>,
    /// Sums per side since the account's start.
    pub bank: SidePosition,
    /// The same of the books.
    pub book: SidePosition,
    /// Open differences: how many, and their sum.
    pub differences: Taken,
}

/// One side's lines by state, since the account's start. taken = matched + open + excluded, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SidePosition {
    /// All lines taken, opening items included.
    pub taken: Taken,
    /// Consumed by confirmed matches.
    pub matched: Taken,
    /// Open.
    pub open: Taken,
    /// Excluded by a person.
    pub excluded: Taken,
}

/// An open line, with its class and age.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// Why it is open.
    pub class: BreakClass,
    /// Which side.
    pub side: Side,
    /// The line.
    pub line: String,
    /// Its amount.
    pub amount: Money,
    /// Business days from the line's own date to the business date.
    pub age_business_days: u32,
    /// The bucket that the age falls in.
    pub bucket: Bucket,
    /// The business date whose run took the line.
    pub first_seen: NaiveDate,
    /// What came closest.
    pub nearest: Option<Nearest>,
}

/// Age buckets, in business days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Bucket {
    /// Today's and yesterday's.
    #[serde(rename = "0-1")]
    UpTo1,
    /// 2 or 3 days.
    #[serde(rename = "2-3")]
    UpTo3,
    /// 4 to 7.
    #[serde(rename = "4-7")]
    UpTo7,
    /// 8 to 30.
    #[serde(rename = "8-30")]
    UpTo30,
    /// 31 to 60.
    #[serde(rename = "31-60")]
    UpTo60,
    /// 61 to 90.
    #[serde(rename = "61-90")]
    UpTo90,
    /// More than 90.
    #[serde(rename = ">90")]
    Over90,
}

// === impl Bucket ===

impl Bucket {
    /// Every bucket, youngest first.
    pub const ALL: [Self; 7] =
        [Self::UpTo1, Self::UpTo3, Self::UpTo7, Self::UpTo30, Self::UpTo60, Self::UpTo90, Self::Over90];

    /// The bucket of an age.
    pub fn of(age_business_days: u32) -> Self {
        match age_business_days {
            0..=1 => Self::UpTo1,
            2..=3 => Self::UpTo3,
            4..=7 => Self::UpTo7,
            8..=30 => Self::UpTo30,
            31..=60 => Self::UpTo60,
            61..=90 => Self::UpTo90,
            _ => Self::Over90,
        }
    }

    /// As written in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::UpTo1 => "0-1",
            Self::UpTo3 => "2-3",
            Self::UpTo7 => "4-7",
            Self::UpTo30 => "8-30",
            Self::UpTo60 => "31-60",
            Self::UpTo90 => "61-90",
            Self::Over90 => ">90",
        }
    }
}
