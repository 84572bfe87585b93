//! The outcome as JSON (`docs/schema/reconcile.schema.json`). Amounts are decimal strings, dates are `YYYY-MM-DD`, what
//! is absent is null; no time, node or token, so that equal outcomes are equal bytes.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde::Serialize;

use super::digest::Digest;
use super::overview::reference;
use super::{AccountOutcome, Bucket, Position, Taken};
use crate::diagnostic::Diagnostic;
use crate::matching::{BreakClass, Key, MatchStatus, OpenLine, Origin, Rule, Side};
use crate::money::{Currency, Money};
use crate::proof::Proof;

/// A whole run. `S` is a statement, as `inspect` shows it.
#[derive(Debug, Serialize)]
pub struct Run<'a, S> {
    /// The business date.
    pub date: Option<NaiveDate>,
    /// The run's digest.
    pub digest: Digest,
    /// Its accounts, by id.
    pub accounts: Vec<AccountDay<'a, S>>,
    /// Findings about files and about what is missing.
    pub diagnostics: Vec<Found<'a>>,
}

/// One account-day: an element of a run's `accounts`, and the whole of an account's own report.
#[derive(Debug, Serialize)]
pub struct AccountDay<'a, S> {
    account: &'a str,
    currency: Currency,
    date: NaiveDate,
    revision: u32,
    digest: Digest,
    rule_set: &'a str,
    bank: Taken,
    book: Taken,
    position: &'a Position,
    matches: Vec<MatchShown<'a>>,
    breaks: Vec<BreakShown<'a>>,
    proofs: &'a [Proof],
    statements: Vec<S>,
}

/// A finding, and the file that it is about.
#[derive(Debug, Serialize)]
pub struct Found<'a> {
    /// The file's name; absent where it is about none.
    pub file: Option<&'a str>,
    /// The finding.
    #[serde(flatten)]
    pub diagnostic: &'a Diagnostic,
}

#[derive(Debug, Serialize)]
struct MatchShown<'a> {
    id: &'a str,
    rule: Rule,
    status: MatchStatus,
    bank: Vec<Leg<'a>>,
    book: Vec<Leg<'a>>,
    difference: Money,
    explanation: ExplanationShown<'a>,
}

#[derive(Debug, Serialize)]
struct ExplanationShown<'a> {
    keys: &'a [Key],
    candidates: u32,
    interchangeable: bool,
    text: String,
}

#[derive(Debug, Serialize)]
struct BreakShown<'a> {
    class: BreakClass,
    side: Side,
    lines: [Leg<'a>; 1],
    amount: Money,
    age_business_days: u32,
    bucket: Bucket,
    first_seen: NaiveDate,
    nearest: Option<NearestShown<'a>>,
}

#[derive(Debug, Serialize)]
struct NearestShown<'a> {
    leg: Leg<'a>,
    side: Side,
    why: &'a str,
    suggestion: Option<&'a str>,
}

/// A line, where it is named. All but the id is null where the outcome does not carry the line.
#[derive(Debug, Serialize)]
struct Leg<'a> {
    id: &'a str,
    date: Option<NaiveDate>,
    amount: Option<Money>,
    reference: Option<&'a str>,
    description: Option<&'a str>,
    origin: Option<&'a Origin>,
}

// === impl AccountDay ===

impl<'a, S> AccountDay<'a, S> {
    /// Of an outcome, its digest and the statements that it was made from.
    pub fn new(outcome: &'a AccountOutcome, digest: Digest, statements: Vec<S>) -> Self {
        let leg = |side, id: &'a str| {
            let lines = match side {
                Side::Bank => &outcome.lines.bank,
                Side::Book => &outcome.lines.book,
            };
            Leg::of(id, lines, outcome.currency)
        };
        let matches = outcome.matches.iter().map(|found| MatchShown {
            id: &found.id,
            rule: found.rule,
            status: found.status,
            bank: found.bank.iter().map(|id| leg(Side::Bank, id)).collect(),
            book: found.book.iter().map(|id| leg(Side::Book, id)).collect(),
            difference: Money::new(found.difference, outcome.currency),
            explanation: ExplanationShown {
                keys: &found.explanation.keys,
                candidates: found.explanation.candidates,
                interchangeable: found.explanation.interchangeable,
                text: found.sentence(),
            },
        });
        let breaks = outcome.breaks.iter().map(|open| BreakShown {
            class: open.class,
            side: open.side,
            lines: [leg(open.side, &open.line)],
            amount: open.amount,
            age_business_days: open.age_business_days,
            bucket: open.bucket,
            first_seen: open.first_seen,
            nearest: open.nearest.as_ref().map(|nearest| NearestShown {
                leg: leg(nearest.side, &nearest.line),
                side: nearest.side,
                why: &nearest.why,
                suggestion: nearest.suggestion.as_deref(),
            }),
        });
        Self {
            account: outcome.account.as_str(),
            currency: outcome.currency,
            date: outcome.date,
            revision: outcome.revision,
            digest,
            rule_set: &outcome.rule_set,
            bank: outcome.bank,
            book: outcome.book,
            position: &outcome.position,
            matches: matches.collect(),
            breaks: breaks.collect(),
            proofs: &outcome.proofs,
            statements,
        }
    }
}

// === impl Found ===

impl<'a> Found<'a> {
    /// Of findings with the names of their files; an empty name is none.
    pub fn all(diagnostics: &'a [(String, Diagnostic)]) -> Vec<Self> {
        let found = |(file, diagnostic): &'a (String, Diagnostic)| Self {
            file: (!file.is_empty()).then_some(file.as_str()),
            diagnostic,
        };
        diagnostics.iter().map(found).collect()
    }
}

// === impl Leg ===

impl<'a> Leg<'a> {
    fn of(id: &'a str, lines: &'a BTreeMap<String, OpenLine>, currency: Currency) -> Self {
        let line = lines.get(id);
        Self {
            id,
            date: line.map(|line| line.date),
            amount: line.map(|line| Money::new(line.minor, currency)),
            reference: line.and_then(reference),
            description: line.map(|line| line.description.as_str()),
            origin: line.map(|line| &line.origin),
        }
    }
}
