//! Dates and amounts as SWIFT writes them.

use chrono::NaiveDate;

use crate::money::{Currency, DecimalMark, Money};

/// A day, and whether it had to be moved into its month: banks that count thirty days a month write 30 February.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Day {
    pub(super) day: NaiveDate,
    pub(super) clamped: bool,
}

/// A part that cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} {found:?}: expected {expected}")]
pub(super) struct Unreadable {
    part: &'static str,
    found: String,
    expected: &'static str,
}

/// Years of two digits: from 80 on of the last century, as the oldest files need it.
const CENTURY: i32 = 80;

// === impl Unreadable ===

impl Unreadable {
    pub(super) fn new(part: &'static str, found: &str, expected: &'static str) -> Self {
        Self { part, found: found.chars().take(40).collect(), expected }
    }
}

/// `YYMMDD` at the start of a text, and what follows it.
pub(super) fn date_at_start(text: &str) -> Option<(Day, &str)> {
    let digits = text.get(..6).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let part = |from: usize| digits[from..from + 2].parse::<u32>().ok();
    let year = i32::try_from(part(0)?).ok()?;
    let year = if year >= CENTURY { 1900 + year } else { 2000 + year };
    Some((day_of(year, part(2)?, part(4)?)?, &text[6..]))
}

/// A day; past the end of its month, up to the 31st, the month's last.
pub(super) fn day_of(year: i32, month: u32, day: u32) -> Option<Day> {
    if !(1..=31).contains(&day) {
        return None;
    }
    let whole = (28..=day).rev().chain([day]).find_map(|tried| NaiveDate::from_ymd_opt(year, month, tried))?;
    Some(Day { day: whole, clamped: chrono::Datelike::day(&whole) != day })
}

/// An amount without a sign. A comma is the decimal mark; a point is taken for it only where exactly the currency's own
/// fraction follows, since it could as well separate thousands.
pub(super) fn amount(written: &str, currency: Currency) -> Option<Money> {
    let mark = match written.split_once('.') {
        Some((_, fraction)) if fraction.len() == usize::from(currency.digits()) => DecimalMark::Point,
        Some(_) => return None,
        None => DecimalMark::Comma,
    };
    if !written.starts_with(|c: char| c.is_ascii_digit() || c == ',') {
        return None;
    }
    Money::parse(written, mark, currency).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_a_comma_or_nothing_that_could_mean_two_things() {
        let minor = |text: &str| amount(text, Currency::new("EUR").unwrap()).map(|money| money.minor());
        assert_eq!(minor("1234,5"), Some(123_450));
        assert_eq!(minor("500"), Some(50_000));
        assert_eq!(minor("0,"), Some(0));
        assert_eq!(minor("0001,00"), Some(100));
        assert_eq!(minor("12.34"), Some(1234));
        for text in ["1.000", "1.000,00", "-1,00", "+1,00", "", ",", "1,005", " 1"] {
            assert_eq!(minor(text), None, "{text}");
        }
    }

    #[test]
    fn years_of_two_digits() {
        assert_eq!(date_at_start("991231x").unwrap().0.day.to_string(), "1999-12-31");
        assert_eq!(date_at_start("260101").unwrap().0.day.to_string(), "2026-01-01");
        assert_eq!(date_at_start("260001"), None);
        assert_eq!(date_at_start("26010"), None);
    }
}
