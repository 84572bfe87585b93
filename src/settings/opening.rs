//! An account's opening: where it starts, with the items open then.

use chrono::NaiveDate;

use super::reader::Section;
use super::tables::amount;
use crate::account::Opening;
use crate::account::opening::read_items;
use crate::matching::{OpenLine, Side};
use crate::money::Currency;

/// `opening = { date, bank, book, items }` of an account, if it has one. Checked: the items can be read, and
/// bank − book = Σ bank items − Σ book items.
pub(super) fn read(account: &mut Section<'_>, currency: Option<Currency>) -> Option<Opening> {
    let value = account.take("opening")?;
    let mut section = Section::of(format!("{}.opening", account.path), Some(value), account.layers, account.faults);
    let date = section.need::<NaiveDate>("date");
    let Some(currency) = currency else {
        // Without a currency no amount can be read; its own fault is told already.
        for key in ["bank", "book"] {
            section.take(key);
        }
        if let Some(file) = section.get::<String>("items") {
            bytes(&mut section, &file);
        }
        section.finish();
        return None;
    };
    let bank = amount(&mut section, "bank", currency);
    let book = amount(&mut section, "book", currency);
    let items = match section.get::<String>("items") {
        None => Some(Vec::new()),
        Some(file) => items(&mut section, &file, date.unwrap_or(NaiveDate::MAX), currency),
    };
    // A date that cannot be read hides nothing else: with one that is later than all, the rest is checked.
    let opening = match (bank, book, items) {
        (Some(bank), Some(book), Some(items)) => {
            Some(Opening { date: date.unwrap_or(NaiveDate::MAX), bank, book, items })
        }
        _ => None,
    };
    if let Some(Err(gap)) = opening.as_ref().map(Opening::check) {
        let place = section.layers.place(&section.path);
        section.faults.push(&section.path, place, format!("the opening does not close: {gap}"));
    }
    section.finish();
    opening.filter(|_| date.is_some())
}

fn bytes(section: &mut Section<'_>, file: &str) -> Option<Vec<u8>> {
    match std::fs::read(section.layers.base.join(file)) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            section.fault("items", format!("{file:?} cannot be read: {error}"));
            None
        }
    }
}

fn items(section: &mut Section<'_>, file: &str, date: NaiveDate, currency: Currency) -> Option<Vec<(Side, OpenLine)>> {
    let bytes = bytes(section, file)?;
    match read_items(&bytes, file, date, currency) {
        Ok(items) => Some(items),
        Err(diagnostics) => {
            for found in diagnostics {
                let line = found.line.map_or(String::new(), |line| format!(":{line}"));
                section.fault("items", format!("{file}{line}: {}", found.message));
            }
            None
        }
    }
}
