//! Money in integer minor units, and the currencies it is counted in.
//!
//! Amounts are signed as the account's owner sees them: `+` is money in. A fraction finer than the currency has
//! digits for is an error, never a rounding, and two currencies are never added. Sums are `i128`, so that no file can
//! overflow one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An ISO 4217 currency that has minor units.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Currency {
    code: [u8; 3],
    digits: u8,
}

/// An exact amount of one currency, in minor units (cents for BRL, yen for JPY, fils for KWD).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Money {
    minor: i64,
    currency: Currency,
}

/// A sum of amounts of one currency. Wider than [`Money`], so that adding up a file cannot overflow.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Total {
    minor: i128,
    currency: Currency,
}

/// Which character separates the fraction in a written amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalMark {
    /// `1234.56`
    Point,
    /// `1234,56`
    Comma,
}

/// Why a currency code was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an ISO 4217 currency code with minor units")]
pub struct UnknownCurrency(pub String);

/// Why a written amount was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Nothing but white space, or a sign or a mark without a digit.
    #[error("{0:?} has no digits")]
    NoDigits(String),
    /// A character that is neither a digit, nor a leading sign, nor the one decimal mark.
    #[error("{text:?} has {found:?} where a digit was expected")]
    NotANumber {
        /// The amount as written.
        text: String,
        /// The first character that does not belong.
        found: char,
    },
    /// More significant fraction digits than the currency has.
    #[error("{text:?} is finer than {currency} allows ({digits} decimal digits)")]
    TooFine {
        /// The amount as written.
        text: String,
        /// The currency.
        currency: Currency,
        /// How many fraction digits it has.
        digits: u8,
    },
    /// Does not fit 64 bits of minor units.
    #[error("{0:?} is too large")]
    TooLarge(String),
}

// === impl Currency ===

impl Currency {
    /// Looks up a three-letter ISO 4217 code. Codes without minor units (`XXX`, precious metals) are refused: nothing
    /// can be counted in them.
    pub fn new(code: &str) -> Result<Self, UnknownCurrency> {
        let unknown = || UnknownCurrency(code.to_owned());
        let known = iso_currency::Currency::from_code(code).ok_or_else(unknown)?;
        let digits = known.exponent().and_then(|digits| u8::try_from(digits).ok()).ok_or_else(unknown)?;
        let bytes: [u8; 3] = code.as_bytes().try_into().map_err(|_| unknown())?;
        Ok(Self { code: bytes, digits })
    }

    /// The three letters.
    pub fn code(&self) -> &str {
        // Unwrap safety: the bytes came from a &str that the ISO table knows, and those are ASCII.
        std::str::from_utf8(&self.code).unwrap_or("XXX")
    }

    /// How many digits its minor unit has: 2 for BRL, 0 for JPY, 3 for KWD.
    pub fn digits(&self) -> u8 {
        self.digits
    }

    /// Minor units in one unit.
    fn scale(&self) -> i128 {
        10_i128.pow(u32::from(self.digits))
    }
}

impl FromStr for Currency {
    type Err = UnknownCurrency;
    fn from_str(code: &str) -> Result<Self, Self::Err> {
        Self::new(code)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        Self::new(&code).map_err(serde::de::Error::custom)
    }
}

// === impl Money ===

impl Money {
    /// From minor units.
    pub fn new(minor: i64, currency: Currency) -> Self {
        Self { minor, currency }
    }

    /// Nothing, in this currency.
    pub fn zero(currency: Currency) -> Self {
        Self { minor: 0, currency }
    }

    /// Reads an amount exactly: an optional sign, digits, and at most one decimal mark. No thousands separators, no
    /// exponent, no currency sign; white space around it is ignored. Fraction digits past the currency's are accepted
    /// only where they are zeros (`27.050` EUR is 27.05).
    pub fn parse(text: &str, mark: DecimalMark, currency: Currency) -> Result<Self, AmountError> {
        let trimmed = text.trim();
        let mark = match mark {
            DecimalMark::Point => '.',
            DecimalMark::Comma => ',',
        };
        let (negative, body) = match trimmed.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
        };
        let too_large = || AmountError::TooLarge(text.to_owned());
        let mut minor: i128 = 0;
        let mut digits_seen = false;
        let mut fraction: Option<u8> = None;
        for found in body.chars() {
            match (found.to_digit(10), fraction) {
                (Some(digit), None) => {
                    digits_seen = true;
                    minor = minor * 10 + i128::from(digit);
                }
                (Some(digit), Some(places)) => {
                    digits_seen = true;
                    if places < currency.digits {
                        minor = minor * 10 + i128::from(digit);
                        fraction = Some(places + 1);
                    } else if digit != 0 {
                        return Err(AmountError::TooFine { text: text.to_owned(), currency, digits: currency.digits });
                    }
                }
                (None, None) if found == mark => fraction = Some(0),
                (None, _) => return Err(AmountError::NotANumber { text: text.to_owned(), found }),
            }
            if minor > i128::from(i64::MAX) {
                return Err(too_large());
            }
        }
        if !digits_seen {
            return Err(AmountError::NoDigits(text.to_owned()));
        }
        let missing = currency.digits - fraction.unwrap_or(0);
        minor *= 10_i128.pow(u32::from(missing));
        let minor = i64::try_from(minor).map_err(|_| too_large())?;
        Ok(Self { minor: if negative { -minor } else { minor }, currency })
    }

    /// Minor units, signed.
    pub fn minor(&self) -> i64 {
        self.minor
    }

    /// Its currency.
    pub fn currency(&self) -> Currency {
        self.currency
    }

    /// Is it nothing?
    pub fn is_zero(&self) -> bool {
        self.minor == 0
    }

    /// The same amount in the other direction. `None` for `i64::MIN`, which has no opposite.
    pub fn checked_neg(self) -> Option<Self> {
        Some(Self { minor: self.minor.checked_neg()?, currency: self.currency })
    }
}

