//! The example day, reconciled: every file is taken, every proof holds, and each class of break that the day was made to
//! show is there, as often as it was built in and no more.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use counterfoil::book;
use counterfoil::matching::{BreakClass, MatchStatus, Rule};
use counterfoil::proof::{Proof, ProofId, ProofStatus};
use counterfoil::reconciliation::{self, BankFile, BookFile, Reconciliation, Request};
use counterfoil::report::{AccountOutcome, digest};
use counterfoil::settings::{Settings, SettingsFile, Sources};
use counterfoil::statement::{self, LineKind, LineStatus, detect};

/// The business date.
fn friday() -> NaiveDate {
    "2026-11-27".parse().unwrap()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn settings() -> Settings {
    let path = examples().join("counterfoil.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let file = Some(SettingsFile { path, text });
    let sources = Sources { file, folder: PathBuf::from("/srv"), host: "replica-1".into(), ..Sources::default() };
    Settings::load(&sources, &[]).unwrap()
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(examples().join("inbox").join(name)).unwrap()
}

/// The whole day, as the product reconciles it.
fn reconciled() -> Reconciliation {
    let settings = settings();
    let bank = ["bank/extrato-2026-11-27.ofx", "bank/europe/statement-2026-11-27.xml"].map(|name| {
        let bytes = read(name);
        BankFile {
            name: name.to_owned(),
            sha256: digest::of_bytes(&bytes),
            pinned: None,
            parsed: detect::parse(&statement::Input { bytes: &bytes }),
        }
    });
    let names = ["book/ledger-brl-2026-11-27.csv", "book/ledger-eur-2026-11-27.jsonl", "book/balances-2026-11-27.csv"];
    let book = names.map(|name| {
        let parsed = book::parse(&book::Input { bytes: &read(name), profile: None });
        BookFile { name: name.to_owned(), parsed }
    });
    let found = reconciliation::reconcile(Request {
        registry: &settings.registry,
        declared: true,
        rules: &settings.rules,
        calendar: &settings.schedule.calendar,
        date: None,
        bank: bank.into(),
        book: book.into(),
    })
    .unwrap();
    assert_eq!(found.date, Some(friday()), "every account is covered");
    assert!(!found.some_input_was_not_taken(), "{:#?}", found.diagnostics);
    found
}

/// One account-day of it.
fn reconcile(id: &str) -> AccountOutcome {
    let mut accounts = reconciled().accounts.into_iter();
    accounts.find(|account| account.outcome.account.as_str() == id).unwrap().outcome
}

/// How many breaks of each class.
fn classes(outcome: &AccountOutcome) -> BTreeMap<BreakClass, usize> {
    let mut classes = BTreeMap::new();
    for found in &outcome.breaks {
        *classes.entry(found.class).or_default() += 1;
    }
    classes
}

/// How many confirmed matches of each rule.
fn rules(outcome: &AccountOutcome) -> BTreeMap<Rule, usize> {
    let mut rules = BTreeMap::new();
    for found in outcome.matches.iter().filter(|found| found.status == MatchStatus::Confirmed) {
        *rules.entry(found.rule).or_default() += 1;
    }
    rules
}

fn assert_proved(outcome: &AccountOutcome) {
    for id in [ProofId::P2, ProofId::P4, ProofId::P5, ProofId::P6, ProofId::P7] {
        assert!(outcome.proofs.iter().any(|proof| proof.id == id), "{} has no {}", outcome.account, id.name());
    }
    // An OFX statement states no opening: nothing but the chain of balances (P2) can prove it.
    let alone = |proof: &&Proof| proof.id == ProofId::P1 && proof.status == ProofStatus::Unprovable;
    let unproved = outcome.proofs.iter().filter(|proof| proof.status != ProofStatus::Proved);
    let unproved: Vec<_> = unproved.filter(|proof| !alone(proof)).collect();
    assert!(unproved.is_empty(), "{}: {unproved:#?}", outcome.account);
}

#[test]
fn every_account_of_the_day_is_proved() {
    for id in ["operating", "receivables", "europe"] {
        assert_proved(&reconcile(id));
    }
}

#[test]
fn the_operating_account_shows_the_breaks_that_it_was_built_to_show() {
    use BreakClass::{
        Ambiguous, Amount, DateWindow, Direction, FeeUnbooked, MissingInBank, MissingInBook, RefConflict, Unconfirmed,
    };
    let outcome = reconcile("operating");
    let expected = [
        (MissingInBank, 3),
        (MissingInBook, 3),
        (Amount, 2),
        (DateWindow, 2),
        (Direction, 2),
        (RefConflict, 2),
        (Ambiguous, 5),
        (FeeUnbooked, 5),
        (Unconfirmed, 2),
    ];
    assert_eq!(classes(&outcome), expected.into(), "{:#?}", outcome.breaks);
    assert!(rules(&outcome).contains_key(&Rule::Reversal));
    let interchangeable = outcome.matches.iter().filter(|found| found.explanation.interchangeable).count();
    assert_eq!(interchangeable, 3);
}

#[test]
fn the_receivables_and_the_euro_account_show_theirs() {
    use BreakClass::{Ambiguous, Amount, DupBook, FeeUnbooked, MissingInBank, MissingInBook, Unconfirmed};
    let outcome = reconcile("receivables");
    // One payment that the books have twice: which of the two it is, nothing tells.
    let expected =
        [(MissingInBank, 1), (MissingInBook, 1), (Amount, 2), (FeeUnbooked, 4), (DupBook, 2), (Ambiguous, 1)];
    assert_eq!(classes(&outcome), expected.into(), "{:#?}", outcome.breaks);
    let outcome = reconcile("europe");
    let expected = [(MissingInBank, 1), (MissingInBook, 2), (Amount, 2), (FeeUnbooked, 1), (Unconfirmed, 2)];
    assert_eq!(classes(&outcome), expected.into(), "{:#?}", outcome.breaks);
}

#[test]
fn the_day_has_hundreds_of_lines_and_the_habits_of_its_banks() {
    let found = reconciled();
    let statements: Vec<_> = found.accounts.iter().flat_map(|account| &account.statements).collect();
    let bank: usize = statements.iter().map(|entry| entry.statement.movements().count()).sum();
    let book: u64 = found.accounts.iter().map(|account| account.outcome.book.lines).sum();
    assert!(bank > 300 && book >= 300, "{bank} and {book}");
    let kinds =
        |kind| statements.iter().flat_map(|entry| &entry.statement.lines).filter(|line| line.kind == kind).count();
    assert_eq!((kinds(LineKind::BalanceMarker), kinds(LineKind::ZeroAmount)), (8, 2));
    let pending =
        statements.iter().flat_map(|entry| &entry.statement.lines).filter(|line| line.status == LineStatus::Pending);
    assert_eq!(pending.count(), 1);
    let codes: Vec<_> = found.diagnostics.iter().map(|(_, found)| found.code).collect();
    assert!(codes.contains(&"FITID"), "{codes:?}");
}
