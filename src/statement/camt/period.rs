//! Which days a camt.053 statement covers: a rule, since no field of it says so reliably.
//!
//! `FrToDt` is often the time of a query, or missing; opening balances carry the first day or the day before it; and a
//! statement brings lines that were booked late for earlier days. The days matter twice: the opening is taken as the
//! balance at the end of the day before the first, and a line is counted in a day that the statement covers. So what
//! the balances say goes before what the lines say, and a late line never moves the beginning
//! (`docs/decisions/0030-days-of-a-camt-statement.md`).

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

/// The dates that a statement carries. All as written; no zone was applied.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Dates {
    /// `FrToDt`: both instants, by their wall clocks.
    pub(super) stated: Option<(NaiveDateTime, NaiveDateTime)>,
    /// Date of PRCD.
    pub(super) previous_closing: Option<NaiveDate>,
    /// Date of OPBD.
    pub(super) opening: Option<NaiveDate>,
    /// Date of CLBD.
    pub(super) closing: Option<NaiveDate>,
    /// Earliest and latest booking date of its booked lines.
    pub(super) booked: Option<(NaiveDate, NaiveDate)>,
}

/// The covered days, first and last.
///
/// **Last:** the date of CLBD; else the last whole day of `FrToDt`; else the latest booking date; else the opening's.
///
/// **First:** the first of these that can be said:
/// 1. PRCD is dated before the last day: the day after it, for PRCD is the end of a day by definition.
/// 2. `FrToDt` is whole days that end with the last day, and OPBD, if it is dated before the last day, is dated on its
///    first day or the day before: its first day.
/// 3. OPBD is dated X, before the last day. Banks write either the first day or the day before: X if a booked line is
///    dated X or earlier, else the day after X.
/// 4. An opening is dated on the last day or later: the last day alone.
/// 5. No opening is dated: the earliest booking date, if it is not later than the last day; else the last day.
pub(super) fn covered(dates: &Dates) -> Option<(NaiveDate, NaiveDate)> {
    let stated = dates.stated.and_then(whole_days);
    let to = dates
        .closing
        .or(stated.map(|(_, to)| to))
        .or(dates.booked.map(|(_, latest)| latest))
        .or(dates.opening)
        .or(dates.previous_closing)?;
    let next = |day: NaiveDate| day.succ_opt().unwrap_or(day);
    if let Some(previous) = dates.previous_closing.filter(|previous| *previous < to) {
        return Some((next(previous), to));
    }
    let opening = dates.opening.filter(|opening| *opening < to);
    if let Some((from, stated_to)) = stated
        && stated_to == to
        && opening.is_none_or(|opening| from == opening || from == next(opening))
    {
        return Some((from, to));
    }
    let earliest = dates.booked.map(|(earliest, _)| earliest);
    let from = match opening {
        Some(opening) if earliest.is_some_and(|earliest| earliest <= opening) => opening,
        Some(opening) => next(opening),
        None if dates.opening.or(dates.previous_closing).is_some() => to,
        None => earliest.unwrap_or(to),
    };
    Some((from.min(to), to))
}

/// The days of a span of time, if it is of whole days: from midnight, and up to a midnight, a last minute of a day, or
/// any time of its last day (which a closing balance then has to confirm).
fn whole_days((from, to): (NaiveDateTime, NaiveDateTime)) -> Option<(NaiveDate, NaiveDate)> {
    if from.time() != NaiveTime::MIN {
        return None;
    }
    let last = if to.time() == NaiveTime::MIN && to.date() > from.date() { to.date().pred_opt()? } else { to.date() };
    (from.date() <= last).then_some((from.date(), last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn span(from: &str, to: &str) -> (NaiveDateTime, NaiveDateTime) {
        (from.parse().unwrap(), to.parse().unwrap())
    }

    fn check(dates: Dates, from: &str, to: &str) {
        assert_eq!(covered(&dates), Some((day(from), day(to))), "{dates:?}");
    }

    #[test]
    fn the_day_after_the_previous_closing_is_the_first() {
        let dates = Dates {
            previous_closing: Some(day("2026-11-02")),
            closing: Some(day("2026-11-04")),
            booked: Some((day("2026-10-30"), day("2026-11-04"))),
            ..Dates::default()
        };
        check(dates, "2026-11-03", "2026-11-04");
        // A span that says otherwise does not move it.
        check(
            Dates { stated: Some(span("2026-11-01T00:00:00", "2026-11-04T23:59:59")), ..dates },
            "2026-11-03",
            "2026-11-04",
        );
    }

    #[test]
    fn one_date_on_both_balances_is_one_day() {
        let dates = Dates {
            previous_closing: Some(day("2026-11-04")),
            closing: Some(day("2026-11-04")),
            booked: Some((day("2026-11-03"), day("2026-11-04"))),
            ..Dates::default()
        };
        check(dates, "2026-11-04", "2026-11-04");
    }

    #[test]
    fn an_opening_carries_the_first_day_or_the_day_before_and_the_lines_tell_which() {
        let dates = Dates {
            opening: Some(day("2026-11-03")),
            closing: Some(day("2026-11-04")),
            booked: Some((day("2026-11-04"), day("2026-11-04"))),
            ..Dates::default()
        };
        check(dates, "2026-11-04", "2026-11-04");
        check(Dates { booked: Some((day("2026-11-03"), day("2026-11-04"))), ..dates }, "2026-11-03", "2026-11-04");
        // A line that was booked late for an earlier day is counted in the first day, and does not move it.
        check(Dates { booked: Some((day("2026-10-01"), day("2026-11-04"))), ..dates }, "2026-11-03", "2026-11-04");
        check(Dates { booked: None, ..dates }, "2026-11-04", "2026-11-04");
    }

    #[test]
    fn a_stated_span_counts_only_where_the_balances_agree_with_it() {
        let dates = Dates {
            stated: Some(span("2026-11-01T00:00:00", "2026-11-05T00:00:00")),
            opening: Some(day("2026-11-04")),
            closing: Some(day("2026-11-04")),
            ..Dates::default()
        };
        check(dates, "2026-11-01", "2026-11-04");
        check(Dates { opening: Some(day("2026-10-31")), ..dates }, "2026-11-01", "2026-11-04");
        check(Dates { opening: Some(day("2026-11-02")), ..dates }, "2026-11-03", "2026-11-04");
        check(
            Dates { stated: Some(span("2007-10-18T00:00:00", "2007-10-18T12:30:00")), ..dates },
            "2026-11-04",
            "2026-11-04",
        );
        check(
            Dates { stated: Some(span("2026-11-03T18:00:00", "2026-11-04T18:00:00")), ..dates },
            "2026-11-04",
            "2026-11-04",
        );
    }

    #[test]
    fn without_balances_the_span_or_the_lines_say_it() {
        let booked = Some((day("2026-04-07"), day("2026-04-09")));
        check(Dates { booked, ..Dates::default() }, "2026-04-07", "2026-04-09");
        let stated = Some(span("2026-04-01T00:00:00", "2026-05-01T00:00:00"));
        check(Dates { stated, booked, ..Dates::default() }, "2026-04-01", "2026-04-30");
        check(Dates { closing: Some(day("2026-04-08")), booked, ..Dates::default() }, "2026-04-07", "2026-04-08");
        check(Dates { opening: Some(day("2026-04-08")), ..Dates::default() }, "2026-04-08", "2026-04-08");
        assert_eq!(covered(&Dates::default()), None);
    }
}