impl From<Money> for Total {
    fn from(money: Money) -> Self {
        Self { minor: i128::from(money.minor), currency: money.currency }
    }
}

// === impl Total ===

impl Total {
    /// From minor units.
    pub fn new(minor: i128, currency: Currency) -> Self {
        Self { minor, currency }
    }

    /// Nothing, in this currency.
    pub fn zero(currency: Currency) -> Self {
        Self { minor: 0, currency }
    }

    /// Minor units, signed.
    pub fn minor(&self) -> i128 {
        self.minor
    }

    /// Its currency.
    pub fn currency(&self) -> Currency {
        self.currency
    }

    /// As [`Money`], if it fits.
    pub fn to_money(self) -> Option<Money> {
        Some(Money { minor: i64::try_from(self.minor).ok()?, currency: self.currency })
    }
}

fn write_minor(minor: i128, currency: Currency, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let scale = currency.scale().unsigned_abs();
    let magnitude = minor.unsigned_abs();
    let sign = if minor < 0 { "-" } else { "" };
    if currency.digits == 0 {
        return f.pad(&format!("{sign}{magnitude}"));
    }
    let width = usize::from(currency.digits);
    f.pad(&format!("{sign}{}.{:0width$}", magnitude / scale, magnitude % scale))
}

/// The amount alone, with the currency's own number of digits and a decimal point: `-530.86`, `1200`, `0.005`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_minor(i128::from(self.minor), self.currency, f)
    }
}

/// As [`Money`]'s.
impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_minor(self.minor, self.currency, f)
    }
}

impl fmt::Debug for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} {}", self.currency)
    }
}

impl fmt::Debug for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} {}", self.currency)
    }
}

/// A decimal string, as in every JSON of ours: a number would lose cents in readers that use floats.
impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Total {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brl(text: &str) -> Result<i64, AmountError> {
        Money::parse(text, DecimalMark::Point, Currency::new("BRL").unwrap()).map(|money| money.minor())
    }

    #[test]
    fn an_amount_is_read_exactly() {
        assert_eq!(brl("-530.86"), Ok(-53_086));
        assert_eq!(brl("  +1 "), Ok(100));
        assert_eq!(brl("0.1"), Ok(10));
        assert_eq!(brl(".5"), Ok(50));
        assert_eq!(brl("27.050"), Ok(2_705));
        assert_eq!(brl("92233720368547758.07"), Ok(i64::MAX));
    }

    #[test]
    fn a_finer_fraction_is_refused_and_never_rounded() {
        assert!(matches!(brl("0.001"), Err(AmountError::TooFine { .. })));
        let jpy = Currency::new("JPY").unwrap();
        assert!(matches!(Money::parse("10.5", DecimalMark::Point, jpy), Err(AmountError::TooFine { .. })));
        let kwd = Currency::new("KWD").unwrap();
        assert_eq!(Money::parse("1,005", DecimalMark::Comma, kwd).unwrap().minor(), 1_005);
    }

    #[test]
    fn what_is_no_number_is_refused_with_the_character_named() {
        assert_eq!(brl("12..34"), Err(AmountError::NotANumber { text: "12..34".into(), found: '.' }));
        assert_eq!(brl("1,234.56"), Err(AmountError::NotANumber { text: "1,234.56".into(), found: ',' }));
        assert_eq!(brl("1e5"), Err(AmountError::NotANumber { text: "1e5".into(), found: 'e' }));
        assert_eq!(brl("--1"), Err(AmountError::NotANumber { text: "--1".into(), found: '-' }));
        for empty in ["", " ", "-", ".", "-."] {
            assert_eq!(brl(empty), Err(AmountError::NoDigits(empty.into())));
        }
        assert_eq!(brl("92233720368547758.08"), Err(AmountError::TooLarge("92233720368547758.08".into())));
        assert!(matches!(brl(&"9".repeat(400)), Err(AmountError::TooLarge(_))));
    }

    #[test]
    fn an_amount_is_written_with_its_currencys_digits() {
        let shown = |minor, code| Money::new(minor, Currency::new(code).unwrap()).to_string();
        assert_eq!(shown(-53_086, "BRL"), "-530.86");
        assert_eq!(shown(-5, "BRL"), "-0.05");
        assert_eq!(shown(1_200, "JPY"), "1200");
        assert_eq!(shown(5, "KWD"), "0.005");
        assert_eq!(shown(i64::MIN, "EUR"), "-92233720368547758.08");
    }

    #[test]
    fn a_currency_without_minor_units_is_refused() {
        assert!(Currency::new("XXX").is_err());
        assert!(Currency::new("brl").is_err());
        assert!(Currency::new("R$").is_err());
    }
}
