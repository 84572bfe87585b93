//! BAI2, the cash management balance reporting format (version 2; ANSI X9.121).
//!
//! ```text
//! charset → records → groups → accounts → lines
//! ```
//!
//! Amounts are integers in the currency's minor unit. Whether a line gives or takes is said by its type code alone. The
//! control totals are of the amounts as they are written, balances among them: they say that nothing was lost on the way,
//! and nothing about the account.

mod account;
mod record;
mod totals;

use self::account::Group;
use self::record::Record;
use self::totals::Counted;
use super::whole::{self, Charset};
use super::{Format, Input, Parsed, Statement};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// Does a file that begins like this hold BAI2? A file header, and what follows it.
pub(super) fn knows(head: &str) -> bool {
    let text = head.trim_start();
    text.starts_with("01,") && ["\n02,", "/02,", "\n99,", "/99,"].iter().any(|next| text.contains(next))
}

/// Reads a BAI2 file, with the accounts of all its groups.
pub fn parse(input: &Input<'_>) -> Parsed {
    whole::parse(Format::Bai2, input.bytes, Charset::Labelled(None), |text, found| {
        let records = record::records(text, found);
        let statements = read(&records, found);
        if statements.is_empty() && !found.has_errors() {
            found.error("EMPTY", "the file holds no account (record 03)");
        }
        statements
    })
}

/// What is open while records are read: a file holds groups, a group accounts, an account lines.
#[derive(Default)]
struct Open<'r, 'a> {
    file: Option<(u32, Counted)>,
    group: Option<(Group, Counted)>,
    account: Option<(account::Reading<'r, 'a>, Counted)>,
}

fn read(records: &[Record<'_>], found: &mut Diagnostics) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut open = Open::default();
    for record in records {
        match record.code {
            "01" => {
                open.must_be_closed("99", record, found);
                open = Open { file: Some((record.line, Counted::of(record))), ..Open::default() };
            }
            "02" => {
                open.must_be_closed("98", record, found);
                open.group = Group::read(record, found).map(|group| (group, Counted::of(record)));
            }
            "03" => {
                open.must_be_closed("49", record, found);
                open.account = Some((account::Reading::new(record), Counted::of(record)));
            }
            "16" => match &mut open.account {
                Some((reading, counted)) => {
                    reading.line(record);
                    counted.add(record);
                }
                None => error(found, "ORDER", record.line, "a transaction (16) outside of an account (03 to 49)"),
            },
            "49" => open.end_account(record, found, &mut statements),
            "98" => open.end_group(record, found),
            _ => open.end_file(record, found),
        }
    }
    if let Some((line, _)) = open.file {
        error(found, "TRUNCATED", line, "the file that begins here does not end (99): it is cut off");
    }
    statements
}

fn error(found: &mut Diagnostics, code: &'static str, line: u32, message: impl Into<String>) {
    found.push(Diagnostic::new(Severity::Error, code, message).at_line(line));
}

// === impl Open ===

impl Open<'_, '_> {
    /// What this record begins must not begin inside of another one of its kind.
    fn must_be_closed(&mut self, trailer: &str, record: &Record<'_>, found: &mut Diagnostics) {
        let still = match trailer {
            "49" => self.account.take().is_some(),
            "98" => self.account.take().is_some() | self.group.take().is_some(),
            _ => self.account.take().is_some() | self.group.take().is_some() | self.file.take().is_some(),
        };
        if still {
            let message =
                format!("record {} before what was open is closed: a record {trailer} is missing", record.code);
            error(found, "ORDER", record.line, message);
        }
    }

    fn end_account(&mut self, record: &Record<'_>, found: &mut Diagnostics, statements: &mut Vec<Statement>) {
        let Some((reading, mut counted)) = self.account.take() else {
            error(found, "ORDER", record.line, "an account's end (49) without its beginning (03)");
            return;
        };
        counted.end(record);
        let Some((group, of_group)) = &mut self.group else {
            error(found, "ORDER", reading.line_of_file(), "an account (03) outside of a group (02 to 98)");
            return;
        };
        let (statement, amounts) = reading.finish(group, found);
        counted.sum = amounts;
        counted.check(record, 0, "the account", found);
        of_group.take_in(&counted, record);
        statements.extend(statement);
    }

    fn end_group(&mut self, record: &Record<'_>, found: &mut Diagnostics) {
        let Some((_, mut counted)) = self.group.take() else {
            error(found, "ORDER", record.line, "a group's end (98) without its beginning (02)");
            return;
        };
        counted.end(record);
        counted.check(record, 1, "the group", found);
        if let Some((_, of_file)) = &mut self.file {
            of_file.take_in(&counted, record);
        } else {
            error(found, "ORDER", record.line, "a group (02 to 98) outside of a file (01 to 99)");
        }
    }

    fn end_file(&mut self, record: &Record<'_>, found: &mut Diagnostics) {
        let Some((_, mut counted)) = self.file.take() else {
            error(found, "ORDER", record.line, "a file's end (99) without its beginning (01)");
            return;
        };
        if self.group.take().is_some() | self.account.take().is_some() {
            error(
                found,
                "ORDER",
                record.line,
                "the file ends (99) in the middle of a group: a record 49 or 98 is missing",
            );
            return;
        }
        counted.end(record);
        counted.check(record, 1, "the file", found);
    }
}
