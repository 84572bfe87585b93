//! One `Ntry`: a line of the statement.

use chrono::NaiveDate;

use super::details::{
    Prose, WrittenCharge, WrittenDetail, add_reference, is_true, read_charges, read_code, told_charges,
};
use super::reading::{Direction, Reading, Written};
use super::xml::{Open, Refusal, Text, excerpt};
use crate::diagnostic::Severity;
use crate::money::{Currency, Money};
use crate::reference::{Reference, ReferenceKind};
use crate::statement::{BankLine, LineKind, LineStatus};

/// An entry as written.
#[derive(Debug)]
pub(super) struct WrittenEntry<'a> {
    at: usize,
    ordinal: u32,
    pub(super) amount: Option<Written<'a>>,
    direction: Option<Direction>,
    reversal: bool,
    status: Option<Text<'a>>,
    booking_date: Option<NaiveDate>,
    value_date: Option<NaiveDate>,
    /// A date was there, and was not readable; that was said.
    bad_date: bool,
    /// A direction was there, and was not readable; that was said.
    bad_direction: bool,
    code: Option<String>,
    references: Vec<Reference>,
    charges: Vec<WrittenCharge<'a>>,
    details: Vec<WrittenDetail<'a>>,
    prose: Prose,
}

/// An entry, read. The date of one that is not booked may be missing; the statement then gives it its last day.
pub(super) struct ToldEntry {
    pub(super) line: BankLine,
    pub(super) undated: bool,
}

// === impl WrittenEntry ===

impl<'a> WrittenEntry<'a> {
    /// Reads the `Ntry` that was just opened; `ordinal` is its place in the statement, from 1.
    pub(super) fn read(reading: &mut Reading<'a>, open: &Open<'a>, ordinal: u32) -> Result<Self, Refusal> {
        let mut entry = Self {
            at: open.at,
            ordinal,
            amount: None,
            direction: None,
            reversal: false,
            status: None,
            booking_date: None,
            value_date: None,
            bad_date: false,
            bad_direction: false,
            code: None,
            references: Vec::new(),
            charges: Vec::new(),
            details: Vec::new(),
            prose: Prose::default(),
        };
        while let Some(child) = reading.xml.child()? {
            match child.name() {
                "NtryRef" => add_reference(&mut entry.references, ReferenceKind::Entry, &reading.xml.text()?),
                "Amt" => entry.amount = Some(reading.written(&child)?),
                "CdtDbtInd" => {
                    let text = reading.xml.text()?;
                    entry.direction = reading.direction(&text, format_args!("Ntry {ordinal} CdtDbtInd"));
                    entry.bad_direction = entry.direction.is_none();
                }
                "RvslInd" => entry.reversal = is_true(&reading.xml.text()?) == Some(true),
                "Sts" => entry.status = Some(reading.xml.text_or(&["Cd", "Prtry"])?),
                "BookgDt" => {
                    let errors = reading.errors();
                    entry.booking_date = reading.date(format_args!("Ntry {ordinal} BookgDt"))?;
                    entry.bad_date = reading.errors() > errors;
                }
                "ValDt" => entry.value_date = reading.date(format_args!("Ntry {ordinal} ValDt"))?,
                "AcctSvcrRef" => {
                    add_reference(&mut entry.references, ReferenceKind::AccountServicer, &reading.xml.text()?);
                }
                "BkTxCd" => entry.code = read_code(reading)?,
                "Chrgs" => read_charges(reading, &mut entry.charges)?,
                "NtryDtls" => entry.read_details(reading)?,
                "AddtlNtryInf" => entry.prose.say(&reading.xml.text()?.value),
                _ => reading.xml.skip()?,
            }
        }
        Ok(entry)
    }

    fn read_details(&mut self, reading: &mut Reading<'a>) -> Result<(), Refusal> {
        while let Some(child) = reading.xml.child()? {
            match child.name() {
                "Btch" => {
                    while let Some(field) = reading.xml.child()? {
                        let kind = match field.name() {
                            "MsgId" => ReferenceKind::Message,
                            "PmtInfId" => ReferenceKind::PaymentInformation,
                            _ => {
                                reading.xml.skip()?;
                                continue;
                            }
                        };
                        add_reference(&mut self.references, kind, &reading.xml.text()?);
                    }
                }
                "TxDtls" => self.details.push(WrittenDetail::read(reading)?),
                _ => reading.xml.skip()?,
            }
        }
        Ok(())
    }

