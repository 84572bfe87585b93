//! What is open, line by line, for a person at a terminal: by account, oldest first, each with who and what it is and why
//! it is open. Nothing is cut off: what does not fit beside its amount stands below itself, as wide as there is room for.

use chrono::NaiveDate;

use super::overview::{reference, who};
use super::text::{grouped_in_text as shown, line, plain, wrapped};
use crate::matching::{OpenLine, Side};
use crate::money::{Currency, Money, Total};

/// An open line of some account's day.
#[derive(Debug)]
pub struct OpenBreak<'a> {
    /// The account.
    pub account: &'a str,
    /// The business date at which it is open.
    pub business_date: NaiveDate,
    /// Which side.
    pub side: Side,
    /// The line's id.
    pub id: &'a str,
    /// What it is of: the line itself, where it is known.
    pub of: Option<&'a OpenLine>,
    /// Its amount.
    pub amount: Money,
    /// Business days from its own date to the business date.
    pub age: i32,
    /// The name of its class.
    pub class: &'a str,
    /// What came closest, as a sentence.
    pub nearest: Option<&'a str>,
    /// It came after its own day was closed.
    pub late: bool,
}

/// Room that prose needs beside the figures; on a narrower terminal it stands below them.
const LEAST_PROSE: usize = 24;
/// Lines of prose longer than this are hard to read, however wide the terminal is.
const MOST_PROSE: usize = 96;
/// From the left edge to the amount: age, date, side, and two spaces behind each.
const BEFORE_AMOUNT: usize = 5 + 2 + 10 + 2 + 4 + 2;

