//! Matching: which bank lines and which book lines are one payment.
//!
//! Deterministic and explained: the outcome is a function of the open lines and the rule set alone, whatever the order
//! in which they came. Strongest evidence first, over all lines; a line is consumed once; a tie is never decided by luck
//! (`domain.md` §7).

mod board;
mod explain;
mod fingerprint;
mod layout;
mod near;
mod normalise;
mod passes;
mod residue;
mod reversal;
mod rules;
mod strong;
mod text;
mod ties;
mod token;
mod window;
mod words;

#[cfg(test)]
mod claims;
#[cfg(test)]
mod properties;

use std::borrow::Cow;
use std::fmt;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::calendar::Calendar;
use crate::money::Currency;
use crate::reference::Reference;
use crate::statement::Counterparty;

/// Which side a line is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The bank's statement.
    Bank,
    /// The company's books.
    Book,
}

/// A line that may be matched: taken, and not consumed. Of one account, so of one currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenLine {
    /// Its id: a bank line's as in [`crate::statement::identity`], a book line's its own.
    pub id: String,
    /// Its own date: booking date, or posting date. Windows and ages are counted from it.
    pub date: NaiveDate,
    /// The day of the ledger that it counts in; differs from `date` where that was clamped, or where the line came late.
    pub ledger_day: NaiveDate,
    /// Signed minor units of the account's currency.
    pub minor: i64,
    /// References, placeholders dropped.
    pub references: Vec<Reference>,
    /// Who.
    pub counterparty: Option<Counterparty>,
    /// Prose.
    pub description: String,
    /// The bank's transaction type.
    pub code: Option<String>,
    /// The bank calls it a reversal.
    pub reversal: bool,
    /// The book line that this book line voids.
    pub reverses: Option<String>,
    /// Batch, settlement or remittance key of a book line, for matching by groups. One to one it is no evidence; but lines
    /// of different groups are not interchangeable.
    pub group: Option<String>,
    /// Where it was read. Information: no part of any decision or digest.
    pub origin: Origin,
    /// The business date whose run took it.
    pub first_seen: NaiveDate,
    /// It came after its own day was closed.
    pub late: bool,
}

/// Where a line was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// File name.
    pub file: String,
    /// The bank's id of the statement.
    pub statement: Option<String>,
    /// Place in it, from 1.
    pub ordinal: u32,
}

/// What matching is given. Lines may be in any order.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Open bank lines.
    pub bank: &'a [OpenLine],
    /// Open book lines.
    pub book: &'a [OpenLine],
    /// The account's currency: what its minor units are called in sentences.
    pub currency: Currency,
    /// The account's calendar: windows are in its business days.
    pub calendar: &'a Calendar,
    /// The rules.
    pub rules: &'a RuleSet,
}

/// What matching found. Every line that no confirmed match consumes is in `residue` exactly once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Matches in canonical order: confirmed ones consume their lines, suggested ones consume nothing.
    pub matches: Vec<Match>,
    /// What stays open, and why, in canonical order, bank first.
    pub residue: Vec<Residue>,
}

/// Lines that are one payment, or may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// 16 hex: the first 8 bytes of SHA-256 of the rule's name, and of a NUL byte and the id for each leg of either side,
    /// in the order of the ids' bytes.
    pub id: String,
    /// Which rule.
    pub rule: Rule,
    /// Confirmed or suggested.
    pub status: MatchStatus,
    /// Ids of the bank legs, in canonical order. Empty in a match within the books.
    pub bank: Vec<String>,
    /// Ids of the book legs, in canonical order.
    pub book: Vec<String>,
    /// Bank − book, in minor units.
    pub difference: i64,
    /// Why.
    pub explanation: Explanation,
}

/// What a match is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchStatus {
    /// Offered to a person. Consumes nothing.
    Suggested,
    /// Taken: its lines are consumed.
    Confirmed,
    /// A person said no.
    Rejected,
    /// Was confirmed, and is not any more.
    Undone,
}

/// The rules, strongest evidence first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A book line and the book line that voids it; sum zero.
    Reversal,
    /// Strong reference and amount.
    StrongReference,
    /// Shared rare token, amount, window.
    RareToken,
    /// Amount and window alone: suggested, never confirmed.
    AmountWindow,
}

/// Why lines were matched. [`Match::sentence`] says it in words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// What was compared, with both values.
    pub keys: Vec<Key>,
    /// How many lines of the other side could have been meant, the one taken included.
    pub candidates: u32,
    /// One of k × k lines that are equal in all that is compared: any pairing proves the same.
    pub interchangeable: bool,
}

/// One thing that was compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// Its name: a reference kind, `token`, `reverses`, `amount`, `date`.
    pub name: Cow<'static, str>,
    /// The bank's value. In a match within the books: the value of the entry that was voided.
    pub bank: String,
    /// The book's value. In a match within the books: the value of the void.
    pub book: String,
}

