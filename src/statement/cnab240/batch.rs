//! A batch of service 04: an account's statement.

use chrono::NaiveDate;

use super::error;
use super::record::Record;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::money::{Currency, Money};
use crate::reference::{Reference, ReferenceKind};
use crate::statement::covered::first_day;
use crate::statement::text::single_spaced;
use crate::statement::{
    AccountKind, AccountRef, Balance, BankLine, Counterparty, DaysOver, LineKind, LineStatus, StatedTotal, Statement,
    TotalOf,
};

/// The currency of a statement that leaves it out.
const REAL: &str = "BRL";
/// Categories of reversals (estornos): of a debit, and of a credit.
const REVERSALS: [&str; 2] = ["103", "204"];
/// The nature of an entry that is the available balance's own: the usual one, and so not told.
const AVAILABLE: &str = "DPV";

/// Is it a statement for reconciliation?
pub(super) fn is_statement(header: &Record) -> bool {
    header.letter(9) == Some('E') && header.text(10..=11) == "04"
}

/// Reads a batch. What is wrong in it is reported, all at once, and then there is no statement.
pub(super) fn read(
    header: &Record,
    details: &[&Record],
    trailer: &Record,
    before: &[Statement],
    found: &mut Diagnostics,
) -> Option<Statement> {
    let code = header.text(171..=173);
    let code = if code.is_empty() { REAL } else { code.as_str() };
    let Ok(currency) = Currency::new(code) else {
        error(found, "CURRENCY", header.line, format!("positions 171 to 173, {code:?}: expected a code of ISO 4217"));
        return None;
    };
    let account = account(header);
    if account.number.is_empty() {
        error(found, "ACCOUNT", header.line, "no account at positions 59 to 72");
    }
    let opening = balance(header, "the opening balance", currency, found);
    let closing = balance(trailer, "the closing balance", currency, found);
    let mut lines = Vec::with_capacity(details.len());
    for record in details {
        if record.letter(14).is_none_or(|segment| !segment.eq_ignore_ascii_case(&'E')) {
            let message = format!("segment {:?}: expected E, or what it tells would be left out", record.text(14..=14));
            error(found, "SEGMENT", record.line, message);
        } else if self::account(record) != account {
            let message = format!("the entry is of account {}, its batch of {account}", self::account(record));
            error(found, "ACCOUNT", record.line, message);
        } else {
            lines.extend(line(record, currency, lines.len(), found));
        }
    }
    // Header and trailer count.
    let records = details.len() as u64 + 2;
    if let Some(stated) = trailer.count(171..=176).filter(|stated| *stated != records && *stated != 0) {
        let message = format!("the batch states {stated} records, and has {records}: it is not whole");
        error(found, "CONTROL", trailer.line, message);
    }
    let totals = totals(trailer, currency, found);
    let (opening, closing) = (opening?, closing?);
    let (Some(opened), Some(to)) = (opening.date, closing.date) else {
        error(
            found,
            "DATE",
            header.line,
            "a balance without a date (positions 143 to 150 of the header and the trailer)",
        );
        return None;
    };
    if to < opened {
        error(
            found,
            "DATE",
            trailer.line,
            format!("the closing balance is of {to}, before the opening one, of {opened}"),
        );
        return None;
    }
    let before = before.iter().rev().find(|other| other.account == account).map(|other| other.to);
    let from = first_day(opened, to, before, lines.iter().map(|line: &BankLine| line.booking_date));
    // P is partial, I of the day that is going on.
    let over = matches!(trailer.letter(170), Some('F' | 'f') | None).then_some(to);
    let sequence = header.text(174..=178);
    Some(Statement {
        account,
        currency,
        id: None,
        sequence: Some(sequence).filter(|sequence| !sequence.is_empty()),
        from,
        to,
        over: DaysOver::Closed(over),
        opening: Some(opening),
        closing: Some(closing),
        markers: Vec::new(),
        lines,
        totals,
        line: header.line,
    })
}

/// Bank, branch and account, each with its check digit. Itaú leaves position 71 blank and puts the account's at 72, where
/// others have the one of branch and account together.
fn account(record: &Record) -> AccountRef {
    let joined = |number: String, digit: Option<char>| {
        let bare = number.trim_start_matches('0');
        if bare.is_empty() { String::new() } else { digit.map_or(bare.to_owned(), |digit| format!("{bare}-{digit}")) }
    };
    let branch = joined(record.text(53..=57), record.letter(58));
    AccountRef {
        bank: Some(record.text(1..=3)).filter(|bank| !bank.is_empty()),
        branch: Some(branch).filter(|branch| !branch.is_empty()),
        number: joined(record.text(59..=70), record.letter(71).or_else(|| record.letter(72))),
        kind: AccountKind::Bank,
    }
}

