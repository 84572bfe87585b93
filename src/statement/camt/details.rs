//! The transactions within an entry: `NtryDtls`, with the references and the remittance that matching lives on.

use super::parties::{Parties, some};
use super::reading::{Direction, Reading, Written};
use super::xml::{Open, Refusal, Text};
use crate::money::Currency;
use crate::reference::{Reference, ReferenceKind};
use crate::statement::text::single_spaced;
use crate::statement::{Charge, Counterparty, Detail};

/// One `TxDtls` as written.
#[derive(Debug, Default)]
pub(super) struct WrittenDetail<'a> {
    /// `Amt`: what the transaction moved on the account.
    amount: Option<Written<'a>>,
    /// `AmtDtls/TxAmt/Amt`: the same, in versions that lack the former; in FX, of the other currency.
    transaction_amount: Option<Written<'a>>,
    direction: Option<Direction>,
    pub(super) code: Option<String>,
    references: Vec<Reference>,
    parties: Parties,
    prose: Prose,
    charges: Vec<WrittenCharge<'a>>,
}

/// A charge as written.
#[derive(Debug, Default)]
pub(super) struct WrittenCharge<'a> {
    amount: Option<Written<'a>>,
    direction: Option<Direction>,
    included: Option<bool>,
}

/// A transaction, read: what it has to say, and what it would lend to its entry.
pub(super) struct Told {
    pub(super) detail: Detail,
    pub(super) code: Option<String>,
}

/// Texts, joined by single spaces; one that was said already is not said again.
#[derive(Debug, Default, Clone)]
pub(super) struct Prose(String);

// === impl WrittenDetail ===

impl<'a> WrittenDetail<'a> {
    /// Reads the `TxDtls` that was just opened.
    pub(super) fn read(reading: &mut Reading<'a>) -> Result<Self, Refusal> {
        let mut detail = Self::default();
        while let Some(child) = reading.xml.child()? {
            match child.name() {
                "Refs" => read_references(reading, &mut detail.references)?,
                "Amt" => detail.amount = Some(reading.written(&child)?),
                "AmtDtls" => detail.transaction_amount = read_transaction_amount(reading)?,
                "CdtDbtInd" => {
                    let text = reading.xml.text()?;
                    detail.direction = reading.direction(&text, format_args!("TxDtls CdtDbtInd"));
                }
                "BkTxCd" => detail.code = read_code(reading)?,
                "Chrgs" => read_charges(reading, &mut detail.charges)?,
                "RltdPties" => detail.parties.read_parties(reading)?,
                "RltdAgts" => detail.parties.read_agents(reading)?,
                "RmtInf" => read_remittance(reading, &mut detail.prose, &mut detail.references)?,
                "AddtlTxInf" => detail.prose.say(&reading.xml.text()?.value),
                _ => reading.xml.skip()?,
            }
        }
        Ok(detail)
    }

    /// In the account's currency and with the sign of the line, or of its own `CdtDbtInd` where it has one.
    pub(super) fn tell(self, reading: &mut Reading<'a>, account: Currency, entry: Direction) -> Told {
        let direction = self.direction.unwrap_or(entry);
        // An amount in another currency is what was instructed, not what moved here: it is no error, and no money.
        let amount = [self.amount, self.transaction_amount]
            .into_iter()
            .flatten()
            .find(|written| written.currency == Ok(account))
            .and_then(|written| reading.magnitude(&written.text, account, format_args!("TxDtls Amt")))
            .map(|magnitude| direction.sign(magnitude));
        let charges = told_charges(reading, &self.charges, account);
        let counterparty: Option<Counterparty> = self.parties.other_side(direction);
        let detail = Detail { amount, references: self.references, counterparty, description: self.prose.0, charges };
        Told { detail, code: self.code }
    }
}

/// `Refs`: every reference that says which payment this is. `Prtry` is left out: its meaning is each bank's own.
fn read_references(reading: &mut Reading<'_>, references: &mut Vec<Reference>) -> Result<(), Refusal> {
    while let Some(child) = reading.xml.child()? {
        let kind = match child.name() {
            "EndToEndId" => ReferenceKind::EndToEnd,
            "UETR" => ReferenceKind::Uetr,
            "InstrId" => ReferenceKind::Instruction,
            "TxId" => ReferenceKind::Transaction,
            "MndtId" => ReferenceKind::Mandate,
            "ChqNb" => ReferenceKind::Cheque,
            "ClrSysRef" => ReferenceKind::Untyped,
            "MsgId" => ReferenceKind::Message,
            "PmtInfId" => ReferenceKind::PaymentInformation,
            "AcctSvcrRef" => ReferenceKind::AccountServicer,
            _ => {
                reading.xml.skip()?;
                continue;
            }
        };
        add_reference(references, kind, &reading.xml.text()?);
    }
    Ok(())
}

/// Adds a reference once. A Pix id is one wherever it stands: the SPI writes it in several fields.
pub(super) fn add_reference(references: &mut Vec<Reference>, kind: ReferenceKind, text: &Text<'_>) {
    let pix = match kind {
        ReferenceKind::Instruction | ReferenceKind::Transaction if text.value.len() == 32 => {
            Reference::new(ReferenceKind::Untyped, &text.value)
                .filter(|found| matches!(found.kind(), ReferenceKind::PixEndToEnd | ReferenceKind::PixReturn))
        }
        _ => None,
    };
    if let Some(reference) = pix.or_else(|| Reference::new(kind, &text.value))
        && !references.contains(&reference)
    {
        references.push(reference);
    }
}

