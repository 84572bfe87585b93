//! CSV as records with exact places: which line and column each field stands in.
//!
//! The `csv` crate splits, and is lenient about quotes; one quote that is never closed would swallow every line after
//! it. So quotes are checked first, strictly (RFC 4180). The crate's line of a record counts blank lines before it
//! wrongly, hence lines are counted here.

use csv::ByteRecord;

use super::profile::{Encoding, Profile};
use crate::diagnostic::{Diagnostic, Severity};

/// Records of a CSV text.
pub(super) struct Table<'a> {
    text: &'a str,
    reader: csv::Reader<&'a [u8]>,
    record: ByteRecord,
    profile: &'a Profile,
    /// Where the reader's byte 0 lies in `text`.
    base: usize,
    /// Up to here lines were counted.
    counted: usize,
    line: u32,
    newline: u8,
}

/// One record.
pub(super) struct Row<'t> {
    record: &'t ByteRecord,
    /// Its text, from its first character.
    raw: &'t str,
    /// The line of its first character, from 1.
    pub(super) line: u32,
    delimiter: u8,
    quote: bool,
    newline: u8,
}

/// The text of a file in a declared encoding, or why it is not.
pub(super) fn decode(bytes: &[u8], encoding: Encoding) -> Result<std::borrow::Cow<'_, str>, Diagnostic> {
    let charset = |message: String| Diagnostic::new(Severity::Error, "CHARSET", message);
    let encoding = encoding.get();
    let bytes = match encoding_rs::Encoding::for_bom(bytes) {
        Some((found, length)) if found == encoding => &bytes[length..],
        Some((found, _)) => {
            let (found, expected) = (found.name().to_lowercase(), encoding.name().to_lowercase());
            return Err(charset(format!("found the byte order mark of {found}, expected {expected}")));
        }
        None => bytes,
    };
    let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(bytes) else {
        let message = format!("found bytes that are no {}", encoding.name().to_lowercase());
        let good = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        return Err(match std::str::from_utf8(&bytes[..good]) {
            Ok(before) if encoding == encoding_rs::UTF_8 => {
                let (line, column) = end_of(before, 1, b'\n');
                charset(message).at(line, column)
            }
            _ => charset(message),
        });
    };
    if let Some(at) = text.find('\0') {
        let (line, column) = end_of(&text[..at], 1, b'\n');
        return Err(charset("found a NUL character: this is no text".to_owned()).at(line, column));
    }
    Ok(text)
}

/// The place just after a text that begins at the start of a line.
fn end_of(text: &str, first_line: u32, newline: u8) -> (u32, u32) {
    let newline = char::from(newline);
    let lines = u32::try_from(text.matches(newline).count()).unwrap_or(u32::MAX);
    let rest = text.rfind(newline).map_or(text, |at| &text[at + 1..]);
    let column = u32::try_from(rest.chars().count()).unwrap_or(u32::MAX).saturating_add(1);
    (first_line.saturating_add(lines), column)
}

/// The text without the lines that the profile leaves out at its end.
fn without_footer(text: &str, footer: u32) -> &str {
    let mut kept = text.trim_end();
    if footer == 0 {
        return text;
    }
    for _ in 0..footer {
        let start = kept.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        kept = kept[..start].trim_end();
    }
    // The line end of the last kept line stays, whatever it is.
    &text[..text.len().min(kept.len() + usize::from(kept.len() < text.len()))]
}

// === impl Table ===

impl<'a> Table<'a> {
    /// Opens a text, past the lines that the profile skips. Refused where quotes are not what RFC 4180 says.
    pub(super) fn new(text: &'a str, profile: &'a Profile) -> Result<Self, Diagnostic> {
        let newline = if text.contains('\n') { b'\n' } else { b'\r' };
        let text = without_footer(text, profile.footer);
        let mut base = 0;
        for _ in 0..profile.skip {
            base += text[base..].find(char::from(newline)).map_or(text.len() - base, |at| at + 1);
        }
        let mut table = Self {
            text,
            reader: csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(false)
                .delimiter(profile.delimiter.byte())
                .quoting(profile.quote)
                .from_reader(&text.as_bytes()[base..]),
            record: ByteRecord::new(),
            profile,
            base,
            counted: 0,
            line: 1,
            newline,
        };
        if profile.quote {
            table.check_quotes()?;
        }
        table.count_to(base);
        Ok(table)
    }

