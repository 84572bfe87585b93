//! One STMTTRN: a line of the statement.

use std::borrow::Cow;
use std::collections::HashMap;

use chrono::NaiveDate;

use super::amount::{self, Amount};
use super::date;
use super::oddity::{Oddities, Oddity};
use super::reading::{Reading, Slot};
use super::tag::Tag;
use super::tree::Node;
use crate::money::{Currency, Money};
use crate::reference::{Reference, ReferenceKind};
use crate::statement::balance_row::{self, BalanceRow};
use crate::statement::text::single_spaced;
use crate::statement::{BankLine, Counterparty, LineKind, LineStatus};

/// TRNTYPE as OFX 2.2 defines it.
const TYPES: [&str; 18] = [
    "CREDIT",
    "DEBIT",
    "INT",
    "DIV",
    "FEE",
    "SRVCHG",
    "DEP",
    "ATM",
    "POS",
    "XFER",
    "CHECK",
    "PAYMENT",
    "CASH",
    "DIRECTDEP",
    "DIRECTDEBIT",
    "REPEATPMT",
    "HOLD",
    "OTHER",
];

/// How long a Pix end-to-end or return id is.
const PIX: usize = 32;

/// The lines of one statement, as they are read.
pub(super) struct Lines<'a> {
    currency: Currency,
    pub(super) rows: Vec<BankLine>,
    /// The balances among the rows, by index, where they are the account's own.
    pub(super) ledger_rows: Vec<usize>,
    /// Was an amount written with a decimal mark, and one without?
    pub(super) marked: (bool, bool),
    /// The first line of each FITID.
    fitids: HashMap<Cow<'a, str>, usize>,
}

/// The elements of a line.
#[derive(Default)]
struct Fields {
    kind: Slot,
    posted: Slot,
    available: Slot,
    amount: Slot,
    fitid: Slot,
    corrects: Slot,
    check_number: Slot,
    reference: Slot,
    name: Slot,
    extended_name: Slot,
    memo: Slot,
    currency: Slot,
    payee: Option<usize>,
    account_to: Option<usize>,
}

// === impl Lines ===

impl<'a> Lines<'a> {
    pub(super) fn new(currency: Currency) -> Self {
        Self { currency, rows: Vec::new(), ledger_rows: Vec::new(), marked: (false, false), fitids: HashMap::new() }
    }

    /// Makes room for the lines of a list with so many elements: few have less than seven.
    pub(super) fn reserve(&mut self, elements: usize) {
        self.rows.reserve(elements / 7);
        self.fitids.reserve(elements / 7);
    }

    /// Reads a STMTTRN, or a STMTTRNP, which is pending. What is wrong with it is an error, which refuses the file; then
    /// there is no line.
    pub(super) fn read(
        &mut self,
        reading: &mut Reading<'a, '_>,
        odd: &mut Oddities,
        element: usize,
        status: LineStatus,
    ) {
        let Some(at) = reading.tree.node(element).map(Node::at) else { return };
        let line = reading.line(at);
        let fields = Fields::read(reading, odd, element);
        let posted = Self::booking_date(reading, at, fields.posted);
        let amount = self.amount(reading, odd, at, fields.amount);
        self.refuse_other_currency(reading, fields.currency);
        let (Some(booking_date), Some((amount, amount_text))) = (posted, amount) else { return };

        let (description, counterparty) = fields.prose(reading);
        let code = reading.owned(fields.kind);
        let row = if status == LineStatus::Booked { balance_row::of(&description) } else { None };
        let kind = match row {
            Some(_) => LineKind::BalanceMarker,
            None if amount.is_zero() => LineKind::ZeroAmount,
            None => LineKind::Movement,
        };
        if row == Some(BalanceRow::Ledger) {
            self.ledger_rows.push(self.rows.len());
        }
        let references = fields.references(reading, code.as_deref(), &description);
        let value_date = fields.available.and_then(|node| {
            date::read(&reading.value(&node)).unwrap_or_else(|no_date| {
                odd.note(Oddity::DtAvail, reading, node.value_at(), |_| no_date.to_string());
                None
            })
        });
        if kind == LineKind::Movement {
            note_type(reading, odd, fields.kind, amount, at);
        }
        if let Some(corrects) = fields.corrects {
            odd.note(Oddity::Correction, reading, corrects.at(), |reading| reading.value(&corrects).into_owned());
        }
        self.rows.push(BankLine {
            ordinal: u32::try_from(self.rows.len() + 1).unwrap_or(u32::MAX),
            line,
            kind,
            status,
            booking_date,
            value_date,
            amount,
            amount_text,
            reversal: false,
            code,
            references,
            counterparty,
            description,
            details: Vec::new(),
            charges: Vec::new(),
        });
        if row.is_none() && status == LineStatus::Booked {
            self.note_fitid(reading, odd, fields.fitid, at);
        }
    }
    fn booking_date(reading: &mut Reading<'a, '_>, line: usize, slot: Slot) -> Option<NaiveDate> {
        let date = reading.date(slot).ok()?;
        if date.is_none() {
            let at = slot.map_or(line, |node| node.at());
            reading.error("DTPOSTED", at, "the line has no booking date: DTPOSTED is absent, empty or zero");
        }
        date
    }

