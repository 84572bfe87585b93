//! An account's opening: where it starts, with the items open then.

use super::fault::shown;
use super::reader::Section;
use super::tables::amount;
use crate::account::Opening;
use crate::money::Currency;
use chrono::NaiveDate;

/// `opening = { date, bank, book, items }` of an account, if it has one.
pub(super) fn read(account: &mut Section<'_>, currency: Option<Currency>) -> Option<Opening> {
    let value = account.take("opening")?;
    let _ = shown(&value);
    let path = format!("{}.opening", account.path);
    let mut section = Section::of(path, Some(value), account.layers, account.faults);
    let date = section.need::<NaiveDate>("date");
    let bank = currency.and_then(|currency| amount(&mut section, "bank", currency));
    let book = currency.and_then(|currency| amount(&mut section, "book", currency));
    let _items = section.get::<String>("items");
    section.finish();
    Some(Opening { date: date?, bank: bank?, book: book?, items: Vec::new() })
}
