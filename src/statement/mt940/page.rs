//! One message: a page of a statement, from its opening balance to its closing one.

use chrono::NaiveDate;

use super::field::{Field, Message};
use super::information::{self, Information};
use super::line::{self, Line};
use super::value::{self, Day, Unreadable};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::money::{Currency, Money};
use crate::reference::{Reference, ReferenceKind};
use crate::statement::text::single_spaced;
use crate::statement::{AccountKind, AccountRef, BankLine, LineKind, LineStatus};

/// A page, read.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) account: AccountRef,
    pub(super) currency: Currency,
    /// Field 20.
    pub(super) reference: Option<String>,
    /// Field 28C: the statement's number, and the page's.
    pub(super) number: Option<String>,
    pub(super) opening: PageBalance,
    pub(super) closing: PageBalance,
    /// In file order; ordinals are given when the pages are bound.
    pub(super) lines: Vec<BankLine>,
    /// Where it begins.
    pub(super) line: u32,
}

/// A balance of fields 60 and 62.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageBalance {
    pub(super) amount: Money,
    pub(super) date: NaiveDate,
    /// M: between two pages of one statement. Else F, its first or last.
    pub(super) intermediate: bool,
    pub(super) line: u32,
}

/// Where findings of one message go.
struct Reporter<'f> {
    found: &'f mut Diagnostics,
    /// How often a day had to be moved into its month, and where first.
    clamped: Option<(u32, usize)>,
}

/// Reads a message. What is wrong in it is reported, all at once, and then there is no page.
pub(super) fn read(message: &Message<'_>, found: &mut Diagnostics) -> Option<Page> {
    let mut report = Reporter { found, clamped: None };
    let start = message.fields.first().map_or(1, |field| field.line);
    if message.find("60").is_none() && message.find("62").is_none() {
        other(message, start, &mut report);
        return None;
    }
    for tag in ["60", "62", "25"] {
        if let Some(field) = message.again(tag) {
            report.error("TWICE", field.line, format!("field {} comes twice in one message", field.tag));
        }
    }
    let opening = required(message, "60", start, "an opening balance (:60F:)", &mut report)
        .and_then(|field| balance(field, None, &mut report));
    let currency = opening.map(|(_, currency)| currency);
    let closing = required(message, "62", start, "a closing balance (:62F:): the message is cut off", &mut report)
        .and_then(|field| balance(field, currency, &mut report));
    let account = required(message, "25", start, "an account (:25:)", &mut report)
        .and_then(|field| account(field, currency, &mut report));
    let around = closing.map(|(closing, _)| closing.date);
    let lines = currency.map(|currency| lines(message, currency, around, &mut report));
    if let Some((line, count)) = report.clamped {
        let dates = if count == 1 { "one date".to_owned() } else { format!("{count} dates") };
        let message =
            format!("{dates} past the end of the month, as banks write that count 30 days: read as its last day");
        report.found.push(Diagnostic::new(Severity::Warning, "DATE", message).at_line(line));
    }
    let (opening, currency) = opening?;
    let (closing, closing_currency) = closing?;
    if closing_currency != currency {
        let message = format!("the closing balance is in {closing_currency}, the opening one in {currency}");
        report.error("CURRENCY", closing.line, message);
        return None;
    }
    if closing.date < opening.date {
        let message =
            format!("the closing balance is of {}, before the opening one, of {}", closing.date, opening.date);
        report.error("DATE", closing.line, message);
        return None;
    }
    let text = |tag: &str| message.find(tag).map(|field| field.first().to_owned()).filter(|text| !text.is_empty());
    Some(Page {
        account: account?,
        currency,
        reference: text("20"),
        number: text("28"),
        opening,
        closing,
        lines: lines?,
        line: start,
    })
}

/// A message without balances.
fn other(message: &Message<'_>, start: u32, report: &mut Reporter<'_>) {
    let interim = ["34", "13", "90"].iter().any(|tag| message.find(tag).is_some());
    let text = if interim {
        "an interim report (MT942), which states no balance and closes no day: not read yet"
    } else {
        "a message without an opening and a closing balance (:60F:, :62F:): no statement"
    };
    report.error("FORMAT", start, text);
}

fn required<'m, 'a>(
    message: &'m Message<'a>,
    tag: &str,
    start: u32,
    what: &str,
    report: &mut Reporter<'_>,
) -> Option<&'m Field<'a>> {
    let field = message.find(tag);
    if field.is_none() {
        report.error("MISSING", start, format!("the message that begins here lacks {what}"));
    }
    field
}

/// `[C|D]YYMMDD`, currency, amount. The closing one may leave out the currency that the opening one has.
fn balance(field: &Field<'_>, known: Option<Currency>, report: &mut Reporter<'_>) -> Option<(PageBalance, Currency)> {
    match read_balance(field.first(), known) {
        Ok((amount, date, currency)) => {
            report.clamp(date, field.line);
            let intermediate = field.tag.ends_with('M');
            Some((PageBalance { amount, date: date.day, intermediate, line: field.line }, currency))
        }
        Err(unreadable) => {
            report.error("BALANCE", field.line, format!("field {}: {unreadable}", field.tag));
            None
        }
    }
}

