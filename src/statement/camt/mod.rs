//! ISO 20022 camt.053, BankToCustomerStatement, versions .001.02 to .001.13.
//!
//! One reader for all versions: elements are known by their names, and where a version moved something (`Sts`, the
//! parties, `BIC`), both places are read. What banks do differently has a test each, by its number, in `tests/camt.rs`.
//!
//! ```text
//! xml       bytes → text → elements, bounded          reading   texts → money, dates, findings
//! balances  which Bal opens, which closes             entries   Ntry → BankLine
//! details   TxDtls, references, charges, remittance   parties   who is on the other side
//! period    which days are covered                    mod       the message and its statements
//! ```

mod balances;
mod details;
mod entries;
mod parties;
mod period;
mod reading;
mod xml;

use chrono::NaiveDateTime;

use self::balances::{Balances, Stated};
use self::details::is_true;
use self::entries::WrittenEntry;
use self::period::{Dates, covered};
use self::reading::Reading;
use self::xml::{Open, Refusal, Text};
use super::{
    AccountKind, AccountRef, BankLine, DaysOver, Format, Input, LineStatus, Parsed, StatedTotal, Statement, TotalOf,
};
use crate::diagnostic::{Diagnostic, Severity};
use crate::money::Currency;

/// The largest file that is read: a message beyond this is split by its bank.
const MAX_BYTES: usize = 1 << 30;

/// The versions whose schemas this reader was held against.
const VERSIONS: std::ops::RangeInclusive<u32> = 2..=13;

/// Does a file that begins like this hold a message of the family? Sisters of camt.053 are known too, and refused by
/// name.
pub(super) fn knows(head: &str) -> bool {
    head.contains("BkToCstmr") || head.contains(":iso:20022:tech:xsd:camt.05")
}

/// Reads a camt.053 message, with all its statements.
pub fn parse(input: &Input<'_>) -> Parsed {
    if input.bytes.len() > MAX_BYTES {
        let message = format!("a file of {} bytes: more than {MAX_BYTES} are not read", input.bytes.len());
        return Parsed::refused(None, vec![Diagnostic::new(Severity::Error, "LIMIT", message)]);
    }
    let decoded = match xml::decode(input.bytes) {
        Ok(decoded) => decoded,
        Err(diagnostic) => return Parsed::refused(None, vec![diagnostic]),
    };
    let mut reading = Reading::new(&decoded.text);
    if let Some(finding) = decoded.finding {
        reading.found.push(finding);
    }
    let mut format = None;
    let read = read_file(&mut reading, &mut format);
    let refused = reading.errors() > 0 || read.is_err();
    let mut diagnostics = reading.found.into_vec();
    let statements = read.unwrap_or_else(|Refusal(last)| {
        diagnostics.push(last);
        Vec::new()
    });
    if refused { Parsed::refused(format, diagnostics) } else { Parsed { format, statements, diagnostics } }
}

/// Looks for messages, whatever envelope they come in.
fn read_file(reading: &mut Reading<'_>, format: &mut Option<Format>) -> Result<Vec<Statement>, Refusal> {
    let mut statements = Vec::new();
    let mut messages = 0;
    let mut root = None;
    while let Some(open) = reading.xml.next_open()? {
        let not_yet = match open.name() {
            "BkToCstmrStmt" => {
                messages += 1;
                *format = Some(Format::Camt053);
                let before = statements.len();
                read_message(reading, &mut statements)?;
                if statements.len() == before && reading.errors() == 0 {
                    reading.wrong("EMPTY", open.at, "BkToCstmrStmt: found no Stmt, expected at least one");
                }
                continue;
            }
            "BkToCstmrAcctRpt" => {
                "a camt.052 account report: it tells of a day that is not over, and is not read yet; \
                expected the day's camt.053 statement"
            }
            "BkToCstmrDbtCdtNtfctn" => {
                "a camt.054 notification: it details entries that a statement books, has no balances and is not read yet; \
                expected the camt.053 statement"
            }
            name => {
                if let Some(version) = open.version().filter(|version| !VERSIONS.contains(version)) {
                    let message = format!(
                        "camt.053.001.{version:02}: not one of the versions 02 to 13; \
                        it was read by the names of its elements"
                    );
                    reading.tell(Severity::Info, "VERSION", open.at, message);
                }
                root.get_or_insert_with(|| (open.at, name.to_owned()));
                continue;
            }
        };
        return Err(reading.xml.refusal("UNSUPPORTED", open.at, not_yet));
    }
    if messages == 0 {
        let (at, root) = root.unwrap_or_else(|| (0, "no element at all".to_owned()));
        let message = format!("found {}, expected a camt.053 message (BkToCstmrStmt)", xml::excerpt(&root));
        return Err(reading.xml.refusal("FORMAT", at, message));
    }
    Ok(statements)
}

