//! Written amounts of a declared dialect: decimal mark, and digit groups where they are declared.

use super::profile::{Profile, Thousands};
use crate::money::{AmountError, Currency, Money};

/// Reads an amount exactly. Where groups are declared they must be groups: one to three digits, then three each time
/// (`1.234.567,89`); `12.34` is no number of thousands.
pub(super) fn read(text: &str, profile: &Profile, currency: Currency) -> Result<Money, AmountError> {
    let mark = profile.decimal.into();
    let Some(thousands) = profile.thousands else { return Money::parse(text, mark, currency) };
    match ungrouped(text, thousands, profile.decimal.character()) {
        Some(bare) => Money::parse(&bare, mark, currency),
        None => Err(AmountError::NotANumber { text: text.to_owned(), found: thousands.character() }),
    }
}

/// The text without its group separators, or `None` where they do not stand between groups of three digits.
fn ungrouped(text: &str, thousands: Thousands, decimal: char) -> Option<String> {
    let separator = thousands.character();
    // Spreadsheets group with a no-break space where they show a space.
    let is_separator =
        |c: char| c == separator || (thousands == Thousands::Space && matches!(c, '\u{a0}' | '\u{202f}'));
    let text = text.trim();
    let (whole, fraction) = match text.find(decimal) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    if fraction.contains(is_separator) {
        return None;
    }
    let (sign, digits) = match whole.strip_prefix(['-', '+']) {
        Some(digits) => (&whole[..1], digits),
        None => ("", whole),
    };
    let mut groups = digits.split(is_separator);
    let first = groups.next()?;
    let mut bare = format!("{sign}{first}");
    for (at, group) in groups.enumerate() {
        if group.len() != 3 || (at == 0 && !(1..=3).contains(&first.len())) {
            return None;
        }
        bare.push_str(group);
    }
    bare.push_str(fraction);
    Some(bare)
}

#[cfg(test)]
mod tests {
    use super::super::profile::Decimal;
    use super::*;

    #[test]
    fn groups_of_thousands_are_read_only_where_they_are_groups() {
        let brl = Currency::new("BRL").unwrap();
        let profile = Profile { decimal: Decimal::Comma, thousands: Some(Thousands::Point), ..Profile::default() };
        let minor = |text| read(text, &profile, brl).ok().map(|money| money.minor());
        assert_eq!(minor("1.355,90"), Some(135_590));
        assert_eq!(minor("-1.234.567,8"), Some(-123_456_780));
        assert_eq!(minor("530,86"), Some(53_086));
        assert_eq!(minor("-3.000"), Some(-300_000));
        for text in ["1.35,90", "1234.567,00", ".123", "1..234", "1,234.50", "110.7", "1.234.", "-.500"] {
            assert_eq!(minor(text), None, "{text}");
        }
        let spaced = Profile { thousands: Some(Thousands::Space), ..Profile::default() };
        assert_eq!(read("1\u{a0}234.50", &spaced, brl).map(|money| money.minor()), Ok(123_450));
    }
}
