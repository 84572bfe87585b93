//! Who is on the other side of a transaction.

use super::reading::{Direction, Reading};
use super::xml::{Refusal, Text};
use crate::statement::Counterparty;

/// The parties of a transaction, by their roles in the payment.
#[derive(Debug, Default)]
pub(super) struct Parties {
    debtor: Counterparty,
    creditor: Counterparty,
    ultimate_debtor: Counterparty,
    ultimate_creditor: Counterparty,
}

// === impl Parties ===

impl Parties {
    /// Reads the `RltdPties` that was just opened.
    pub(super) fn read_parties(&mut self, reading: &mut Reading<'_>) -> Result<(), Refusal> {
        while let Some(child) = reading.xml.child()? {
            match child.name() {
                "Dbtr" => read_party(reading, &mut self.debtor)?,
                "Cdtr" => read_party(reading, &mut self.creditor)?,
                "UltmtDbtr" => read_party(reading, &mut self.ultimate_debtor)?,
                "UltmtCdtr" => read_party(reading, &mut self.ultimate_creditor)?,
                "DbtrAcct" => keep(&mut self.debtor.account, read_account(reading)?),
                "CdtrAcct" => keep(&mut self.creditor.account, read_account(reading)?),
                _ => reading.xml.skip()?,
            }
        }
        Ok(())
    }

    /// Reads the `RltdAgts` that was just opened.
    pub(super) fn read_agents(&mut self, reading: &mut Reading<'_>) -> Result<(), Refusal> {
        while let Some(child) = reading.xml.child()? {
            match child.name() {
                "DbtrAgt" => set(&mut self.debtor.bank, read_agent(reading)?.bank),
                "CdtrAgt" => set(&mut self.creditor.bank, read_agent(reading)?.bank),
                _ => reading.xml.skip()?,
            }
        }
        Ok(())
    }

    /// The other side, by the sign of the line: of money that came in, the debtor; of money that went out, the
    /// creditor. Where that role is not filled, its ultimate party.
    pub(super) fn other_side(self, direction: Direction) -> Option<Counterparty> {
        let (direct, ultimate) = match direction {
            Direction::Credit => (self.debtor, self.ultimate_debtor),
            Direction::Debit => (self.creditor, self.ultimate_creditor),
        };
        let counterparty = Counterparty {
            name: direct.name.or(ultimate.name),
            tax_id: direct.tax_id.or(ultimate.tax_id),
            account: direct.account,
            bank: direct.bank,
        };
        (counterparty != Counterparty::default()).then_some(counterparty)
    }
}

/// A party in either form: its fields directly (up to version 06), or within `Pty` or `Agt` (from 07).
fn read_party(reading: &mut Reading<'_>, party: &mut Counterparty) -> Result<(), Refusal> {
    while let Some(child) = reading.xml.child()? {
        match child.name() {
            "Pty" => read_party(reading, party)?,
            "Agt" => {
                let agent = read_agent(reading)?;
                keep(&mut party.name, agent.name);
                keep(&mut party.bank, agent.bank);
            }
            "Nm" => keep(&mut party.name, some(reading.xml.text()?)),
            "Id" => read_party_id(reading, party)?,
            _ => reading.xml.skip()?,
        }
    }
    Ok(())
}

fn read_party_id(reading: &mut Reading<'_>, party: &mut Counterparty) -> Result<(), Refusal> {
    while let Some(kind) = reading.xml.child()? {
        if !matches!(kind.name(), "OrgId" | "PrvtId") {
            reading.xml.skip()?;
            continue;
        }
        while let Some(child) = reading.xml.child()? {
            match child.name() {
                "AnyBIC" | "BICOrBEI" | "BEI" => keep(&mut party.bank, some(reading.xml.text()?)),
                "Othr" => {
                    let (id, scheme) = read_other(reading)?;
                    keep(&mut party.tax_id, id.filter(|id| is_tax_id(id, scheme.as_deref())));
                }
                _ => reading.xml.skip()?,
            }
        }
    }
    Ok(())
}

