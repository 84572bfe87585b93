//! A record: 240 characters, told apart by the eighth.

use std::ops::RangeInclusive;

use chrono::NaiveDate;

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::money::{Currency, Money};

/// How long a record is.
const LENGTH: usize = 240;
/// What every amount has behind its (unwritten) comma.
const DECIMALS: u8 = 2;

/// What a record is: its character at position 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    FileHeader,
    BatchHeader,
    Detail,
    BatchTrailer,
    FileTrailer,
    /// Of batches of other services (2 and 4: what belongs to a batch as a whole).
    Other,
}

/// One record, as characters.
#[derive(Debug)]
pub(super) struct Record {
    characters: Vec<char>,
    pub(super) kind: Kind,
    /// Line in the file, from 1.
    pub(super) line: u32,
}

/// Reads the text's records. Lines that are none are told.
pub(super) fn records(text: &str, found: &mut Diagnostics) -> Vec<Record> {
    let mut records = Vec::new();
    for (line, raw) in (1..).zip(text.split('\n')) {
        let raw = raw.trim_end_matches(['\r', '\u{1a}']);
        if raw.trim().is_empty() {
            continue;
        }
        let mut characters: Vec<char> = raw.chars().collect();
        // Spaces at the end are lost, or one too many, on the way through editors and mail.
        let excess = characters.iter().skip(LENGTH).any(|c| !c.is_whitespace());
        let kind = characters.get(7).and_then(|c| Kind::of(*c));
        let refused = match kind {
            _ if excess => Some(format!("a line of {} characters: a record has {LENGTH}", characters.len())),
            None => Some("no record: expected its kind, a digit, at position 8".to_owned()),
            Some(_) => None,
        };
        if let Some(message) = refused {
            found.push(Diagnostic::new(Severity::Error, "RECORD", message).at_line(line));
            continue;
        }
        characters.resize(LENGTH, ' ');
        if let Some(kind) = kind {
            records.push(Record { characters, kind, line });
        }
    }
    records
}

// === impl Kind ===

impl Kind {
    fn of(character: char) -> Option<Self> {
        Some(match character {
            '0' => Self::FileHeader,
            '1' => Self::BatchHeader,
            '3' => Self::Detail,
            '5' => Self::BatchTrailer,
            '9' => Self::FileTrailer,
            '2' | '4' => Self::Other,
            _ => return None,
        })
    }
}

// === impl Record ===

impl Record {
    /// The characters at these positions, counted from 1 as the standard does, trimmed.
    pub(super) fn text(&self, positions: RangeInclusive<usize>) -> String {
        self.raw(positions).trim().to_owned()
    }

    /// The same, as it stands there.
    pub(super) fn raw(&self, positions: RangeInclusive<usize>) -> String {
        self.characters.iter().skip(positions.start() - 1).take(positions.clone().count()).collect()
    }

    /// The character at a position, if it is not a space.
    pub(super) fn letter(&self, position: usize) -> Option<char> {
        self.characters.get(position - 1).copied().filter(|c| !c.is_whitespace())
    }

    /// `DDMMAAAA`. Zeros and spaces are no date; anything else that is none is an error, which says what stood there.
    pub(super) fn date(&self, positions: RangeInclusive<usize>) -> Result<Option<NaiveDate>, String> {
        let text = self.text(positions);
        if text.bytes().all(|byte| byte == b'0') {
            return Ok(None);
        }
        NaiveDate::parse_from_str(&text, "%d%m%Y").map(Some).map_err(|_| format!("{text:?}: expected a date, DDMMAAAA"))
    }

    /// Sixteen digits and two behind the comma.
    pub(super) fn amount(&self, positions: RangeInclusive<usize>, currency: Currency) -> Result<Money, String> {
        let text = self.text(positions);
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let minor = Some(&text).filter(|_| digits && currency.digits() == DECIMALS).and_then(|text| text.parse().ok());
        minor.map(|minor| Money::new(minor, currency)).ok_or_else(|| {
            format!("{text:?}: expected digits alone, the last two behind the comma, of a currency that has two")
        })
    }

    /// The same with its sign: D takes, C gives.
    pub(super) fn signed(
        &self,
        positions: RangeInclusive<usize>,
        mark: usize,
        currency: Currency,
    ) -> Result<Money, String> {
        let amount = self.amount(positions, currency)?;
        match self.letter(mark) {
            Some('C' | 'c') => Ok(amount),
            Some('D' | 'd') => amount.checked_neg().ok_or_else(|| "out of range".to_owned()),
            // Nothing, in either direction.
            _ if amount.is_zero() => Ok(amount),
            other => {
                Err(format!("the mark at {mark} is {:?}: expected C or D", other.map_or(String::new(), String::from)))
            }
        }
    }

    /// A count; none where nothing stands there.
    pub(super) fn count(&self, positions: RangeInclusive<usize>) -> Option<u64> {
        self.text(positions).parse().ok()
    }
}