/// `BkToCstmrStmt`: a header and statements.
fn read_message(reading: &mut Reading<'_>, statements: &mut Vec<Statement>) -> Result<(), Refusal> {
    let mut message_page = None;
    let mut last: Option<(Option<Page>, usize)> = None;
    while let Some(child) = reading.xml.child()? {
        match child.name() {
            "GrpHdr" => {
                while let Some(field) = reading.xml.child()? {
                    match field.name() {
                        "MsgPgntn" => message_page = Some(read_page(reading)?),
                        _ => reading.xml.skip()?,
                    }
                }
            }
            "Stmt" => {
                let (statement, page) = read_statement(reading, &child)?;
                statements.extend(statement);
                last = Some((page, child.at));
            }
            _ => reading.xml.skip()?,
        }
    }
    // A message that goes on in another one breaks off within its last statement, and in no earlier one.
    if let (Some(page), Some((None, at)), Some(statement)) = (message_page, last, statements.last_mut())
        && !page.last
    {
        unfinished(reading, statement, at, "message", page);
    }
    Ok(())
}

/// `MsgPgntn`, `StmtPgntn`.
#[derive(Debug, Clone, Copy)]
struct Page {
    number: u64,
    last: bool,
}

fn read_page(reading: &mut Reading<'_>) -> Result<Page, Refusal> {
    let mut page = Page { number: 1, last: true };
    while let Some(field) = reading.xml.child()? {
        match field.name() {
            "PgNb" => page.number = reading.xml.text()?.value.parse().unwrap_or(1),
            "LastPgInd" => page.last = is_true(&reading.xml.text()?) != Some(false),
            _ => reading.xml.skip()?,
        }
    }
    Ok(page)
}

/// A statement whose last page is elsewhere: no day of it is known to be over, and a closing balance on this page is
/// not the balance after this page's lines.
fn unfinished(reading: &mut Reading<'_>, statement: &mut Statement, at: usize, what: &str, page: Page) {
    statement.closing = None;
    statement.over = DaysOver::Closed(None);
    let message = format!(
        "page {} of its {what}, and not the last: no closing balance is taken from it \
        and no day is over by it, until the last page comes",
        page.number
    );
    reading.tell(Severity::Warning, "PAGE", at, message);
}

/// What a `Stmt` holds while it is read.
#[derive(Default)]
struct Draft<'a> {
    id: Option<String>,
    electronic_sequence: Option<String>,
    legal_sequence: Option<String>,
    page: Option<Page>,
    stated: Option<(NaiveDateTime, NaiveDateTime)>,
    account: Option<AccountRef>,
    account_currency: Option<Currency>,
    balances: Vec<Stated<'a>>,
    totals: Vec<WrittenTotal<'a>>,
    /// Decided at the first entry, when the account and its balances have been read.
    currency: Option<Currency>,
    /// Its balances are in several currencies; that was said.
    contradictory: bool,
    lines: Vec<BankLine>,
    /// Places in `lines` of those without any date.
    undated: Vec<usize>,
    entries: u32,
    /// How many errors the file had before it.
    errors_before: usize,
}

/// A count and a sum of `TxsSummry`.
struct WrittenTotal<'a> {
    of: TotalOf,
    count: Option<Text<'a>>,
    sum: Option<Text<'a>>,
}

