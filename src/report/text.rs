//! The outcome as text, for a person in the morning: the closed position first, as a bridge whose terms are counted;
//! then what matched by which rule, what is open by class and age, the open lines with what came closest, and the proofs
//! that are not proved.

use std::borrow::Cow;
use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::overview::{Matched, Overview, grouped, signed};
use super::{AccountOutcome, Taken, counted};
use crate::diagnostic::{Diagnostic, Severity};
use crate::money::Total;
use crate::proof::ProofStatus;

/// How many open lines are shown of an account. More are counted, and stand in every other face.
pub const OPEN_LINES_SHOWN: usize = 200;

/// How wide prose may be in a column.
const PROSE: usize = 48;

/// What became of a statement: a row of a list.
#[derive(Debug, Clone)]
pub struct StatementRow {
    /// The file.
    pub file: String,
    /// The bank's id of it.
    pub id: String,
    /// The days it covers.
    pub days: String,
    /// How many movements it has.
    pub movements: u64,
    /// `accepted`, `held`, `quarantined`, `refused`.
    pub verdict: &'static str,
    /// What its own balances prove: `proved`, `failed`, …
    pub proof: String,
}

/// One account-day.
pub fn account_day(outcome: &AccountOutcome, digest: &str, statements: &[StatementRow]) -> String {
    let overview = Overview::of(outcome);
    let mut out = String::new();
    let title = format!(
        "{} · {} · {}{}",
        outcome.account,
        outcome.currency,
        outcome.date,
        if outcome.revision == 0 { String::new() } else { format!(" · revision {}", outcome.revision) }
    );
    line(&mut out, &title);
    line(&mut out, &"═".repeat(title.chars().count()));
    line(&mut out, "");
    bridge(&mut out, &overview);
    taken(&mut out, outcome);
    matched(&mut out, &overview);
    classes(&mut out, &overview);
    open_lines(&mut out, &overview);
    proofs(&mut out, &overview);
    statement_list(&mut out, statements);
    line(&mut out, &format!("Digest {digest}"));
    line(&mut out, "");
    out
}

/// Statements, as a table with its heading; nothing if there are none.
pub fn statement_list(out: &mut String, statements: &[StatementRow]) {
    if statements.is_empty() {
        return;
    }
    line(out, "Statements");
    let mut table = new_table(&["Became", "File", "Statement", "Days", "Lines", "Its balances"], &[4]);
    for row in statements {
        table.add_row([
            row.verdict.to_owned(),
            plain(&row.file),
            plain(&row.id),
            row.days.clone(),
            row.movements.to_string(),
            row.proof.clone(),
        ]);
    }
    finish(out, &table);
}

/// Findings about files, worst first; nothing if there are none.
pub fn findings(out: &mut String, diagnostics: &[(String, Diagnostic)]) {
    if diagnostics.is_empty() {
        return;
    }
    line(out, "Findings");
    let mut ordered: Vec<_> = diagnostics.iter().collect();
    ordered.sort_by_key(|(_, diagnostic)| std::cmp::Reverse(diagnostic.severity));
    for (file, found) in ordered {
        let severity = match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        let mut place = plain(file);
        for number in [found.line, found.column].into_iter().flatten() {
            let _ = write!(place, ":{number}");
        }
        let gap = if place.is_empty() { "" } else { " " };
        // A message of several lines ends in a block that is to be pasted: it stays one.
        let mut message = found.message.lines().map(plain);
        let first = message.next().unwrap_or_default();
        line(out, &format!("  {severity:<8}{}: {place}{gap}{first}", found.code));
        for more in message {
            line(out, format!("      {more}").trim_end());
        }
    }
    line(out, "");
}

