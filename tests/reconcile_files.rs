//! The whole reconciliation of files, in memory: whatever their order, however often a line is delivered, one digest.

#![expect(clippy::unwrap_used, reason = "a test that cannot build its input has failed")]

#[path = "support/download.rs"]
mod download;

use std::sync::Arc;

use chrono::NaiveDate;
use counterfoil::account::registry::Registry;
use counterfoil::account::{Account, AccountId, BookComplete, Cadence, Opening};
use counterfoil::book;
use counterfoil::calendar::Calendar;
use counterfoil::diagnostic::Severity;
use counterfoil::matching::{MatchStatus, RuleSet};
use counterfoil::money::{Currency, Money};
use counterfoil::proof::ProofStatus;
use counterfoil::reconciliation::{BankFile, BookFile, Reconciliation, Request, Verdict, reconcile};
use counterfoil::report::digest;
use counterfoil::statement::{DayComplete, Input, detect};
use download::{Row, ofx};
use proptest::prelude::*;

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn account() -> Account {
    let brl = |minor| Money::new(minor, Currency::new("BRL").unwrap());
    Account {
        id: AccountId::new("main").unwrap(),
        bank: Some("001".into()),
        branch: None,
        number: "1234-5".into(),
        aliases: vec![],
        currency: Currency::new("BRL").unwrap(),
        calendar: Arc::new(Calendar::weekdays()),
        opening: Some(Opening { date: day("2026-11-06"), bank: brl(100_000), book: brl(100_000), items: vec![] }),
        statements: Cadence::Daily,
        day_complete: DayComplete::AsOf,
        book_complete: BookComplete::Balance,
    }
}

/// Reconciles files of (name, content) to 2026-11-10.
fn run(bank: &[(&str, &str)], books: &[(&str, &str)]) -> Reconciliation {
    run_of(account(), bank, books)
}

fn run_of(account: Account, bank: &[(&str, &str)], books: &[(&str, &str)]) -> Reconciliation {
    let registry = Registry::new(vec![account]).unwrap();
    let bank = bank.iter().map(|(name, text)| BankFile {
        name: (*name).to_owned(),
        sha256: digest::of_bytes(text.as_bytes()),
        pinned: None,
        parsed: detect::parse(&Input { bytes: text.as_bytes() }),
    });
    let book = books.iter().map(|(name, text)| BookFile {
        name: (*name).to_owned(),
        parsed: book::parse(&book::Input { bytes: text.as_bytes(), profile: None }),
    });
    let request = Request {
        registry: &registry,
        declared: true,
        rules: &RuleSet::default(),
        calendar: &Calendar::weekdays(),
        date: Some(day("2026-11-10")),
        bank: bank.collect(),
        book: book.collect(),
    };
    reconcile(request).unwrap()
}

const MONDAY: [Row<'_>; 3] = [
    ("2026-11-09", 25_000, "700001", "TED RECEBIDA CLIENTE A"),
    ("2026-11-09", -1_290, "", "TARIFA PACOTE"),
    ("2026-11-09", -440, "", "BONDE"),
];
const TUESDAY: [Row<'_>; 3] = [
    ("2026-11-10", -440, "", "BONDE"),
    ("2026-11-10", -440, "", "BONDE"),
    ("2026-11-10", -30_000, "900017", "PAGTO FORNECEDOR B"),
];
const BOOK: &str = "id,account,date,amount,currency,reference,counterparty,description\n\
    L1,main,2026-11-09,250.00,BRL,700001,Cliente A,TED\n\
    L2,main,2026-11-10,-300.00,BRL,900017,Fornecedor B,Pagamento\n\
    L3,main,2026-11-10,-99.90,BRL,555123,Fornecedor C,A pagar\n";
const BALANCE: &str = "account,date,currency,closing\nmain,2026-11-10,BRL,850.10\n";

fn whole() -> String {
    ofx("2026-11-09", "2026-11-11", "2026-11-11", 92_390, &[MONDAY, TUESDAY].concat())
}

fn books() -> [(&'static str, &'static str); 2] {
    [("book.csv", BOOK), ("balance.csv", BALANCE)]
}