/// Open lines as text, at most `width` columns wide. Accounts in the order in which they come first; in each, the order
/// of the lines is kept.
pub fn text(rows: &[OpenBreak<'_>], width: usize) -> String {
    let mut accounts: Vec<&str> = Vec::new();
    for row in rows {
        if !accounts.contains(&row.account) {
            accounts.push(row.account);
        }
    }
    let mut out = String::new();
    for (at, account) in accounts.into_iter().enumerate() {
        if at > 0 {
            line(&mut out, "");
        }
        let rows: Vec<_> = rows.iter().filter(|row| row.account == account).collect();
        of_account(&mut out, &rows, width);
    }
    out
}

fn of_account(out: &mut String, rows: &[&OpenBreak<'_>], width: usize) {
    let Some(first) = rows.first() else { return };
    let title = format!("{} · {} · {}", first.account, first.amount.currency(), first.business_date);
    line(out, &title);
    line(out, &"═".repeat(title.chars().count()));
    let sides: Vec<String> = [(Side::Bank, "bank"), (Side::Book, "books")]
        .into_iter()
        .filter_map(|(side, word)| sum(rows, side, word, first.amount.currency()))
        .collect();
    let sums = wrapped(&format!("Open: {}. Age in business days.", sides.join("; ")), width.max(LEAST_PROSE));
    sums.lines().for_each(|part| line(out, part));
    line(out, "");
    let amounts: Vec<String> = rows.iter().map(|row| shown(&row.amount.to_string())).collect();
    let amount_width = amounts.iter().map(|amount| amount.chars().count()).max().unwrap_or(0).max(6);
    let beside = BEFORE_AMOUNT + amount_width + 2;
    let indent = if width >= beside + LEAST_PROSE { beside } else { 7 };
    let prose = width.saturating_sub(indent).clamp(LEAST_PROSE, MOST_PROSE);
    line(out, format!("{:>5}  {:<10}  {:<4}  {:>amount_width$}", "Age", "Date", "Side", "Amount").trim_end());
    for (row, amount) in rows.iter().zip(&amounts) {
        let date = row.of.map_or_else(|| "—".to_owned(), |of| of.date.to_string());
        let side = row.side.name();
        let figures = format!("{:>5}  {date:<10}  {side:<4}  {amount:>amount_width$}", row.age);
        let mut told = row.told().into_iter().flat_map(|part| {
            let lines: Vec<String> = wrapped(&part, prose).lines().map(str::to_owned).collect();
            lines
        });
        if indent == beside {
            line(out, format!("{figures}  {}", told.next().unwrap_or_default()).trim_end());
        } else {
            line(out, &figures);
        }
        for rest in told {
            line(out, &format!("{:indent$}{rest}", ""));
        }
    }
}

fn sum(rows: &[&OpenBreak<'_>], side: Side, word: &str, currency: Currency) -> Option<String> {
    let of: Vec<i64> = rows.iter().filter(|row| row.side == side).map(|row| row.amount.minor()).collect();
    let total = Total::new(of.iter().copied().map(i128::from).sum(), currency);
    (!of.is_empty()).then(|| format!("{word} {} of {}", of.len(), shown(&total.to_string())))
}

// === impl OpenBreak ===

impl OpenBreak<'_> {
    /// Who and what, its reference, and why it is open: each a line or more of its own.
    fn told(&self) -> Vec<String> {
        let mut parts = Vec::new();
        parts.extend(self.of.map(who).filter(|who| !plain(who).trim().is_empty()));
        parts.extend(self.of.and_then(reference).map(|reference| format!("reference {reference}")));
        // A bank line's id is ours and says nothing to a person; an entry's is what the ledger calls it.
        if self.side == Side::Book || self.of.is_none() {
            parts.push(format!("{} {}", if self.side == Side::Book { "entry" } else { "line" }, self.id));
        }
        let late = if self.late { ", late" } else { "" };
        parts.push(match self.nearest {
            Some(nearest) => format!("{}{late}: {nearest}", self.class),
            None => format!("{}{late}", self.class),
        });
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::Origin;
    use crate::reference::{Reference, ReferenceKind};

    fn entry(id: &str, description: &str) -> OpenLine {
        let date = "2026-11-11".parse().unwrap();
        OpenLine {
            id: id.to_owned(),
            date,
            ledger_day: date,
            minor: -123_456,
            references: vec![Reference::new(ReferenceKind::EndToEnd, "E00000000202611111200abcdefghijk").unwrap()],
            counterparty: None,
            description: description.to_owned(),
            code: None,
            reversal: false,
            reverses: None,
            group: None,
            origin: Origin::default(),
            first_seen: date,
            late: false,
        }
    }

    fn shown_at(width: usize) -> String {
        let brl = Currency::new("BRL").unwrap();
        let known = entry("L-7", "Padaria Estrela: duas notas de novembro\u{1b}[31m, pagas em atraso");
        let row = |side, id, of, minor| OpenBreak {
            account: "operating",
            business_date: "2026-11-27".parse().unwrap(),
            side,
            id,
            of,
            amount: Money::new(minor, brl),
            age: 12,
            class: "MISSING_IN_BANK",
            nearest: Some("the nearest is 0.01 away"),
            late: true,
        };
        text(&[row(Side::Book, "L-7", Some(&known), -123_456), row(Side::Bank, "operating:x", None, 100)], width)
    }

    #[test]
    fn open_lines_fit_the_terminal_and_nothing_of_them_is_cut_off() {
        for width in [50, 80, 100, 200] {
            let told = shown_at(width);
            assert!(told.lines().all(|line| line.chars().count() <= width), "{width}:\n{told}");
            let letters: String = told.split_whitespace().collect();
            for whole in ["PadariaEstrela:duasnotasdenovembro", "E00000000202611111200ABCDEFGHIJK", "entryL-7"] {
                assert!(letters.contains(whole), "{whole} at {width}:\n{told}");
            }
        }
        insta::assert_snapshot!(shown_at(80), @r"
        operating · BRL · 2026-11-27
        ════════════════════════════
        Open: bank 1 of 1.00; books 1 of −1 234.56. Age in business days.

          Age  Date        Side     Amount
           12  2026-11-11  book  −1 234.56  Padaria Estrela: duas notas de novembro
                                            [31m, pagas em atraso
                                            reference E00000000202611111200ABCDEFGHIJK
                                            entry L-7
                                            MISSING_IN_BANK, late: the nearest is 0.01
                                            away
           12  —           bank       1.00  line operating:x
                                            MISSING_IN_BANK, late: the nearest is 0.01
                                            away
        ");
    }
}
