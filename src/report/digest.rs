//! The digest: 32 bytes that are equal exactly where two reconciliations came to the same result.
//!
//! SHA-256 of RFC 8785 JSON (`domain.md` §9). Prose, files, ordinals, nodes, tokens and times are left out, so that any
//! machine, in any order and after any crash, comes to the same bytes.

use std::fmt;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{AccountOutcome, Position};
use crate::matching::{BreakClass, MatchStatus, Side};
use crate::proof::Proof;

/// The version of what is hashed. A change of shape is a new version, never a silent difference.
const SCHEMA: u32 = 1;

/// SHA-256, shown as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

#[derive(Serialize)]
struct Hashed<'a> {
    schema: u32,
    account: &'a str,
    currency: &'a str,
    date: chrono::NaiveDate,
    revision: u32,
    rule_set: &'a str,
    position: &'a Position,
    matches: Vec<HashedMatch<'a>>,
    breaks: Vec<HashedBreak<'a>>,
    proofs: &'a [Proof],
}

#[derive(Serialize)]
struct HashedMatch<'a> {
    id: &'a str,
    rule: &'static str,
    status: MatchStatus,
    bank: &'a [String],
    book: &'a [String],
    // As text: RFC 8785 writes numbers as doubles do, and a sum of cents may be larger than a double holds.
    difference: String,
    interchangeable: bool,
}

#[derive(Serialize)]
struct HashedBreak<'a> {
    class: BreakClass,
    side: Side,
    line: &'a str,
    amount: String,
    age_business_days: u32,
    first_seen: chrono::NaiveDate,
    nearest: Option<(Side, &'a str)>,
}

/// The digest of one account's outcome.
///
/// # Errors
/// Only if the outcome cannot be written as JSON, which its types rule out.
pub fn of_account(outcome: &AccountOutcome) -> Result<Digest, serde_json::Error> {
    let hashed = Hashed {
        schema: SCHEMA,
        account: outcome.account.as_str(),
        currency: outcome.currency.code(),
        date: outcome.date,
        revision: outcome.revision,
        rule_set: &outcome.rule_set,
        position: &outcome.position,
        matches: outcome
            .matches
            .iter()
            .map(|found| HashedMatch {
                id: &found.id,
                rule: found.rule.name(),
                status: found.status,
                bank: &found.bank,
                book: &found.book,
                difference: found.difference.to_string(),
                interchangeable: found.explanation.interchangeable,
            })
            .collect(),
        breaks: outcome
            .breaks
            .iter()
            .map(|open| HashedBreak {
                class: open.class,
                side: open.side,
                line: &open.line,
                amount: open.amount.to_string(),
                age_business_days: open.age_business_days,
                first_seen: open.first_seen,
                nearest: open.nearest.as_ref().map(|nearest| (nearest.side, nearest.line.as_str())),
            })
            .collect(),
        proofs: &outcome.proofs,
    };
    let json = serde_json_canonicalizer::to_vec(&hashed)?;
    Ok(Digest(Sha256::digest(json).into()))
}

/// The digest of a run: over the sorted lines `account id NUL account digest LF`.
pub fn of_run<'a>(accounts: impl IntoIterator<Item = (&'a str, Digest)>) -> Digest {
    let mut lines: Vec<String> =
        accounts.into_iter().map(|(account, digest)| format!("{account}\0{digest}\n")).collect();
    lines.sort();
    let mut hasher = Sha256::new();
    for line in lines {
        hasher.update(line.as_bytes());
    }
    Digest(hasher.finalize().into())
}

/// SHA-256 of bytes: the identity of a file.
pub fn of_bytes(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

// === impl Digest ===

impl Digest {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// From the bytes, as stored.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
