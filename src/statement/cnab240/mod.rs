//! CNAB 240, extrato de conta corrente para conciliação bancária (FEBRABAN, segment E).
//!
//! ```text
//! charset → records → batches → statements
//! ```
//!
//! A batch (lote) of service 04 is an account's statement: its header states the opening balance, its trailer the closing
//! one, sums and the number of records. The layout is FEBRABAN's; where banks keep account numbers and documents at
//! other positions is known from their files, and each habit has a test by its name in `tests/cnab240.rs`.

mod batch;
mod record;

use self::record::{Kind, Record};
use super::covered::say_what_lies_outside;
use super::whole::{self, Charset};
use super::{Format, Input, Parsed, Statement};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// Shorter than this, a line is no record whose end was cut.
const SHORTEST: usize = 100;
/// A record, and a character too many.
const LONGEST: usize = 241;

/// Does a file that begins like this hold CNAB 240? A bank's number, batch 0000, kind 0.
pub(super) fn knows(head: &str) -> bool {
    let first = head.trim_start().lines().next().unwrap_or_default().trim_end();
    let record = first.get(..8).is_some_and(|start| start.bytes().all(|byte| byte.is_ascii_digit()));
    record && first.get(3..8) == Some("00000") && (SHORTEST..=LONGEST).contains(&first.chars().count())
}

/// Reads a CNAB 240 file, with the statements of all its batches.
pub fn parse(input: &Input<'_>) -> Parsed {
    // Latin-1, by the standard.
    whole::parse(Format::Cnab240, input.bytes, Charset::Usual, |text, found| {
        let records = record::records(text, found);
        let statements = read(&records, found);
        for statement in &statements {
            say_what_lies_outside(statement, found);
        }
        if statements.is_empty() && !found.has_errors() {
            let message = "the file holds no batch of service 04, extrato para conciliação: it is of another service";
            found.error("EMPTY", message);
        }
        statements
    })
}

fn read(records: &[Record], found: &mut Diagnostics) -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    let mut open: Option<(&Record, Vec<&Record>)> = None;
    let mut trailer: Option<&Record> = None;
    let mut batches = 0;
    for record in records {
        match record.kind {
            Kind::BatchHeader => {
                batches += 1;
                if let Some((header, _)) = open.replace((record, Vec::new())) {
                    error(found, "TRUNCATED", header.line, "the batch that begins here has no trailer (kind 5)");
                }
            }
            Kind::Detail | Kind::Other => match &mut open {
                Some((_, details)) => details.push(record),
                None => error(found, "ORDER", record.line, "a detail (kind 3) outside of a batch"),
            },
            Kind::BatchTrailer => match open.take() {
                Some((header, details)) if batch::is_statement(header) => {
                    statements.extend(batch::read(header, &details, record, &statements, found));
                }
                Some((header, _)) => {
                    let service = header.text(10..=11);
                    let message =
                        format!("a batch of service {service}, and not 04, extrato para conciliação: not read");
                    found.push(Diagnostic::new(Severity::Warning, "UNREAD", message).at_line(header.line));
                }
                None => error(found, "ORDER", record.line, "a batch's trailer (kind 5) without its header"),
            },
            Kind::FileTrailer => trailer = Some(record),
            Kind::FileHeader => {}
        }
    }
    if let Some((header, _)) = open {
        error(
            found,
            "TRUNCATED",
            header.line,
            "the batch that begins here has no trailer (kind 5): the file is cut off",
        );
    }
    whole(trailer, batches, records, found);
    statements
}

/// The file's trailer says how many batches and records there are.
fn whole(trailer: Option<&Record>, batches: u64, records: &[Record], found: &mut Diagnostics) {
    let Some(trailer) = trailer else {
        let message = "the file has no trailer (kind 9): nothing says that it is whole";
        found.push(Diagnostic::new(Severity::Warning, "TRUNCATED", message));
        return;
    };
    for (what, stated, counted) in
        [("batches", trailer.count(18..=23), batches), ("records", trailer.count(24..=29), records.len() as u64)]
    {
        if let Some(stated) = stated.filter(|stated| *stated != counted && *stated != 0) {
            let message = format!("the file states {stated} {what}, and has {counted}");
            error(found, "CONTROL", trailer.line, message);
        }
    }
}

fn error(found: &mut Diagnostics, code: &'static str, line: u32, message: impl Into<String>) {
    found.push(Diagnostic::new(Severity::Error, code, message).at_line(line));
}
