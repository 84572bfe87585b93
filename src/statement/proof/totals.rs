//! P3, counts and sums: what the bank delivered about its lines against the lines.

use crate::money::Total;
use crate::proof::{Proof, ProofId, ProofStatus};
use crate::statement::{BankLine, LineKind, LineStatus, StatedTotal, Statement, TotalOf};

/// Each stated count and sum, proved.
///
/// Banks count their booked entries, and some also those that are pending, informational or of nothing. Which, they do
/// not say: a total holds if it holds for either population, count and sum together.
pub(super) fn prove(statement: &Statement) -> Vec<Proof> {
    let mut proofs = Vec::new();
    for stated in &statement.totals {
        let booked = of(statement, stated, BankLine::is_movement);
        let booked_and_nothing =
            of(statement, stated, |line| line.status == LineStatus::Booked && line.kind != LineKind::BalanceMarker);
        let every = of(statement, stated, |line| line.kind != LineKind::BalanceMarker);
        let held = [&booked, &booked_and_nothing, &every].into_iter().find(|found| all_hold(found)).unwrap_or(&booked);
        proofs.extend(held.iter().cloned());
    }
    proofs
}

fn all_hold(proofs: &[Proof]) -> bool {
    proofs.iter().all(|proof| proof.status != ProofStatus::Failed)
}

fn of(statement: &Statement, stated: &StatedTotal, counted: impl Fn(&BankLine) -> bool) -> Vec<Proof> {
    let (name, direction): (_, fn(i64) -> bool) = match stated.of {
        TotalOf::All => ("entries", |_| true),
        TotalOf::Credits => ("credits", |minor| minor >= 0),
        TotalOf::Debits => ("debits", |minor| minor <= 0),
    };
    let amounts = || {
        let lines = statement.lines.iter().filter(|line| counted(line));
        lines.map(|line| line.amount.minor()).filter(|minor| direction(*minor))
    };
    let mut proofs = Vec::new();
    if let Some(count) = stated.count {
        let found = amounts().count() as u64;
        proofs.push(Proof::of_counts(ProofId::P3, format!("number of {name}"), found.into(), count.into(), true));
    }
    if let Some(sum) = stated.sum {
        let magnitudes = stated.of == TotalOf::All;
        let found = amounts().map(|minor| if magnitudes { i128::from(minor).abs() } else { i128::from(minor) }).sum();
        let found = Total::new(found, statement.currency);
        proofs.push(Proof::of_amounts(ProofId::P3, format!("sum of {name}"), found, sum.into(), true));
    }
    proofs
}
