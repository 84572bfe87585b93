//! The outcome as one HTML page: self-contained, printable, without scripts or anything fetched from elsewhere; all text
//! is escaped by the template engine, and a content security policy forbids the rest.

use std::fmt::Write as _;

use askama::Template;

use super::AccountOutcome;
use super::digest::Digest;
use super::overview::{Matched, Overview, grouped, signed};
use super::text::StatementRow;
use crate::diagnostic::{Diagnostic, Severity};
use crate::money::Total;
use crate::proof::{Proof, ProofStatus};

/// Why a page could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the page: {0}")]
pub struct HtmlError(#[from] askama::Error);

/// An account-day of a page.
#[derive(Debug)]
pub struct Section<'a> {
    /// What came of it.
    pub outcome: &'a AccountOutcome,
    /// Its digest.
    pub digest: Digest,
    /// The statements that it was made from.
    pub statements: &'a [StatementRow],
}

/// A page of a run, or of one account-day. `waiting` are sentences about accounts that are not in it.
pub fn page(
    date: &str,
    digest: Digest,
    sections: &[Section<'_>],
    waiting: &[String],
    diagnostics: &[(String, Diagnostic)],
) -> Result<String, HtmlError> {
    let mut findings: Vec<_> = diagnostics.iter().map(|(file, found)| Finding::of(file, found)).collect();
    findings.sort_by_key(|found| std::cmp::Reverse(found.rank));
    let page = Page {
        date,
        digest: digest.to_string(),
        waiting,
        findings,
        accounts: sections.iter().map(AccountSection::of).collect(),
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    date: &'a str,
    digest: String,
    waiting: &'a [String],
    findings: Vec<Finding<'a>>,
    accounts: Vec<AccountSection<'a>>,
}

struct Finding<'a> {
    rank: Severity,
    severity: &'static str,
    code: &'a str,
    place: String,
    message: &'a str,
}

struct AccountSection<'a> {
    id: &'a str,
    currency: String,
    date: String,
    revision: u32,
    digest: String,
    bank_closing: String,
    bank_said: &'static str,
    book_closing: String,
    book_said: &'static str,
    to_explain: String,
    terms: Vec<TermRow>,
    explained: String,
    p5: &'static str,
    bank_lines: u64,
    bank_sum: String,
    book_lines: u64,
    book_sum: String,
    matched: Vec<MatchedRow>,
    matched_total: Option<MatchedRow>,
    suggested: Vec<MatchedRow>,
    classes: Vec<ClassCells>,
    open: Vec<OpenCells<'a>>,
    proved: usize,
    unproved: Vec<ProofRow<'a>>,
    statements: &'a [StatementRow],
}

struct TermRow {
    name: &'static str,
    lines: u64,
    amount: String,
    note: String,
}

struct MatchedRow {
    rule: String,
    matches: u64,
    bank_lines: u64,
    book_lines: u64,
    money_in: String,
    money_out: String,
}

struct ClassCells {
    class: &'static str,
    side: &'static str,
    bucket: &'static str,
    lines: u64,
    amount: String,
}

struct OpenCells<'a> {
    age: u32,
    date: String,
    side: &'static str,
    amount: String,
    reference: String,
    who: String,
    class: &'static str,
    why: &'a str,
}

struct ProofRow<'a> {
    id: &'static str,
    scope: &'a str,
    status: &'static str,
    left: String,
    right: String,
    difference: String,
}

// === impl Finding ===

impl<'a> Finding<'a> {
    fn of(file: &str, found: &'a Diagnostic) -> Self {
        let mut place = file.to_owned();
        for number in [found.line, found.column].into_iter().flatten() {
            let _ = write!(place, ":{number}");
        }
        let severity = match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        Self { rank: found.severity, severity, code: found.code, place, message: &found.message }
    }
}

// === impl AccountSection ===

impl<'a> AccountSection<'a> {
    fn of(section: &Section<'a>) -> Self {
        let outcome = section.outcome;
        let overview = Overview::of(outcome);
        let bridge = &overview.bridge;
        let said = |stated| if stated { "stated" } else { "added up" };
        let terms = bridge.terms.iter();
        let classes = overview.classes.iter();
        let open = overview.open.iter();
        Self {
            id: outcome.account.as_str(),
            currency: outcome.currency.to_string(),
            date: outcome.date.to_string(),
            revision: outcome.revision,
            digest: section.digest.to_string(),
            bank_closing: money(bridge.bank_closing),
            bank_said: said(bridge.bank_stated),
            book_closing: money(bridge.book_closing),
            book_said: said(bridge.book_stated),
            to_explain: money(bridge.to_explain),
            terms: terms
                .map(|term| TermRow {
                    name: term.name,
                    lines: term.lines,
                    amount: signed(term.amount),
                    note: term.of.map_or_else(String::new, |of| format!("they sum to {}", money(of))),
                })
                .collect(),
            explained: money(bridge.explained),
            p5: bridge.status.map_or("", ProofStatus::name),
            bank_lines: outcome.bank.lines,
            bank_sum: money(outcome.bank.sum),
            book_lines: outcome.book.lines,
            book_sum: money(outcome.book.sum),
            matched: overview.matched.iter().map(MatchedRow::of).collect(),
            // Of one rule alone the row is the total.
            matched_total: overview
                .matched_total
                .iter()
                .filter(|_| overview.matched.len() > 1)
                .map(MatchedRow::of)
                .next(),
            suggested: overview.suggested.iter().map(MatchedRow::of).collect(),
            classes: classes
                .map(|row| ClassCells {
                    class: row.class.name(),
                    side: row.side.name(),
                    bucket: row.bucket.name(),
                    lines: row.open.lines,
                    amount: money(row.open.sum),
                })
                .collect(),
            open: open
                .map(|row| OpenCells {
                    age: row.of.age_business_days,
                    date: row.line.map_or(String::new(), |line| line.date.to_string()),
                    side: row.of.side.name(),
                    amount: money(row.of.amount.into()),
                    reference: row.reference().to_owned(),
                    who: row.who(),
                    class: row.of.class.name(),
                    why: row.of.nearest.as_ref().map_or("", |nearest| nearest.why.as_str()),
                })
                .collect(),
            proved: overview.proved,
            unproved: overview.unproved.iter().map(|proof| ProofRow::of(proof)).collect(),
            statements: section.statements,
        }
    }
}

// === impl MatchedRow ===

impl MatchedRow {
    fn of(row: &Matched) -> Self {
        Self {
            rule: row.name(),
            matches: row.matches,
            bank_lines: row.bank_lines,
            book_lines: row.book_lines,
            money_in: money(row.money_in),
            money_out: money(row.money_out),
        }
    }
}

// === impl ProofRow ===

impl<'a> ProofRow<'a> {
    fn of(proof: &'a Proof) -> Self {
        let side = |side: &Option<String>| side.as_deref().map_or("—".to_owned(), grouped);
        Self {
            id: proof.id.name(),
            scope: &proof.scope,
            status: proof.status.name(),
            left: side(&proof.left),
            right: side(&proof.right),
            difference: side(&proof.difference),
        }
    }
}

fn money(amount: Total) -> String {
    grouped(&amount.to_string())
}
