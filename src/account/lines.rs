//! A row of a file becomes a line that may be matched: the one place where either side's shape is turned into
//! [`OpenLine`].

use chrono::NaiveDate;

use super::AccountId;
use super::ledger::NewLine;
use crate::book::BookLine;
use crate::matching::{OpenLine, Origin};
use crate::statement::{BankLine, Counterparty, Statement};

/// When a line was taken.
#[derive(Debug, Clone, Copy)]
pub struct Taking {
    /// The business date whose run takes it.
    pub date: NaiveDate,
    /// It came after its own day was closed.
    pub late: bool,
}

/// A bank line, as its statement has it and the ledger admitted it.
pub fn from_bank(
    account: &AccountId,
    file: &str,
    statement: &Statement,
    new: &NewLine,
    taking: Taking,
) -> Option<OpenLine> {
    let line: &BankLine = statement.lines.get(new.index)?;
    Some(OpenLine {
        id: new.identity.line_id(account.as_str(), new.occurrence).into(),
        date: line.booking_date,
        ledger_day: new.ledger_day,
        minor: line.amount.minor(),
        references: line.references.clone(),
        counterparty: line.counterparty.clone(),
        description: line.description.clone(),
        code: line.code.clone(),
        reversal: line.reversal,
        reverses: None,
        group: None,
        origin: Origin { file: file.to_owned(), statement: statement.id.clone(), ordinal: line.ordinal },
        first_seen: taking.date,
        late: taking.late,
    })
}

/// A book line.
pub fn from_book(file: &str, line: &BookLine, taking: Taking) -> OpenLine {
    let counterparty =
        line.counterparty.clone().map(|name| Counterparty { name: Some(name), ..Counterparty::default() });
    OpenLine {
        id: line.id.clone(),
        date: line.date,
        ledger_day: line.date,
        minor: line.amount.minor(),
        references: line.references.clone(),
        counterparty,
        description: line.description.clone(),
        code: None,
        reversal: false,
        reverses: line.reverses.clone(),
        group: line.group.clone(),
        origin: Origin { file: file.to_owned(), statement: None, ordinal: line.ordinal },
        first_seen: taking.date,
        late: taking.late,
    }
}
