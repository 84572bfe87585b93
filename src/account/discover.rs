//! Accounts where no settings declare any: `counterfoil reconcile` on files alone.
//!
//! Each number that is found is an account, and its id is that number; or more of its key, where the number alone does
//! not tell it apart. The outcome does not depend on the order of the files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::registry::{Registry, normalised, normalised_bank};
use super::{Account, AccountId, BookComplete, Cadence};
use crate::calendar::Calendar;
use crate::money::Currency;
use crate::statement::{AccountRef, DayComplete};

/// What tells one account from another, normalised.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    number: String,
    currency: Currency,
    bank: Option<String>,
    branch: Option<String>,
}

// === impl Registry ===

impl Registry {
    /// The accounts that statements and books speak of.
    pub fn discover<'a>(
        statements: impl IntoIterator<Item = (&'a AccountRef, Currency)>,
        books: impl IntoIterator<Item = (&'a str, Currency)>,
        calendar: &Arc<Calendar>,
    ) -> Self {
        // The number as it is written; of several spellings, the one that sorts first.
        let mut keys: BTreeMap<Key, String> = BTreeMap::new();
        for (account, currency) in statements {
            let written = keys.entry(Key::of(account, currency)).or_insert_with(|| account.number.clone());
            if account.number < *written {
                written.clone_from(&account.number);
            }
        }
        let all: Vec<Key> = keys.keys().cloned().collect();
        // A key that lacks a part, and that exactly one other completes, is that other.
        keys.retain(|key, _| all.iter().filter(|other| other.completes(key)).count() != 1);
        let known: BTreeSet<(String, Currency)> = keys.keys().map(|key| (key.number.clone(), key.currency)).collect();
        let mut of_books: BTreeMap<Key, String> = BTreeMap::new();
        for (name, currency) in books {
            let number = normalised(name);
            if !known.contains(&(number.clone(), currency)) {
                let key = Key { number, currency, bank: None, branch: None };
                of_books.entry(key).or_insert_with(|| name.to_owned());
            }
        }
        // What the bank says of an account names it: a row of the books in another currency under the same number is
        // another account, and must not rename this one, whose lines and digest carry the id.
        let named_by_bank = keys.iter().map(|(key, written)| (key, written, key.id(keys.keys())));
        let named_by_books =
            of_books.iter().map(|(key, written)| (key, written, key.id(keys.keys().chain(of_books.keys()))));
        let mut registry = Self::default();
        for (key, written, id) in named_by_bank.chain(named_by_books) {
            let Some(mut id) = id else { continue };
            // Two numbers may differ only in characters that an id cannot have.
            while registry.by_id.contains_key(&id) {
                let Ok(longer) = AccountId::new(&format!("{id}_")) else { break };
                id = longer;
            }
            let at = registry.accounts.len();
            registry.by_id.insert(id.clone(), at);
            registry.by_number.entry(key.number.clone()).or_default().push(at);
            registry.accounts.push(Account {
                id,
                bank: key.bank.clone(),
                branch: key.branch.clone(),
                number: written.clone(),
                aliases: Vec::new(),
                currency: key.currency,
                calendar: Arc::clone(calendar),
                opening: None,
                statements: Cadence::default(),
                day_complete: DayComplete::default(),
                book_complete: BookComplete::default(),
            });
        }
        registry
    }
}

// === impl Key ===

impl Key {
    fn of(account: &AccountRef, currency: Currency) -> Self {
        let part =
            |part: &Option<String>, form: fn(&str) -> String| part.as_deref().map(form).filter(|part| !part.is_empty());
        Self {
            number: normalised(&account.number),
            currency,
            bank: part(&account.bank, normalised_bank),
            branch: part(&account.branch, normalised),
        }
    }

    /// Does it say all that the other says, and more?
    fn completes(&self, other: &Self) -> bool {
        self != other
            && (&self.number, self.currency) == (&other.number, other.currency)
            && (other.bank.is_none() || other.bank == self.bank)
            && (other.branch.is_none() || other.branch == self.branch)
    }