/// `Stmt`. `None`, with findings, where it is none; beside it, its own page if it is one of several.
fn read_statement<'a>(
    reading: &mut Reading<'a>,
    open: &Open<'a>,
) -> Result<(Option<Statement>, Option<Page>), Refusal> {
    let mut draft = Draft { errors_before: reading.errors(), ..Draft::default() };
    while let Some(child) = reading.xml.child()? {
        match child.name() {
            "Id" => draft.id = parties::some(reading.xml.text()?),
            "ElctrncSeqNb" => draft.electronic_sequence = parties::some(reading.xml.text()?),
            "LglSeqNb" => draft.legal_sequence = parties::some(reading.xml.text()?),
            "StmtPgntn" => draft.page = Some(read_page(reading)?),
            "FrToDt" => draft.stated = read_span(reading)?,
            "Acct" => draft.read_account(reading)?,
            "Bal" => draft.balances.push(Stated::read(reading, &child)?),
            "TxsSummry" => draft.read_totals(reading)?,
            "Ntry" => draft.read_entry(reading, &child)?,
            _ => reading.xml.skip()?,
        }
    }
    let page = draft.page;
    Ok((draft.finish(reading, open.at), page))
}

/// `FrToDt`: both ends, or nothing.
fn read_span(reading: &mut Reading<'_>) -> Result<Option<(NaiveDateTime, NaiveDateTime)>, Refusal> {
    let (mut from, mut to) = (None, None);
    while let Some(field) = reading.xml.child()? {
        match field.name() {
            "FrDtTm" | "FrDt" => {
                let text = reading.xml.text()?;
                from = reading.moment(&text, format_args!("FrToDt FrDtTm"));
            }
            "ToDtTm" | "ToDt" => {
                let text = reading.xml.text()?;
                to = reading.moment(&text, format_args!("FrToDt ToDtTm"));
            }
            _ => reading.xml.skip()?,
        }
    }
    Ok(from.zip(to))
}

// === impl Draft ===

impl<'a> Draft<'a> {
    fn read_account(&mut self, reading: &mut Reading<'a>) -> Result<(), Refusal> {
        let (mut number, mut kind, mut servicer) = (None, AccountKind::Bank, parties::Agent::default());
        while let Some(field) = reading.xml.child()? {
            match field.name() {
                "Id" => number = parties::read_account_id(reading)?,
                "Tp" => {
                    if &*reading.xml.text_or(&["Cd", "Prtry"])?.value == "CARD" {
                        kind = AccountKind::Card;
                    }
                }
                "Ccy" => {
                    let text = reading.xml.text()?;
                    match Currency::new(&text.value) {
                        Ok(currency) => self.account_currency = Some(currency),
                        Err(unknown) => reading.wrong("CURRENCY", text.at, format!("Acct Ccy: {unknown}")),
                    }
                }
                "Svcr" => servicer = parties::read_agent(reading)?,
                _ => reading.xml.skip()?,
            }
        }
        self.account = number.map(|number| AccountRef { bank: servicer.bank, branch: servicer.branch, number, kind });
        Ok(())
    }

    fn read_totals(&mut self, reading: &mut Reading<'a>) -> Result<(), Refusal> {
        while let Some(group) = reading.xml.child()? {
            let of = match group.name() {
                "TtlNtries" => TotalOf::All,
                "TtlCdtNtries" => TotalOf::Credits,
                "TtlDbtNtries" => TotalOf::Debits,
                _ => {
                    reading.xml.skip()?;
                    continue;
                }
            };
            let mut total = WrittenTotal { of, count: None, sum: None };
            while let Some(field) = reading.xml.child()? {
                match field.name() {
                    "NbOfNtries" => total.count = Some(reading.xml.text()?),
                    "Sum" => total.sum = Some(reading.xml.text()?),
                    _ => reading.xml.skip()?,
                }
            }
            self.totals.push(total);
        }
        Ok(())
    }

