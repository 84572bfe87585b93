//! The fields of one record, whether it came from CSV or from JSON, and the findings about them.

use chrono::NaiveDate;

use super::amount;
use super::profile::{Decimal, Field, Profile};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::money::{Currency, Money};

/// One record's fields.
pub(super) trait Cells {
    /// A field, trimmed; `None` where there is no such column, or where it is empty.
    fn get(&self, field: Field) -> Option<&str>;
    /// Where it stands: line, and column if there is one.
    fn place(&self, field: Field) -> (u32, Option<u32>);
    /// The line of the record's first character.
    fn line(&self) -> u32;
}

/// Reads fields into types; what cannot be read is a finding.
pub(super) struct Reading<'p> {
    pub(super) profile: &'p Profile,
    pub(super) diagnostics: Diagnostics,
}

/// A byte of ASCII is itself in UTF-8, and never a part of another character.
fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r')
}

// === impl Reading ===

impl Reading<'_> {
    /// A finding about a field.
    pub(super) fn fault(&mut self, cells: &impl Cells, field: Field, code: &'static str, problem: &str) {
        let diagnostic = Diagnostic::new(Severity::Error, code, format!("{field}: {problem}"));
        self.diagnostics.push(match cells.place(field) {
            (line, Some(column)) => diagnostic.at(line, column),
            (line, None) => diagnostic.at_line(line),
        });
    }

    /// Findings made elsewhere.
    pub(super) fn take(&mut self, found: Vec<Diagnostic>) {
        for diagnostic in found {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Text is text: a control character other than a tab or a line end is a finding. Postgres could not even hold a
    /// NUL, and an escape sequence would act on the terminal of whoever reads the line.
    pub(super) fn no_controls(&mut self, cells: &impl Cells) {
        for field in Field::ALL {
            let control = cells.get(field).and_then(|text| text.bytes().find(|byte| is_control(*byte)));
            if let Some(byte) = control {
                let problem = format!("found the control character U+{byte:04X}, expected text");
                self.fault(cells, field, "CONTROL", &problem);
            }
        }
    }

    /// A text that must be there.
    pub(super) fn text(&mut self, cells: &impl Cells, field: Field) -> Option<String> {
        let found = cells.get(field);
        if found.is_none() {
            self.fault(cells, field, "EMPTY", "found nothing, expected a value");
        }
        found.map(str::to_owned)
    }

    /// The account: its column, or the profile's.
    pub(super) fn account(&mut self, cells: &impl Cells) -> Option<String> {
        match &self.profile.account {
            Some(account) => Some(account.clone()),
            None => self.text(cells, Field::Account),
        }
    }

    /// The currency: its column, or the profile's.
    pub(super) fn currency(&mut self, cells: &impl Cells) -> Option<Currency> {
        if let Some(currency) = self.profile.currency {
            return Some(currency);
        }
        let Some(text) = cells.get(Field::Currency) else {
            self.fault(cells, Field::Currency, "EMPTY", "found nothing, expected a currency such as BRL");
            return None;
        };
        let currency = Currency::new(text).ok();
        if currency.is_none() {
            self.fault(cells, Field::Currency, "CURRENCY", &format!("found {text:?}, expected a code such as BRL"));
        }
        currency
    }

    /// The date.
    pub(super) fn date(&mut self, cells: &impl Cells) -> Option<NaiveDate> {
        let pattern = &self.profile.date;
        let text = cells.get(Field::Date).unwrap_or_default();
        let date = pattern.parse(text);
        if date.is_none() {
            let expected = format!("found {text:?}, expected a date as {pattern}");
            self.fault(cells, Field::Date, "DATE", &expected);
        }
        date
    }

    /// An amount as written in a field.
    pub(super) fn money(&mut self, cells: &impl Cells, field: Field, currency: Currency) -> Option<Money> {
        let Some(text) = cells.get(field) else {
            self.fault(cells, field, "EMPTY", "found nothing, expected an amount");
            return None;
        };
        match amount::read(text, self.profile, currency) {
            Ok(money) => Some(money),
            Err(error) => {
                let example = match self.profile.decimal {
                    Decimal::Point => "-530.86",
                    Decimal::Comma => "-530,86",
                };
                self.fault(cells, field, "AMOUNT", &format!("{error}; expected an amount such as {example}"));
                None
            }
        }
    }
}