/// An id that is a tax id by its scheme; or, without a scheme, by having the length of a CPF or CNPJ and digits only.
/// Other ids (creditor identifiers, customer numbers) are not kept.
fn is_tax_id(id: &str, scheme: Option<&str>) -> bool {
    match scheme {
        Some(scheme) => matches!(scheme.to_ascii_uppercase().as_str(), "TXID" | "CNPJ" | "CPF" | "VAT" | "TAX"),
        None => matches!(id.len(), 11 | 14) && id.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// `Othr`: an id and the name of its scheme.
fn read_other(reading: &mut Reading<'_>) -> Result<(Option<String>, Option<String>), Refusal> {
    let (mut id, mut scheme) = (None, None);
    while let Some(child) = reading.xml.child()? {
        match child.name() {
            "Id" => id = some(reading.xml.text()?),
            "SchmeNm" => {
                while let Some(choice) = reading.xml.child()? {
                    match choice.name() {
                        "Cd" | "Prtry" => scheme = some(reading.xml.text()?),
                        _ => reading.xml.skip()?,
                    }
                }
            }
            _ => reading.xml.skip()?,
        }
    }
    Ok((id, scheme))
}

/// An account's number, from the element that holds its `Id`: IBAN, else the other id.
pub(super) fn read_account(reading: &mut Reading<'_>) -> Result<Option<String>, Refusal> {
    let mut number = None;
    while let Some(child) = reading.xml.child()? {
        match child.name() {
            "Id" => keep(&mut number, read_account_id(reading)?),
            _ => reading.xml.skip()?,
        }
    }
    Ok(number)
}

/// The `Id` of an account that was just opened.
pub(super) fn read_account_id(reading: &mut Reading<'_>) -> Result<Option<String>, Refusal> {
    let (mut iban, mut other) = (None, None);
    while let Some(child) = reading.xml.child()? {
        match child.name() {
            "IBAN" => iban = some(reading.xml.text()?),
            "Othr" => other = read_other(reading)?.0,
            // Version 01's forms.
            "BBAN" | "UPIC" => keep(&mut other, some(reading.xml.text()?)),
            _ => reading.xml.skip()?,
        }
    }
    Ok(iban.or(other))
}

/// A bank: its name, BIC or clearing code, and branch.
#[derive(Debug, Default)]
pub(super) struct Agent {
    pub(super) name: Option<String>,
    pub(super) bank: Option<String>,
    pub(super) branch: Option<String>,
}

/// Reads the agent that was just opened.
pub(super) fn read_agent(reading: &mut Reading<'_>) -> Result<Agent, Refusal> {
    let mut agent = Agent::default();
    let mut clearing = None;
    while let Some(child) = reading.xml.child()? {
        match child.name() {
            "FinInstnId" => {
                while let Some(field) = reading.xml.child()? {
                    match field.name() {
                        "BIC" | "BICFI" | "AnyBIC" => keep(&mut agent.bank, some(reading.xml.text()?)),
                        "Nm" => keep(&mut agent.name, some(reading.xml.text()?)),
                        "ClrSysMmbId" => {
                            while let Some(part) = reading.xml.child()? {
                                match part.name() {
                                    "MmbId" => clearing = some(reading.xml.text()?),
                                    _ => reading.xml.skip()?,
                                }
                            }
                        }
                        _ => reading.xml.skip()?,
                    }
                }
            }
            "BrnchId" => {
                while let Some(field) = reading.xml.child()? {
                    match field.name() {
                        "Id" => agent.branch = some(reading.xml.text()?),
                        _ => reading.xml.skip()?,
                    }
                }
            }
            _ => reading.xml.skip()?,
        }
    }
    keep(&mut agent.bank, clearing);
    Ok(agent)
}

/// A text that is not empty.
pub(super) fn some(text: Text<'_>) -> Option<String> {
    (!text.value.is_empty()).then(|| text.value.into_owned())
}

/// The first value stays.
fn keep(place: &mut Option<String>, value: Option<String>) {
    if place.is_none() {
        *place = value;
    }
}

/// The later value goes before, if there is one.
fn set(place: &mut Option<String>, value: Option<String>) {
    if value.is_some() {
        *place = value;
    }
}