fn read_balance(text: &str, known: Option<Currency>) -> Result<(Money, Day, Currency), Unreadable> {
    let negative = match text.as_bytes().first() {
        Some(b'C') => false,
        Some(b'D') => true,
        _ => return Err(Unreadable::new("debit/credit mark", text.get(..1).unwrap_or(text), "C or D")),
    };
    let (date, rest) = value::date_at_start(&text[1..]).ok_or_else(|| Unreadable::new("date", &text[1..], "YYMMDD"))?;
    let (currency, written) = match (rest.get(..3), known) {
        (Some(code), _) if code.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            (Currency::new(code).map_err(|_| Unreadable::new("currency", code, "a code of ISO 4217"))?, &rest[3..])
        }
        (_, Some(known)) => (known, rest),
        _ => return Err(Unreadable::new("currency", rest.get(..3).unwrap_or(rest), "a code of ISO 4217")),
    };
    let amount = value::amount(written.trim(), currency)
        .and_then(|amount| if negative { amount.checked_neg() } else { Some(amount) })
        .ok_or_else(|| {
            Unreadable::new("amount", written, "digits, a comma, and behind it no more than the currency has")
        })?;
    Ok((amount, date, currency))
}

/// `[bank/]account`, and behind it perhaps its currency.
fn account(field: &Field<'_>, currency: Option<Currency>, report: &mut Reporter<'_>) -> Option<AccountRef> {
    let first = field.first();
    let (bank, number) = first.split_once('/').map_or((None, first), |(bank, number)| (Some(bank.trim()), number));
    let number = number.trim();
    let bare = currency.and_then(|currency| number.strip_suffix(currency.code()));
    // An IBAN begins with two letters, and could end in three others.
    let number = match bare {
        Some(bare) if bare.ends_with([' ', '-', '/']) || bare.ends_with(|c: char| c.is_ascii_digit()) => {
            bare.trim_end_matches([' ', '-', '/'])
        }
        _ => number,
    };
    if number.is_empty() {
        report.error("ACCOUNT", field.line, format!("field {}: no account in {first:?}", field.tag));
        return None;
    }
    Some(AccountRef {
        bank: bank.filter(|bank| !bank.is_empty()).map(str::to_owned),
        branch: None,
        number: number.to_owned(),
        kind: AccountKind::Bank,
    })
}

/// Every field 61, with the fields that explain it. Those behind the closing balance explain the statement.
fn lines(
    message: &Message<'_>,
    currency: Currency,
    around: Option<NaiveDate>,
    report: &mut Reporter<'_>,
) -> Vec<BankLine> {
    let mut lines: Vec<BankLine> = Vec::new();
    let mut open: Option<(&Field<'_>, Option<Line<'_>>, Information)> = None;
    for field in &message.fields {
        match field.tag {
            "61" => {
                lines.extend(open.take().and_then(|open| finished(open, around, report)));
                let line = match line::read(field.first(), currency) {
                    Ok(line) => Some(line),
                    Err(unreadable) => {
                        report.error("LINE", field.line, format!("field 61: {unreadable}"));
                        None
                    }
                };
                open = Some((field, line, Information::default()));
            }
            "86" => {
                if let Some((_, _, information)) = &mut open {
                    *information = information::read(&field.lines);
                }
            }
            "NS" => {
                if let Some((_, _, information)) = &mut open {
                    *information = information::of_private_customers(&field.lines);
                }
            }
            _ => lines.extend(open.take().and_then(|open| finished(open, around, report))),
        }
    }
    lines.extend(open.take().and_then(|open| finished(open, around, report)));
    lines
}

fn finished(
    (field, line, information): (&Field<'_>, Option<Line<'_>>, Information),
    around: Option<NaiveDate>,
    report: &mut Reporter<'_>,
) -> Option<BankLine> {
    let line = line?;
    let (booking_date, moved) = line::booking_date(&line, around.unwrap_or(line.value_date));
    if line.clamped || moved {
        report.clamp(Day { day: booking_date, clamped: true }, field.line);
    }
    // What stands on further lines: the bank's own words beside its reference.
    let more = field.lines.iter().skip(1).map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let description = single_spaced(&[information.description.as_str(), more.as_str()].join(" "));
    let mut references = information.references;
    let cheque = line.kind.ends_with("CHK");
    let own = if cheque { ReferenceKind::Cheque } else { ReferenceKind::Untyped };
    // "EREF" and "KREF+" say where the reference stands, and are none.
    let points = matches!(line.reference.trim_end_matches('+'), "EREF" | "KREF" | "MREF" | "PREF");
    let own = Some(line.reference).filter(|_| !points).and_then(|text| Reference::new(own, text));
    let of_bank = Reference::new(ReferenceKind::AccountServicer, line.bank_reference);
    for reference in own.into_iter().chain(of_bank) {
        if !references.contains(&reference) {
            references.push(reference);
        }
    }
    let code = [Some(line.kind), information.code.as_deref()].into_iter().flatten().filter(|part| !part.is_empty());
    let code = code.collect::<Vec<_>>().join(" ");
    Some(BankLine {
        ordinal: 0,
        line: field.line,
        kind: if line.amount.is_zero() { LineKind::ZeroAmount } else { LineKind::Movement },
        status: LineStatus::Booked,
        booking_date,
        value_date: Some(line.value_date),
        amount: line.amount,
        amount_text: line.amount_text.to_owned(),
        reversal: line.reversal,
        code: Some(code).filter(|code| !code.is_empty()),
        references,
        counterparty: information.counterparty,
        description,
        details: Vec::new(),
        charges: Vec::new(),
    })
}

// === impl Reporter ===

impl Reporter<'_> {
    fn error(&mut self, code: &'static str, line: u32, message: impl Into<String>) {
        self.found.push(Diagnostic::new(Severity::Error, code, message).at_line(line));
    }

    fn clamp(&mut self, day: Day, line: u32) {
        if day.clamped {
            self.clamped = Some(self.clamped.map_or((line, 1), |(first, count)| (first, count + 1)));
        }
    }
}
