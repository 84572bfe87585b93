//! The days that a statement covers, where it states only the dates of its balances.

use chrono::NaiveDate;

use super::Statement;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// An opening balance bears the date of the closing before it, or, with some banks, the first of the statement's own days.
/// The statement before it in the file (which ended on `before`) tells which, or else a line that was booked on that very
/// day. `closed` is the closing balance's date, which is never before the opening's.
pub(super) fn first_day(
    opened: NaiveDate,
    closed: NaiveDate,
    before: Option<NaiveDate>,
    mut booked: impl Iterator<Item = NaiveDate>,
) -> NaiveDate {
    let own = match before {
        _ if opened == closed => true,
        Some(before) if before <= opened => before < opened,
        _ => booked.any(|day| day == opened),
    };
    let next = if own { None } else { opened.succ_opt() };
    next.unwrap_or(opened).min(closed)
}

/// Says which lines were booked after the day that the closing balance is of: they are in that balance, or the statement is
/// wrong.
pub(super) fn say_what_lies_outside(statement: &Statement, found: &mut Diagnostics) {
    let mut after = statement.movements().filter(|line| line.booking_date > statement.to);
    let Some(first) = after.next() else { return };
    let more = match after.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let message = format!(
        "a line is booked on {}, after the closing balance, which is of {}{more}: taken for that day's",
        first.booking_date, statement.to
    );
    found.push(Diagnostic::new(Severity::Warning, "PERIOD", message).at_line(first.line));
}
