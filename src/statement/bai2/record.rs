//! A file as records, each with what continues it.
//!
//! A record is a line: two digits, a comma, fields, and often a `/`. A record 88 continues the one before it, wherever
//! that was cut, so fields are read across the join and not from one line.

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// A record and its continuations.
#[derive(Debug)]
pub(super) struct Record<'a> {
    /// `01`, `02`, `03`, `16`, `49`, `98`, `99`.
    pub(super) code: &'a str,
    /// What stands behind the code, of the record and of each that continues it, without the `/` at the end.
    parts: Vec<&'a str>,
    /// Line in the file, from 1.
    pub(super) line: u32,
}

/// Reads a record's fields, one after the other.
#[derive(Debug)]
pub(super) struct Fields<'r, 'a> {
    parts: &'r [&'a str],
    /// What is left of the part that is being read; none at its end.
    rest: Option<&'a str>,
    at: usize,
}

/// The longest record that is read, continuations among it.
const MAX_RECORD: usize = 1 << 20;

/// Every code there is.
const CODES: [&str; 8] = ["01", "02", "03", "16", "49", "88", "98", "99"];

/// Records without text, behind which some write the next one on the same line.
const WITHOUT_TEXT: [&str; 6] = ["01", "02", "03", "49", "98", "99"];

/// Splits a text into records.
pub(super) fn records<'a>(text: &'a str, found: &mut Diagnostics) -> Vec<Record<'a>> {
    let mut records: Vec<Record<'a>> = Vec::new();
    for (line, raw) in (1..).zip(text.split('\n')) {
        let mut rest = raw.trim_end_matches(['\r', '\u{1a}', ' ']);
        while !rest.trim().is_empty() {
            let (this, next) = first_of(rest);
            take(this, line, &mut records, found);
            rest = next;
        }
    }
    for record in &records {
        let length: usize = record.parts.iter().map(|part| part.len()).sum();
        if length > MAX_RECORD {
            let message =
                format!("a record of {length} bytes, with what continues it; none has more than {MAX_RECORD}");
            found.push(Diagnostic::new(Severity::Error, "LIMIT", message).at_line(record.line));
        }
    }
    records
}

/// The first record of a line, and what follows it.
fn first_of(line: &str) -> (&str, &str) {
    if !WITHOUT_TEXT.iter().any(|code| line.starts_with(code)) {
        return (line, "");
    }
    let next = line.match_indices('/').find(|(at, _)| {
        let rest = &line[at + 1..];
        CODES.iter().any(|code| rest.strip_prefix(code).is_some_and(|rest| rest.starts_with(',')))
    });
    next.map_or((line, ""), |(at, _)| (&line[..=at], &line[at + 1..]))
}

fn take<'a>(line: &'a str, number: u32, records: &mut Vec<Record<'a>>, found: &mut Diagnostics) {
    // `88:` is a known slip.
    let known = line.get(..2).filter(|code| CODES.contains(code)).and_then(|code| {
        let rest = &line[2..];
        let rest = rest.strip_prefix(',').or_else(|| rest.strip_prefix(':').filter(|_| code == "88"))?;
        Some((code, rest.strip_suffix('/').unwrap_or(rest)))
    });
    match (known, records.last_mut()) {
        (Some(("88", content)), Some(open)) => open.parts.push(content),
        (Some(("88", _)), None) | (None, _) => {
            let message = "no record: expected 01, 02, 03, 16, 49, 88, 98 or 99 and a comma";
            found.push(Diagnostic::new(Severity::Error, "RECORD", message).at_line(number));
        }
        (Some((code, content)), _) => records.push(Record { code, parts: vec![content], line: number }),
    }
}

// === impl Record ===

impl<'a> Record<'a> {
    /// How many records it is: itself, and those that continue it.
    pub(super) fn count(&self) -> u64 {
        self.parts.len() as u64
    }

    pub(super) fn fields(&self) -> Fields<'_, 'a> {
        Fields { parts: &self.parts, rest: self.parts.first().copied(), at: 0 }
    }
}

// === impl Fields ===

impl<'a> Fields<'_, 'a> {
    /// The next field, trimmed; `None` where the record has no more.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        while self.rest.is_none() {
            self.at += 1;
            self.rest = Some(*self.parts.get(self.at)?);
        }
        let rest = self.rest?;
        let (field, rest) = rest.split_once(',').map_or((rest, None), |(field, rest)| (field, Some(rest)));
        self.rest = rest;
        Some(field.trim())
    }

    /// The next field, if it is there and not empty.
    pub(super) fn filled(&mut self) -> Option<&'a str> {
        self.next().filter(|field| !field.is_empty())
    }

    /// All that is left, as text: commas and all, the parts joined by a space.
    pub(super) fn text(self) -> String {
        let more = self.parts.get(self.at + 1..).unwrap_or_default();
        let all: Vec<&str> = self.rest.into_iter().chain(more.iter().copied()).map(str::trim).collect();
        all.join(" ").trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, Vec<String>)> {
        let mut found = Diagnostics::default();
        let records = records(text, &mut found);
        assert_eq!(found.into_vec(), []);
        let fields = |record: &Record<'_>| {
            let mut fields = record.fields();
            let mut all = Vec::new();
            while let Some(field) = fields.next() {
                all.push(field.to_owned());
            }
            all
        };
        records.iter().map(|record| (record.code.to_owned(), fields(record))).collect()
    }

    #[test]
    fn a_continuation_goes_on_in_the_middle_of_anything() {
        // moj bai2#50
        let [(code, fields)] = &read("03,1,,010,5,,,190/\n88,7,,,110,1,,/\n")[..] else { panic!() };
        assert_eq!((code.as_str(), fields.join("|")), ("03", "1||010|5|||190|7|||110|1||".to_owned()));
    }

    #[test]
    fn records_may_share_a_line_and_lack_their_mark() {
        // moov PR#104
        let codes: Vec<String> =
            read("01,a,b/02,c,d/03,1,/\r\n49,,2\r\n98,0,1,4/99,0,1,6").into_iter().map(|it| it.0).collect();
        assert_eq!(codes, ["01", "02", "03", "49", "98", "99"]);
    }

    #[test]
    fn text_may_hold_commas_and_slashes() {
        let mut found = Diagnostics::default();
        let records = records("16,447,100,,B1,C1,from a/b, of 16,000/\n88: and /more/\n", &mut found);
        let mut fields = records[0].fields();
        for expected in ["447", "100", "", "B1", "C1"] {
            assert_eq!(fields.next(), Some(expected));
        }
        assert_eq!(fields.text(), "from a/b, of 16,000 and /more");
    }

    #[test]
    fn what_is_no_record_is_refused_with_its_line() {
        let mut found = Diagnostics::default();
        records("01,a/\nhello\n", &mut found);
        let found = found.into_vec();
        assert_eq!((found[0].code, found[0].line), ("RECORD", Some(2)));
    }
}
