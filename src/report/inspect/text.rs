//! A file as text, for a person at a terminal: what each statement says, what its figures come to, and what was odd,
//! with the place to look at.

use std::fmt::Write as _;

use super::super::counted;
use super::super::text::{finish, grouped_in_text, line, new_table, plain, wrapped};
use super::{FileStatus, Inspected};
use crate::diagnostic::{Diagnostic, Severity};
use crate::money::Total;
use crate::proof::ProofStatus;
use crate::statement::proof::StatementProof;
use crate::statement::{AccountKind, Balance, BankLine, DayComplete, Format, LineKind, LineStatus, Statement};

/// How wide the description of a line may be.
const PROSE: usize = 48;

/// What was seen over all files, for the last line.
#[derive(Debug, Default)]
pub struct Tally {
    files: [u64; 3],
    proofs: [u64; 3],
    movements: u64,
}

/// One file. `with_lines` lists every row of its statements.
pub fn file(inspected: &Inspected, with_lines: bool) -> String {
    let mut out = String::new();
    let format = inspected.format.map_or("no known format", Format::title);
    let title = format!("{} · {format} · {}", plain(&inspected.name), inspected.status.name());
    line(&mut out, &title);
    line(&mut out, &"═".repeat(title.chars().count()));
    line(&mut out, "");
    for (statement, proof) in &inspected.statements {
        self::statement(&mut out, statement, proof);
        if with_lines && !statement.lines.is_empty() {
            lines(&mut out, &statement.lines);
        }
    }
    let failed = inspected.statements.iter().filter(|(_, proof)| proof.failed());
    let (read, of_proofs) = inspected.diagnostics.split_at(inspected.diagnostics.len() - failed.clone().count());
    for found in read {
        finding(&mut out, &inspected.name, found);
    }
    // Their arithmetic stands with the figures; here they only say where to look.
    for (found, (statement, _)) in of_proofs.iter().zip(failed) {
        let message = format!("the statement {} to {} failed, as shown above", statement.from, statement.to);
        finding(&mut out, &inspected.name, &Diagnostic { message, ..found.clone() });
    }
    if !inspected.diagnostics.is_empty() {
        line(&mut out, "");
    }
    out
}

fn statement(out: &mut String, statement: &Statement, proof: &StatementProof) {
    let account = &statement.account;
    let mut title = match account.kind {
        AccountKind::Bank => "Account ".to_owned(),
        AccountKind::Card => "Card ".to_owned(),
    };
    title.push_str(if account.number.is_empty() { "without a number" } else { &account.number });
    for (name, part) in [("bank", &account.bank), ("branch", &account.branch)] {
        if let Some(part) = part {
            let _ = write!(title, " · {name} {part}");
        }
    }
    let _ = write!(title, " · {}", statement.currency);
    for (name, part) in [("statement", &statement.id), ("number", &statement.sequence)] {
        if let Some(part) = part {
            let _ = write!(title, " · {name} {part}");
        }
    }
    line(out, &plain(&title));
    // No account is known here, so the rule is the one that none needs to declare.
    let through = statement.complete_through(DayComplete::default());
    let over = match through {
        Some(day) if day == statement.to => "all of them over".to_owned(),
        Some(day) => format!("over up to {day}"),
        None => "none of them known to be over".to_owned(),
    };
    if statement.from == statement.to {
        let over = if through.is_some() { "over" } else { "not known to be over" };
        line(out, &format!("{}, {over}", statement.from));
    } else {
        line(out, &format!("{} to {}, {over}", statement.from, statement.to));
    }
    line(out, "");

    let mut table = new_table(&["", "", ""], &[2]);
    let mut row = |name: &str, note: String, amount: String| {
        table.add_row([name.to_owned(), note, amount]);
    };
    let dated = |balance: Balance| balance.date.map_or("without a date".to_owned(), |date| date.to_string());
    // Not the proof's: where a link failed, that has the link's own figures.
    let leading = statement.markers.first().filter(|marker| marker.after_lines == 0);
    match (statement.opening, leading) {
        (Some(opening), _) => row("Opening", dated(opening), money(opening.amount.into())),
        (None, Some(opening)) => row("Opening", "by its own rows".to_owned(), money(opening.amount.into())),
        (None, None) => row("Opening", "not stated".to_owned(), String::new()),
    }
    for (name, sign) in [("In", 1), ("Out", -1)] {
        let amounts = statement.movements().map(|line| line.amount.minor()).filter(|minor| minor.signum() == sign);
        let (count, sum) = amounts.fold((0_u64, 0_i128), |(count, sum), minor| (count + 1, sum + i128::from(minor)));
        row(name, counted(count, "line", "lines"), money(Total::new(sum, statement.currency)));
    }
    match statement.closing {
        Some(closing) => row("Closing", dated(closing), money(closing.amount.into())),
        None => row("Closing", "not stated".to_owned(), String::new()),
    }
    for row in table.lines().skip(1) {
        line(out, row.trim_end());
    }
    let said = match proof.status {
        ProofStatus::Proved | ProofStatus::Derived => "Proved",
        ProofStatus::Unprovable => "Not provable by itself",
        ProofStatus::Failed => "Failed",
    };
    line(out, "");
    line(out, &format!("{said}: {proof}."));
    let apart = apart(statement);
    if !apart.is_empty() {
        line(out, &format!("Kept apart: {apart}."));
    }
    line(out, "");
}

