//! Why balances do not close: a closed list of explanations, each tried to the cent. One is named only where it is the
//! only one that closes; two would be a guess.

use std::hash::{BuildHasher, RandomState};

use super::{Hypothesis, Link};
use crate::statement::text::folded;
use crate::statement::{BankLine, Charge, Statement, TotalOf};

/// How many comparisons the search for a doubled page may cost.
const PAGE_BUDGET: usize = 20_000_000;

/// The one explanation that closes the link.
pub(super) fn the_one(statement: &Statement, link: &Link<'_>) -> Option<Hypothesis> {
    let mut closing = Hypothesis::ALL.into_iter().filter(|hypothesis| match hypothesis {
        Hypothesis::ReversalSign => reversal_sign(link),
        Hypothesis::Scale100 => scale_100(link),
        Hypothesis::BalanceRows => balance_rows(link),
        Hypothesis::Pages => page_missing(statement, link) || page_doubled(link),
        Hypothesis::FeesNetted => fees_netted(link),
    });
    let first = closing.next()?;
    closing.next().is_none().then_some(first)
}

/// Opening + movements − closing, in minor units: what an explanation must explain.
fn gap(link: &Link<'_>) -> i128 {
    link.difference().minor()
}

fn amounts<'a>(link: &Link<'a>) -> impl Iterator<Item = i128> + use<'a> {
    link.movements.iter().map(|line| i128::from(line.amount.minor()))
}

/// The reversals turned round.
fn reversal_sign(link: &Link<'_>) -> bool {
    let reversed: i128 =
        link.movements.iter().filter(|line| line.reversal).map(|line| i128::from(line.amount.minor())).sum();
    reversed != 0 && gap(link) == 2 * reversed
}

/// One or both balances, or the movements, a hundredth of what they were read as.
fn scale_100(link: &Link<'_>) -> bool {
    let (opening, closing) = (i128::from(link.opening.minor()), i128::from(link.closing.minor()));
    let movements = link.sum().minor();
    // Each identity is multiplied by a hundred, so that nothing is divided.
    [(100, 100, 1), (1, 100, 100), (1, 100, 1), (100, 1, 100)]
        .into_iter()
        .any(|(o, m, c)| o * opening + m * movements == c * closing)
}

/// The rows taken out that say they are balances, or that repeat the balance reached before them.
fn balance_rows(link: &Link<'_>) -> bool {
    let says = |line: &&&BankLine| {
        let text = folded(&line.description);
        text.split(' ').any(|word| matches!(word, "SALDO" | "SDO" | "BALANCE"))
    };
    let told: i128 = link.movements.iter().filter(says).map(|line| i128::from(line.amount.minor())).sum();
    if told != 0 && told == gap(link) {
        return true;
    }
    let mut balance = i128::from(link.opening.minor());
    let mut rows = 0;
    for amount in amounts(link) {
        if amount == balance {
            rows += 1;
        } else {
            balance += amount;
        }
    }
    rows > 0 && balance == i128::from(link.closing.minor())
}

/// The bank's own totals close the balances, and the lines do not come up to them.
fn page_missing(statement: &Statement, link: &Link<'_>) -> bool {
    if link.movements.len() != statement.movements().count() {
        return false;
    }
    let stated = |of| statement.totals.iter().find(|total| total.of == of);
    let (Some(credits), Some(debits)) = (stated(TotalOf::Credits), stated(TotalOf::Debits)) else { return false };
    let (Some(credit), Some(debit)) = (credits.sum, debits.sum) else { return false };
    let stated = i128::from(credit.minor()) + i128::from(debit.minor());
    i128::from(link.opening.minor()) + stated == i128::from(link.closing.minor())
}

/// Two or more lines in a row that come again right after themselves, and whose sum is what is too much.
fn page_doubled(link: &Link<'_>) -> bool {
    let lines = link.movements;
    let hasher = RandomState::new();
    let told: Vec<u64> = lines
        .iter()
        .map(|line| hasher.hash_one((line.booking_date, line.amount, &line.code, &line.description, &line.references)))
        .collect();
    let mut sums = Vec::with_capacity(lines.len() + 1);
    sums.push(0);
    sums.extend(amounts(link).scan(0, |sum: &mut i128, amount| {
        *sum += amount;
        Some(*sum)
    }));
    let longest = (lines.len() / 2).min(PAGE_BUDGET / lines.len().max(1));
    (2..=longest).any(|length| {
        // How many lines up to here equal the ones a page before them.
        let mut equal = 0;
        (length..lines.len()).any(|at| {
            equal = if told[at] == told[at - length] { equal + 1 } else { 0 };
            equal >= length && sums[at + 1] - sums[at + 1 - length] == gap(link)
        })
    })
}

/// The charges that are stated beside the lines, counted in or out.
fn fees_netted(link: &Link<'_>) -> bool {
    let sum = |counts: fn(&Charge) -> bool| -> i128 {
        let of = |charges: &[Charge]| {
            charges.iter().filter(|charge| counts(charge)).map(|c| i128::from(c.amount.minor())).sum()
        };
        let line = |line: &&BankLine| -> i128 {
            // On the entry and on its details they are the same charges, told twice.
            if line.charges.is_empty() {
                line.details.iter().map(|detail| of(&detail.charges)).sum::<i128>()
            } else {
                of(&line.charges)
            }
        };
        link.movements.iter().map(line).sum()
    };
    let gap = gap(link);
    [sum(|_| true), sum(|charge| charge.included == Some(true)), sum(|charge| charge.included != Some(true))]
        .into_iter()
        .any(|fees| fees != 0 && (gap == fees || gap == -fees))
}
