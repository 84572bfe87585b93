//! Written dates, by a declared pattern: `YYYY-MM-DD`, `DD/MM/YYYY`, `DD.MM.YYYY hh:mm:ss`.
//!
//! Every letter stands for exactly one digit, so that no date can be read in two ways. A time of day is checked to be
//! digits and left out: the books' date is the date that is written.

use std::fmt;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

/// How dates are written: `YYYY`, `MM`, `DD` once each, `hh`, `mm`, `ss` for a time that is left out, and any other
/// characters as themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DatePattern {
    text: String,
    parts: Vec<Part>,
}

/// A pattern that names no date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no date pattern: expected YYYY, MM and DD once each, as in DD/MM/YYYY")]
pub struct BadDatePattern(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Year,
    Month,
    Day,
    /// Two digits of a time of day.
    Time,
    Literal(u8),
}

// === impl DatePattern ===

impl DatePattern {
    /// Checks the pattern.
    pub fn new(text: &str) -> Result<Self, BadDatePattern> {
        const TOKENS: [(&str, Part); 6] = [
            ("YYYY", Part::Year),
            ("MM", Part::Month),
            ("DD", Part::Day),
            ("hh", Part::Time),
            ("mm", Part::Time),
            ("ss", Part::Time),
        ];
        let bad = || BadDatePattern(text.to_owned());
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.bytes().next() {
            if let Some((token, part)) = TOKENS.iter().find(|(token, _)| rest.starts_with(token)) {
                parts.push(*part);
                rest = &rest[token.len()..];
            } else if first.is_ascii() && !matches!(first, b'Y' | b'M' | b'D' | b'h' | b'm' | b's' | b'0'..=b'9') {
                parts.push(Part::Literal(first));
                rest = &rest[1..];
            } else {
                return Err(bad());
            }
        }
        let once = |part| parts.iter().filter(|found| **found == part).count() == 1;
        if once(Part::Year) && once(Part::Month) && once(Part::Day) {
            Ok(Self { text: text.to_owned(), parts })
        } else {
            Err(bad())
        }
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The date, if the text has exactly this form and is one.
    pub fn parse(&self, text: &str) -> Option<NaiveDate> {
        let bytes = text.as_bytes();
        let mut at = 0;
        let digits = |count: usize, at: &mut usize| -> Option<u32> {
            let found = bytes.get(*at..*at + count)?;
            *at += count;
            found.iter().try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u32::from(byte - b'0')))
        };
        let (mut year, mut month, mut day) = (0, 0, 0);
        for part in &self.parts {
            match part {
                Part::Year => year = digits(4, &mut at)?,
                Part::Month => month = digits(2, &mut at)?,
                Part::Day => day = digits(2, &mut at)?,
                Part::Time => {
                    digits(2, &mut at)?;
                }
                Part::Literal(literal) => {
                    if bytes.get(at) != Some(literal) {
                        return None;
                    }
                    at += 1;
                }
            }
        }
        if at != bytes.len() {
            return None;
        }
        NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)
    }
}

/// ISO 8601.
impl Default for DatePattern {
    fn default() -> Self {
        use Part::{Day, Literal, Month, Year};
        Self { text: "YYYY-MM-DD".to_owned(), parts: vec![Year, Literal(b'-'), Month, Literal(b'-'), Day] }
    }
}

impl TryFrom<String> for DatePattern {
    type Error = BadDatePattern;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl From<DatePattern> for String {
    fn from(pattern: DatePattern) -> Self {
        pattern.text
    }
}

impl fmt::Display for DatePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_read_only_in_exactly_its_pattern() {
        let expected = NaiveDate::from_ymd_opt(2026, 11, 27);
        assert_eq!(DatePattern::default().parse("2026-11-27"), expected);
        assert_eq!(DatePattern::new("DD/MM/YYYY").unwrap().parse("27/11/2026"), expected);
        assert_eq!(DatePattern::new("DD.MM.YYYY hh:mm").unwrap().parse("27.11.2026 09:05"), expected);
        for text in ["2026-11-7", "27/11/2026", "2026-11-27 ", "2026-11-27T00:00", "2026-02-30", "20é6-11-27", ""] {
            assert_eq!(DatePattern::default().parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_pattern_that_names_no_date_is_refused() {
        for text in ["", "YYYY-MM", "DD/MM/YY", "DD/MM/YYYY DD", "YYYY-MM-D", "JJJJ-MM-TT", "1YYYYMMDD"] {
            assert!(DatePattern::new(text).is_err(), "{text}");
        }
        assert_eq!(DatePattern::new("YYYY-MM-DD"), Ok(DatePattern::default()));
    }
}
