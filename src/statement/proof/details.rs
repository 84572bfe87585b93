//! P3, batches: the transactions that an entry books as one add up to it, with or without its charges.

use crate::money::Total;
use crate::proof::{Proof, ProofId};
use crate::statement::{BankLine, Charge, Statement};

/// How many entries that do not add up are shown.
const SHOWN: usize = 20;

/// One count over all entries whose details carry amounts; and each entry that does not add up.
pub(super) fn prove(statement: &Statement, movements: &[&BankLine]) -> Vec<Proof> {
    let detailed: Vec<(&BankLine, i128)> =
        movements.iter().filter_map(|line| Some((*line, sum_of_details(line)?))).collect();
    if detailed.is_empty() {
        return Vec::new();
    }
    let wrong: Vec<_> = detailed.iter().filter(|(line, sum)| !adds_up(line, *sum)).collect();
    let (held, all) = (detailed.len() - wrong.len(), detailed.len());
    let scope = "entries that their details add up to";
    let mut proofs = vec![Proof::of_counts(ProofId::P3, scope, held as i128, all as i128, true)];
    proofs.extend(wrong.into_iter().take(SHOWN).map(|(line, sum)| {
        let scope = format!("details of entry {}", line.ordinal);
        Proof::of_amounts(ProofId::P3, scope, Total::new(*sum, statement.currency), line.amount.into(), true)
    }));
    proofs
}

/// The sum of an entry's details; `None` where it has none, or where one carries no amount.
fn sum_of_details(line: &BankLine) -> Option<i128> {
    if line.details.is_empty() {
        return None;
    }
    line.details.iter().map(|detail| detail.amount.map(|amount| i128::from(amount.minor()))).sum()
}

/// Charges are told on the entry, on its details, or on both; and an entry is the details before charges, or after
/// them. Each of these is a way to add up; a charge that is in no balance (`included` false) is none.
fn adds_up(line: &BankLine, details: i128) -> bool {
    let entry = i128::from(line.amount.minor());
    let own = charged(&line.charges);
    let theirs: i128 = line.details.iter().map(|detail| charged(&detail.charges)).sum();
    [0, own, theirs, own + theirs].into_iter().any(|charges| details + charges == entry || details - charges == entry)
}

fn charged(charges: &[Charge]) -> i128 {
    let charges = charges.iter().filter(|charge| charge.included != Some(false));
    charges.map(|charge| i128::from(charge.amount.minor())).sum()
}
