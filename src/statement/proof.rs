//! The proof at the door: do a statement's own figures agree? (P1 and P3 of `domain.md` §8.)
//!
//! A statement states balances: an opening, a closing, and perhaps some between its lines. Each must be the one before it
//! plus the movements between. Where they cover every movement, the statement is *proved*; where one link does not
//! close, it has *failed*, and is quarantined; else it is *unprovable* by itself, and the chain of statements (P2) must
//! prove it. An OFX statement, which has no opening, is mostly that.
//!
//! A failure is diagnosed only where exactly one [`Hypothesis`] of a closed list explains it to the cent. A diagnosis
//! repairs nothing: it tells a person where to look.

mod details;
mod hypothesis;
mod totals;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{BankLine, Statement};
use crate::money::{Money, Total};
use crate::proof::{Proof, ProofId, ProofStatus};

/// What a statement's own figures come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementProof {
    /// `Proved`, `Unprovable`, or `Failed` if any link of balances, any total or any entry's details did not close.
    pub status: ProofStatus,
    /// The balance before the movements, if one is stated. Where a link between two balances failed, the link's first.
    pub opening: Option<Money>,
    /// The sum of the booked movements: of the statement, or of the link that failed.
    pub movements: Total,
    /// The balance after the movements, if one is stated.
    pub closing: Option<Money>,
    /// Opening + movements − closing, where both are stated.
    pub difference: Option<Total>,
    /// The one explanation that closes it, if P1 failed and there is exactly one.
    pub hypothesis: Option<Hypothesis>,
    /// P3: counts, sums and details as delivered. Those of details are there only where they failed, after one count.
    pub totals: Vec<Proof>,
}

/// What can be wrong with a statement whose balances do not close.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hypothesis {
    /// Reversals carry the sign of what they reverse.
    ReversalSign,
    /// Some figure is a hundred times too large: its decimal mark is missing.
    Scale100,
    /// Balances written as rows were counted as movements.
    BalanceRows,
    /// A page is missing, or there twice.
    Pages,
    /// Charges were taken from the balance and not from the lines, or the other way round.
    FeesNetted,
}

/// A balance that the statement states, after so many of its movements.
#[derive(Debug, Clone, Copy)]
struct Stated {
    after: usize,
    amount: Money,
}

/// Two balances and the movements between them.
#[derive(Debug, Clone, Copy)]
struct Link<'a> {
    opening: Money,
    movements: &'a [&'a BankLine],
    closing: Money,
}

/// Holds a statement against its own figures.
pub fn prove(statement: &Statement) -> StatementProof {
    let movements: Vec<&BankLine> = statement.movements().collect();
    let chain = chain(statement, &movements);
    let mut totals = totals::prove(statement);
    totals.extend(details::prove(statement, &movements));
    let p3_failed = totals.iter().any(|total| total.status == ProofStatus::Failed);

    if let Some(link) = links(&chain, &movements).find(|link| link.difference().minor() != 0) {
        return StatementProof {
            status: ProofStatus::Failed,
            opening: Some(link.opening),
            movements: link.sum(),
            closing: Some(link.closing),
            difference: Some(link.difference()),
            hypothesis: hypothesis::the_one(statement, &link),
            totals,
        };
    }
    let leading = statement.markers.first().filter(|marker| marker.after_lines == 0).map(|marker| marker.amount);
    let opening = statement.opening.map(|opening| opening.amount).or(leading);
    let proved = match chain[..] {
        [first, .., last] if first.after == 0 && last.after == movements.len() => Some(last.amount),
        _ => None,
    };
    let status = match proved {
        _ if p3_failed => ProofStatus::Failed,
        Some(_) => ProofStatus::Proved,
        None => ProofStatus::Unprovable,
    };
    StatementProof {
        status,
        opening,
        movements: sum(&movements, statement.currency),
        closing: proved.or(statement.closing.map(|closing| closing.amount)),
        difference: proved.map(|_| Total::zero(statement.currency)),
        hypothesis: None,
        totals,
    }
}

/// The balances that the statement states, in the order of its lines.
///
/// A closing may be of a later day than the last that is covered (OFX: the balance as of the download). Then what moved
/// in between is not in the statement, and a link to it that does not close says nothing; P2 will.
fn chain(statement: &Statement, movements: &[&BankLine]) -> Vec<Stated> {
    let opening = statement.opening.map(|opening| Stated { after: 0, amount: opening.amount });
    let markers = statement.markers.iter().map(|marker| {
        let after = usize::try_from(marker.after_lines).unwrap_or(usize::MAX).min(movements.len());
        Stated { after, amount: marker.amount }
    });
    let mut chain: Vec<Stated> = opening.into_iter().chain(markers).collect();
    if let Some(closing) = statement.closing {
        chain.push(Stated { after: movements.len(), amount: closing.amount });
        let later = statement.opening.is_none() && closing.date.is_some_and(|date| date > statement.to);
        let closes = links(&chain, movements).next_back().is_none_or(|link| link.difference().minor() == 0);
        if later && !closes {
            chain.pop();
        }
    }
    chain
}