    /// As much of it as tells it from the others, in characters that an id may have.
    fn id<'k>(&self, others: impl Iterator<Item = &'k Self>) -> Option<AccountId> {
        let same_number: Vec<&Self> = others.filter(|other| other.number == self.number).collect();
        let id = if same_number.len() == 1 {
            self.number.clone()
        } else if same_number.iter().filter(|other| other.currency == self.currency).count() == 1 {
            format!("{}-{}", self.number, self.currency)
        } else {
            let parts = [self.bank.as_deref(), self.branch.as_deref(), Some(&self.number), Some(self.currency.code())];
            parts.into_iter().flatten().collect::<Vec<_>>().join("-")
        };
        let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
        let safe: String = id.chars().map(fit).take(64).collect();
        AccountId::new(safe.trim_start_matches('.')).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::registry::Lookup;
    use crate::statement::AccountKind;

    fn currency(code: &str) -> Currency {
        Currency::new(code).unwrap()
    }

    fn named(bank: Option<&str>, branch: Option<&str>, number: &str) -> AccountRef {
        AccountRef {
            bank: bank.map(str::to_owned),
            branch: branch.map(str::to_owned),
            number: number.to_owned(),
            kind: AccountKind::Bank,
        }
    }

    #[test]
    fn a_book_row_in_another_currency_is_another_account_and_renames_none() {
        let statements = [(named(Some("001"), None, "12345-6"), currency("BRL"))];
        let calendar = Arc::new(Calendar::weekdays());
        let discover = |books: &[(&'static str, &str)]| -> Vec<String> {
            let books = books.iter().map(|(name, code)| (*name, currency(code)));
            let registry =
                Registry::discover(statements.iter().map(|(account, code)| (account, *code)), books, &calendar);
            registry.accounts().iter().map(|account| format!("{} {}", account.id, account.currency)).collect()
        };
        assert_eq!(discover(&[("12345-6", "BRL")]), ["123456 BRL"]);
        assert_eq!(discover(&[("12345-6", "USD"), ("12345-6", "BRL")]), ["123456 BRL", "123456-USD USD"]);
        assert_eq!(discover(&[("77", "EUR"), ("77", "USD")]), ["123456 BRL", "77-EUR EUR", "77-USD USD"]);
    }

    #[test]
    fn without_settings_an_account_is_the_number_found_whatever_the_order() {
        let statements = [
            (named(Some("001"), Some("42"), "12.345-6"), currency("BRL")),
            (named(None, None, "00123456"), currency("BRL")),
            (named(Some("033"), None, "555"), currency("BRL")),
            (named(Some("033"), None, "555"), currency("USD")),
            (named(Some("001"), None, "777"), currency("BRL")),
            (named(Some("237"), None, "777"), currency("BRL")),
        ];
        let books = [("123456", currency("BRL")), ("ledger/1", currency("EUR"))];
        let calendar = Arc::new(Calendar::weekdays());
        let discover = |turn: usize| {
            let mut turned: Vec<_> = statements.iter().map(|(account, currency)| (account, *currency)).collect();
            turned.rotate_left(turn);
            Registry::discover(turned, books, &calendar)
        };
        let ids = |registry: &Registry| -> Vec<String> {
            registry.accounts().iter().map(|account| format!("{} {}", account.id, account.currency)).collect()
        };
        let registry = discover(0);
        assert_eq!(
            ids(&registry),
            ["123456 BRL", "555-BRL BRL", "555-USD USD", "1-777-BRL BRL", "237-777-BRL BRL", "LEDGER1 EUR"]
        );
        for turn in 1..statements.len() {
            assert_eq!(ids(&discover(turn)), ids(&registry));
        }
        for (account, currency) in &statements {
            assert!(matches!(registry.find(account, *currency, None), Lookup::Found(_)), "{account:?}");
        }
        for (name, currency) in books {
            assert!(matches!(registry.find_book(name, currency), Lookup::Found(_)), "{name}");
        }
    }
}
