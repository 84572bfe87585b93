//! Postings: one record, one [`BookLine`].

use std::collections::HashMap;

use super::BookLine;
use super::cells::{Cells, Reading};
use super::profile::{Field, Sign};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::money::{Currency, Money};
use crate::reference::{Reference, ReferenceKind};

/// Reads one record. `None` where something of it cannot be read; every such thing is a finding.
pub(super) fn read(cells: &impl Cells, reading: &mut Reading<'_>, ordinal: u32) -> Option<BookLine> {
    reading.no_controls(cells);
    let id = reading.text(cells, Field::Id);
    let account = reading.account(cells);
    let date = reading.date(cells);
    let currency = reading.currency(cells);
    let amount = currency.and_then(|currency| amount(cells, reading, currency));
    let references = references(cells, reading);
    let reverses = cells.get(Field::Reverses).map(str::to_owned);
    if reverses.is_some() && reverses == id {
        reading.fault(cells, Field::Reverses, "REVERSES", "found the posting's own id, expected the id of another");
        return None;
    }
    Some(BookLine {
        id: id?,
        account: account?,
        date: date?,
        amount: amount?,
        references: references?,
        counterparty: cells.get(Field::Counterparty).map(str::to_owned),
        description: cells.get(Field::Description).unwrap_or_default().to_owned(),
        group: cells.get(Field::Group).map(str::to_owned),
        reverses,
        ordinal,
        line: cells.line(),
    })
}

/// The signed amount: one column, or a debit and a credit column, or a magnitude with an indicator.
fn amount(cells: &impl Cells, reading: &mut Reading<'_>, currency: Currency) -> Option<Money> {
    let (debit, credit) = (cells.get(Field::Debit).is_some(), cells.get(Field::Credit).is_some());
    if debit || credit {
        if cells.get(Field::Amount).is_some() {
            reading.fault(
                cells,
                Field::Amount,
                "AMOUNT",
                "found an amount beside a debit or credit, expected one of them",
            );
            return None;
        }
        return debit_or_credit(cells, reading, currency);
    }
    let money = reading.money(cells, Field::Amount, currency)?;
    let flipped = match reading.profile.sign {
        Sign::Signed => false,
        Sign::Inverse => true,
        Sign::Indicator => {
            if money.minor() < 0 {
                reading.fault(cells, Field::Amount, "SIGN", "found a negative amount beside an indicator of direction");
                return None;
            }
            let text = cells.get(Field::Indicator).unwrap_or_default();
            let (within, out) = (&reading.profile.indicator_in, &reading.profile.indicator_out);
            if within.iter().any(|word| word == text) {
                false
            } else if out.iter().any(|word| word == text) {
                true
            } else {
                let problem =
                    format!("found {text:?}, expected one of {}", [within.join(", "), out.join(", ")].join(", "));
                reading.fault(cells, Field::Indicator, "SIGN", &problem);
                return None;
            }
        }
    };
    if flipped { money.checked_neg() } else { Some(money) }
}

/// A debit to the cash account is money in. Exactly one of the two says something; both are magnitudes.
fn debit_or_credit(cells: &impl Cells, reading: &mut Reading<'_>, currency: Currency) -> Option<Money> {
    let mut side = |field| {
        if cells.get(field).is_none() {
            return Some(Money::zero(currency));
        }
        let money = reading.money(cells, field, currency)?;
        if money.minor() < 0 {
            let problem =
                format!("found {money}, expected a magnitude: which direction a negative {field} has, nobody can tell");
            reading.fault(cells, field, "SIGN", &problem);
            return None;
        }
        Some(money)
    };
    let (debit, credit) = (side(Field::Debit), side(Field::Credit));
    let (debit, credit) = (debit?, credit?);
    if !debit.is_zero() && !credit.is_zero() {
        reading.fault(
            cells,
            Field::Credit,
            "SIGN",
            &format!("found a credit of {credit} beside a debit of {debit}, expected one of them"),
        );
        return None;
    }
    if credit.is_zero() { Some(debit) } else { credit.checked_neg() }
}

/// What it is a posting of. Typed by its column, or by its own form.
fn references(cells: &impl Cells, reading: &mut Reading<'_>) -> Option<Vec<Reference>> {
    let name = cells.get(Field::ReferenceType);
    let Some(kind) = name.map_or(Some(ReferenceKind::Untyped), ReferenceKind::from_name) else {
        let known: Vec<_> = ReferenceKind::ALL.iter().map(|kind| kind.name()).collect();
        let problem = format!("found {:?}, expected one of {}", name.unwrap_or_default(), known.join(", "));
        reading.fault(cells, Field::ReferenceType, "REFERENCE_TYPE", &problem);
        return None;
    };
    Some(cells.get(Field::Reference).and_then(|text| Reference::new(kind, text)).into_iter().collect())
}

/// Drops postings that are there twice with the same content, with a warning; the same id with other content is an
/// error, since a file has one truth about a posting.
pub(super) fn without_duplicates(lines: Vec<BookLine>, diagnostics: &mut Diagnostics) -> Vec<BookLine> {
    let mut first: HashMap<(&str, &str), usize> = HashMap::with_capacity(lines.len());
    let mut again = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(earlier) = first.get(&(line.account.as_str(), line.id.as_str())) else {
            first.insert((&line.account, &line.id), at);
            continue;
        };
        let earlier = &lines[*earlier];
        let (severity, what) = if same_content(earlier, line) {
            again.push(at);
            (Severity::Warning, "again, with the same content: taken once")
        } else {
            (Severity::Error, "with other content: an id stands for one posting, and a void has an id of its own")
        };
        let message = format!("id: found {:?} of account {:?} of line {} {what}", line.id, line.account, earlier.line);
        diagnostics.push(Diagnostic::new(severity, "DUPLICATE", message).at_line(line.line));
    }
    let mut again = again.into_iter().peekable();
    lines.into_iter().enumerate().filter(|(at, _)| again.next_if_eq(at).is_none()).map(|(_, line)| line).collect()
}

fn same_content(a: &BookLine, b: &BookLine) -> bool {
    (a.date, a.amount, &a.references, &a.counterparty) == (b.date, b.amount, &b.references, &b.counterparty)
        && (&a.description, &a.group, &a.reverses) == (&b.description, &b.group, &b.reverses)
}