    /// As a line of the account. `None`, with findings, where it is no line.
    pub(super) fn tell(self, reading: &mut Reading<'a>, account: Currency) -> Option<ToldEntry> {
        let ordinal = self.ordinal;
        let amount = self.signed_amount(reading, account);
        let status = self.told_status(reading);
        let (amount, direction) = amount?;
        let status = status?;
        let (booking_date, undated) = match (self.booking_date, self.value_date) {
            (Some(date), _) => (date, false),
            _ if self.bad_date && status == LineStatus::Booked => return None,
            (None, Some(date)) if status == LineStatus::Booked => {
                let message = format!("Ntry {ordinal}: found no BookgDt; it is counted on its value date, {date}");
                reading.tell(Severity::Warning, "DATE", self.at, message);
                (date, false)
            }
            // What is not booked has no booking date yet.
            (None, Some(date)) => (date, false),
            (None, None) if status == LineStatus::Booked => {
                let message =
                    format!("Ntry {ordinal}: found neither BookgDt nor ValDt, expected the day it was booked");
                reading.wrong("DATE", self.at, message);
                return None;
            }
            (None, None) => (NaiveDate::MIN, true),
        };
        let charges = told_charges(reading, &self.charges, account);
        let lends = self.details.len() == 1;
        let mut line = BankLine {
            ordinal,
            line: reading.xml.place(self.at).0,
            kind: if amount.is_zero() { LineKind::ZeroAmount } else { LineKind::Movement },
            status,
            booking_date,
            value_date: self.value_date,
            amount,
            amount_text: self.interpreted_text(amount),
            reversal: self.reversal,
            code: self.code,
            references: self.references,
            counterparty: None,
            description: String::new(),
            details: Vec::with_capacity(self.details.len()),
            charges,
        };
        let mut prose = Prose::default();
        for detail in self.details {
            let mut told = detail.tell(reading, account, direction);
            if lends {
                // The one transaction is the line: what it says is said by the line, and what is left of it is what
                // proves the amount.
                for reference in told.detail.references.drain(..) {
                    if !line.references.contains(&reference) {
                        line.references.push(reference);
                    }
                }
                line.counterparty = told.detail.counterparty.take().or(line.counterparty);
                line.code = line.code.or(told.code);
                prose = Prose::of(std::mem::take(&mut told.detail.description));
            }
            // A transaction alone that says nothing about its amount has nothing left to say.
            if !lends || told.detail.amount.is_some() || !told.detail.charges.is_empty() {
                line.details.push(told.detail);
            }
        }
        prose.say(&self.prose.into_string());
        line.description = prose.into_string();
        Some(ToldEntry { line, undated })
    }

    fn signed_amount(&self, reading: &mut Reading<'a>, account: Currency) -> Option<(Money, Direction)> {
        let ordinal = self.ordinal;
        if self.direction.is_none() && !self.bad_direction {
            reading.wrong("DIRECTION", self.at, format!("Ntry {ordinal}: found no CdtDbtInd, expected CRDT or DBIT"));
        }
        let Some(written) = &self.amount else {
            reading.wrong("AMOUNT", self.at, format!("Ntry {ordinal}: found no Amt, expected one"));
            return None;
        };
        let magnitude = reading.money(written, account, format_args!("Ntry {ordinal} Amt"))?;
        // The indicator alone is the sign: RvslInd says what the entry undoes, not which way it goes (domain.md §1).
        let direction = self.direction?;
        Some((direction.sign(magnitude), direction))
    }

    fn told_status(&self, reading: &mut Reading<'a>) -> Option<LineStatus> {
        let ordinal = self.ordinal;
        match self.status.as_ref().map(|text| (&*text.value, text.at)) {
            Some(("BOOK", _)) => Some(LineStatus::Booked),
            Some(("PDNG" | "FUTR", _)) => Some(LineStatus::Pending),
            Some(("INFO", _)) => Some(LineStatus::Information),
            Some((other, at)) => {
                let message =
                    format!("Ntry {ordinal} Sts: found {:?}, expected BOOK, PDNG, FUTR or INFO", excerpt(other));
                reading.wrong("STATUS", at, message);
                None
            }
            None => {
                let message =
                    format!("Ntry {ordinal}: found no Sts; it is taken as booked, as a statement's entries are");
                reading.tell(Severity::Warning, "STATUS", self.at, message);
                Some(LineStatus::Booked)
            }
        }
    }

    /// The amount as written, where that is not how we write it.
    fn interpreted_text(&self, amount: Money) -> String {
        let written = self.amount.as_ref().map_or("", |written| &*written.text.value);
        let ours = amount.to_string();
        if ours.trim_start_matches('-') == written { String::new() } else { written.to_owned() }
    }
}