    /// The amount, and its text where reading it was interpreting it.
    fn amount(
        &mut self,
        reading: &mut Reading<'a, '_>,
        odd: &mut Oddities,
        line: usize,
        slot: Slot,
    ) -> Option<(Money, String)> {
        let Some(node) = slot else {
            reading.error("TRNAMT", line, "the line has no amount: TRNAMT is absent");
            return None;
        };
        let written = reading.value(&node);
        let at = node.value_at();
        match amount::read(&written, self.currency) {
            Ok(Amount { money, interpreted, doubtful }) => {
                if doubtful {
                    odd.note(Oddity::Thousands, reading, at, |_| written.to_string());
                }
                if written.contains(['.', ',']) {
                    self.marked.0 = true;
                } else {
                    self.marked.1 = true;
                }
                Some((money, if interpreted { written.into_owned() } else { String::new() }))
            }
            Err(unreadable) => {
                reading.error("TRNAMT", at, format!("TRNAMT: {unreadable}"));
                None
            }
        }
    }

    /// CURRENCY says that TRNAMT is in another currency than CURDEF's; ORIGCURRENCY only tells what it was converted
    /// from (OFX 2.2, 5.2).
    fn refuse_other_currency(&self, reading: &mut Reading<'a, '_>, slot: Slot) {
        let Some(node) = slot else { return };
        let symbol = reading.value(&node);
        if !symbol.eq_ignore_ascii_case(self.currency.code()) {
            let message =
                format!("the amount is in {symbol:?} (CURRENCY), the account in {}: they are not added", self.currency);
            reading.error("CURRENCY", node.at(), message);
        }
    }

    /// FITID should be unique in an account, and is not. Lines are kept whatever it says.
    fn note_fitid(&mut self, reading: &mut Reading<'a, '_>, odd: &mut Oddities, slot: Slot, at: usize) {
        let at = slot.map_or(at, |node| node.at());
        let id = reading.filled(slot).filter(|id| id.bytes().any(|byte| byte != b'0'));
        let Some(id) = id else { return odd.note(Oddity::FitIdMissing, reading, at, |_| String::new()) };
        let this = self.rows.len() - 1;
        let first = *self.fitids.entry(id).or_insert(this);
        if first == this {
            return;
        }
        let told = |line: &BankLine| (line.booking_date, line.amount, line.code.clone(), line.description.clone());
        let same = told(&self.rows[first]) == told(&self.rows[this]);
        let oddity = if same { Oddity::FitIdRepeated } else { Oddity::FitIdReused };
        odd.note(oddity, reading, at, |reading| reading.owned(slot).unwrap_or_default());
    }
}

/// TRNTYPE against the standard's list, and against the sign.
fn note_type(reading: &mut Reading<'_, '_>, odd: &mut Oddities, slot: Slot, amount: Money, line: usize) {
    let at = slot.map_or(line, |node| node.at());
    let kind = slot.map(|node| reading.value(&node)).unwrap_or_default();
    if !TYPES.iter().any(|known| known.eq_ignore_ascii_case(&kind)) {
        odd.note(Oddity::TrnType, reading, at, |_| format!("{kind:?}"));
    }
    let contradicts = (kind.eq_ignore_ascii_case("DEBIT") && amount.minor() > 0)
        || (kind.eq_ignore_ascii_case("CREDIT") && amount.minor() < 0);
    if contradicts {
        odd.note(Oddity::Direction, reading, at, |_| format!("{kind} of {amount}"));
    }
}

// === impl Fields ===

