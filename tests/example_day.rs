//! The example day, reconciled: every file is taken, every proof holds, and each class of break that the day was made to
//! show is there, as often as it was built in and no more.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use counterfoil::account::Account;
use counterfoil::account::day::{Changed, DayInput, Standing, Take};
use counterfoil::account::ledger::{Admission, BankLedger};
use counterfoil::account::lines::{Taking, from_bank, from_book};
use counterfoil::account::registry::Registry;
use counterfoil::book;
use counterfoil::matching::{BreakClass, MatchStatus, Rule};
use counterfoil::proof::{ProofId, ProofStatus};
use counterfoil::report::AccountOutcome;
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

/// Every statement of the day, with the file that it came in.
fn statements(registry: &Registry) -> Vec<(&'static str, Account, statement::Format, statement::Statement)> {
    let mut all = Vec::new();
    for name in ["bank/extrato-2026-11-27.ofx", "bank/europe/statement-2026-11-27.xml"] {
        let input = statement::Input { bytes: &read(name) };
        let parsed = detect::parse(&input);
        let errors: Vec<_> = parsed
            .diagnostics
            .iter()
            .filter(|found| found.severity > counterfoil::diagnostic::Severity::Warning)
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        for statement in parsed.statements {
            let account = registry.find(&statement.account, statement.currency, None).found().unwrap().clone();
            all.push((name, account, parsed.format.unwrap(), statement));
        }
    }
    all
}

/// Postings and ledger balances of the day.
fn books() -> Vec<(&'static str, book::ParsedBook)> {
    let names = ["book/ledger-brl-2026-11-27.csv", "book/ledger-eur-2026-11-27.jsonl", "book/balances-2026-11-27.csv"];
    let parse = |name| {
        let parsed = book::parse(&book::Input { bytes: &read(name), profile: None });
        assert!(parsed.diagnostics.is_empty(), "{name}: {:#?}", parsed.diagnostics);
        (name, parsed)
    };
    names.map(parse).into()
}

/// One account-day, from the files.
fn reconcile(id: &str) -> AccountOutcome {
    let settings = settings();
    let registry = &settings.registry;
    let (file, account, format, statement) =
        statements(registry).into_iter().find(|(_, account, ..)| account.id.as_str() == id).unwrap();
    let mut ledger = BankLedger::new(&account);
    let admission = ledger.admit(format, &statement);
    assert!(matches!(admission, Admission::Accepted(_)), "{id}: {admission:?}");
    let Admission::Accepted(accepted) = admission else { unreachable!() };
    ledger.take(&accepted);
    assert_eq!(ledger.covered_through(), Some(friday()), "{id} is covered");
    let start = ledger.start().unwrap();
    let standing = Standing::start(&account, start);
    let taking = Taking { date: friday(), late: false };
    let takes = |day| matches!(standing.takes(day, friday(), start.day), Take::Now { late: false });
    let bank: Vec<_> = accepted
        .new
        .iter()
        .filter(|new| takes(new.ledger_day))
        .map(|new| from_bank(&account.id, file, &statement, new, taking).unwrap())
        .collect();
    let (mut book, mut book_stated) = (Vec::new(), None);
    for (file, parsed) in books() {
        let ours = |name: &str, currency| registry.find_book(name, currency).found().unwrap().id == account.id;
        let lines = parsed.lines.iter().filter(|line| ours(&line.account, line.amount.currency()) && takes(line.date));
        book.extend(lines.map(|line| from_book(file, line, taking)));
        let stated = parsed.balances.iter().find(|stated| ours(&stated.account, stated.closing.currency()));
        book_stated = stated.map(|stated| stated.closing).or(book_stated);
    }
    let proofs = ledger.proofs(start.day, friday());
    let day = DayInput {
        account: &account,
        date: friday(),
        revision: 0,
        rules: &settings.rules,
        standing: &standing,
        bank_closing: ledger.closing(friday()).unwrap(),
        book_stated,
        bank: &bank,
        book: &book,
        changed: &Changed::default(),
        door_proofs: &[],
        anchor_proofs: &proofs,
    };
    let (bank, book) = day.open_lines();
    let outcome = day.matched(&bank, &book);
    day.close(&bank, &book, outcome)
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
    let unproved: Vec<_> = outcome.proofs.iter().filter(|proof| proof.status != ProofStatus::Proved).collect();
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
    let settings = settings();
    let statements = statements(&settings.registry);
    let bank: usize = statements.iter().map(|(.., statement)| statement.movements().count()).sum();
    let book: usize = books().iter().map(|(_, parsed)| parsed.lines.len()).sum();
    assert!(bank > 300 && book > 300, "{bank} and {book}");
    let kinds = |kind| statements.iter().flat_map(|(.., s)| &s.lines).filter(|line| line.kind == kind).count();
    assert_eq!((kinds(LineKind::BalanceMarker), kinds(LineKind::ZeroAmount)), (8, 2));
    let pending = statements.iter().flat_map(|(.., s)| &s.lines).filter(|line| line.status == LineStatus::Pending);
    assert_eq!(pending.count(), 1);
    let ofx = detect::parse(&statement::Input { bytes: &read("bank/extrato-2026-11-27.ofx") });
    let codes: Vec<_> = ofx.diagnostics.iter().map(|found| found.code).collect();
    assert!(codes.contains(&"FITID"), "{codes:?}");
}
