//! The balances of a statement: which of the many are the opening and the closing.

use chrono::NaiveDate;

use super::reading::{Direction, Reading, Written};
use super::xml::{Open, Refusal};
use crate::diagnostic::Severity;
use crate::money::{Currency, Money};
use crate::statement::Balance;

/// One `Bal` as written.
#[derive(Debug)]
pub(super) struct Stated<'a> {
    pub(super) kind: Kind,
    /// Another balance than the account's whole booked one, by its subtype.
    subtype: Option<String>,
    amount: Option<Written<'a>>,
    direction: Option<Direction>,
    date: Option<NaiveDate>,
    at: usize,
}

/// Which balance it is, as far as that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `OPBD`: booked, at the opening.
    Opening,
    /// `PRCD`: booked, at the previous closing; the same amount as the opening.
    PreviousClosing,
    /// `CLBD`: booked, at the closing.
    Closing,
    /// Interim, available, forward, expected: nothing that a statement is proved by.
    Other,
}

/// What the balances say together.
#[derive(Debug, Default)]
pub(super) struct Balances {
    pub(super) opening: Option<Balance>,
    pub(super) closing: Option<Balance>,
    pub(super) previous_closing_date: Option<NaiveDate>,
    pub(super) opening_date: Option<NaiveDate>,
}

// === impl Kind ===

impl Kind {
    fn of(code: &str) -> Self {
        match code {
            "OPBD" => Self::Opening,
            "PRCD" => Self::PreviousClosing,
            "CLBD" => Self::Closing,
            _ => Self::Other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Opening => "OPBD",
            Self::PreviousClosing => "PRCD",
            Self::Closing => "CLBD",
            Self::Other => "another balance",
        }
    }
}

// === impl Stated ===

impl<'a> Stated<'a> {
    /// Reads the `Bal` that was just opened.
    pub(super) fn read(reading: &mut Reading<'a>, open: &Open<'a>) -> Result<Self, Refusal> {
        let mut stated =
            Self { kind: Kind::Other, subtype: None, amount: None, direction: None, date: None, at: open.at };
        while let Some(child) = reading.xml.child()? {
            match child.name() {
                "Tp" => stated.read_type(reading)?,
                "Amt" => stated.amount = Some(reading.written(&child)?),
                "CdtDbtInd" => {
                    let text = reading.xml.text()?;
                    stated.direction = reading.direction(&text, format_args!("Bal CdtDbtInd"));
                }
                "Dt" => stated.date = reading.date(format_args!("Bal Dt"))?,
                _ => reading.xml.skip()?,
            }
        }
        Ok(stated)
    }

    fn read_type(&mut self, reading: &mut Reading<'a>) -> Result<(), Refusal> {
        while let Some(child) = reading.xml.child()? {
            match child.name() {
                "CdOrPrtry" => {
                    while let Some(choice) = reading.xml.child()? {
                        match choice.name() {
                            "Cd" | "Prtry" => self.kind = Kind::of(&reading.xml.text()?.value),
                            _ => reading.xml.skip()?,
                        }
                    }
                }
                "SubTp" => {
                    while let Some(choice) = reading.xml.child()? {
                        match choice.name() {
                            "Cd" | "Prtry" => self.subtype = Some(reading.xml.text()?.value.into_owned()),
                            _ => reading.xml.skip()?,
                        }
                    }
                }
                _ => reading.xml.skip()?,
            }
        }
        Ok(())
    }

    /// Booked: opening or closing.
    fn is_booked(&self) -> bool {
        self.kind != Kind::Other
    }

    fn signed(&self, reading: &mut Reading<'a>, account: Currency) -> Option<Money> {
        let name = self.kind.name();
        let Some(amount) = &self.amount else {
            reading.wrong("BALANCE", self.at, format!("Bal {name}: found no Amt, expected one"));
            return None;
        };
        let magnitude = reading.money(amount, account, format_args!("Bal {name} Amt"))?;
        match self.direction {
            Some(direction) => Some(direction.sign(magnitude)),
            None if magnitude.is_zero() => Some(magnitude),
            None => {
                let message = format!("Bal {name}: found no readable CdtDbtInd, expected CRDT or DBIT");
                reading.wrong("BALANCE", self.at, message);
                None
            }
        }
    }
}