fn bridge(out: &mut String, overview: &Overview<'_>) {
    let bridge = &overview.bridge;
    let said = |stated| if stated { "stated" } else { "added up" }.to_owned();
    let mut table = new_table(&["Position", "Lines", "Amount", ""], &[1, 2]);
    let mut row = |name: &str, lines: Option<u64>, amount: String, note: String| {
        table.add_row([name.to_owned(), lines.map_or(String::new(), |lines| lines.to_string()), amount, note]);
    };
    row("Bank closing", None, money(bridge.bank_closing), said(bridge.bank_stated));
    row("Book closing", None, money(bridge.book_closing), said(bridge.book_stated));
    row("Bank − book", None, money(bridge.to_explain), String::new());
    for term in &bridge.terms {
        let note = term.of.map_or_else(String::new, |of| format!("they sum to {}", money(of)));
        row(&format!("  {}", term.name), Some(term.lines), in_text(&signed(term.amount)), note);
    }
    row("Explained", None, money(bridge.explained), bridge.status.map_or("", ProofStatus::name).to_owned());
    finish(out, &table);
}

fn taken(out: &mut String, outcome: &AccountOutcome) {
    let side = |taken: Taken| format!("{}, {}", counted(taken.lines, "line", "lines"), money(taken.sum));
    line(out, &format!("Taken on this day: bank {}; books {}.", side(outcome.bank), side(outcome.book)));
    line(out, "");
}

fn matched(out: &mut String, overview: &Overview<'_>) {
    if overview.matched.is_empty() {
        line(out, "Nothing matched.");
        line(out, "");
    } else {
        // Of one rule alone the row is the total.
        let total = overview.matched_total.iter().filter(|_| overview.matched.len() > 1);
        by_rule(out, "Matched by", overview.matched.iter().chain(total));
    }
    if !overview.suggested.is_empty() {
        by_rule(out, "Suggested by", overview.suggested.iter());
        line(out, "Suggested lines stay open: each is counted below, as UNCONFIRMED.");
        line(out, "");
    }
}

fn by_rule<'a>(out: &mut String, title: &str, rows: impl Iterator<Item = &'a Matched>) {
    let mut table =
        new_table(&[title, "Matches", "Bank lines", "Book lines", "Money in", "Money out"], &[1, 2, 3, 4, 5]);
    for row in rows {
        table.add_row([
            row.name(),
            row.matches.to_string(),
            row.bank_lines.to_string(),
            row.book_lines.to_string(),
            money(row.money_in),
            money(row.money_out),
        ]);
    }
    finish(out, &table);
}

fn classes(out: &mut String, overview: &Overview<'_>) {
    if overview.classes.is_empty() {
        line(out, "Nothing is open.");
        line(out, "");
        return;
    }
    let mut table = new_table(&["Open", "Side", "Business days", "Lines", "Amount"], &[3, 4]);
    for row in &overview.classes {
        table.add_row([
            row.class.name().to_owned(),
            row.side.name().to_owned(),
            row.bucket.name().to_owned(),
            row.open.lines.to_string(),
            money(row.open.sum),
        ]);
    }
    finish(out, &table);
}

fn open_lines(out: &mut String, overview: &Overview<'_>) {
    if overview.open.is_empty() {
        return;
    }
    let mut table =
        new_table(&["Age", "Date", "Side", "Amount", "Reference", "Who and what", "Why it is open"], &[0, 3]);
    for row in overview.open.iter().take(OPEN_LINES_SHOWN) {
        let why = match &row.of.nearest {
            Some(nearest) => format!("{}: {}", row.of.class.name(), nearest.why),
            None => row.of.class.name().to_owned(),
        };
        table.add_row([
            row.of.age_business_days.to_string(),
            row.line.map_or(String::new(), |line| line.date.to_string()),
            row.of.side.name().to_owned(),
            money(row.of.amount.into()),
            wrapped(row.reference(), 32),
            wrapped(&row.who(), PROSE),
            wrapped(&why, PROSE),
        ]);
    }
    finish(out, &table);
    let more = overview.open.len().saturating_sub(OPEN_LINES_SHOWN) as u64;
    if more > 0 {
        let more = counted(more, "more open line", "more open lines");
        line(out, &format!("… and {more}: the other formats show all of them."));
        line(out, "");
    }
}

