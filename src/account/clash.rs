//! Accounts that no file could tell apart: refused when they are declared.

use std::collections::{BTreeMap, BTreeSet};

use super::Account;
use super::registry::{agree, normalised, normalised_bank};
use crate::money::Currency;

/// What of an account's declaration tells it from others. What could not be read is absent, and clashes with nothing, so
/// that clashes can be told beside other faults.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Its id, as it is written.
    pub id: Option<String>,
    /// Bank code, ISPB or BIC.
    pub bank: Option<String>,
    /// Branch.
    pub branch: Option<String>,
    /// Its number and aliases, as they are written.
    pub numbers: Vec<String>,
    /// Its currency.
    pub currency: Option<Currency>,
}

/// Two accounts that no file could tell apart. `at` is the place among the declarations, from 0, of the one that is too
/// many.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Clash {
    /// One id twice.
    #[error("{id} is the id of two accounts")]
    Id {
        /// The later one.
        at: usize,
        /// The id.
        id: String,
    },
    /// One key twice.
    #[error(
        "{first} and {second} are both {currency} accounts of the number {number}, and nothing else tells them apart"
    )]
    Key {
        /// The later one.
        at: usize,
        /// The one that is declared first.
        first: String,
        /// The other.
        second: String,
        /// The number or alias, normalised.
        number: String,
        /// Their currency.
        currency: Currency,
    },
    /// Nothing is left of a number.
    #[error("{account} has the number {number:?}, which is empty once zeros and marks are dropped")]
    NoNumber {
        /// Which.
        at: usize,
        /// Whose.
        account: String,
        /// As declared.
        number: String,
    },
}

/// Every clash among these declarations.
pub fn clashes(claims: &[Claim]) -> Vec<Clash> {
    let mut clashes = Vec::new();
    let mut ids = BTreeSet::new();
    let mut by_number: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, claim) in claims.iter().enumerate() {
        if let Some(id) = &claim.id
            && !ids.insert(id)
        {
            clashes.push(Clash::Id { at, id: id.clone() });
        }
        for number in claim.numbers.iter().filter(|number| normalised(number).is_empty()) {
            clashes.push(Clash::NoNumber { at, account: claim.name(), number: number.clone() });
        }
        for number in claim.normalised() {
            let same = by_number.entry(number.clone()).or_default();
            for first in same.iter().map(|first| &claims[*first]) {
                if first.id != claim.id
                    && let Some(currency) = first.overlap(claim)
                {
                    let (first, second) = (first.name(), claim.name());
                    clashes.push(Clash::Key { at, first, second, number: number.clone(), currency });
                }
            }
            same.push(at);
        }
    }
    clashes
}

// === impl Claim ===

impl Claim {
    /// Of an account that could be read whole.
    pub(super) fn of(account: &Account) -> Self {
        Self {
            id: Some(account.id.to_string()),
            bank: account.bank.clone(),
            branch: account.branch.clone(),
            numbers: std::iter::once(&account.number).chain(&account.aliases).cloned().collect(),
            currency: Some(account.currency),
        }
    }

    fn name(&self) -> String {
        self.id.clone().unwrap_or_else(|| "an account without an id".to_owned())
    }

    /// Its numbers as they are compared, each once.
    pub(super) fn normalised(&self) -> BTreeSet<String> {
        self.numbers.iter().map(|number| normalised(number)).filter(|number| !number.is_empty()).collect()
    }

    /// The currency in which both could be meant by one file that names a number of both.
    fn overlap(&self, other: &Self) -> Option<Currency> {
        let currency = self.currency.filter(|_| self.currency == other.currency)?;
        let agree = agree(self.bank.as_deref(), other.bank.as_deref(), normalised_bank)
            && agree(self.branch.as_deref(), other.branch.as_deref(), normalised);
        agree.then_some(currency)
    }
}
