//! One file being read: its XML, what was found wrong so far, and how its texts become money, dates and directions.
//!
//! A value that cannot be read is a located finding, and reading goes on, so that one answer names every fault of a
//! file (up to a limit). Any error refuses the file; a value is never replaced by a guess.

use std::fmt;

use chrono::{NaiveDate, NaiveDateTime};

use super::xml::{Open, Refusal, Text, Xml, excerpt};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::money::{AmountError, Currency, DecimalMark, Money};

/// A file that is being read.
pub(super) struct Reading<'a> {
    pub(super) xml: Xml<'a>,
    pub(super) found: Diagnostics,
    errors: usize,
}

/// An amount as written, not yet known to be of the account's currency.
#[derive(Debug, Clone)]
pub(super) struct Written<'a> {
    pub(super) text: Text<'a>,
    /// `Ccy`; the text where it is no currency.
    pub(super) currency: Result<Currency, String>,
}

/// `CdtDbtInd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Credit,
    Debit,
}

// === impl Reading ===

impl<'a> Reading<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { xml: Xml::new(text), found: Diagnostics::default(), errors: 0 }
    }

    /// How many errors were found.
    pub(super) fn errors(&self) -> usize {
        self.errors
    }

    /// An error: the file is refused, and reading goes on to find the others.
    pub(super) fn wrong(&mut self, code: &'static str, at: usize, message: impl Into<String>) {
        let Refusal(diagnostic) = self.xml.refusal(code, at, message);
        self.errors += 1;
        self.found.push(diagnostic);
    }

    /// Something that a person should know, but that refuses nothing.
    pub(super) fn tell(&mut self, severity: Severity, code: &'static str, at: usize, message: impl Into<String>) {
        let (line, column) = self.xml.place(at);
        self.found.push(Diagnostic::new(severity, code, message).at(line, column));
    }

    /// Stops reading a file in which everything is wrong.
    pub(super) fn give_up_if_hopeless(&mut self, at: usize) -> Result<(), Refusal> {
        if self.errors < Diagnostics::CAP {
            return Ok(());
        }
        Err(self.xml.refusal("MORE", at, format!("{} errors so far: the rest of the file was not read", self.errors)))
    }

    /// The amount in the element that was just opened.
    pub(super) fn written(&mut self, open: &Open<'a>) -> Result<Written<'a>, Refusal> {
        let currency = open.currency();
        Ok(Written { text: self.xml.text()?, currency })
    }

    /// An amount of the account's currency, without sign; `None`, and a finding, where it is not one.
    pub(super) fn money(
        &mut self,
        written: &Written<'_>,
        account: Currency,
        field: fmt::Arguments<'_>,
    ) -> Option<Money> {
        match &written.currency {
            Ok(currency) if *currency == account => {}
            Ok(currency) => {
                let message =
                    format!("{field}: found an amount in {currency}, expected {account}, the account's currency");
                self.wrong("CURRENCY", written.text.at, message);
                return None;
            }
            Err(code) => {
                let message = format!(
                    "{field}: found Ccy {:?}, expected the code of an ISO 4217 currency ({account}, the account's)",
                    excerpt(code)
                );
                self.wrong("CURRENCY", written.text.at, message);
                return None;
            }
        }
        self.magnitude(&written.text, account, field)
    }

    /// A decimal number without sign, in a currency that is known already.
    pub(super) fn magnitude(
        &mut self,
        text: &Text<'_>,
        currency: Currency,
        field: fmt::Arguments<'_>,
    ) -> Option<Money> {
        let expected = match Money::parse(&text.value, DecimalMark::Point, currency) {
            Ok(money) if money.minor() >= 0 => return Some(money),
            Ok(_) => "no sign: CdtDbtInd says the direction".to_owned(),
            Err(AmountError::TooFine { digits, .. }) => {
                format!("at most {digits} decimal digits, as {currency} has")
            }
            Err(AmountError::TooLarge(_)) => "an amount below 2⁶³ minor units".to_owned(),
            Err(AmountError::NoDigits(_) | AmountError::NotANumber { .. }) => {
                "a decimal number with a point, such as 1234.56".to_owned()
            }
        };
        self.wrong("AMOUNT", text.at, format!("{field}: found {:?}, expected {expected}", excerpt(&text.value)));
        None
    }

    /// `CRDT` or `DBIT`.
    pub(super) fn direction(&mut self, text: &Text<'_>, field: fmt::Arguments<'_>) -> Option<Direction> {
        match &*text.value {
            "CRDT" => Some(Direction::Credit),
            "DBIT" => Some(Direction::Debit),
            other => {
                let message = format!("{field}: found {:?}, expected CRDT or DBIT", excerpt(other));
                self.wrong("DIRECTION", text.at, message);
                None
            }
        }
    }

    /// The calendar date in the element that was just opened: a choice of `Dt` and `DtTm`, or bare text. Its first ten
    /// characters as written: no zone moves it. Zeros are no date.
    pub(super) fn date(&mut self, field: fmt::Arguments<'_>) -> Result<Option<NaiveDate>, Refusal> {
        let text = self.xml.text_or(&["Dt", "DtTm"])?;
        Ok(self.moment(&text, field).map(|moment| moment.date()))
    }

    /// A date, with its wall-clock time where it has one. Zeros are no date.
    pub(super) fn moment(&mut self, text: &Text<'_>, field: fmt::Arguments<'_>) -> Option<NaiveDateTime> {
        let value = &*text.value;
        if value.get(..10) == Some("0000-00-00") {
            return None;
        }
        let moment = value.get(..10).and_then(|date| date.parse::<NaiveDate>().ok()).and_then(|date| {
            let rest = &value[10..];
            match rest.bytes().next() {
                None | Some(b'Z' | b'+' | b'-') => date.and_hms_opt(0, 0, 0),
                Some(b'T' | b' ') => {
                    // Seconds may have a fraction, and a zone follows; neither matters to a day.
                    let time = rest.get(1..9)?;
                    let time = if time == "24:00:00" { "23:59:59" } else { time };
                    time.parse().ok().map(|time| date.and_time(time))
                }
                Some(_) => None,
            }
        });
        if moment.is_none() {
            let message = format!("{field}: found {:?}, expected YYYY-MM-DD, or that and a time", excerpt(value));
            self.wrong("DATE", text.at, message);
        }
        moment
    }
}

// === impl Direction ===

impl Direction {
    /// The amount with the sign that the account's owner sees.
    pub(super) fn sign(self, magnitude: Money) -> Money {
        match self {
            Self::Credit => magnitude,
            // Magnitudes are not negative, so that each has an opposite.
            Self::Debit => magnitude.checked_neg().unwrap_or(magnitude),
        }
    }
}