impl Fields {
    fn read(reading: &mut Reading<'_, '_>, odd: &mut Oddities, element: usize) -> Self {
        let mut fields = Self::default();
        let tree = reading.tree;
        for (index, node) in tree.children(element) {
            let slot = match node.tag {
                Tag::TRNTYPE => &mut fields.kind,
                Tag::DTPOSTED | Tag::DTTRAN => &mut fields.posted,
                Tag::DTAVAIL => &mut fields.available,
                Tag::TRNAMT => &mut fields.amount,
                Tag::FITID => &mut fields.fitid,
                Tag::CORRECTFITID => &mut fields.corrects,
                Tag::CHECKNUM => &mut fields.check_number,
                Tag::REFNUM => &mut fields.reference,
                Tag::NAME => &mut fields.name,
                Tag::EXTDNAME => &mut fields.extended_name,
                Tag::MEMO => &mut fields.memo,
                // Also where CURRENCY was left open, or is written as a value.
                Tag::CURSYM => &mut fields.currency,
                Tag::CURRENCY if !node.raw(reading.text).is_empty() => &mut fields.currency,
                Tag::CURRENCY => {
                    if let Some(symbol) = reading.child(index, Tag::CURSYM) {
                        reading.put(&mut fields.currency, &symbol);
                    }
                    continue;
                }
                Tag::PAYEE => {
                    fields.payee = Some(index);
                    continue;
                }
                Tag::BANKACCTTO | Tag::CCACCTTO => {
                    fields.account_to = Some(index);
                    continue;
                }
                // A vendor's own elements have a prefix (`INTU.BID`); others were a `<` in a text, or a mistake.
                Tag::Other if !node.name(reading.text).contains('.') => {
                    odd.note(Oddity::Element, reading, node.at(), |reading| node.name(reading.text).to_owned());
                    continue;
                }
                _ => continue,
            };
            reading.put(slot, node);
        }
        fields
    }

    /// The description, and who is on the other side.
    ///
    /// NAME is a payee or a description (OFX 2.2, 11.4.4.1): beside a MEMO that does not repeat it, it is taken for a
    /// name; it is in the description in any case.
    fn prose(&self, reading: &mut Reading<'_, '_>) -> (String, Option<Counterparty>) {
        let text = |slot: Slot| slot.map(|node| single_spaced(&reading.value(&node))).unwrap_or_default();
        let memo = text(self.memo);
        if self.name.is_none() && self.payee.is_none() && self.extended_name.is_none() && self.account_to.is_none() {
            return (memo, None);
        }
        let name = text(self.name);
        let extended = text(self.extended_name);
        let payee =
            self.payee.and_then(|payee| reading.child(payee, Tag::NAME).or_else(|| reading.tree.node(payee).copied()));
        let payee = payee.map(|node| single_spaced(&reading.value(&node))).unwrap_or_default();
        let mut description = String::new();
        for part in [&name, &extended, &payee, &memo] {
            if part.is_empty() || description.contains(part.as_str()) {
                continue;
            }
            if part.starts_with(description.as_str()) {
                description.clear();
            } else {
                description.push(' ');
            }
            description.push_str(part);
        }
        let is_name = !name.is_empty() && !memo.is_empty() && !memo.starts_with(name.as_str());
        let name = if payee.is_empty() { Some(name).filter(|_| is_name) } else { Some(payee) };
        let mut counterparty = Counterparty { name, ..Counterparty::default() };
        if let Some(account) = self.account_to {
            let (number, bank) = (reading.child(account, Tag::ACCTID), reading.child(account, Tag::BANKID));
            counterparty.account = reading.owned(number);
            counterparty.bank = reading.owned(bank);
        }
        let counterparty = Some(counterparty).filter(|counterparty| *counterparty != Counterparty::default());
        (description, counterparty)
    }

    /// References, each kind and value once.
    fn references(&self, reading: &Reading<'_, '_>, kind: Option<&str>, description: &str) -> Vec<Reference> {
        let mut references = Vec::new();
        let mut add = |reference: Option<Reference>| {
            if let Some(reference) = reference
                && !references.contains(&reference)
            {
                references.push(reference);
            }
        };
        let fitid = reading.filled(self.fitid);
        // A number that repeats FITID is the bank's own count, whatever the element is called.
        let own = |slot: Slot| reading.filled(slot).filter(|value| Some(value) != fitid.as_ref());
        let is_cheque = kind.is_some_and(|kind| kind.eq_ignore_ascii_case("CHECK"));
        let number = if is_cheque { ReferenceKind::Cheque } else { ReferenceKind::Document };
        add(own(self.check_number).and_then(|value| Reference::new(number, &value)));
        add(own(self.reference).and_then(|value| Reference::new(ReferenceKind::Untyped, &value)));
        if description.len() >= PIX {
            for word in description.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() == PIX) {
                let found = Reference::new(ReferenceKind::Untyped, word);
                add(found.filter(|found| matches!(found.kind(), ReferenceKind::PixEndToEnd | ReferenceKind::PixReturn)));
            }
        }
        add(fitid.and_then(|id| Reference::new(ReferenceKind::FitId, &id)));
        references
    }
}