#[test]
fn a_day_of_files_is_matched_proved_and_explained() {
    let result = run(&[("a.ofx", &whole())], &books());
    assert!(result.diagnostics.iter().all(|(_, found)| found.code != "INCOMPLETE"), "{:?}", result.diagnostics);
    let [account] = result.accounts.as_slice() else { panic!("one account, not {:?}", result.waiting) };
    let outcome = &account.outcome;
    assert_eq!((outcome.bank.lines, outcome.book.lines), (6, 3));
    let confirmed: Vec<_> = outcome
        .matches
        .iter()
        .filter(|found| found.status == MatchStatus::Confirmed)
        .map(|found| &found.book)
        .collect();
    assert_eq!(confirmed, [&["L1"], &["L2"]].map(|ids| ids.map(str::to_owned).to_vec()).iter().collect::<Vec<_>>());
    assert_eq!(outcome.breaks.len(), 5);
    let failed: Vec<_> = outcome.proofs.iter().filter(|proof| proof.status == ProofStatus::Failed).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let p5 = outcome.proofs.iter().find(|proof| proof.id.name() == "P5").unwrap();
    assert_eq!((p5.status, p5.left.as_deref()), (ProofStatus::Proved, Some("73.80")));
}

#[test]
fn two_downloads_that_overlap_come_to_the_digest_of_one() {
    let first = ofx("2026-11-09", "2026-11-10", "2026-11-10", 122_830, &[MONDAY.as_slice(), &TUESDAY[..1]].concat());
    let second = ofx("2026-11-10", "2026-11-11", "2026-11-11", 92_390, &TUESDAY);
    let two = run(&[("1.ofx", &first), ("2.ofx", &second)], &books());
    let swapped = run(&[("2.ofx", &first), ("1.ofx", &second)], &books());
    let outcome = &two.accounts[0].outcome;
    assert_eq!(outcome.bank.lines, 6, "three tram rides, whatever the number of files that tell of them");
    assert_eq!(two.digest, swapped.digest);
    // The manifest differs by a file, and the money does not: the same lines, matches and breaks.
    let one = run(&[("a.ofx", &whole())], &books());
    assert_eq!(outcome.matches, one.accounts[0].outcome.matches);
    assert_eq!(outcome.breaks, one.accounts[0].outcome.breaks);
    assert_eq!(outcome.position, one.accounts[0].outcome.position);
}

#[test]
fn a_statement_that_comes_again_in_other_bytes_changes_no_digest_and_adds_no_proof() {
    let one = run(&[("a.ofx", &whole())], &books());
    // Another download of the same days: other ids of the bank, other white space, another name.
    let again = whole().replace("<FITID>", "<FITID>R-").replace("</STMTTRN>", "  </STMTTRN>\r\n");
    let two = run(&[("a.ofx", &whole()), ("b.ofx", &again)], &books());
    assert!(two.accounts[0].statements.iter().all(|entry| entry.verdict == Verdict::Accepted));
    assert_eq!(two.accounts[0].outcome.proofs, one.accounts[0].outcome.proofs);
    assert_eq!(two.digest, one.digest);
}

#[test]
fn a_download_that_states_no_end_does_not_end_its_last_day() {
    let account = Account { day_complete: DayComplete::DtEnd, ..account() };
    let rows = [MONDAY, TUESDAY].concat();
    let stated = ofx("2026-11-09", "2026-11-10", "2026-11-10", 92_390, &rows);
    assert_eq!(run_of(account.clone(), &[("a.ofx", &stated)], &books()).waiting, []);
    let silent = stated.replace("<DTEND>20261110", "");
    let waiting = run_of(account, &[("a.ofx", &silent)], &books()).waiting;
    assert_eq!(waiting.len(), 1, "at noon of Tuesday, Tuesday is not over");
}

#[test]
fn a_statement_that_does_not_close_is_quarantined_and_its_account_waits() {
    let wrong = ofx("2026-11-09", "2026-11-11", "2026-11-11", 92_391, &[MONDAY, TUESDAY].concat());
    let result = run(&[("a.ofx", &wrong)], &books());
    assert!(result.accounts.is_empty());
    assert_eq!(result.other_statements[0].verdict, Verdict::Quarantined);
    assert_eq!(result.waiting.len(), 1);
    let said = result.diagnostics.iter().find(|(_, found)| found.code.starts_with("STMT")).unwrap();
    assert!(said.1.message.contains("0.01"), "{}", said.1.message);
}

