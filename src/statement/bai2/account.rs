//! An account of a group: record 03, its balances, and its transactions (16).

use chrono::NaiveDate;

use super::error;
use super::record::{Fields, Record};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::money::{Currency, Money};
use crate::reference::{Reference, ReferenceKind};
use crate::statement::text::single_spaced;
use crate::statement::{
    AccountKind, AccountRef, Balance, BankLine, DaysOver, LineKind, LineStatus, StatedTotal, Statement, TotalOf,
};

/// Record 02: of which day, which currency, and how final.
#[derive(Debug)]
pub(super) struct Group {
    /// Who reports: a bank's routing number.
    bank: Option<String>,
    as_of: NaiveDate,
    currency: Option<String>,
    /// The as-of-date modifier: 1 and 3 are interim, 2 and 4 final.
    interim: bool,
}

/// An account whose records are being collected.
pub(super) struct Reading<'r, 'a> {
    header: &'r Record<'a>,
    lines: Vec<&'r Record<'a>>,
}

/// The currency of an account where neither it nor its group says one (BAI2, record 02, field 7).
const DEFAULT_CURRENCY: &str = "USD";
/// Type codes of balances that are the account's own, by the standard's list.
const OPENING_LEDGER: &str = "010";
const CLOSING_LEDGER: &str = "015";
const TOTAL_CREDITS: &str = "100";
const TOTAL_DEBITS: &str = "400";
/// A cheque that was paid: the customer's reference is its number.
const CHECK_PAID: &str = "475";

/// A type, an amount as written (with its sign), and a count.
struct Summary<'a> {
    kind: &'a str,
    amount: Option<i64>,
    count: Option<u64>,
}

// === impl Group ===

impl Group {
    /// `02,receiver,originator,status,as-of date,as-of time,currency,modifier`
    pub(super) fn read(record: &Record<'_>, found: &mut Diagnostics) -> Option<Self> {
        let mut fields = record.fields();
        let (_receiver, originator, status) = (fields.next(), fields.filled(), fields.filled());
        let (date, _time, currency, modifier) = (fields.filled(), fields.next(), fields.filled(), fields.filled());
        let unread = match status {
            Some("2") => Some("a group that deletes an earlier one (status 2): not read"),
            Some("4") => Some("a group for tests alone (status 4): not read"),
            _ => None,
        };
        if let Some(why) = unread {
            error(found, "STATUS", record.line, why);
        }
        let Some(as_of) = date.and_then(day) else {
            let message = format!("the group's as-of date is {:?}: expected YYMMDD", date.unwrap_or_default());
            error(found, "DATE", record.line, message);
            return None;
        };
        Some(Self {
            bank: originator.map(str::to_owned),
            as_of,
            currency: currency.map(str::to_owned),
            interim: matches!(modifier, Some("1" | "3")),
        })
    }
}

// === impl Reading ===

impl<'r, 'a> Reading<'r, 'a> {
    pub(super) fn new(header: &'r Record<'a>) -> Self {
        Self { header, lines: Vec::new() }
    }

    pub(super) fn line(&mut self, record: &'r Record<'a>) {
        self.lines.push(record);
    }

    pub(super) fn line_of_file(&self) -> u32 {
        self.header.line
    }

    /// The statement, unless something in it is wrong, and the sum of its amounts as written.
    pub(super) fn finish(self, group: &Group, found: &mut Diagnostics) -> (Option<Statement>, i128) {
        let at = self.header.line;
        let mut fields = self.header.fields();
        let number = fields.filled();
        let code = fields.filled().or(group.currency.as_deref()).unwrap_or(DEFAULT_CURRENCY);
        let currency = Currency::new(code).ok();
        if currency.is_none() {
            error(found, "CURRENCY", at, format!("the account's currency is {code:?}: expected a code of ISO 4217"));
        }
        if number.is_none() {
            error(found, "ACCOUNT", at, "the account has no number (record 03, field 2)");
        }
        let (summaries, mut sum) = summaries(&mut fields, at, found);
        let mut lines = Vec::with_capacity(self.lines.len());
        for record in self.lines {
            let Some((line, amount)) = transaction(record, group, currency, found) else { continue };
            sum += i128::from(amount);
            lines.extend(line);
        }
        for (ordinal, line) in (1..).zip(&mut lines) {
            line.ordinal = ordinal;
        }
        let (Some(currency), Some(number)) = (currency, number) else { return (None, sum) };
        let amount_of = |kind: &str| {
            let mut of_kind = summaries.iter().filter(|summary| summary.kind == kind);
            of_kind.find_map(|summary| Some((summary, Money::new(summary.amount?, currency))))
        };
        let balance = |kind| amount_of(kind).map(|(_, amount)| Balance { amount, date: Some(group.as_of) });
        let total = |of, kind, negative: bool| {
            let (summary, amount) = amount_of(kind)?;
            let sum = if negative { amount.checked_neg() } else { Some(amount) };
            Some(StatedTotal { of, count: summary.count, sum })
        };
        let totals = [total(TotalOf::Credits, TOTAL_CREDITS, false), total(TotalOf::Debits, TOTAL_DEBITS, true)];
        let closing = balance(CLOSING_LEDGER);
        let over = closing.filter(|_| !group.interim).map(|_| group.as_of);
        let statement = Statement {
            account: AccountRef {
                bank: group.bank.clone(),
                branch: None,
                number: number.to_owned(),
                kind: AccountKind::Bank,
            },
            currency,
            id: None,
            sequence: None,
            from: group.as_of,
            to: group.as_of,
            over: DaysOver::Closed(over),
            opening: balance(OPENING_LEDGER),
            closing,
            markers: Vec::new(),
            lines,
            totals: totals.into_iter().flatten().collect(),
            line: at,
        };
        (Some(statement), sum)
    }
}