/// `AmtDtls`: the transaction's own amount. The instructed amount and the counter value are before charges and
/// exchange, and are never what moved.
fn read_transaction_amount<'a>(reading: &mut Reading<'a>) -> Result<Option<Written<'a>>, Refusal> {
    let mut amount = None;
    while let Some(child) = reading.xml.child()? {
        match child.name() {
            "TxAmt" => {
                while let Some(field) = reading.xml.child()? {
                    match field.name() {
                        "Amt" => amount = Some(reading.written(&field)?),
                        _ => reading.xml.skip()?,
                    }
                }
            }
            _ => reading.xml.skip()?,
        }
    }
    Ok(amount)
}

/// `BkTxCd`: domain, family and subfamily, else the bank's own code.
pub(super) fn read_code(reading: &mut Reading<'_>) -> Result<Option<String>, Refusal> {
    let (mut domain, mut own) = (Vec::new(), None);
    while let Some(child) = reading.xml.child()? {
        match child.name() {
            "Domn" => {
                while let Some(field) = reading.xml.child()? {
                    match field.name() {
                        "Cd" => domain.extend(some(reading.xml.text()?)),
                        "Fmly" => {
                            while let Some(part) = reading.xml.child()? {
                                match part.name() {
                                    "Cd" | "SubFmlyCd" => domain.extend(some(reading.xml.text()?)),
                                    _ => reading.xml.skip()?,
                                }
                            }
                        }
                        _ => reading.xml.skip()?,
                    }
                }
            }
            "Prtry" => {
                while let Some(field) = reading.xml.child()? {
                    match field.name() {
                        "Cd" => own = some(reading.xml.text()?),
                        _ => reading.xml.skip()?,
                    }
                }
            }
            _ => reading.xml.skip()?,
        }
    }
    Ok(if domain.is_empty() { own } else { Some(domain.join("/")) })
}

/// `Chrgs`: one charge itself (up to version 03), or a list of `Rcrd` (from 04).
pub(super) fn read_charges<'a>(reading: &mut Reading<'a>, charges: &mut Vec<WrittenCharge<'a>>) -> Result<(), Refusal> {
    let mut own = WrittenCharge::default();
    while let Some(child) = reading.xml.child()? {
        if child.name() == "Rcrd" {
            let mut record = WrittenCharge::default();
            while let Some(field) = reading.xml.child()? {
                record.read_field(reading, &field)?;
            }
            charges.push(record);
        } else {
            own.read_field(reading, &child)?;
        }
    }
    if own.amount.is_some() {
        charges.push(own);
    }
    Ok(())
}

impl<'a> WrittenCharge<'a> {
    fn read_field(&mut self, reading: &mut Reading<'a>, field: &Open<'a>) -> Result<(), Refusal> {
        match field.name() {
            "Amt" => self.amount = Some(reading.written(field)?),
            "CdtDbtInd" => {
                let text = reading.xml.text()?;
                self.direction = reading.direction(&text, format_args!("Chrgs CdtDbtInd"));
            }
            "ChrgInclInd" => self.included = is_true(&reading.xml.text()?),
            _ => reading.xml.skip()?,
        }
        Ok(())
    }
}

/// Charges in the account's currency, without those of nothing. One without a direction is taken, as charges are; one
/// in another currency cannot be held against the account's money, and is left out.
pub(super) fn told_charges(reading: &mut Reading<'_>, written: &[WrittenCharge<'_>], account: Currency) -> Vec<Charge> {
    let mut charges = Vec::new();
    for charge in written {
        let Some(amount) = charge.amount.as_ref().filter(|amount| amount.currency == Ok(account)) else { continue };
        let Some(magnitude) = reading.magnitude(&amount.text, account, format_args!("Chrgs Amt")) else { continue };
        if !magnitude.is_zero() {
            let amount = charge.direction.unwrap_or(Direction::Debit).sign(magnitude);
            charges.push(Charge { amount, included: charge.included });
        }
    }
    charges
}

/// `RmtInf`: prose, and the references that the payer gave: the creditor's own (ISO 11649 by its check digits, else of
/// no type), and the numbers of the documents that are paid.
fn read_remittance(
    reading: &mut Reading<'_>,
    prose: &mut Prose,
    references: &mut Vec<Reference>,
) -> Result<(), Refusal> {
    while let Some(child) = reading.xml.child()? {
        match child.name() {
            "Ustrd" => prose.say(&reading.xml.text()?.value),
            "Strd" => {
                while let Some(field) = reading.xml.child()? {
                    match field.name() {
                        "CdtrRefInf" => read_number(reading, "Ref", references)?,
                        "RfrdDocInf" => read_number(reading, "Nb", references)?,
                        "AddtlRmtInf" => prose.say(&reading.xml.text()?.value),
                        _ => reading.xml.skip()?,
                    }
                }
            }
            _ => reading.xml.skip()?,
        }
    }
    Ok(())
}

fn read_number(reading: &mut Reading<'_>, field: &str, references: &mut Vec<Reference>) -> Result<(), Refusal> {
    while let Some(child) = reading.xml.child()? {
        if child.name() == field {
            add_reference(references, ReferenceKind::Untyped, &reading.xml.text()?);
        } else {
            reading.xml.skip()?;
        }
    }
    Ok(())
}

/// `true` or `1`, `false` or `0`.
pub(super) fn is_true(text: &Text<'_>) -> Option<bool> {
    match &*text.value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

// === impl Prose ===

impl Prose {
    pub(super) fn say(&mut self, text: &str) {
        let text = single_spaced(text);
        if text.is_empty() || self.0 == text {
            return;
        }
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        self.0.push_str(&text);
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }

    pub(super) fn of(text: String) -> Self {
        Self(text)
    }
}
