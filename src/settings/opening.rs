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
        for key in ["bank", "book", "items"] {
            section.take(key);
        }
        section.finish();
        return None;
    };
    let bank = amount(&mut section, "bank", currency);
    let book = amount(&mut section, "book", currency);
    let items = match section.get::<String>("items") {
        None => Some(Vec::new()),
        Some(file) => date.and_then(|date| items(&mut section, &file, date, currency)),
    };
    let opening = match (date, bank, book, items) {
        (Some(date), Some(bank), Some(book), Some(items)) => Some(Opening { date, bank, book, items }),
        _ => None,
    };
    if let Some(Err(gap)) = opening.as_ref().map(Opening::check) {
        let place = section.layers.place(&section.path);
        section.faults.push(&section.path, place, format!("the opening does not close: {gap}"));
    }
    section.finish();
    opening
}

fn items(section: &mut Section<'_>, file: &str, date: NaiveDate, currency: Currency) -> Option<Vec<(Side, OpenLine)>> {
    let bytes = match std::fs::read(section.layers.base.join(file)) {
        Ok(bytes) => bytes,
        Err(error) => {
            section.fault("items", format!("{file:?} cannot be read: {error}"));
            return None;
        }
    };
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