/// `type,amount,count,funds type[,…]` again and again. Empty fields where a type should be are skipped: some banks write one
/// comma too many before a continuation.
fn summaries<'a>(fields: &mut Fields<'_, 'a>, at: u32, found: &mut Diagnostics) -> (Vec<Summary<'a>>, i128) {
    let mut all = Vec::new();
    let mut sum = 0;
    while let Some(kind) = fields.next() {
        if kind.is_empty() {
            continue;
        }
        if kind.len() != 3 || !kind.bytes().all(|byte| byte.is_ascii_digit()) {
            error(found, "TYPE", at, format!("{kind:?} stands where a type code of three digits should"));
            break;
        }
        let written = fields.filled();
        let amount = written.map(str::parse::<i64>);
        if let Some(Err(_)) = amount {
            let message = format!(
                "type {kind}: the amount is {:?}: expected an integer in minor units",
                written.unwrap_or_default()
            );
            error(found, "AMOUNT", at, message);
        }
        let amount = amount.and_then(Result::ok);
        let count = fields.filled().and_then(|count| count.parse().ok());
        funds(fields, at, found);
        sum += amount.map_or(0, i128::from);
        all.push(Summary { kind, amount, count });
    }
    (all, sum)
}

/// The funds type, and what belongs to it: when the money is available. The value date, where it says one.
fn funds(fields: &mut Fields<'_, '_>, at: u32, found: &mut Diagnostics) -> Option<NaiveDate> {
    match fields.next().unwrap_or_default() {
        "" | "0" | "1" | "2" | "Z" => None,
        "S" => {
            for _ in 0..3 {
                fields.next();
            }
            None
        }
        "V" => {
            let date = fields.filled().and_then(day);
            fields.next();
            date
        }
        "D" => {
            let pairs = fields.filled().and_then(|pairs| pairs.parse::<u16>().ok()).unwrap_or_default();
            for _ in 0..u32::from(pairs) * 2 {
                fields.next();
            }
            None
        }
        other => {
            let message = format!("the funds type is {other:?}: expected 0, 1, 2, S, V, D, Z or none");
            error(found, "FUNDS", at, message);
            None
        }
    }
}

/// `16,type,amount,funds type[,…],bank reference,customer reference,text`: a line if it is one, and its amount as written.
fn transaction(
    record: &Record<'_>,
    group: &Group,
    currency: Option<Currency>,
    found: &mut Diagnostics,
) -> Option<(Option<BankLine>, i64)> {
    let at = record.line;
    let mut fields = record.fields();
    let kind = fields.next().unwrap_or_default();
    let written = fields.next().unwrap_or_default();
    let minor = if written.is_empty() { Ok(0) } else { written.parse::<i64>() };
    let Some(minor) = minor.ok().filter(|minor| *minor >= 0) else {
        let message =
            format!("the transaction's amount is {written:?}: expected an integer in minor units, without a sign");
        error(found, "AMOUNT", at, message);
        return None;
    };
    let value_date = funds(&mut fields, at, found);
    let of_bank = fields.filled();
    let own = fields.filled();
    let description = single_spaced(&fields.text());
    let number = Some(kind).filter(|kind| kind.len() == 3).and_then(|kind| kind.parse::<u16>().ok());
    let negative = match number {
        Some(100..=399 | 920..=959) => false,
        Some(400..=699 | 960..=999) => true,
        // Information without money.
        Some(890) if minor == 0 => {
            let message = "a row of type 890, which is no movement: not read";
            found.push(Diagnostic::new(Severity::Info, "UNREAD", message).at_line(at));
            return Some((None, 0));
        }
        _ => {
            let message = format!(
                "type {kind:?} is neither a credit (100 to 399, 920 to 959) nor a debit (400 to 699, 960 to 999)"
            );
            error(found, "TYPE", at, message);
            return None;
        }
    };
    let own_kind = if kind == CHECK_PAID { ReferenceKind::Cheque } else { ReferenceKind::Untyped };
    let references = own.and_then(|text| Reference::new(own_kind, text)).into_iter();
    let references = references.chain(of_bank.and_then(|text| Reference::new(ReferenceKind::AccountServicer, text)));
    let amount = Money::new(if negative { -minor } else { minor }, currency?);
    let line = BankLine {
        ordinal: 0,
        line: at,
        kind: if minor == 0 { LineKind::ZeroAmount } else { LineKind::Movement },
        status: LineStatus::Booked,
        booking_date: group.as_of,
        value_date,
        amount,
        amount_text: written.to_owned(),
        reversal: false,
        code: Some(kind.to_owned()),
        references: references.collect(),
        counterparty: None,
        description,
        details: Vec::new(),
        charges: Vec::new(),
    };
    Some((Some(line), minor))
}

/// `YYMMDD`, of this century.
fn day(text: &str) -> Option<NaiveDate> {
    if text.len() != 6 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |at: usize| text[at..at + 2].parse::<u32>().ok();
    NaiveDate::from_ymd_opt(2000 + i32::try_from(part(0)?).ok()?, part(2)?, part(4)?)
}
