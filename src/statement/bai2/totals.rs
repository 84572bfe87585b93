//! Control totals: what the trailers 49, 98 and 99 say about the records that they close.

use super::record::Record;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// What was counted of an account, a group or a file.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// The amounts of all its records as they are written, balances among them, with their signs.
    pub(super) sum: i128,
    /// Records, continuations and the trailer among them.
    pub(super) records: u64,
    /// Accounts of a group, groups of a file.
    pub(super) parts: u64,
    /// A part stated no total of its own: then the whole's says nothing that could be checked.
    unstated: bool,
}

// === impl Counted ===

impl Counted {
    /// Of a header.
    pub(super) fn of(header: &Record<'_>) -> Self {
        Self { records: header.count(), ..Self::default() }
    }

    pub(super) fn add(&mut self, record: &Record<'_>) {
        self.records += record.count();
    }

    pub(super) fn end(&mut self, trailer: &Record<'_>) {
        self.records += trailer.count();
    }

    /// A part of it is closed by its trailer.
    pub(super) fn take_in(&mut self, part: &Self, trailer: &Record<'_>) {
        self.sum += part.sum;
        self.records += part.records;
        self.parts += 1;
        self.unstated |= part.unstated || trailer.fields().filled().is_none();
    }

    /// Holds it against its trailer: total, then (`parts` is 1) the number of parts, then the number of records.
    ///
    /// A total that differs refuses the file: it is not what the bank sent. A number of records alone is a remark: banks
    /// count differently what they continue.
    pub(super) fn check(&self, trailer: &Record<'_>, parts: usize, what: &str, found: &mut Diagnostics) {
        let mut fields = trailer.fields();
        let mut say = |severity, message: String| {
            found.push(Diagnostic::new(severity, "CONTROL", message).at_line(trailer.line));
        };
        match fields.filled().map(|text| (text, text.parse::<i128>())) {
            Some((_, Ok(stated))) if stated != self.sum && !self.unstated => {
                let sum = self.sum;
                let message = format!(
                    "{what} states the control total {stated}, and its amounts come to {sum}: it is not what the bank sent"
                );
                say(Severity::Error, message);
            }
            Some((text, Err(_))) => say(Severity::Error, format!("{what}'s control total {text:?} is no number")),
            Some((_, Ok(_))) => {}
            None => say(Severity::Info, format!("{what} states no control total: nothing says that it is whole")),
        }
        if parts > 0 {
            let stated = fields.next().and_then(|text| text.parse::<u64>().ok());
            if let Some(stated) = stated.filter(|stated| *stated != self.parts) {
                say(Severity::Error, format!("{what} states {stated} parts, and has {}: some are missing", self.parts));
            }
        }
        let stated = fields.next().and_then(|text| text.parse::<u64>().ok());
        if let Some(stated) = stated.filter(|stated| *stated != self.records) {
            say(Severity::Warning, format!("{what} states {stated} records, and has {}", self.records));
        }
    }
}