    /// The next record; a record of another length than the first is an error, and the next one can be read.
    pub(super) fn next(&mut self) -> Option<Result<Row<'_>, Diagnostic>> {
        let start = self.position();
        let read = self.reader.read_byte_record(&mut self.record);
        // Blank lines before the record are no part of it.
        let blank = self.text[start..].bytes().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let start = start + blank;
        self.count_to(start);
        match read {
            Ok(false) => None,
            Ok(true) => {
                let end = self.position().max(start);
                Some(Ok(Row {
                    record: &self.record,
                    raw: &self.text[start..end],
                    line: self.line,
                    delimiter: self.profile.delimiter.byte(),
                    quote: self.profile.quote,
                    newline: self.newline,
                }))
            }
            Err(error) => {
                let message = match error.kind() {
                    csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                        format!("found {len} fields, expected {expected_len} as in the first record")
                    }
                    _ => format!("cannot be split into fields: {error}"),
                };
                Some(Err(Diagnostic::new(Severity::Error, "FIELDS", message).at_line(self.line)))
            }
        }
    }

    fn position(&self) -> usize {
        let byte = usize::try_from(self.reader.position().byte()).unwrap_or(usize::MAX);
        self.base.saturating_add(byte).min(self.text.len())
    }

    fn count_to(&mut self, to: usize) {
        let newline = self.newline;
        let lines = self.text.as_bytes()[self.counted..to].iter().map(|byte| u32::from(*byte == newline)).sum::<u32>();
        self.line = self.line.saturating_add(lines);
        self.counted = to;
    }

    /// A quote opens a field at its start and closes it at its end; inside, it is doubled.
    fn check_quotes(&self) -> Result<(), Diagnostic> {
        enum At {
            FieldStart,
            Bare,
            Quoted,
            AfterQuote,
        }
        let text = &self.text[self.base..];
        if !text.contains('"') {
            return Ok(());
        }
        let (before, delimiter) = (&self.text[..self.base], self.profile.delimiter.byte());
        let (first_line, _) = end_of(before, 1, self.newline);
        let wrong = |at: usize, what: &str| {
            let (line, column) = end_of(&text[..at], first_line, self.newline);
            let hint =
                "expected a field in quotes as a whole, quotes inside it doubled (or a profile with quote = false)";
            Err(Diagnostic::new(Severity::Error, "QUOTE", format!("found {what}, {hint}")).at(line, column))
        };
        let (mut state, mut opened) = (At::FieldStart, 0);
        for (at, byte) in text.bytes().enumerate() {
            let ends = byte == delimiter || byte == b'\n' || byte == b'\r';
            state = match (state, byte) {
                (At::FieldStart, b'"') => {
                    opened = at;
                    At::Quoted
                }
                (At::Quoted, b'"') => At::AfterQuote,
                (At::Quoted, _) | (At::AfterQuote, b'"') => At::Quoted,
                (At::Bare, b'"') => return wrong(at, "a quote inside a field that is not quoted"),
                (At::AfterQuote, _) if !ends => return wrong(at, "text after the closing quote"),
                (At::FieldStart | At::Bare | At::AfterQuote, _) if ends => At::FieldStart,
                (At::FieldStart | At::Bare | At::AfterQuote, _) => At::Bare,
            };
        }
        if matches!(state, At::Quoted) { wrong(opened, "a quote that is never closed") } else { Ok(()) }
    }
}

// === impl Row ===

impl<'t> Row<'t> {
    /// How many fields it has.
    pub(super) fn len(&self) -> usize {
        self.record.len()
    }

    /// A field, from 0, trimmed.
    pub(super) fn field(&self, index: usize) -> &'t str {
        // The text is UTF-8 and the delimiter ASCII, so a field always is: the fallback is never seen.
        let bytes = self.record.get(index).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default().trim()
    }

    /// Where a field stands: line and column. Scans the record, so for findings only.
    pub(super) fn place(&self, index: usize) -> (u32, u32) {
        let mut quoted = false;
        let mut field = 0;
        let start = self.raw.bytes().position(|byte| {
            if field == index {
                return true;
            }
            if byte == b'"' && self.quote {
                quoted = !quoted;
            } else if byte == self.delimiter && !quoted {
                field += 1;
            }
            false
        });
        end_of(&self.raw[..start.unwrap_or(self.raw.len())], self.line, self.newline)
    }
}
