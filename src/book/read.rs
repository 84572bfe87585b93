//! A book file from its first byte to its last: told apart by content, read whole or refused whole.

use super::cells::{Cells, Reading};
use super::header::{Layout, Shape};
use super::profile::{Field, Profile};
use super::table::{Row, Table, decode};
use super::{BookLine, Input, ParsedBook, balances, entries, json, suggest};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::matching::Side;
use crate::money::Currency;

/// Reads a book file: postings or ledger balances, as CSV or as JSON lines. Total: any bytes end in a book or in
/// located findings; where one of them is an error, nothing is taken, and if some profile would read the file, its lines
/// are among the findings.
pub fn parse(input: &Input<'_>) -> ParsedBook {
    let plain = Profile::default();
    let mut parsed = read(input.bytes, input.profile.unwrap_or(&plain));
    if parsed.is_refused() {
        parsed.lines.clear();
        parsed.balances.clear();
        let suggested = suggest::profiles(input.bytes);
        if let Some(keys) = suggested.first().map(suggest::keys) {
            // All that the plain format finds wrong has one cause: it is told once, with what to do.
            let count = parsed.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
            let mut first = true;
            parsed.diagnostics.retain(|found| found.severity != Severity::Error || std::mem::take(&mut first));
            if let Some(error) = parsed.diagnostics.iter_mut().find(|found| found.severity == Severity::Error) {
                let so = if count > 1 { format!("; the first of {count} findings") } else { String::new() };
                error.message =
                    format!("{}{so}. The file is of another dialect: a profile with {keys} reads it", error.message);
            }
        }
        parsed.diagnostics.extend(suggested);
    }
    parsed
}

/// As [`parse`], without suggestions.
pub(super) fn read(bytes: &[u8], profile: &Profile) -> ParsedBook {
    let plain = Profile::default();
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // JSON is UTF-8 by its own standard, whatever a profile of CSV files says.
    let profile = if is_json(start) || is_plain_balances(start, profile) { &plain } else { profile };
    match decode(bytes, profile.encoding) {
        Ok(text) => read_text(&text, profile, Stop::Never),
        Err(diagnostic) => ParsedBook { diagnostics: vec![diagnostic], ..ParsedBook::default() },
    }
}

/// When to stop reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// At the end: every finding is told.
    Never,
    /// At the first error: somebody only asks whether there is one.
    AtFirstError,
}

/// As [`read`], of a text that was decoded.
pub(super) fn read_text(text: &str, profile: &Profile, stop: Stop) -> ParsedBook {
    let mut reading = Reading { profile, diagnostics: Diagnostics::default() };
    let mut parsed = ParsedBook::default();
    if text.trim_start().is_empty() {
        reading.diagnostics.error("EMPTY", "found nothing in the file, expected a header or a JSON object");
    } else if is_json(text.as_bytes()) {
        read_json(text, &mut reading, &mut parsed);
    } else {
        read_csv(text, &mut reading, &mut parsed, stop);
    }
    if !reading.diagnostics.has_errors() {
        if parsed.lines.is_empty() && parsed.balances.is_empty() {
            let message = "the file has a header and no record: it says nothing about any day";
            reading.diagnostics.push(Diagnostic::new(Severity::Warning, "NO_RECORDS", message));
        }
        parsed.lines = entries::without_duplicates(parsed.lines, &mut reading.diagnostics);
        parsed.balances = balances::without_duplicates(parsed.balances, &mut reading.diagnostics);
    }
    parsed.diagnostics = reading.diagnostics.into_vec();
    parsed
}

/// Does a file that begins like this look like a book file: the plain format's own names, as a header in any common
/// delimiter or as a JSON object? For whoever put it where statements are read.
pub fn looks_like_one(head: &str) -> bool {
    let Some(first) = head.lines().map(str::trim).find(|line| !line.is_empty()) else { return false };
    if is_json(first.as_bytes()) {
        return json::object(first, 1).is_ok_and(|object| object.get(Field::Account).is_some());
    }
    [',', ';', '\t', '|'].into_iter().any(|delimiter| {
        let names: Vec<Option<Field>> =
            first.split(delimiter).map(|name| Field::from_name(name.trim().trim_matches('"'))).collect();
        let has = |field| names.contains(&Some(field));
        let amount = [Field::Amount, Field::Debit, Field::Closing].into_iter().any(has);
        let named = has(Field::Id) || has(Field::Account);
        named && has(Field::Date) && amount && names.iter().all(Option::is_some)
    })
}

fn is_json(bytes: &[u8]) -> bool {
    matches!(bytes.iter().find(|byte| !byte.is_ascii_whitespace()), Some(b'{' | b'['))
}

/// Ledger balances with the plain format's own header, beside postings of a profile that cannot mean them: a ledger
/// that exports its postings in a dialect need not export its balances in it.
fn is_plain_balances(bytes: &[u8], profile: &Profile) -> bool {
    let may_be_meant =
        profile.columns.is_empty() && profile.header && profile.delimiter == Profile::default().delimiter;
    let first_line = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    !may_be_meant && std::str::from_utf8(first_line).is_ok_and(Layout::is_plain_balances)
}