    fn read_entry(&mut self, reading: &mut Reading<'a>, open: &Open<'a>) -> Result<(), Refusal> {
        reading.give_up_if_hopeless(open.at)?;
        self.entries += 1;
        let entry = WrittenEntry::read(reading, open, self.entries)?;
        if self.currency.is_none() {
            let of_entry = entry.amount.as_ref().and_then(|written| written.currency.clone().ok());
            self.currency = self.stated_currency(reading).or(of_entry);
        }
        let Some(currency) = self.currency else {
            let message = format!("Ntry {}: found no currency on it, nor on the account or its balances", self.entries);
            reading.wrong("CURRENCY", open.at, message);
            return Ok(());
        };
        if let Some(told) = entry.tell(reading, currency) {
            if told.undated {
                self.undated.push(self.lines.len());
            }
            self.lines.push(told.line);
        }
        Ok(())
    }

    /// The account's currency, as the account or else its balances say it.
    fn stated_currency(&mut self, reading: &mut Reading<'a>) -> Option<Currency> {
        let errors = reading.errors();
        let currency = self.account_currency.or_else(|| balances::currency(reading, &self.balances));
        self.contradictory |= reading.errors() > errors;
        currency
    }

    fn finish(mut self, reading: &mut Reading<'a>, at: usize) -> Option<Statement> {
        let Some(account) = self.account.take() else {
            reading.wrong("ACCOUNT", at, "Stmt: found no Acct with an IBAN or another Id, expected the account's");
            return None;
        };
        let currency = self.currency.or_else(|| self.stated_currency(reading));
        let Some(currency) = currency else {
            reading.wrong("CURRENCY", at, "Stmt: found no currency on the account, its balances or an entry");
            return None;
        };
        let chosen =
            if self.contradictory { Balances::default() } else { balances::choose(reading, &self.balances, currency) };
        let booked = self.lines.iter().filter(|line| line.status == LineStatus::Booked).map(|line| line.booking_date);
        let dates = Dates {
            stated: self.stated,
            previous_closing: chosen.previous_closing_date,
            opening: chosen.opening_date,
            closing: chosen.closing.and_then(|closing| closing.date),
            booked: booked.clone().min().zip(booked.max()),
        };
        let Some((from, to)) = covered(&dates) else {
            if reading.errors() > self.errors_before {
                // What would have dated it was not readable, and that was said.
                return None;
            }
            reading.wrong(
                "DATE",
                at,
                "Stmt: found no dated balance, no FrToDt and no booked entry, \
                expected one of them to say which days it covers",
            );
            return None;
        };
        let mut lines = self.lines;
        for place in self.undated {
            lines[place].booking_date = to;
        }
        let totals = self.totals.iter().map(|total| total.told(reading, currency)).collect();
        let mut statement = Statement {
            account,
            currency,
            id: self.id,
            sequence: self.electronic_sequence.or(self.legal_sequence),
            from,
            to,
            over: DaysOver::Closed(chosen.closing.and_then(|closing| closing.date)),
            opening: chosen.opening,
            closing: chosen.closing,
            markers: Vec::new(),
            lines,
            totals,
            line: reading.xml.place(at).0,
        };
        if let Some(page) = self.page {
            if !page.last {
                unfinished(reading, &mut statement, at, "statement", page);
            }
            if page.number > 1 && statement.opening.take().is_some() {
                let message = format!(
                    "page {} of its statement: the opening balance is the statement's \
                    and not this page's, and is not taken",
                    page.number
                );
                reading.tell(Severity::Info, "PAGE", at, message);
            }
        }
        Some(statement)
    }
}

// === impl WrittenTotal ===

impl WrittenTotal<'_> {
    fn told(&self, reading: &mut Reading<'_>, currency: Currency) -> StatedTotal {
        let count = self.count.as_ref().and_then(|text| {
            let count = text.value.parse().ok();
            if count.is_none() {
                let found = xml::excerpt(&text.value);
                reading.wrong("COUNT", text.at, format!("TxsSummry NbOfNtries: found {found:?}, expected a count"));
            }
            count
        });
        let sum = self
            .sum
            .as_ref()
            .and_then(|text| reading.magnitude(text, currency, format_args!("TxsSummry Sum")))
            .and_then(|sum| if self.of == TotalOf::Debits { sum.checked_neg() } else { Some(sum) });
        StatedTotal { of: self.of, count, sum }
    }
}