fn proofs(out: &mut String, overview: &Overview<'_>) {
    if overview.unproved.is_empty() {
        line(out, &format!("All {} proofs are proved.", overview.proved));
        line(out, "");
        return;
    }
    line(out, &format!("{} proofs are proved; these are not:", overview.proved));
    let mut table = new_table(&["Proof", "Of", "Status", "Left", "Right", "Difference"], &[3, 4, 5]);
    for proof in &overview.unproved {
        let side = |side: &Option<String>| side.as_deref().map_or("—".to_owned(), grouped_in_text);
        table.add_row([
            proof.id.name().to_owned(),
            wrapped(&proof.scope, PROSE),
            proof.status.name().to_owned(),
            side(&proof.left),
            side(&proof.right),
            side(&proof.difference),
        ]);
    }
    finish(out, &table);
}

fn money(amount: Total) -> String {
    grouped_in_text(&amount.to_string())
}

/// Terminals show a narrow space as they please; a plain one is one column everywhere.
pub(super) fn grouped_in_text(amount: &str) -> String {
    in_text(&grouped(amount))
}

fn in_text(amount: &str) -> String {
    amount.replace('\u{202f}', " ")
}

/// A table without lines, its columns apart by two spaces. `right` names the columns that are numbers.
pub(super) fn new_table(header: &[&str], right: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((2, 0));
        if right.contains(&at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

pub(super) fn finish(out: &mut String, table: &Table) {
    for row in table.lines() {
        line(out, row.trim_end());
    }
    line(out, "");
}

/// Writes a line: one, whatever its text holds.
pub(super) fn line(out: &mut String, text: &str) {
    out.push_str(&shown(text));
    out.push('\n');
}

/// Text as it may be shown on a terminal, in one line: what would move the cursor, colour, end the line or turn the
/// direction of reading is written as an escape, so that nobody who names a file or gives a reason draws on a screen.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if acts(letter) { shown.extend(letter.escape_default()) } else { shown.push(letter) }
    }
    Cow::Owned(shown)
}

/// Does the character act on a terminal, rather than stand in it? Controls, and the marks that turn or break lines.
pub fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Text from outside without control characters: it is printed on a terminal.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The same, in lines of at most `width` characters, broken at spaces where there are any.
pub(super) fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut current = String::new();
    let mut length = 0;
    for word in plain(text).split_whitespace() {
        let mut letters: Vec<char> = word.chars().collect();
        if length > 0 && length + 1 + letters.len() > width {
            lines.push(std::mem::take(&mut current));
            length = 0;
        }
        if length > 0 {
            current.push(' ');
            length += 1;
        }
        while letters.len() > width {
            let rest = letters.split_off(width);
            current.extend(std::mem::replace(&mut letters, rest));
            lines.push(std::mem::take(&mut current));
        }
        length += letters.len();
        current.extend(letters);
    }
    lines.push(current);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_at_spaces_and_loses_no_letter() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree");
        assert_eq!(wrapped("abcdefgh ij", 4), "abcd\nefgh\nij");
        assert_eq!(wrapped("x abcdefgh", 4), "x\nabcd\nefgh");
        assert_eq!(wrapped("", 4), "");
        assert_eq!(wrapped("a\u{1b}[31mb", 20), "a [31mb");
    }

    #[test]
    fn a_line_is_one_line_and_draws_nothing() {
        let mut out = String::new();
        line(&mut out, "refused\n2026-11-27  complete\u{1b}[2J\u{9b}2J\u{202e}x\tç");
        assert_eq!(out, "refused\\n2026-11-27  complete\\u{1b}[2J\\u{9b}2J\\u{202e}x\\tç\n");
    }
}
