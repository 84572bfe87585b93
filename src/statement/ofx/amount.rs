//! Amounts as banks write them: a point or a comma, spaces for alignment, and sometimes thousands.
//!
//! OFX allows one decimal mark, a point or a comma, and nothing between thousands. What is read beyond that is only what
//! can be read in one way.

use crate::money::{AmountError, Currency, DecimalMark, Money};

/// An amount that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) money: Money,
    /// It is written otherwise than as a plain decimal with a point.
    pub(super) interpreted: bool,
    /// It would be another amount if its mark separated thousands (`1.000`).
    pub(super) doubtful: bool,
}

/// Why an amount was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error(transparent)]
    Amount(#[from] AmountError),
    /// Marks that can be read in two ways, or in none.
    #[error("{0:?} has marks that do not say which is the decimal one")]
    Marks(String),
}

/// Reads an amount of a currency.
pub(super) fn read(written: &str, currency: Currency) -> Result<Amount, Unreadable> {
    let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.');
    let text: String;
    let (compact, spaced) = if written.bytes().all(plain) {
        (written, false)
    } else {
        text = written.chars().filter(|c| !c.is_whitespace()).collect();
        (text.as_str(), text.len() != written.len())
    };
    let points = compact.bytes().filter(|byte| *byte == b'.').count();
    let commas = compact.bytes().filter(|byte| *byte == b',').count();
    let mark = match (points, commas) {
        (0 | 1, 0) => DecimalMark::Point,
        (0, 1) => DecimalMark::Comma,
        _ => return read_grouped(written, compact, currency),
    };
    let money = Money::parse(compact, mark, currency).map_err(|error| as_written(&error, written))?;
    let doubtful = doubtful(compact, currency);
    if doubtful && currency.digits() == 0 {
        // A currency without a fraction has no use for a decimal mark: one of the two habits must be wrong.
        return Err(Unreadable::Marks(written.to_owned()));
    }
    Ok(Amount { money, interpreted: spaced || commas > 0, doubtful })
}

/// Several marks: one kind groups thousands; the other, if it is there, comes once, last, and is the decimal mark.
fn read_grouped(written: &str, compact: &str, currency: Currency) -> Result<Amount, Unreadable> {
    let marks = || Unreadable::Marks(written.to_owned());
    let last = compact.rfind(['.', ',']).ok_or_else(marks)?;
    let group = if compact.as_bytes()[last] == b'.' { ',' } else { '.' };
    let (whole, fraction, group) = if compact.contains(group) {
        (&compact[..last], &compact[last + 1..], group)
    } else {
        (compact, "", if group == '.' { ',' } else { '.' })
    };
    let digits = whole.trim_start_matches(['-', '+']);
    let grouped = digits.split(group).enumerate().all(|(at, part)| {
        let length = if at == 0 { (1..=3).contains(&part.len()) } else { part.len() == 3 };
        length && part.bytes().all(|byte| byte.is_ascii_digit())
    });
    if !grouped || digits.starts_with('0') {
        return Err(marks());
    }
    let mut plain: String = whole.chars().filter(|c| *c != group).collect();
    plain.push('.');
    plain.push_str(fraction);
    let money = Money::parse(&plain, DecimalMark::Point, currency).map_err(|error| as_written(&error, written))?;
    Ok(Amount { money, interpreted: true, doubtful: false })
}

/// Could its one mark separate thousands? One to three digits, not beginning with zero, and three more.
fn doubtful(compact: &str, currency: Currency) -> bool {
    let digits = compact.trim_start_matches(['-', '+']);
    digits.split_once(['.', ',']).is_some_and(|(whole, fraction)| {
        fraction.len() == 3 && currency.digits() < 3 && (1..=3).contains(&whole.len()) && !whole.starts_with('0')
    })
}

/// The same error about the text as it stands in the file.
fn as_written(error: &AmountError, written: &str) -> Unreadable {
    let text = written.to_owned();
    Unreadable::Amount(match *error {
        AmountError::NoDigits(_) => AmountError::NoDigits(text),
        AmountError::NotANumber { found, .. } => AmountError::NotANumber { text, found },
        AmountError::TooFine { currency, digits, .. } => AmountError::TooFine { text, currency, digits },
        AmountError::TooLarge(_) => AmountError::TooLarge(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, code: &str) -> Option<i64> {
        read(text, Currency::new(code).unwrap()).ok().map(|amount| amount.money.minor())
    }

    #[test]
    fn a_decimal_mark_is_a_point_or_a_comma() {
        for (text, minor) in [
            ("-530.86", -53_086),
            ("-530,86", -53_086),
            ("   -11,76", -1_176),
            ("- 2,23", -223),
            ("1 234,56", 123_456),
            ("+140", 14_000),
            ("-33.3", -3_330),
            (",5", 50),
            ("1,234.56", 123_456),
            ("1.234,56", 123_456),
            ("-12.345.678,9", -1_234_567_890),
            ("1.234.567", 123_456_700),
        ] {
            assert_eq!(of(text, "BRL"), Some(minor), "{text}");
        }
        assert_eq!(of("1,234.00", "JPY"), Some(1_234));
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused_or_marked() {
        for text in
            ["", ".", "-", "1,23.45", "1.23,456", "12,34,56", "1.2.3", "0.123.456", "1,234.567", "R$ 5", "5-", "1e3"]
        {
            assert_eq!(of(text, "BRL"), None, "{text}");
        }
        let brl = Currency::new("BRL").unwrap();
        assert!(read("1.000", brl).unwrap().doubtful);
        assert!(!read("0.050", brl).unwrap().doubtful);
        assert!(!read("1000.000", brl).unwrap().doubtful);
        assert!(!read("1.234", Currency::new("KWD").unwrap()).unwrap().doubtful);
        assert_eq!(of("1.000", "CLP"), None);
        assert!(read("27,05", brl).unwrap().interpreted && !read("27.05", brl).unwrap().interpreted);
    }
}
