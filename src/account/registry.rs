//! Which account a file speaks of.
//!
//! A bank's file names an account by what its format has: bank, branch, number, currency. Parts that it lacks do not
//! contradict; parts that it has must agree with what is declared. Books name it by the settings' id, a number or an
//! alias. No candidate, several, or another currency are three different answers, and none of them is decided here.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use super::clash::{Claim, Clash, clashes};
use super::{Account, AccountId};
use crate::money::Currency;
use crate::statement::AccountRef;

/// Every account, found by its names.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    pub(super) accounts: Vec<Account>,
    pub(super) by_id: HashMap<AccountId, usize>,
    /// By normalised number and alias.
    pub(super) by_number: HashMap<String, Vec<usize>>,
}

/// What a file's account is.
#[derive(Debug, Clone)]
pub enum Lookup<'a> {
    /// This one.
    Found(&'a Account),
    /// None: the break UNKNOWN_ACCOUNT; the statement waits.
    Unknown,
    /// Several, in order of their ids: refused.
    Ambiguous(Vec<AccountId>),
    /// It is known, in these other currencies alone: refused, CURRENCY.
    WrongCurrency(Vec<(AccountId, Currency)>),
    /// It lies in the folder of one account and names another: refused.
    Elsewhere {
        /// The folder's.
        pinned: AccountId,
        /// The one that it names.
        named: AccountId,
    },
}

/// A number as it is compared: spaces, `.`, `-`, `/` and leading zeros dropped, in upper case. A check digit stays.
pub fn normalised(number: &str) -> String {
    let bare: String =
        number.chars().filter(|c| !matches!(c, ' ' | '.' | '-' | '/')).flat_map(char::to_uppercase).collect();
    bare.trim_start_matches('0').to_owned()
}

/// As [`normalised`]; besides, a BIC of eight letters is the same as with the `XXX` of its main office (ISO 9362).
pub(super) fn normalised_bank(bank: &str) -> String {
    let bare = normalised(bank);
    match bare.strip_suffix("XXX") {
        Some(short) if bare.len() == 11 => short.to_owned(),
        _ => bare,
    }
}

/// Do two parts agree, one of which may be unsaid?
pub(super) fn agree(declared: Option<&str>, named: Option<&str>, form: fn(&str) -> String) -> bool {
    match (declared.map(form), named.map(form)) {
        (Some(declared), Some(named)) => declared == named || named.is_empty(),
        _ => true,
    }
}

// === impl Registry ===

impl Registry {
    /// Of these accounts; every clash among them is told.
    pub fn new(accounts: Vec<Account>) -> Result<Self, Vec<Clash>> {
        let claims: Vec<Claim> = accounts.iter().map(Claim::of).collect();
        let clashes = clashes(&claims);
        if !clashes.is_empty() {
            return Err(clashes);
        }
        let mut registry = Self::default();
        for (at, (account, claim)) in accounts.iter().zip(&claims).enumerate() {
            registry.by_id.insert(account.id.clone(), at);
            for number in claim.normalised() {
                registry.by_number.entry(number).or_default().push(at);
            }
        }
        registry.accounts = accounts;
        Ok(registry)
    }

    /// The accounts, in the order in which they were given.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// By id.
    pub fn get(&self, id: &AccountId) -> Option<&Account> {
        Some(&self.accounts[*self.by_id.get(id)?])
    }