fn links<'a>(chain: &'a [Stated], movements: &'a [&'a BankLine]) -> impl DoubleEndedIterator<Item = Link<'a>> {
    chain.windows(2).map(|pair| Link {
        opening: pair[0].amount,
        movements: movements.get(pair[0].after..pair[1].after).unwrap_or_default(),
        closing: pair[1].amount,
    })
}

fn sum(lines: &[&BankLine], currency: crate::money::Currency) -> Total {
    Total::new(lines.iter().map(|line| i128::from(line.amount.minor())).sum(), currency)
}

// === impl Link ===

impl Link<'_> {
    fn sum(&self) -> Total {
        sum(self.movements, self.opening.currency())
    }

    /// Opening + movements − closing.
    fn difference(&self) -> Total {
        let minor = i128::from(self.opening.minor()) + self.sum().minor() - i128::from(self.closing.minor());
        Total::new(minor, self.opening.currency())
    }
}

// === impl StatementProof ===

impl StatementProof {
    /// Is the statement to be quarantined?
    pub fn failed(&self) -> bool {
        self.status == ProofStatus::Failed
    }

    /// P1 and P3 as identities, the statement's days as their scope.
    pub fn proofs(&self, statement: &Statement) -> Vec<Proof> {
        let scope = format!("{} to {}", statement.from, statement.to);
        let p1 = match (self.opening, self.closing, self.difference) {
            (Some(opening), Some(closing), Some(_)) => {
                let left = Total::new(i128::from(opening.minor()) + self.movements.minor(), statement.currency);
                Proof::of_amounts(ProofId::P1, scope, left, closing.into(), true)
            }
            _ => Proof::unprovable(ProofId::P1, scope),
        };
        std::iter::once(p1).chain(self.totals.iter().cloned()).collect()
    }
}

/// The arithmetic, as a sentence without its full stop.
impl fmt::Display for StatementProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.opening, self.closing, self.difference) {
            (Some(opening), Some(closing), Some(difference)) => {
                let left = Total::new(i128::from(opening.minor()) + self.movements.minor(), opening.currency());
                let (sign, movements) = signed(self.movements);
                write!(f, "{opening} {sign} {movements} = {left}")?;
                let gap = Total::new(difference.minor().abs(), difference.currency());
                match difference.minor().signum() {
                    0 => write!(f, ", as stated")?,
                    1 => write!(f, ", but {closing} is stated: {gap} too much")?,
                    _ => write!(f, ", but {closing} is stated: {gap} is missing")?,
                }
            }
            (None, Some(closing), _) => write!(f, "only the closing {closing} is stated, and no opening")?,
            (Some(opening), None, _) => write!(f, "only the opening {opening} is stated, and no closing")?,
            _ => write!(f, "no balance is stated")?,
        }
        if let Some(hypothesis) = self.hypothesis {
            write!(f, "; it closes if {hypothesis}")?;
        }
        for total in self.totals.iter().filter(|total| total.status == ProofStatus::Failed) {
            let figure = |side: &Option<String>| side.clone().unwrap_or_default();
            write!(f, "; {}: {} found, {} stated", total.scope, figure(&total.left), figure(&total.right))?;
        }
        Ok(())
    }
}

/// A sum as the sign and magnitude that stand in an equation.
fn signed(total: Total) -> (&'static str, Total) {
    if total.minor() < 0 { ("\u{2212}", Total::new(-total.minor(), total.currency())) } else { ("+", total) }
}

// === impl Hypothesis ===

impl Hypothesis {
    /// Every one, in the order in which they are told.
    pub const ALL: [Self; 5] = [Self::ReversalSign, Self::Scale100, Self::BalanceRows, Self::Pages, Self::FeesNetted];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReversalSign => "reversal_sign",
            Self::Scale100 => "scale100",
            Self::BalanceRows => "balance_rows",
            Self::Pages => "pages",
            Self::FeesNetted => "fees_netted",
        }
    }
}

/// The words after "it closes if".
impl fmt::Display for Hypothesis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReversalSign => "the lines marked as reversals carry the sign of what they reverse",
            Self::Scale100 => "a figure without a decimal mark is in hundredths",
            Self::BalanceRows => "rows that repeat a balance are taken out of the movements",
            Self::Pages => "a page is missing, or is there twice",
            Self::FeesNetted => "the stated charges are counted in the other way",
        })
    }
}

#[cfg(test)]
mod tests;