#[test]
fn without_the_ledgers_balance_the_day_waits_and_says_for_what() {
    let result = run(&[("a.ofx", &whole())], &[("book.csv", BOOK)]);
    let [(account, missing)] = result.waiting.as_slice() else { panic!("nobody waits") };
    assert_eq!(account.as_str(), "main");
    assert_eq!(missing[0].to_string(), "the ledger's balance of 2026-11-10");
}

#[test]
fn where_no_balance_was_ever_stated_lines_are_matched_and_the_balances_are_unprovable() {
    let silent = whole().replace("<BALAMT>923.90<DTASOF>20261111", "<BALAMT>0.00<DTASOF>00000000");
    let account = Account { opening: None, ..account() };
    let result = run_of(account, &[("a.ofx", &silent)], &books());
    let outcome = &result.accounts[0].outcome;
    assert_eq!(outcome.matches.iter().filter(|found| found.status == MatchStatus::Confirmed).count(), 2);
    let status = |id: &str| outcome.proofs.iter().find(|proof| proof.id.name() == id).unwrap().status;
    assert_eq!((status("P4"), status("P5")), (ProofStatus::Unprovable, ProofStatus::Unprovable));
    assert_eq!((status("P6"), status("P7")), (ProofStatus::Proved, ProofStatus::Proved));
    assert!(!result.a_proof_failed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Lines within a day, in any order; files in any order and under any name; a file delivered twice.
    #[test]
    fn the_digest_does_not_depend_on_the_order_of_lines_or_files(
        rows in Just([MONDAY, TUESDAY].concat()).prop_shuffle(),
        rows_of_book in Just(vec![0_usize, 1, 2]).prop_shuffle(),
        names in Just(vec!["a", "b", "c"]).prop_shuffle(),
        twice in any::<bool>(),
    ) {
        let reference = run(&[("x.ofx", &whole())], &books());
        let bank = ofx("2026-11-09", "2026-11-11", "2026-11-11", 92_390, &rows);
        let mut lines = BOOK.lines();
        let header = lines.next().unwrap();
        let lines: Vec<&str> = lines.collect();
        let mut book = format!("{header}\n");
        for at in rows_of_book {
            book.push_str(lines[at]);
            book.push('\n');
        }
        let mut files = vec![(names[0], bank.as_str())];
        if twice {
            files.push((names[1], bank.as_str()));
        }
        let mut books = vec![(names[1], book.as_str()), (names[2], BALANCE)];
        if twice {
            books.push((names[0], book.as_str()));
        }
        let result = run(&files, &books);
        prop_assert_eq!(&result.accounts[0].outcome.matches, &reference.accounts[0].outcome.matches);
        prop_assert_eq!(&result.accounts[0].outcome.position, &reference.accounts[0].outcome.position);
        prop_assert_eq!(result.digest, reference.digest);
    }
}

#[test]
fn what_a_date_does_not_take_is_counted_and_said() {
    let early = "id,account,date,amount,currency,reference,counterparty,description\n\
        E1,main,2026-11-05,1.00,BRL,,,Before the opening\nE2,main,2026-11-11,2.00,BRL,,,After the date\n";
    let [book, balance] = books();
    let said = |account| {
        let result = run_of(account, &[("a.ofx", &whole())], &[book, balance, ("early.csv", early)]);
        let found = result.diagnostics.into_iter().map(|(_, found)| found);
        found
            .filter(|found| ["BEFORE_OPENING", "LATER"].contains(&found.code))
            .map(|found| (found.severity, found.message))
            .collect::<Vec<_>>()
    };
    let later = (Severity::Info, "account main: 1 postings dated after 2026-11-10 wait for their own date".to_owned());
    let before = "account main: 1 postings dated up to 2026-11-06 are left out: the settings' opening tells how both sides stood then";
    assert_eq!(said(account()), [(Severity::Info, before.to_owned()), later.clone()]);
    // Without an opening nobody said so, and one of them may be what a bank line wants.
    let guessed = said(Account { opening: None, ..account() });
    assert!(guessed[0].0 == Severity::Warning && guessed[0].1.contains("no opening is set"), "{guessed:?}");
    assert_eq!(guessed[1], later);
}
