//! What a statement file says, as `counterfoil inspect` shows it: JSON here (`docs/schema/inspect.schema.json`), text in
//! [`text`].
//!
//! A file is looked at by itself: whether its statements chain to others is not asked.

pub mod text;

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde::{Serialize, Serializer};

use super::digest::{self, Digest};
use crate::diagnostic::{Diagnostic, Severity};
use crate::money::{Currency, Money, Total};
use crate::proof::ProofStatus;
use crate::reference::Reference;
use crate::statement::proof::{Hypothesis, StatementProof, prove};
use crate::statement::{BankLine, Counterparty, Format, LineKind, LineStatus, Parsed, Statement};

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileStatus {
    /// Read, and nothing in it contradicts itself.
    Accepted,
    /// Read, and a statement's own figures do not agree.
    Quarantined,
    /// Not read: the findings say why.
    Refused,
}

/// A file, looked at.
#[derive(Debug)]
pub struct Inspected {
    /// What the file is called.
    pub name: String,
    /// Of its bytes; absent where they could not be had.
    pub sha256: Option<Digest>,
    /// By its content; absent where that is no format that is read.
    pub format: Option<Format>,
    /// What becomes of it.
    pub status: FileStatus,
    /// Its statements, and what their figures come to.
    pub statements: Vec<(Statement, StatementProof)>,
    /// What was odd or wrong; last, one for each statement that failed, in their order.
    pub diagnostics: Vec<Diagnostic>,
}

/// A statement in JSON, here and in the outcome of a reconciliation.
#[derive(Debug, Serialize)]
pub struct StatementShown<'a> {
    account: Option<&'a str>,
    currency: Currency,
    id: Option<&'a str>,
    sequence: Option<&'a str>,
    from: NaiveDate,
    to: NaiveDate,
    opening: Option<BalanceShown>,
    closing: Option<BalanceShown>,
    #[serde(serialize_with = "lines")]
    lines: &'a [BankLine],
    proof: ProofShown,
}

#[derive(Debug, Serialize)]
struct FileShown<'a> {
    name: &'a str,
    sha256: Option<Digest>,
    format: Option<Format>,
    status: FileStatus,
    statements: Vec<StatementShown<'a>>,
    diagnostics: &'a [Diagnostic],
}

#[derive(Debug, Serialize)]
struct BalanceShown {
    amount: Money,
    date: Option<NaiveDate>,
}

#[derive(Debug, Serialize)]
struct LineShown<'a> {
    ordinal: u32,
    booking_date: NaiveDate,
    value_date: Option<NaiveDate>,
    amount: Money,
    status: LineStatus,
    reversal: bool,
    references: BTreeMap<&'static str, Vec<&'a str>>,
    counterparty: Option<&'a Counterparty>,
    description: &'a str,
}

#[derive(Debug, Serialize)]
struct ProofShown {
    status: ProofStatus,
    opening: Option<Money>,
    movements: Total,
    closing: Option<Money>,
    difference: Option<Total>,
    hypothesis: Option<Hypothesis>,
}

// === impl Inspected ===

impl Inspected {
    /// Proves the statements of a file that was parsed. A failed proof becomes a finding at its statement.
    pub fn new(name: String, bytes: &[u8], parsed: Parsed) -> Self {
        let refused = parsed.diagnostics.iter().any(|found| found.severity == Severity::Error);
        let mut diagnostics = parsed.diagnostics;
        let statements: Vec<_> = parsed
            .statements
            .into_iter()
            .map(|statement| (prove(&statement), statement))
            .map(|(p, s)| (s, p))
            .collect();
        let failed = statements.iter().filter(|(_, proof)| proof.failed());
        let findings: Vec<_> = failed.map(|(statement, proof)| finding(statement, proof)).collect();
        let status = if refused {
            FileStatus::Refused
        } else if findings.is_empty() {
            FileStatus::Accepted
        } else {
            FileStatus::Quarantined
        };
        diagnostics.extend(findings);
        Self { name, sha256: Some(digest::of_bytes(bytes)), format: parsed.format, status, statements, diagnostics }
    }

    /// A file whose bytes could not be had, and why.
    pub fn unreadable(name: String, why: &str) -> Self {
        Self {
            name,
            sha256: None,
            format: None,
            status: FileStatus::Refused,
            statements: Vec::new(),
            diagnostics: vec![Diagnostic::new(Severity::Error, "READ", why)],
        }
    }

    /// The file as an element of `files`.
    pub fn shown(&self) -> impl Serialize + '_ {
        FileShown {
            name: &self.name,
            sha256: self.sha256,
            format: self.format,
            status: self.status,
            statements: self
                .statements
                .iter()
                .map(|(statement, proof)| StatementShown::new(statement, proof))
                .collect(),
            diagnostics: &self.diagnostics,
        }
    }
}

/// That a statement's figures do not agree, in words.
fn finding(statement: &Statement, proof: &StatementProof) -> Diagnostic {
    let arithmetic = proof.difference.is_some_and(|difference| difference.minor() != 0);
    let code = if arithmetic { "STMT_ARITH" } else { "BATCH_SUM" };
    let message = format!("the figures of the statement {} to {} do not agree: {proof}", statement.from, statement.to);
    Diagnostic::new(Severity::Error, code, message).at_line(statement.line)
}

// === impl FileStatus ===

impl FileStatus {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Quarantined => "quarantined",
            Self::Refused => "refused",
        }
    }
}

// === impl StatementShown ===

impl<'a> StatementShown<'a> {
    /// Of a statement and its proof.
    pub fn new(statement: &'a Statement, proof: &StatementProof) -> Self {
        let balance = |balance: &crate::statement::Balance| BalanceShown { amount: balance.amount, date: balance.date };
        Self {
            account: Some(statement.account.number.as_str()).filter(|number| !number.is_empty()),
            currency: statement.currency,
            id: statement.id.as_deref(),
            sequence: statement.sequence.as_deref(),
            from: statement.from,
            to: statement.to,
            opening: statement.opening.as_ref().map(balance),
            closing: statement.closing.as_ref().map(balance),
            lines: &statement.lines,
            proof: ProofShown {
                status: proof.status,
                opening: proof.opening,
                movements: proof.movements,
                closing: proof.closing,
                difference: proof.difference,
                hypothesis: proof.hypothesis,
            },
        }
    }
}

/// One after the other: a list of a million lines is never held a second time.
fn lines<S: Serializer>(lines: &[BankLine], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lines.iter().map(LineShown::new))
}

// === impl LineShown ===

impl<'a> LineShown<'a> {
    fn new(line: &'a BankLine) -> Self {
        let mut references: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for reference in &line.references {
            references.entry(reference.kind().name()).or_default().push(Reference::value(reference));
        }
        Self {
            ordinal: line.ordinal,
            booking_date: line.booking_date,
            value_date: line.value_date,
            amount: line.amount,
            // A balance among the lines moves nothing: whoever adds up what is booked must not meet it.
            status: if line.kind == LineKind::BalanceMarker { LineStatus::Information } else { line.status },
            reversal: line.reversal,
            references,
            counterparty: line.counterparty.as_ref(),
            description: &line.description,
        }
    }
}
