//! The identities P1–P7: exact integer equations that must hold of money, each kept with both sides.
//!
//! Shape and status live here; which figures stand on either side is said where they are known: P1 and P3 in
//! [`crate::statement::proof`], P2 in [`crate::account::ledger`], P4–P7 in [`crate::account::day`].

use serde::{Deserialize, Serialize};

use crate::money::Total;

/// Which identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ProofId {
    /// Stated opening + Σ booked lines of the statement = stated closing.
    P1,
    /// Between neighbouring anchors: difference of balances = Σ distinct booked lines.
    P2,
    /// Σ details = entry (± charges); counts and control totals as delivered.
    P3,
    /// Book opening + Σ postings taken = stated book closing.
    P4,
    /// Bank closing − book closing = Σ open bank − Σ open book + Σ excluded bank − Σ excluded book + Σ open differences.
    P5,
    /// Every line taken is in exactly one of matched, open, excluded.
    P6,
    /// open(D) = open(D−1) + taken − consumed + released, per side, in count and amount.
    P7,
}

/// What the identity came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProofStatus {
    /// Both sides are independent, and equal.
    Proved,
    /// Equal, but one side was computed from the other's figures.
    Derived,
    /// A figure that it needs was not stated.
    Unprovable,
    /// The sides differ.
    Failed,
}

/// An identity, evaluated.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Proof {
    /// Which.
    pub id: ProofId,
    /// Of what: a statement, a span between anchors, a side. No file name, no time.
    pub scope: String,
    /// What it came to.
    pub status: ProofStatus,
    /// Left side, as a decimal string (an amount or, in counts, a number). Absent where unprovable.
    pub left: Option<String>,
    /// Right side.
    pub right: Option<String>,
    /// Left − right.
    pub difference: Option<String>,
}

// === impl ProofId ===

impl ProofId {
    /// All of them, in order.
    pub const ALL: [Self; 7] = [Self::P1, Self::P2, Self::P3, Self::P4, Self::P5, Self::P6, Self::P7];

    /// `P1` … `P7`.
    pub fn name(self) -> &'static str {
        match self {
            Self::P1 => "P1",
            Self::P2 => "P2",
            Self::P3 => "P3",
            Self::P4 => "P4",
            Self::P5 => "P5",
            Self::P6 => "P6",
            Self::P7 => "P7",
        }
    }
}

// === impl ProofStatus ===

impl ProofStatus {
    /// All of them, from the best to the worst.
    pub const ALL: [Self; 4] = [Self::Proved, Self::Derived, Self::Unprovable, Self::Failed];

    /// The word in JSON and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Derived => "derived",
            Self::Unprovable => "unprovable",
            Self::Failed => "failed",
        }
    }
}

// === impl Proof ===

impl Proof {
    /// Compares two amounts of one currency. `independent` says whether both sides come from outside; if not, equality
    /// is `derived` and never `proved`.
    pub fn of_amounts(id: ProofId, scope: impl Into<String>, left: Total, right: Total, independent: bool) -> Self {
        debug_assert_eq!(left.currency(), right.currency(), "a proof compares one currency");
        let difference = Total::new(left.minor() - right.minor(), left.currency());
        let equal = left == right;
        Self {
            id,
            scope: scope.into(),
            status: Self::status(equal, independent),
            left: Some(left.to_string()),
            right: Some(right.to_string()),
            difference: Some(difference.to_string()),
        }
    }

    /// Compares two counts.
    pub fn of_counts(id: ProofId, scope: impl Into<String>, left: i128, right: i128, independent: bool) -> Self {
        Self {
            id,
            scope: scope.into(),
            status: Self::status(left == right, independent),
            left: Some(left.to_string()),
            right: Some(right.to_string()),
            difference: Some((left - right).to_string()),
        }
    }

    /// One whose figures are not there.
    pub fn unprovable(id: ProofId, scope: impl Into<String>) -> Self {
        Self { id, scope: scope.into(), status: ProofStatus::Unprovable, left: None, right: None, difference: None }
    }

    fn status(equal: bool, independent: bool) -> ProofStatus {
        match (equal, independent) {
            (false, _) => ProofStatus::Failed,
            (true, true) => ProofStatus::Proved,
            (true, false) => ProofStatus::Derived,
        }
    }
}
