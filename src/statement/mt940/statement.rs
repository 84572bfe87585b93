//! Pages bound into statements.
//!
//! A statement that is longer than a message comes as several: the first opens with 60F and ends with 62M, the last opens
//! with 60M and ends with 62F. A page between them is of no use alone: its balances are of no day's end.

use super::page::{Page, PageBalance};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::statement::covered::first_day;
use crate::statement::{Balance, DaysOver, Statement};

/// Binds pages, in file order, into statements.
pub(super) fn bind(pages: Vec<Page>, found: &mut Diagnostics) -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    let mut open: Option<Page> = None;
    for page in pages {
        let whole = match open.take() {
            Some(first) if page.opening.intermediate => joined(first, page, found),
            Some(first) => {
                lacks(&first, "its next page", found);
                alone(page, found)
            }
            None => alone(page, found),
        };
        match whole {
            Some(page) if page.closing.intermediate => open = Some(page),
            Some(page) => {
                let before = statements.iter().rev().find(|other| other.account == page.account);
                let statement = finished(page, before);
                statements.push(statement);
            }
            None => {}
        }
    }
    if let Some(first) = open {
        lacks(&first, "its next page", found);
    }
    statements
}

/// A page that must begin a statement.
fn alone(page: Page, found: &mut Diagnostics) -> Option<Page> {
    if page.opening.intermediate {
        lacks(&page, "the page before it", found);
        return None;
    }
    Some(page)
}

fn lacks(page: &Page, what: &str, found: &mut Diagnostics) {
    let number = page.number.as_deref().unwrap_or("without a number");
    let message = format!(
        "statement {number} goes over several pages (:60M:, :62M:), and {what} does not follow in this file: its balances \
         are of no day's end. Put the pages together in one file, in order"
    );
    found.push(Diagnostic::new(Severity::Error, "PAGES", message).at_line(page.line));
}

/// Two pages as one, if the second goes on where the first ended.
fn joined(mut first: Page, next: Page, found: &mut Diagnostics) -> Option<Page> {
    let number = |page: &Page| page.number.as_deref().map(|text| text.split('/').next().unwrap_or(text).to_owned());
    if first.account != next.account || number(&first) != number(&next) {
        lacks(&first, "its next page", found);
        lacks(&next, "the page before it", found);
        return None;
    }
    if first.closing.amount != next.opening.amount {
        let message =
            "this page does not open with the balance that the page before it ended with: one between them is missing";
        found.push(Diagnostic::new(Severity::Error, "PAGES", message).at_line(next.opening.line));
        return None;
    }
    first.lines.extend(next.lines);
    first.closing = next.closing;
    Some(first)
}

fn finished(page: Page, before: Option<&Statement>) -> Statement {
    let to = page.closing.date;
    let booked = page.lines.iter().map(|line| line.booking_date);
    let from = first_day(page.opening.date, to, before.map(|before| before.to), booked);
    let mut lines = page.lines;
    for (ordinal, line) in (1..).zip(&mut lines) {
        line.ordinal = ordinal;
    }
    let balance = |balance: PageBalance| Balance { amount: balance.amount, date: Some(balance.date) };
    Statement {
        account: page.account,
        currency: page.currency,
        id: page.reference,
        sequence: page.number,
        from,
        to,
        over: DaysOver::Closed(Some(to)),
        opening: Some(balance(page.opening)),
        closing: Some(balance(page.closing)),
        markers: Vec::new(),
        lines,
        totals: Vec::new(),
        line: page.line,
    }
}
