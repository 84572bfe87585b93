//! May an account-day be closed yet, and if not, what is it waiting for?

use std::fmt;

use chrono::NaiveDate;

use super::{Account, BookComplete, Cadence};

/// What an account-day waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// No accepted statement says that this day is over.
    Statement {
        /// The day that must be over.
        day: NaiveDate,
        /// The last day that is.
        covered_through: Option<NaiveDate>,
        /// One that covers it came, and was not taken.
        stopped: Option<Stopped>,
    },
    /// The ledger's own balance for this day has not come.
    LedgerBalance {
        /// The day.
        day: NaiveDate,
    },
    /// No book line or balance of this day or later was seen.
    Books {
        /// The day.
        day: NaiveDate,
        /// The last day of which one was.
        seen_through: Option<NaiveDate>,
    },
}

/// Why a statement that came is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// An earlier one is missing.
    Held,
    /// It contradicts itself or what is known.
    Quarantined,
}

/// What is known of an account's books.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BooksSeen {
    /// Has the ledger's balance for the date come?
    pub balance: bool,
    /// The latest date of any line or balance.
    pub through: Option<NaiveDate>,
}

/// What is missing before `date` can be closed; nothing if it can. `stopped` is what became of a statement that says that
/// the day is over and was not taken.
pub fn missing(
    account: &Account,
    date: NaiveDate,
    covered_through: Option<NaiveDate>,
    books: BooksSeen,
    stopped: Option<Stopped>,
) -> Vec<Missing> {
    let mut missing = Vec::new();
    // A day on which this bank does not work needs no statement of its own: the last working day's must be there.
    let day = if account.calendar.is_business_day(date) { date } else { account.calendar.previous(date) };
    let starts_later = account.opening.as_ref().is_some_and(|opening| day <= opening.date);
    if covered_through.is_none_or(|covered| covered < day) && !starts_later {
        missing.push(Missing::Statement { day, covered_through, stopped });
    }
    match account.book_complete {
        BookComplete::Balance if !books.balance => missing.push(Missing::LedgerBalance { day: date }),
        BookComplete::Seen if books.through.is_none_or(|through| through < date) => {
            missing.push(Missing::Books { day: date, seen_through: books.through });
        }
        _ => {}
    }
    missing
}

/// Do the books lack something for `date`, whatever the bank's side lacks?
pub fn lacks_books(account: &Account, date: NaiveDate, books: BooksSeen) -> bool {
    !missing(account, date, Some(NaiveDate::MAX), books, None).is_empty()
}

/// May the deadline close the day although `missing` is not empty? Only where a statement is expected on movement alone,
/// and only the statement is missing.
pub fn no_movement_may_be_assumed(account: &Account, missing: &[Missing]) -> bool {
    account.statements == Cadence::OnMovement && missing.iter().all(|what| matches!(what, Missing::Statement { .. }))
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held => "held, since an earlier one is missing",
            Self::Quarantined => "quarantined",
        })
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Statement { day, covered_through: None, stopped: None } => {
                write!(f, "a statement that covers {day} (none has come)")
            }
            Self::Statement { day, covered_through: None, stopped: Some(stopped) } => {
                write!(f, "a statement that covers {day} (the one that has come is {stopped})")
            }
            Self::Statement { day, covered_through: Some(through), stopped } => {
                write!(f, "a statement that covers {day} (covered through {through}")?;
                stopped.map_or(Ok(()), |stopped| write!(f, "; the one that has come since is {stopped}"))?;
                f.write_str(")")
            }
            Self::LedgerBalance { day } => write!(f, "the ledger's balance of {day}"),
            Self::Books { day, seen_through: None } => write!(f, "the books of {day} (none have come)"),
            Self::Books { day, seen_through: Some(through) } => {
                write!(f, "the books of {day} (seen through {through})")
            }
        }
    }
}
