//! Shapes in which values lie in the database, where those differ from the shapes that the rooms use.
//!
//! Numbers that a double cannot hold are text in JSON; everything read back is checked, and what cannot be is an error
//! that names the row, never a default.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use sqlx::types::Json;

use super::DbError;
use crate::money::{Currency, Money, Total};
use crate::reference::{Reference, ReferenceKind};
use crate::report::{AccountOutcome, Position, SidePosition, Taken};

/// References, as a column holds them.
pub(super) type Refs = Json<Vec<(String, String)>>;

/// References as pairs of kind and value.
pub(super) fn references(references: &[Reference]) -> Vec<(&str, &str)> {
    references.iter().map(|reference| (reference.kind().name(), reference.value())).collect()
}

/// And back.
pub(super) fn read_references(stored: Vec<(String, String)>) -> Result<Vec<Reference>, DbError> {
    let read = |(kind, value): (String, String)| {
        ReferenceKind::from_name(&kind)
            .and_then(|kind| Reference::new(kind, &value))
            .ok_or_else(|| DbError::Value(format!("{kind} {value:?} is no reference")))
    };
    stored.into_iter().map(read).collect()
}

/// Where an account stands at the end of a closed day, without its open lines: those are the day's breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredStanding {
    /// The end of this day.
    pub date: NaiveDate,
    /// The end of the day at which the account starts: lines up to it are outside every proof.
    pub start: NaiveDate,
    /// Does the account start from a position that the settings state?
    pub stated_start: bool,
    bank_closing: Minor,
    bank_stated: bool,
    book_closing: Minor,
    book_stated: Option<Minor>,
    bank: StoredSide,
    book: StoredSide,
    differences: StoredTaken,
    taken_bank: StoredTaken,
    taken_book: StoredTaken,
}

/// Minor units, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Minor(String);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredTaken {
    lines: u64,
    minor: Minor,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredSide {
    taken: StoredTaken,
    matched: StoredTaken,
    open: StoredTaken,
    excluded: StoredTaken,
}

// === impl Minor ===

impl From<Total> for Minor {
    fn from(total: Total) -> Self {
        Self(total.minor().to_string())
    }
}

impl Minor {
    fn total(&self, currency: Currency) -> Result<Total, DbError> {
        let minor = self.0.parse().map_err(|_| DbError::Value(format!("{:?} is no sum", self.0)))?;
        Ok(Total::new(minor, currency))
    }

    fn money(&self, currency: Currency) -> Result<Money, DbError> {
        self.total(currency)?.to_money().ok_or_else(|| DbError::Value(format!("{} is no amount", self.0)))
    }
}

// === impl StoredTaken ===

impl From<Taken> for StoredTaken {
    fn from(taken: Taken) -> Self {
        Self { lines: taken.lines, minor: taken.sum.into() }
    }
}

impl StoredTaken {
    fn read(&self, currency: Currency) -> Result<Taken, DbError> {
        Ok(Taken { lines: self.lines, sum: self.minor.total(currency)? })
    }
}

// === impl StoredSide ===

impl From<SidePosition> for StoredSide {
    fn from(side: SidePosition) -> Self {
        Self {
            taken: side.taken.into(),
            matched: side.matched.into(),
            open: side.open.into(),
            excluded: side.excluded.into(),
        }
    }
}

impl StoredSide {
    fn read(&self, currency: Currency) -> Result<SidePosition, DbError> {
        Ok(SidePosition {
            taken: self.taken.read(currency)?,
            matched: self.matched.read(currency)?,
            open: self.open.read(currency)?,
            excluded: self.excluded.read(currency)?,
        })
    }
}

// === impl StoredStanding ===

impl StoredStanding {
    /// Of the end of a day.
    pub fn new(start: NaiveDate, stated_start: bool, outcome: &AccountOutcome) -> Self {
        let position = &outcome.position;
        Self {
            date: outcome.date,
            start,
            stated_start,
            bank_closing: position.bank_closing.into(),
            bank_stated: position.bank_stated,
            book_closing: position.book_closing.into(),
            book_stated: position.book_stated.map(|stated| Total::from(stated).into()),
            bank: position.bank.into(),
            book: position.book.into(),
            differences: position.differences.into(),
            taken_bank: outcome.bank.into(),
            taken_book: outcome.book.into(),
        }
    }

    /// What the day took, from the bank and from the books.
    pub fn taken(&self, currency: Currency) -> Result<(Taken, Taken), DbError> {
        Ok((self.taken_bank.read(currency)?, self.taken_book.read(currency)?))
    }

    /// The position.
    pub fn position(&self, currency: Currency) -> Result<Position, DbError> {
        Ok(Position {
            bank_closing: self.bank_closing.total(currency)?,
            bank_stated: self.bank_stated,
            book_closing: self.book_closing.total(currency)?,
            book_stated: self.book_stated.as_ref().map(|stated| stated.money(currency)).transpose()?,
            bank: self.bank.read(currency)?,
            book: self.book.read(currency)?,
            differences: self.differences.read(currency)?,
        })
    }
}