/// A line that stays open, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Residue {
    /// Which side.
    pub side: Side,
    /// Which line.
    pub line: String,
    /// Why it is open.
    pub class: BreakClass,
    /// The line that came closest, if any did.
    pub nearest: Option<Nearest>,
}

/// The nearest miss of an open line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nearest {
    /// Which side the other line is on.
    pub side: Side,
    /// The other line.
    pub line: String,
    /// What kept them apart, as a sentence.
    pub why: String,
    /// The suggested match that it would make, for [`BreakClass::Unconfirmed`].
    pub suggestion: Option<String>,
}

/// Why a line is open. The closed list of `field/reconciliation.md` §C, with what `domain.md` adds; those about
/// statements (STMT_…, UNKNOWN_ACCOUNT) are diagnostics of ingestion and appear in reports beside these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BreakClass {
    /// In the books, not at the bank.
    MissingInBank,
    /// At the bank, not in the books.
    MissingInBook,
    /// Same reference, other amount.
    Amount,
    /// Same evidence, outside the window.
    DateWindow,
    /// Same reference and magnitude, opposite sign.
    Direction,
    /// Same amount and evidence, but two different values of one reference type.
    RefConflict,
    /// Several lines could be meant, and nothing tells which.
    Ambiguous,
    /// A suspected duplicate at the bank.
    DupBank,
    /// A suspected duplicate in the books.
    DupBook,
    /// A reversal whose original is not there.
    ReversalUnpaired,
    /// A bank fee or tax that the books do not have.
    FeeUnbooked,
    /// Part of a suggestion that nobody has confirmed.
    Unconfirmed,
    /// The book entry behind a match was changed; the match was undone.
    BookChanged,
}

/// The rules' parameters. Its hash is part of every digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleSet {
    /// The book may precede the bank by this many business days.
    pub book_precedes_bank: u32,
    /// The book may follow the bank by this many business days.
    pub book_follows_bank: u32,
    /// A token is rare up to this many open lines on each side.
    pub rare_token_limit: u32,
}

/// What was decided of every line, before it is put into words.
pub struct Decided<'a> {
    board: board::Board<'a>,
}

/// Matches what can be matched, and says of every other line why it stays open. Pure, total and deterministic.
pub fn reconcile(input: &Input<'_>) -> Outcome {
    let decided = decide(input);
    Outcome { matches: decided.matches().collect(), residue: decided.residue() }
}

/// The same without the words, for who takes them one by one.
pub fn decide<'a>(input: &'a Input<'a>) -> Decided<'a> {
    let mut board = board::Board::new(input);
    for pass in passes::ORDER {
        pass(&mut board);
    }
    Decided { board }
}

// === impl Decided ===

impl Decided<'_> {
    /// The matches, in canonical order.
    pub fn matches(&self) -> impl Iterator<Item = Match> {
        explain::matches(&self.board)
    }

    /// What stays open, and why, in canonical order, bank first.
    pub fn residue(&self) -> Vec<Residue> {
        residue::residue(&self.board)
    }
}

// === impl Rule ===

impl Rule {
    /// Its name, as in JSON, in the match id and in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reversal => "reversal",
            Self::StrongReference => "strong_reference",
            Self::RareToken => "rare_token",
            Self::AmountWindow => "amount_window",
        }
    }
}

// === impl Side ===

impl Side {
    /// `bank` or `book`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bank => "bank",
            Self::Book => "book",
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

// === impl MatchStatus ===

impl MatchStatus {
    /// The word in JSON and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Suggested => "suggested",
            Self::Confirmed => "confirmed",
            Self::Rejected => "rejected",
            Self::Undone => "undone",
        }
    }
}

// === impl BreakClass ===

impl BreakClass {
    /// All of them, in the order of the list.
    pub const ALL: [Self; 13] = [
        Self::MissingInBank,
        Self::MissingInBook,
        Self::Amount,
        Self::DateWindow,
        Self::Direction,
        Self::RefConflict,
        Self::Ambiguous,
        Self::DupBank,
        Self::DupBook,
        Self::ReversalUnpaired,
        Self::FeeUnbooked,
        Self::Unconfirmed,
        Self::BookChanged,
    ];

    /// The word in JSON, in the database and in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::MissingInBank => "MISSING_IN_BANK",
            Self::MissingInBook => "MISSING_IN_BOOK",
            Self::Amount => "AMOUNT",
            Self::DateWindow => "DATE_WINDOW",
            Self::Direction => "DIRECTION",
            Self::RefConflict => "REF_CONFLICT",
            Self::Ambiguous => "AMBIGUOUS",
            Self::DupBank => "DUP_BANK",
            Self::DupBook => "DUP_BOOK",
            Self::ReversalUnpaired => "REVERSAL_UNPAIRED",
            Self::FeeUnbooked => "FEE_UNBOOKED",
            Self::Unconfirmed => "UNCONFIRMED",
            Self::BookChanged => "BOOK_CHANGED",
        }
    }
}
