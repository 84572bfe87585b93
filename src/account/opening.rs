//! Where an account starts: the items that were open then, and the equation that they must close.

use chrono::NaiveDate;

use super::Opening;
use crate::book;
use crate::book::BookLine;
use crate::diagnostic::{Diagnostic, Severity};
use crate::matching::{OpenLine, Origin, Side};
use crate::money::{Currency, Total};
use crate::statement::Counterparty;

/// An opening whose balances and open items contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "bank − book is {} and Σ bank items − Σ book items is {}: they differ by {}",
    balances, items, Total::new(balances.minor() - items.minor(), balances.currency())
)]
pub struct Gap {
    /// Bank balance − book balance.
    pub balances: Total,
    /// Σ bank items − Σ book items.
    pub items: Total,
}

/// Reads the items of an opening: CSV as a book file without account and currency, and with a column `side` that says
/// `bank` or `book`: `side,id,date,amount,reference`, and the other optional columns of a book file.
pub fn read_items(
    bytes: &[u8],
    file: &str,
    opened: NaiveDate,
    currency: Currency,
) -> Result<Vec<(Side, OpenLine)>, Vec<Diagnostic>> {
    let read = book::parse_items(bytes, currency)?;
    let mut found = Vec::with_capacity(read.len());
    let mut faults = Vec::new();
    for (side, line) in read {
        if line.date > opened {
            let message = format!("date: found {}, expected no later than the opening, {opened}", line.date);
            faults.push(Diagnostic::new(Severity::Error, "DATE", message).at_line(line.line));
        }
        if found.iter().any(|(other, open): &(Side, OpenLine)| *other == side && open.id == line.id) {
            let message = format!("id: found {:?} twice on the side of the {side}", line.id);
            faults.push(Diagnostic::new(Severity::Error, "DUPLICATE", message).at_line(line.line));
        }
        found.push((side, open_line(line, file, opened)));
    }
    if faults.is_empty() { Ok(found) } else { Err(faults) }
}

fn open_line(line: BookLine, file: &str, opened: NaiveDate) -> OpenLine {
    OpenLine {
        id: line.id,
        date: line.date,
        ledger_day: line.date,
        minor: line.amount.minor(),
        references: line.references,
        counterparty: line.counterparty.map(|name| Counterparty { name: Some(name), ..Counterparty::default() }),
        description: line.description,
        code: None,
        reversal: false,
        reverses: line.reverses,
        group: line.group,
        origin: Origin { file: file.to_owned(), statement: None, ordinal: line.ordinal },
        first_seen: opened,
        late: false,
    }
}

// === impl Opening ===

impl Opening {
    /// bank − book = Σ bank items − Σ book items, or the gap with both sides.
    pub fn check(&self) -> Result<(), Gap> {
        let currency = self.bank.currency();
        let sum = |side: Side| -> i128 {
            self.items.iter().filter(|(of, _)| *of == side).map(|(_, line)| i128::from(line.minor)).sum()
        };
        let balances = Total::new(i128::from(self.bank.minor()) - i128::from(self.book.minor()), currency);
        let items = Total::new(sum(Side::Bank) - sum(Side::Book), currency);
        if balances == items { Ok(()) } else { Err(Gap { balances, items }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Money;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn brl() -> Currency {
        Currency::new("BRL").unwrap()
    }

    fn read(text: &str) -> Result<Vec<(Side, OpenLine)>, Vec<String>> {
        read_items(text.as_bytes(), "open.csv", day("2026-11-23"), brl()).map_err(|found| {
            found.into_iter().map(|found| format!("{} {}", found.line.unwrap_or_default(), found.message)).collect()
        })
    }

    const ITEMS: &str = "side,id,date,amount,reference\n\
        bank,B-1,2026-11-20,-12.90,\n\
        book,L-1,2026-11-20,300.00,NF-000123\n\
        book,L-2,2026-11-23,-45.10,\n";

    #[test]
    fn open_items_are_lines_that_wait_for_their_other_side() {
        let items = read(ITEMS).unwrap();
        assert_eq!(items.len(), 3);
        let (side, line) = &items[1];
        assert_eq!((*side, line.id.as_str(), line.minor), (Side::Book, "L-1", 30_000));
        assert_eq!(line.references[0].value(), "NF-000123");
        assert_eq!((line.first_seen, line.ledger_day), (day("2026-11-23"), day("2026-11-20")));
        assert_eq!((line.origin.file.as_str(), line.origin.ordinal), ("open.csv", 2));
    }

    #[test]
    fn items_that_cannot_be_are_told_with_their_line() {
        let told =
            read("side,id,date,amount\nbank,1,2026-11-24,1.00\ncash,2,2026-11-20,1.00\nbank,3,x,1.00\n").unwrap_err();
        assert_eq!(
            told,
            ["3 side: found \"cash\", expected bank or book", "4 date: found \"x\", expected a date as YYYY-MM-DD"]
        );
        let told = read("side,id,date,amount\nbank,1,2026-11-24,1.00\nbank,1,2026-11-20,1.00\nbook,1,2026-11-20,1\n");
        assert_eq!(
            told.unwrap_err(),
            [
                "2 date: found 2026-11-24, expected no later than the opening, 2026-11-23",
                "3 id: found \"1\" twice on the side of the bank",
            ]
        );
        assert_eq!(read("id,date,amount\n1,2026-11-20,1\n").unwrap_err(), ["1 found no column for side"]);
    }

    #[test]
    fn an_opening_that_does_not_close_shows_both_sides() {
        let opening = |bank, book| Opening {
            date: day("2026-11-23"),
            bank: Money::new(bank, brl()),
            book: Money::new(book, brl()),
            items: read(ITEMS).unwrap(),
        };
        // −12.90 − (300.00 − 45.10) = −267.80
        assert_eq!(opening(100_000, 126_780).check(), Ok(()));
        let gap = opening(100_000, 126_770).check().unwrap_err();
        assert_eq!(
            gap.to_string(),
            "bank − book is -267.70 and Σ bank items − Σ book items is -267.80: they differ by 0.10"
        );
    }
}