fn read_json(text: &str, reading: &mut Reading<'_>, parsed: &mut ParsedBook) {
    let mut ordinal = 0_u32;
    for (line, text) in (1_u32..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        ordinal += 1;
        let object = match json::object(text, line) {
            Ok(object) => object,
            Err(diagnostics) => {
                reading.take(diagnostics);
                continue;
            }
        };
        if object.is_balance() {
            parsed.balances.extend(balances::read(&object, reading));
        } else {
            parsed.lines.extend(entries::read(&object, reading, ordinal));
        }
    }
}

fn read_csv(text: &str, reading: &mut Reading<'_>, parsed: &mut ParsedBook, stop: Stop) {
    each_record(text, Shape::Book, reading, stop, |record, reading, ordinal| {
        if record.layout.balances {
            parsed.balances.extend(balances::read(record, reading));
        } else {
            parsed.lines.extend(entries::read(record, reading, ordinal));
        }
    });
}

/// What is wrong with the columns of a query whose rows are read as a plain book file: a sentence each.
pub fn faults_of_columns(names: &[String], balances: bool) -> Vec<String> {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
    let (header, profile) = (quoted.join(","), Profile::default());
    let layout =
        Table::new(&header, &profile).map_err(|diagnostic| vec![diagnostic]).and_then(|mut table| match table.next() {
            Some(Ok(first)) => Layout::of(&first, &profile, Shape::Book),
            Some(Err(diagnostic)) => Err(vec![diagnostic]),
            None => Err(vec![Diagnostic::new(Severity::Error, "HEADER", "found no column")]),
        });
    match layout {
        Err(diagnostics) => diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect(),
        Ok(layout) if layout.balances == balances => Vec::new(),
        Ok(_) if balances => {
            vec!["found the columns of postings, expected account, date, currency and closing".to_owned()]
        }
        Ok(_) => vec![
            "found the columns of balances, expected those of postings; balances have a query of their own".to_owned(),
        ],
    }
}

/// Reads the items of an opening, each with its side; all are of one currency.
pub fn parse_items(bytes: &[u8], currency: Currency) -> Result<Vec<(Side, BookLine)>, Vec<Diagnostic>> {
    // The account is the one whose opening it is; its name is not asked for and not kept.
    let profile = Profile { account: Some(String::new()), currency: Some(currency), ..Profile::default() };
    let text = decode(bytes, profile.encoding).map_err(|diagnostic| vec![diagnostic])?;
    let mut reading = Reading { profile: &profile, diagnostics: Diagnostics::default() };
    let mut items = Vec::new();
    each_record(&text, Shape::Items, &mut reading, Stop::Never, |record, reading, ordinal| {
        let side = match record.get(Field::Side) {
            Some("bank") => Some(Side::Bank),
            Some("book") => Some(Side::Book),
            found => {
                let problem = format!("found {:?}, expected bank or book", found.unwrap_or_default());
                reading.fault(record, Field::Side, "SIDE", &problem);
                None
            }
        };
        items.extend(side.zip(entries::read(record, reading, ordinal)));
    });
    if reading.diagnostics.has_errors() { Err(reading.diagnostics.into_vec()) } else { Ok(items) }
}

/// Calls `take` for each record after the header, which decides what the columns are.
fn each_record<'p>(
    text: &str,
    shape: Shape,
    reading: &mut Reading<'p>,
    stop: Stop,
    mut take: impl FnMut(&Record<'_, '_>, &mut Reading<'p>, u32),
) {
    let profile = reading.profile;
    let mut table = match Table::new(text, profile) {
        Ok(table) => table,
        Err(diagnostic) => return reading.diagnostics.push(diagnostic),
    };
    let mut layout = None;
    let mut ordinal = 0_u32;
    while let Some(row) = table.next() {
        if stop == Stop::AtFirstError && reading.diagnostics.has_errors() {
            return;
        }
        let row = match row {
            Ok(row) => row,
            Err(diagnostic) => {
                reading.diagnostics.push(diagnostic);
                continue;
            }
        };
        let layout = match &layout {
            Some(layout) => layout,
            None => match Layout::of(&row, profile, shape) {
                Err(diagnostics) => return reading.take(diagnostics),
                Ok(found) => {
                    let found = &*layout.insert(found);
                    if profile.header {
                        continue;
                    }
                    found
                }
            },
        };
        ordinal += 1;
        take(&Record { row: &row, layout }, reading, ordinal);
    }
    if layout.is_none() && !reading.diagnostics.has_errors() {
        reading.diagnostics.error("EMPTY", "found no record, expected a header");
    }
}

/// A CSV record under a layout.
struct Record<'r, 't> {
    row: &'r Row<'t>,
    layout: &'r Layout,
}

impl Cells for Record<'_, '_> {
    fn get(&self, field: Field) -> Option<&str> {
        Some(self.row.field(self.layout.columns[field as usize]?)).filter(|text| !text.is_empty())
    }

    fn place(&self, field: Field) -> (u32, Option<u32>) {
        match self.layout.columns[field as usize] {
            Some(index) => {
                let (line, column) = self.row.place(index);
                (line, Some(column))
            }
            None => (self.row.line, None),
        }
    }

    fn line(&self) -> u32 {
        self.row.line
    }
}
