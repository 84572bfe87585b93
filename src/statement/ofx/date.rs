//! Dates: the first eight digits, as the bank wrote them.
//!
//! `20190918100000[-3:BRT]` is the 18th, whatever the offset: a bank dates in its own calendar, and moving the instant
//! through UTC has put bookings on the wrong day wherever it was tried.

use chrono::{Datelike, NaiveDate};

/// A date element that is no date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no date: expected YYYYMMDD, and then at most a time and a zone")]
pub(super) struct NoDate(String);

/// Reads a date. `None` where there is none: empty, or zeros.
pub(super) fn read(written: &str) -> Result<Option<NaiveDate>, NoDate> {
    let no_date = || NoDate(written.chars().take(40).collect());
    let stamp = written.split(['[', '.']).next().unwrap_or("");
    if stamp.bytes().all(|byte| byte == b'0' || byte == b' ') {
        return Ok(None);
    }
    let (Some(date), Some(rest)) = (written.get(..8), written.get(8..)) else { return Err(no_date()) };
    let follows =
        rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '[' | ' ' | 'T'));
    if !date.bytes().all(|byte| byte.is_ascii_digit()) || !follows {
        return Err(no_date());
    }
    let part = |from: usize, to: usize| date[from..to].parse::<u32>().unwrap_or(0);
    let day = NaiveDate::from_ymd_opt(part(0, 4).cast_signed(), part(4, 6), part(6, 8));
    // A year that no bank books in is a damaged field, and would stretch a period over centuries.
    day.filter(|day| (1900..2200).contains(&day.year())).map(Some).ok_or_else(no_date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_is_what_the_bank_wrote_whatever_the_zone() {
        for text in [
            "20190102",
            "20190102120000",
            "20190102000000[-3:GMT]",
            "20190102235959.999[-03:EST]",
            "20190102000000[-:EST]",
            "20190102[14:NZDT]",
            "20190102 ",
        ] {
            assert_eq!(read(text), Ok(NaiveDate::from_ymd_opt(2019, 1, 2)), "{text}");
        }
    }

    #[test]
    fn zeros_are_no_date_and_nothing_stands_in_for_it() {
        for text in ["", "0", "00000000", "00000000000000", "00000000[-3:BRT]"] {
            assert_eq!(read(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in
            ["2019", "20190230", "20191301", "2019-01-02", "02/01/2019", "20190102x", "99990101", "0001010", "2019010é"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