/// The currency of the balances where it is one: of the booked ones, or of all if none is booked. Two different ones
/// are an error that names both.
pub(super) fn currency(reading: &mut Reading<'_>, stated: &[Stated<'_>]) -> Option<Currency> {
    let any_booked = stated.iter().any(Stated::is_booked);
    let mut first: Option<(&Stated<'_>, Currency)> = None;
    for balance in stated.iter().filter(|balance| balance.is_booked() || !any_booked) {
        let Some(Ok(currency)) = balance.amount.as_ref().map(|amount| &amount.currency) else { continue };
        match first {
            None => first = Some((balance, *currency)),
            Some((_, known)) if known == *currency => {}
            // Available and expected balances of other currencies contradict nothing that is proved.
            Some(_) if !any_booked => return None,
            Some((one, known)) => {
                let message = format!(
                    "the balances contradict each other: {} is in {known}, {} is in {currency}; \
                    a statement is of one currency",
                    one.kind.name(),
                    balance.kind.name()
                );
                reading.wrong("CURRENCY", balance.at, message);
                return Some(known);
            }
        }
    }
    first.map(|(_, currency)| currency)
}

/// Chooses opening and closing. Interim ones (subtype INTM, OIBD, CIBD) belong to a page and not to the statement.
pub(super) fn choose<'a>(reading: &mut Reading<'a>, stated: &[Stated<'a>], account: Currency) -> Balances {
    let opening = one_of(reading, stated, Kind::Opening, account);
    let previous = one_of(reading, stated, Kind::PreviousClosing, account);
    let closing = one_of(reading, stated, Kind::Closing, account);
    if let (Some((opening, _)), Some((previous, at))) = (&opening, &previous)
        && opening.amount != previous.amount
    {
        let message = format!(
            "the balances contradict each other: OPBD is {}, PRCD is {} {account}; \
            both are the balance before the first line",
            opening.amount, previous.amount
        );
        reading.wrong("BALANCE", *at, message);
    }
    let opening_date = opening.and_then(|(balance, _)| balance.date);
    let previous_closing_date = previous.and_then(|(balance, _)| balance.date);
    let opening = opening.or(previous);
    if let (Some((Balance { date: Some(opens), .. }, at)), Some((Balance { date: Some(closes), .. }, _))) =
        (opening, closing)
        && opens > closes
    {
        let message = format!("the opening balance is dated {opens}, after the closing balance's {closes}");
        reading.tell(Severity::Warning, "BALANCE", at, message);
    }
    Balances {
        opening: opening.map(|(balance, _)| balance),
        closing: closing.map(|(balance, _)| balance),
        previous_closing_date,
        opening_date,
    }
}

/// The balance of a kind and its place in the file. One without a subtype goes before one with; two that differ are an
/// error.
fn one_of<'a>(
    reading: &mut Reading<'a>,
    stated: &[Stated<'a>],
    kind: Kind,
    account: Currency,
) -> Option<(Balance, usize)> {
    let interim = |subtype: &str| matches!(subtype, "INTM" | "OIBD" | "CIBD");
    let of_kind = |plain: bool| {
        stated.iter().filter(move |balance| balance.kind == kind).filter(move |balance| match &balance.subtype {
            None => plain,
            Some(subtype) => !plain && !interim(subtype),
        })
    };
    let chosen: Vec<_> =
        if of_kind(true).next().is_some() { of_kind(true).collect() } else { of_kind(false).collect() };
    let mut first: Option<(Balance, usize)> = None;
    for balance in chosen {
        let Some(amount) = balance.signed(reading, account) else { continue };
        match first {
            None => first = Some((Balance { amount, date: balance.date }, balance.at)),
            Some((known, _)) if known.amount != amount => {
                let message = format!(
                    "the balances contradict each other: {name} is given as {} and as {amount} {account}",
                    known.amount,
                    name = kind.name()
                );
                reading.wrong("BALANCE", balance.at, message);
            }
            Some(_) => {}
        }
    }
    first
}