fn balance(record: &Record, what: &str, currency: Currency, found: &mut Diagnostics) -> Option<Balance> {
    let amount = record.signed(151..=168, 169, currency);
    let date = record.date(143..=150);
    match (amount, date) {
        (Ok(amount), Ok(date)) => Some(Balance { amount, date }),
        (amount, date) => {
            for message in amount.err().into_iter().chain(date.err()) {
                error(found, "BALANCE", record.line, format!("{what}: {message}"));
            }
            None
        }
    }
}

/// Sums of debits and credits, where the trailer states them.
fn totals(trailer: &Record, currency: Currency, found: &mut Diagnostics) -> Vec<StatedTotal> {
    let mut totals = Vec::new();
    for (of, positions) in [(TotalOf::Debits, 177..=194), (TotalOf::Credits, 195..=212)] {
        if trailer.text(positions.clone()).is_empty() {
            continue;
        }
        match trailer.amount(positions, currency) {
            Ok(sum) => {
                let sum = if of == TotalOf::Debits { sum.checked_neg() } else { Some(sum) };
                totals.push(StatedTotal { of, count: None, sum });
            }
            Err(message) => error(found, "CONTROL", trailer.line, format!("a sum of the trailer: {message}")),
        }
    }
    totals
}

fn line(record: &Record, currency: Currency, before: usize, found: &mut Diagnostics) -> Option<BankLine> {
    let (booked, value) = (record.date(143..=150), record.date(135..=142));
    let amount = record.signed(151..=168, 169, currency);
    let mut wrong = |code, message: String| {
        error(found, code, record.line, message);
        None::<Money>
    };
    let amount = match amount {
        Ok(amount) => Some(amount),
        Err(message) => wrong("AMOUNT", format!("the entry's amount (151 to 169): {message}")),
    };
    let booking_date: Option<NaiveDate> = match booked {
        Ok(Some(date)) => Some(date),
        Ok(None) => {
            wrong("DATE", "the entry has no date (143 to 150)".to_owned());
            None
        }
        Err(message) => {
            wrong("DATE", format!("the entry's date (143 to 150): {message}"));
            None
        }
    };
    let value_date = value.unwrap_or_else(|message| {
        let message = format!("the date for accounting (135 to 142): {message}: left out");
        found.push(Diagnostic::new(Severity::Warning, "DATE", message).at_line(record.line));
        None
    });
    let (amount, booking_date) = (amount?, booking_date?);
    let category = record.text(170..=172);
    let nature = record.text(109..=111).to_ascii_uppercase();
    let nature = if nature == AVAILABLE { String::new() } else { nature };
    let history = record.text(173..=176);
    let code = [category.as_str(), &history, &nature].into_iter().filter(|part| !part.is_empty());
    let code = code.collect::<Vec<_>>().join(" ");
    // The document stands first, what completes it behind; Itaú writes it at the end.
    let document = record.raw(202..=240);
    let document = document.split_whitespace().next().unwrap_or_default();
    Some(BankLine {
        ordinal: u32::try_from(before + 1).unwrap_or(u32::MAX),
        line: record.line,
        kind: if amount.is_zero() { LineKind::ZeroAmount } else { LineKind::Movement },
        status: LineStatus::Booked,
        booking_date,
        value_date,
        amount,
        amount_text: record.text(151..=168),
        reversal: REVERSALS.contains(&category.as_str()),
        code: Some(code).filter(|code| !code.is_empty()),
        references: Reference::new(ReferenceKind::Document, document).into_iter().collect(),
        counterparty: origin(record),
        description: single_spaced(&record.raw(177..=201)),
        details: Vec::new(),
        charges: Vec::new(),
    })
}

/// The complement, of kind 01: bank, branch and account that the money came from.
fn origin(record: &Record) -> Option<Counterparty> {
    if record.text(112..=113) != "01" {
        return None;
    }
    let filled = |text: String| Some(text).filter(|text| text.bytes().any(|byte| byte != b'0'));
    let bank = filled(record.text(114..=116));
    let account = filled(record.text(122..=133)).map(|account| account.trim_start_matches('0').to_owned());
    (bank.is_some() || account.is_some()).then(|| Counterparty { account, bank, ..Counterparty::default() })
}
