//! Ledger balances: `account,date,currency,closing`, what the books say that they hold at the end of a day.

use std::collections::HashMap;

use super::LedgerBalance;
use super::cells::{Cells, Reading};
use super::profile::{Field, Sign};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// Reads one record. `None` where something of it cannot be read; every such thing is a finding.
pub(super) fn read(cells: &impl Cells, reading: &mut Reading<'_>) -> Option<LedgerBalance> {
    reading.no_controls(cells);
    let account = reading.account(cells);
    let date = reading.date(cells);
    let closing = reading.currency(cells).and_then(|currency| reading.money(cells, Field::Closing, currency));
    let closing = match reading.profile.sign {
        Sign::Inverse => closing?.checked_neg(),
        Sign::Signed | Sign::Indicator => closing,
    };
    Some(LedgerBalance { account: account?, date: date?, closing: closing?, line: cells.line() })
}

/// An account has one balance at the end of a day: a second one that differs is an error, an equal one is dropped.
pub(super) fn without_duplicates(balances: Vec<LedgerBalance>, diagnostics: &mut Diagnostics) -> Vec<LedgerBalance> {
    let mut first: HashMap<(String, chrono::NaiveDate, crate::money::Currency), LedgerBalance> = HashMap::new();
    let mut kept = Vec::with_capacity(balances.len());
    for balance in balances {
        let key = (balance.account.clone(), balance.date, balance.closing.currency());
        let Some(earlier) = first.get(&key) else {
            first.insert(key, balance.clone());
            kept.push(balance);
            continue;
        };
        if earlier.closing != balance.closing {
            let message = format!(
                "closing: found {} for account {:?} on {}, and {} in line {}: a day ends with one balance",
                balance.closing, balance.account, balance.date, earlier.closing, earlier.line
            );
            diagnostics.push(Diagnostic::new(Severity::Error, "DUPLICATE", message).at_line(balance.line));
        }
    }
    kept
}
