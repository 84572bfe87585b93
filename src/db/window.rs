//! Which lines an account-day takes, as two numbers and two dates.

use chrono::NaiveDate;

use crate::account::AccountId;

/// An account-day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayKey<'a> {
    /// The account.
    pub account: &'a AccountId,
    /// The business date.
    pub date: NaiveDate,
    /// 0 unless reopened.
    pub revision: u32,
}

/// What of one side an account-day may take. A line is taken if it came in with a number up to `seq` and counts in a day
/// up to `date` and after `start`, unless the last closed day took it: then both its number and its day lie within
/// `previous`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The business date.
    pub date: NaiveDate,
    /// The last number that the day's manifest names.
    pub seq: i64,
    /// Date and number of the account's last closed day.
    pub previous: Option<(NaiveDate, i64)>,
    /// The end of the day at which the account starts.
    pub start: NaiveDate,
}

// === impl Window ===

impl Window {
    /// Before the first closed day nothing was taken: the account's start, and no number.
    pub(super) fn previous_date(&self) -> NaiveDate {
        self.previous.map_or(self.start, |(date, _)| date)
    }

    pub(super) fn previous_seq(&self) -> i64 {
        self.previous.map_or(0, |(_, seq)| seq)
    }

    /// Was the line's own day closed when it came?
    pub(super) fn is_late(&self, day: NaiveDate) -> bool {
        self.previous.is_some_and(|(date, _)| day <= date)
    }
}
