//! Field 61: one line of the statement.
//!
//! ```text
//! 6!n value date  [4!n entry date]  2a mark  [1!a funds code]  15d amount  1!a3!c type  16x reference  [//16x bank's]  [34x]
//! ```

use chrono::{Datelike, NaiveDate};

use super::value::{self, Unreadable};
use crate::money::{Currency, Money};

/// What a field 61 says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) value_date: NaiveDate,
    /// Month and day of the booking; absent where the bank leaves it out, and then it is the value date.
    pub(super) entry: Entry,
    /// Signed as the owner sees it: D and RC take, C and RD give.
    pub(super) amount: Money,
    /// As written.
    pub(super) amount_text: &'a str,
    /// The mark begins with R: it takes another one back.
    pub(super) reversal: bool,
    /// Four characters, `NTRF`; empty where the bank writes none.
    pub(super) kind: &'a str,
    /// Of the account's owner.
    pub(super) reference: &'a str,
    /// Of the bank.
    pub(super) bank_reference: &'a str,
    /// A date in it that no calendar has was read as the month's last.
    pub(super) clamped: bool,
}

/// Reads the first line of a field 61.
pub(super) fn read(text: &str, currency: Currency) -> Result<Line<'_>, Unreadable> {
    let (date, rest) = value::date_at_start(text).ok_or_else(|| Unreadable::new("value date", text, "YYMMDD"))?;
    let (entry, rest) = entry(rest)?;
    let (negative, reversal, rest) = mark(rest)?;
    // The third letter of the currency, which tells nothing new. Spaces may stand in for it.
    let rest = match rest.as_bytes() {
        [letter, ..] if letter.is_ascii_alphabetic() => &rest[1..],
        _ => rest,
    }
    .trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '.'))).unwrap_or(rest.len());
    let (written, rest) = rest.split_at(end);
    let amount = value::amount(written, currency)
        .and_then(|amount| if negative { amount.checked_neg() } else { Some(amount) })
        .ok_or_else(|| {
            Unreadable::new(
                "amount",
                if written.is_empty() { rest } else { written },
                "digits, a comma, and behind it no more than the currency has",
            )
        })?;
    let (kind, rest) = kind(rest)?;
    let (reference, bank_reference) = rest.split_once("//").unwrap_or((rest, ""));
    Ok(Line {
        value_date: date.day,
        entry,
        amount,
        amount_text: written,
        reversal,
        kind,
        reference: reference.trim(),
        bank_reference: bank_reference.trim(),
        clamped: date.clamped,
    })
}

/// The date on which a line was booked. Its year is not written: it is the one that brings it nearest to `around`, the
/// day at which the statement closes (so an entry of December in January's first statement is the old year's, and the
/// other way round). Whether the day had to be moved into its month comes with it.
pub(super) fn booking_date(line: &Line<'_>, around: NaiveDate) -> (NaiveDate, bool) {
    let Some((month, day)) = line.entry else { return (line.value_date, false) };
    (around.year() - 1..=around.year() + 1)
        .filter_map(|year| value::day_of(year, month, day))
        .min_by_key(|date| (date.day - around).num_days().abs())
        .map_or((line.value_date, true), |date| (date.day, date.clamped))
}

/// Month and day.
type Entry = Option<(u32, u32)>;

/// Four digits; where a bank leaves them out, nothing or spaces.
fn entry(text: &str) -> Result<(Entry, &str), Unreadable> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match digits {
        0 => Ok((None, text.trim_start())),
        4 => {
            let number: u32 = text[..4].parse().unwrap_or_default();
            let (month, day) = (number / 100, number % 100);
            if (1..=12).contains(&month) && (1..=31).contains(&day) {
                Ok((Some((month, day)), &text[4..]))
            } else if number == 0 {
                Ok((None, &text[4..]))
            } else {
                Err(Unreadable::new("entry date", &text[..4], "MMDD"))
            }
        }
        _ => Err(Unreadable::new("entry date", &text[..digits], "four digits, MMDD, or none")),
    }
}

/// Whether it takes, whether it is a reversal, and what follows.
fn mark(text: &str) -> Result<(bool, bool, &str), Unreadable> {
    let (reversal, letter) = text.strip_prefix('R').map_or((false, text), |rest| (true, rest));
    match letter.as_bytes().first() {
        // A reversal of a credit takes, a reversal of a debit gives.
        Some(b'C') => Ok((reversal, reversal, &letter[1..])),
        Some(b'D') => Ok((!reversal, reversal, &letter[1..])),
        _ => Err(Unreadable::new("debit/credit mark", text.get(..2).unwrap_or(text), "C, D, RC or RD")),
    }
}