/// The rows that are no movements, counted by what they are.
fn apart(statement: &Statement) -> String {
    let count = |is: fn(&BankLine) -> bool| statement.lines.iter().filter(|line| is(line)).count() as u64;
    let kinds = [
        (count(|line| line.kind == LineKind::BalanceMarker), "balance row", "balance rows"),
        (count(|line| line.kind == LineKind::ZeroAmount), "line of nothing", "lines of nothing"),
        (
            count(|line| line.kind == LineKind::Movement && line.status == LineStatus::Pending),
            "pending line",
            "pending lines",
        ),
        (
            count(|line| line.kind == LineKind::Movement && line.status == LineStatus::Information),
            "line for information",
            "lines for information",
        ),
    ];
    let kinds = kinds.into_iter().filter(|(count, ..)| *count > 0);
    kinds.map(|(count, one, many)| counted(count, one, many)).collect::<Vec<_>>().join(", ")
}

fn lines(out: &mut String, lines: &[BankLine]) {
    let mut table = new_table(&["#", "Booked", "Amount", "", "Type", "Description", "References"], &[0, 2]);
    for row in lines {
        let mark = match (row.kind, row.status) {
            (LineKind::BalanceMarker, _) => "balance",
            (LineKind::ZeroAmount, _) => "nothing",
            (_, LineStatus::Pending) => "pending",
            (_, LineStatus::Information) => "information",
            _ if row.reversal => "reversal",
            _ => "",
        };
        let references: Vec<String> = row.references.iter().map(|found| plain(found.value())).collect();
        table.add_row([
            row.ordinal.to_string(),
            row.booking_date.to_string(),
            money(row.amount.into()),
            mark.to_owned(),
            wrapped(row.code.as_deref().unwrap_or(""), 16),
            wrapped(&row.description, PROSE),
            references.join("\n"),
        ]);
    }
    finish(out, &table);
}

/// `file:line:column`, as editors and terminals open it.
fn finding(out: &mut String, name: &str, found: &Diagnostic) {
    let severity = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    };
    let mut place = plain(name);
    for number in [found.line, found.column].into_iter().flatten() {
        let _ = write!(place, ":{number}");
    }
    line(out, &format!("{severity} {}: {place}: {}", found.code, plain(&found.message)));
}

fn money(amount: Total) -> String {
    grouped_in_text(&amount.to_string())
}

// === impl Tally ===

impl Tally {
    /// Counts a file.
    pub fn add(&mut self, inspected: &Inspected) {
        self.files[inspected.status as usize] += 1;
        for (statement, proof) in &inspected.statements {
            let proved = match proof.status {
                ProofStatus::Proved | ProofStatus::Derived => 0,
                ProofStatus::Unprovable => 1,
                ProofStatus::Failed => 2,
            };
            self.proofs[proved] += 1;
            self.movements += statement.movements().count() as u64;
        }
    }

    /// Was every file accepted?
    pub fn all_accepted(&self) -> bool {
        self.files[1..] == [0, 0]
    }

    /// The last line.
    pub fn line(&self) -> String {
        let some = |counts: &[u64; 3], names: [&str; 3]| {
            let named = counts.iter().zip(names).filter(|(count, _)| **count > 0);
            named.map(|(count, name)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
        };
        let statuses = [FileStatus::Accepted, FileStatus::Quarantined, FileStatus::Refused].map(FileStatus::name);
        let mut out = counted(self.files.iter().sum(), "file", "files");
        let _ = write!(out, ": {}.", some(&self.files, statuses));
        let statements = self.proofs.iter().sum();
        if statements > 0 {
            let _ = write!(
                out,
                " {} with {}: {}.",
                counted(statements, "statement", "statements"),
                counted(self.movements, "movement", "movements"),
                some(&self.proofs, ["proved", "unprovable", "failed"])
            );
        }
        out.push('\n');
        out
    }
}
