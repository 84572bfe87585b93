//! The first day that a statement covers, where it states only the dates of its balances.

use chrono::NaiveDate;

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