/// A letter (S, N or F, in the standard) and three more characters, as far as they are there.
fn kind(text: &str) -> Result<(&str, &str), Unreadable> {
    let text = text.trim_start();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Ok(("", text));
    }
    let end = text.char_indices().nth(4).map_or(text.len(), |(at, _)| at);
    let (kind, rest) = text.split_at(end);
    // `NONREF` where no type was written.
    if kind == "NONR" {
        return Ok(("", text));
    }
    if kind.starts_with(['N', 'S', 'F']) {
        Ok((kind.trim_end(), rest))
    } else {
        Err(Unreadable::new("transaction type", kind, "N, S or F and three characters"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn euro(text: &str) -> Result<Line<'_>, Unreadable> {
        read(text, Currency::new("EUR").unwrap())
    }

    fn minor(text: &str) -> i64 {
        euro(text).unwrap().amount.minor()
    }

    #[test]
    fn the_mark_is_the_sign_and_a_reversal_turns_it() {
        assert_eq!(minor("2601020102C12,50NTRFNONREF"), 1250);
        assert_eq!(minor("2601020102D12,5NTRFNONREF"), -1250);
        assert_eq!(minor("2601020102RC12,NTRFNONREF"), -1200);
        assert_eq!(minor("2601020102RD12NTRFNONREF"), 1200);
        // The third letter of the currency stands between mark and amount: CR is a credit in euro, no reversal.
        let line = euro("2601020102CR0012,00NTRFNONREF").unwrap();
        assert_eq!((line.amount.minor(), line.reversal), (1200, false));
        let line = euro("2601020102DR12,00N051NONREF").unwrap();
        assert_eq!((line.amount.minor(), line.reversal), (-1200, false));
        assert_eq!(minor("2601020102RDR12,00NTRFNONREF"), 1200);
    }

    #[test]
    fn references_type_and_what_may_be_left_out() {
        let line = euro("260102D65,00NTRFINV-0042-2026-LONG//BANK7").unwrap();
        assert_eq!((line.entry, line.kind), (None, "NTRF"));
        assert_eq!((line.reference, line.bank_reference), ("INV-0042-2026-LONG", "BANK7"));
        let line = euro("260102    D65,00NOVBDE47").unwrap();
        assert_eq!((line.entry, line.kind, line.reference), (None, "NOVB", "DE47"));
        let line = euro("2601020000D65,00S   X").unwrap();
        assert_eq!((line.entry, line.kind, line.reference), (None, "S", "X"));
        let line = euro("2601020102D65,00NONREF").unwrap();
        assert_eq!((line.kind, line.reference), ("", "NONREF"));
    }

    #[test]
    fn the_year_of_an_entry_is_the_one_nearest_to_the_closing() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        let booked = |line: &str, closing: &str| booking_date(&euro(line).unwrap(), day(closing)).0;
        assert_eq!(booked("2512311231D1,NTRF", "2026-01-02"), day("2025-12-31"));
        assert_eq!(booked("2512310102D1,NTRF", "2026-01-02"), day("2026-01-02"));
        assert_eq!(booked("2601021231D1,NTRF", "2025-12-31"), day("2025-12-31"));
        assert_eq!(booked("2601310202D1,NTRF", "2026-02-02"), day("2026-02-02"));
        assert_eq!(booked("240229    D1,NTRF", "2026-03-01"), day("2024-02-29"));
    }

    #[test]
    fn a_day_that_no_calendar_has_is_its_months_last_and_said() {
        let line = euro("2602300230D1,NTRF").unwrap();
        assert_eq!((line.value_date.to_string(), line.clamped), ("2026-02-28".to_owned(), true));
        let (booked, clamped) = booking_date(&line, "2026-02-28".parse().unwrap());
        assert_eq!((booked.to_string(), clamped), ("2026-02-28".to_owned(), true));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_not_read() {
        for text in [
            "26013C1,NTRF",
            "261302C1,NTRF",
            "2601021302C1,NTRF",
            "260102010C1,NTRF",
            "2601020102X1,NTRF",
            "2601020102D-104,12NTRF",
            "2601020102D1.000,5NTRF",
            "2601020102D1,005NTRF",
            "2601020102D",
            "",
        ] {
            assert!(euro(text).is_err(), "{text}");
        }
    }
}