    /// The account of a statement. `pinned` is the account in whose folder the file lies: it decides where the content
    /// names no account that is known, or several, and it contradicts where the content names another one.
    pub fn find(&self, account: &AccountRef, currency: Currency, pinned: Option<&AccountId>) -> Lookup<'_> {
        let candidates = self.candidates(account);
        let Some(pinned) = pinned.and_then(|id| self.get(id)) else { return Self::choose(candidates, currency) };
        if pinned.currency != currency {
            return Lookup::WrongCurrency(vec![(pinned.id.clone(), pinned.currency)]);
        }
        if candidates.iter().any(|candidate| candidate.id == pinned.id) {
            return Lookup::Found(pinned);
        }
        match Self::choose(candidates, currency) {
            Lookup::Found(named) => Lookup::Elsewhere { pinned: pinned.id.clone(), named: named.id.clone() },
            _ => Lookup::Found(pinned),
        }
    }

    /// The account of a posting or ledger balance, as the books name it: by id, number or alias.
    pub fn find_book(&self, name: &str, currency: Currency) -> Lookup<'_> {
        let by_id = AccountId::new(name.trim()).ok().and_then(|id| self.by_id.get(&id)).copied();
        let by_number = self.by_number.get(&normalised(name)).map(Vec::as_slice).unwrap_or_default();
        let found: BTreeSet<usize> = by_id.into_iter().chain(by_number.iter().copied()).collect();
        Self::choose(found.into_iter().map(|at| &self.accounts[at]).collect(), currency)
    }

    /// Those of any currency whose declared parts agree with what the file names.
    fn candidates(&self, named: &AccountRef) -> Vec<&Account> {
        let at = self.by_number.get(&normalised(&named.number)).map(Vec::as_slice).unwrap_or_default();
        at.iter()
            .map(|at| &self.accounts[*at])
            .filter(|account| {
                agree(account.bank.as_deref(), named.bank.as_deref(), normalised_bank)
                    && agree(account.branch.as_deref(), named.branch.as_deref(), normalised)
            })
            .collect()
    }

    fn choose(mut candidates: Vec<&Account>, currency: Currency) -> Lookup<'_> {
        candidates.sort_by(|a, b| a.id.cmp(&b.id));
        let (same, other): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|account| account.currency == currency);
        match (same.as_slice(), other.is_empty()) {
            ([account], _) => Lookup::Found(account),
            ([], true) => Lookup::Unknown,
            ([], false) => Lookup::WrongCurrency(other.iter().map(|a| (a.id.clone(), a.currency)).collect()),
            (several, _) => Lookup::Ambiguous(several.iter().map(|account| account.id.clone()).collect()),
        }
    }
}

// === impl Lookup ===

impl<'a> Lookup<'a> {
    /// The account, if it is one.
    pub fn found(self) -> Option<&'a Account> {
        match self {
            Self::Found(account) => Some(account),
            _ => None,
        }
    }

    /// A stable word for what it is, as in diagnostics; none where it was found.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::Found(_) => None,
            Self::Unknown => Some("UNKNOWN_ACCOUNT"),
            Self::Ambiguous(_) => Some("AMBIGUOUS_ACCOUNT"),
            Self::WrongCurrency(_) => Some("CURRENCY"),
            Self::Elsewhere { .. } => Some("OTHER_ACCOUNT"),
        }
    }
}

/// As the end of a sentence that begins with what was looked up.
impl fmt::Display for Lookup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found(account) => write!(f, "is {}", account.id),
            Self::Unknown => f.write_str("is no declared account"),
            Self::Ambiguous(candidates) => {
                let ids: Vec<&str> = candidates.iter().map(AccountId::as_str).collect();
                write!(
                    f,
                    "could be any of {}: declare bank or branch, or put the file in an account's folder",
                    ids.join(", ")
                )
            }
            Self::WrongCurrency(candidates) => {
                let of: Vec<_> = candidates.iter().map(|(id, currency)| format!("{id} ({currency})")).collect();
                write!(f, "is declared in another currency alone: {}", of.join(", "))
            }
            Self::Elsewhere { pinned, named } => write!(f, "is {named}, and the file lies in the folder of {pinned}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::account::{BookComplete, Cadence};
    use crate::calendar::Calendar;
    use crate::statement::{AccountKind, DayComplete};

    fn currency(code: &str) -> Currency {
        Currency::new(code).unwrap()
    }

    fn account(id: &str, bank: Option<&str>, branch: Option<&str>, number: &str, code: &str) -> Account {
        Account {
            id: AccountId::new(id).unwrap(),
            bank: bank.map(str::to_owned),
            branch: branch.map(str::to_owned),
            number: number.to_owned(),
            aliases: Vec::new(),
            currency: currency(code),
            calendar: Arc::new(Calendar::weekdays()),
            opening: None,
            statements: Cadence::default(),
            day_complete: DayComplete::default(),
            book_complete: BookComplete::default(),
        }
    }

    fn named(bank: Option<&str>, branch: Option<&str>, number: &str) -> AccountRef {
        AccountRef {
            bank: bank.map(str::to_owned),
            branch: branch.map(str::to_owned),
            number: number.to_owned(),
            kind: AccountKind::Bank,
        }
    }

    /// The answer as a word: an id, or the code with its candidates.
    fn told(lookup: &Lookup<'_>) -> String {
        match lookup {
            Lookup::Found(account) => account.id.to_string(),
            Lookup::Ambiguous(ids) => ids.iter().map(AccountId::as_str).collect::<Vec<_>>().join("|"),
            other => other.code().unwrap_or_default().to_owned(),
        }
    }

    fn registry() -> Registry {
        let mut alias = account("aliased", Some("237"), Some("1234"), "777", "BRL");
        alias.aliases = vec!["1234-777".into()];
        Registry::new(vec![
            account("one", Some("001"), Some("0042-7"), "12.345-6", "BRL"),
            account("two", Some("033"), None, "12345-6", "BRL"),
            account("dollars", Some("033"), None, "12345-6", "USD"),
            account("iban", Some("EXAMDEFFXXX"), None, "DE02 1203 0000 0000 2020 51", "EUR"),
            alias,
        ])
        .unwrap()
    }

    #[test]
    fn spelling_does_not_matter_and_the_check_digit_does() {
        let registry = registry();
        let find = |bank, branch, number| told(&registry.find(&named(bank, branch, number), currency("BRL"), None));
        assert_eq!(find(Some("1"), Some("427"), "00123456"), "one");
        assert_eq!(find(Some("0001"), None, "12345 / 6"), "one");
        assert_eq!(find(Some("001"), Some("0043"), "123456"), "UNKNOWN_ACCOUNT");
        assert_eq!(find(Some("001"), None, "12345"), "UNKNOWN_ACCOUNT");
        assert_eq!(find(None, None, "1234777"), "aliased");
        let iban = named(Some("EXAMDEFF"), None, "de02120300000000202051");
        assert_eq!(told(&registry.find(&iban, currency("EUR"), None)), "iban");
    }

    #[test]
    fn parts_that_a_file_lacks_do_not_contradict_and_several_candidates_are_named() {
        let registry = registry();
        let short = named(None, None, "123456");
        assert_eq!(told(&registry.find(&short, currency("BRL"), None)), "one|two");
        assert_eq!(told(&registry.find(&short, currency("USD"), None)), "dollars");
        assert_eq!(told(&registry.find(&short, currency("EUR"), None)), "CURRENCY");
        assert_eq!(told(&registry.find(&named(None, None, "000"), currency("BRL"), None)), "UNKNOWN_ACCOUNT");
    }

    #[test]
    fn a_folder_decides_between_candidates_and_never_against_the_content() {
        let registry = registry();
        let two = AccountId::new("two").unwrap();
        let find = |bank, number, code| told(&registry.find(&named(bank, None, number), currency(code), Some(&two)));
        assert_eq!(find(None, "123456", "BRL"), "two");
        assert_eq!(find(None, "", "BRL"), "two");
        assert_eq!(find(None, "99999", "BRL"), "two");
        assert_eq!(find(Some("001"), "123456", "BRL"), "OTHER_ACCOUNT");
        assert_eq!(find(None, "123456", "USD"), "CURRENCY");
        let stranger = AccountId::new("2026").unwrap();
        assert_eq!(told(&registry.find(&named(Some("001"), None, "123456"), currency("BRL"), Some(&stranger))), "one");
    }

    #[test]
    fn books_name_an_account_by_id_number_or_alias() {
        let registry = registry();
        let find = |name, code| told(&registry.find_book(name, currency(code)));
        assert_eq!(find("one", "BRL"), "one");
        assert_eq!(find("0777", "BRL"), "aliased");
        assert_eq!(find("12345-6", "BRL"), "one|two");
        assert_eq!(find("one", "USD"), "CURRENCY");
        assert_eq!(find("nobody", "BRL"), "UNKNOWN_ACCOUNT");
    }

    #[test]
    fn accounts_that_no_file_could_tell_apart_are_refused_all_at_once() {
        let mut third = account("third", None, None, "9", "BRL");
        third.aliases = vec!["0012345-6".into(), "0-0".into()];
        let clashes = Registry::new(vec![
            account("first", Some("001"), Some("1"), "123456", "BRL"),
            account("first", Some("001"), Some("2"), "123456", "BRL"),
            account("second", Some("1"), Some("01"), "12.345-6", "BRL"),
            third,
        ])
        .unwrap_err();
        let told: Vec<String> = clashes.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "first is the id of two accounts",
                "first and second are both BRL accounts of the number 123456, and nothing else tells them apart",
                "third has the number \"0-0\", which is empty once zeros and marks are dropped",
                "first and third are both BRL accounts of the number 123456, and nothing else tells them apart",
                "first and third are both BRL accounts of the number 123456, and nothing else tells them apart",
                "second and third are both BRL accounts of the number 123456, and nothing else tells them apart",
            ]
        );
    }
}
