//! No cent lost at the door: a statement is taken in only where the balances around it close (P2).

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot build its input has failed")]

use std::sync::Arc;

use chrono::NaiveDate;
use counterfoil::account::ledger::{Admission, BankLedger, Header};
use counterfoil::account::{Account, AccountId, BookComplete, Cadence, Opening};
use counterfoil::calendar::Calendar;
use counterfoil::money::{Currency, Money};
use counterfoil::proof::ProofStatus;
use counterfoil::statement::{
    AccountKind, AccountRef, Balance, BankLine, DayComplete, DaysOver, Format, LineKind, LineStatus, Marker, Statement,
};
use proptest::prelude::*;

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn brl(minor: i64) -> Money {
    Money::new(minor, Currency::new("BRL").unwrap())
}

fn account() -> Account {
    Account {
        id: AccountId::new("main").unwrap(),
        bank: None,
        branch: None,
        number: "1".into(),
        aliases: vec![],
        currency: Currency::new("BRL").unwrap(),
        calendar: Arc::new(Calendar::weekdays()),
        opening: None,
        statements: Cadence::Daily,
        day_complete: DayComplete::AsOf,
        book_complete: BookComplete::Balance,
    }
}

fn account_opened(date: &str, bank: i64) -> Account {
    Account { opening: Some(Opening { date: day(date), bank: brl(bank), book: brl(bank), items: vec![] }), ..account() }
}

/// A statement over days, with lines of (day, amount, text).
fn statement(from: &str, to: &str, lines: &[(&str, i64, &str)]) -> Statement {
    let lines = lines.iter().enumerate().map(|(at, (date, minor, text))| BankLine {
        ordinal: u32::try_from(at).unwrap() + 1,
        line: 1,
        kind: LineKind::Movement,
        status: LineStatus::Booked,
        booking_date: day(date),
        value_date: None,
        amount: brl(*minor),
        amount_text: String::new(),
        reversal: false,
        code: None,
        references: vec![],
        counterparty: None,
        description: (*text).to_owned(),
        details: vec![],
        charges: vec![],
    });
    Statement {
        account: AccountRef { bank: None, branch: None, number: "1".into(), kind: AccountKind::Bank },
        currency: Currency::new("BRL").unwrap(),
        id: None,
        sequence: None,
        from: day(from),
        to: day(to),
        over: DaysOver::Closed(Some(day(to))),
        opening: None,
        closing: None,
        markers: vec![],
        lines: lines.collect(),
        totals: vec![],
        line: 1,
    }
}

fn balanced(opening: Option<i64>, closing: i64, statement: Statement) -> Statement {
    Statement {
        opening: opening.map(|minor| Balance { amount: brl(minor), date: None }),
        closing: Some(Balance { amount: brl(closing), date: Some(statement.to) }),
        ..statement
    }
}

/// An OFX download: no opening, a balance as of a day that is not over yet.
fn download(from: &str, as_of: &str, closing: i64, lines: &[(&str, i64, &str)]) -> Statement {
    let mut statement = balanced(None, closing, statement(from, as_of, lines));
    statement.over = DaysOver::Download { as_of: Some(statement.to), end: None };
    statement
}

fn offer(ledger: &mut BankLedger, statement: &Statement) -> usize {
    match ledger.admit(Format::Ofx, statement) {
        Admission::Accepted(accepted) => {
            ledger.take(&accepted);
            accepted.new.len()
        }
        other => panic!("not accepted: {other:?}"),
    }
}

fn closing(ledger: &BankLedger, date: &str) -> (i128, bool) {
    let closing = ledger.closing(day(date)).unwrap();
    (closing.amount.minor(), closing.stated)
}

#[test]
fn the_same_statement_again_adds_nothing() {
    let mut ledger = BankLedger::new(&account());
    let lines = [("2026-11-10", 30, "A"), ("2026-11-10", 20, "B")];
    let file = balanced(Some(100), 150, statement("2026-11-09", "2026-11-10", &lines));
    assert_eq!(offer(&mut ledger, &file), 2);
    assert_eq!(offer(&mut ledger, &file), 0);
    assert_eq!(closing(&ledger, "2026-11-10"), (150, true));
}

#[test]
fn twins_of_one_day_are_two_lines_and_stay_two_when_the_file_comes_again() {
    let mut ledger = BankLedger::new(&account());
    let twins = [("2026-11-10", -5, "TRAM"), ("2026-11-10", -5, "TRAM")];
    let file = balanced(Some(100), 90, statement("2026-11-10", "2026-11-10", &twins));
    assert_eq!(offer(&mut ledger, &file), 2);
    assert_eq!(offer(&mut ledger, &file), 0);
}

#[test]
fn a_second_statement_of_the_same_day_that_opens_where_the_first_closed_adds_its_lines() {
    let mut ledger = BankLedger::new(&account());
    let first = balanced(Some(100), 95, statement("2026-11-10", "2026-11-10", &[("2026-11-10", -5, "TRAM")]));
    let second = balanced(Some(95), 90, statement("2026-11-10", "2026-11-10", &[("2026-11-10", -5, "TRAM")]));
    assert_eq!(offer(&mut ledger, &first), 1);
    assert_eq!(offer(&mut ledger, &second), 1, "the twin is another tram ride");
    assert_eq!(closing(&ledger, "2026-11-10"), (90, true));
    assert_eq!(closing(&ledger, "2026-11-09"), (100, true));
}

#[test]
fn an_overlapping_download_adds_only_what_is_not_known() {
    let mut ledger = BankLedger::new(&account());
    let first = download("2026-11-02", "2026-11-10", 130, &[("2026-11-09", 20, "A"), ("2026-11-10", 10, "B")]);
    let next = download(
        "2026-11-05",
        "2026-11-12",
        115,
        &[
            ("2026-11-09", 20, "A"),
            ("2026-11-10", 10, "B"),
            ("2026-11-10", -25, "LATE ON THE 10TH"),
            ("2026-11-12", 10, "B"),
        ],
    );
    assert_eq!(offer(&mut ledger, &first), 2);
    assert_eq!(offer(&mut ledger, &next), 2);
    assert_eq!(closing(&ledger, "2026-11-10"), (105, false), "from the nearest anchor, and said to be derived");
    assert_eq!(closing(&ledger, "2026-11-12"), (115, true));
    assert_eq!(ledger.covered_through(), Some(day("2026-11-11")));
}

#[test]
fn an_overlap_that_does_not_close_is_quarantined_with_the_arithmetic() {
    let mut ledger = BankLedger::new(&account());
    let first = balanced(Some(100), 120, statement("2026-11-09", "2026-11-09", &[("2026-11-09", 20, "A")]));
    offer(&mut ledger, &first);
    let other = balanced(Some(100), 125, statement("2026-11-09", "2026-11-09", &[("2026-11-09", 25, "A")]));
    let Admission::Quarantined { code, reason } = ledger.admit(Format::Ofx, &other) else { panic!("not quarantined") };
    assert_eq!(code, "STMT_OVERLAP");
    assert!(reason.contains("1.25") && reason.contains("difference"), "{reason}");
}

#[test]
fn a_repeat_of_movements_that_sum_to_nothing_closes_both_ways_and_is_quarantined() {
    let mut ledger = BankLedger::new(&account());
    let lines = [("2026-11-09", 5, "A"), ("2026-11-09", -5, "B")];
    let file = balanced(Some(100), 100, statement("2026-11-09", "2026-11-09", &lines));
    offer(&mut ledger, &file);
    assert!(matches!(ledger.admit(Format::Ofx, &file), Admission::Quarantined { code: "STMT_OVERLAP", .. }));
    // With the bank's own id it is the same statement, delivered again.
    let mut ledger = BankLedger::new(&account());
    let named = Statement { id: Some("17".into()), ..file };
    offer(&mut ledger, &named);
    assert_eq!(offer(&mut ledger, &named), 0);
}

#[test]
fn a_statement_after_a_gap_is_held_and_taken_in_when_the_gap_fills() {
    let mut ledger = BankLedger::new(&account());
    let monday = balanced(Some(100), 120, statement("2026-11-09", "2026-11-09", &[("2026-11-09", 20, "A")]));
    let tuesday = balanced(Some(120), 90, statement("2026-11-10", "2026-11-10", &[("2026-11-10", -30, "B")]));
    let wednesday = balanced(Some(90), 95, statement("2026-11-11", "2026-11-11", &[("2026-11-11", 5, "C")]));
    offer(&mut ledger, &monday);
    assert!(matches!(ledger.admit(Format::Ofx, &wednesday), Admission::Held { .. }));
    offer(&mut ledger, &tuesday);
    offer(&mut ledger, &wednesday);
    assert_eq!(closing(&ledger, "2026-11-11"), (95, true));
    let proofs = ledger.proofs(day("2026-11-08"), day("2026-11-11"));
    assert_eq!(proofs.len(), 3);
    assert!(proofs.iter().all(|proof| proof.status == ProofStatus::Proved));
}

#[test]
fn a_weekend_without_movement_is_no_gap() {
    let mut ledger = BankLedger::new(&account());
    offer(&mut ledger, &balanced(Some(100), 120, statement("2026-11-06", "2026-11-06", &[("2026-11-06", 20, "A")])));
    offer(&mut ledger, &balanced(Some(120), 121, statement("2026-11-09", "2026-11-09", &[("2026-11-09", 1, "B")])));
}

#[test]
fn a_first_statement_without_an_opening_starts_at_what_its_closing_implies_and_says_that_it_is_derived() {
    let mut ledger = BankLedger::new(&account());
    offer(&mut ledger, &download("2026-11-09", "2026-11-11", 130, &[("2026-11-09", 20, "A"), ("2026-11-10", 10, "B")]));
    let start = ledger.start().unwrap();
    assert_eq!((start.day, start.minor, start.stated), (day("2026-11-08"), 100, false));
    assert_eq!(closing(&ledger, "2026-11-10"), (130, true), "nothing moved between the 10th and the stated balance");
    assert_eq!(ledger.proofs(day("2026-11-08"), day("2026-11-10"))[0].status, ProofStatus::Derived);
}

#[test]
fn lines_up_to_the_settings_opening_are_kept_outside_every_proof() {
    let mut ledger = BankLedger::new(&account_opened("2026-11-09", 500));
    let lines = [("2026-11-05", 77, "OLD"), ("2026-11-10", 10, "B")];
    let file = download("2026-11-02", "2026-11-11", 510, &lines);
    let Admission::Accepted(accepted) = ledger.admit(Format::Ofx, &file) else { panic!("not accepted") };
    assert_eq!(accepted.new.iter().map(|line| line.before_opening).collect::<Vec<_>>(), [true, false]);
    ledger.take(&accepted);
    assert_eq!(closing(&ledger, "2026-11-10"), (510, true));
    let wrong = download("2026-11-02", "2026-11-12", 999, &lines);
    assert!(matches!(ledger.admit(Format::Ofx, &wrong), Admission::Quarantined { .. }));
}

#[test]
fn a_balance_stated_between_lines_is_an_anchor() {
    let mut ledger = BankLedger::new(&account());
    let lines = [("2026-11-09", 20, "A"), ("2026-11-10", 10, "B")];
    let mut file = balanced(Some(100), 130, statement("2026-11-09", "2026-11-10", &lines));
    file.markers = vec![Marker { date: day("2026-11-09"), amount: brl(120), after_lines: 1, line: 1 }];
    offer(&mut ledger, &file);
    assert_eq!(closing(&ledger, "2026-11-09"), (120, true));
    assert_eq!(ledger.proofs(day("2026-11-08"), day("2026-11-10")).len(), 2);
}

#[test]
fn one_format_at_a_time_delivers_a_day() {
    let mut ledger = BankLedger::new(&account());
    let file = balanced(Some(100), 120, statement("2026-11-09", "2026-11-09", &[("2026-11-09", 20, "A")]));
    offer(&mut ledger, &file);
    assert!(matches!(ledger.admit(Format::Camt053, &file), Admission::Quarantined { code: "FORMAT", .. }));
}

#[test]
fn a_day_that_was_not_over_yields_to_the_statement_that_ends_it() {
    let mut ledger = BankLedger::new(&account());
    offer(&mut ledger, &download("2026-11-09", "2026-11-10", 120, &[("2026-11-09", 20, "A")]));
    let after_noon = download("2026-11-10", "2026-11-11", 113, &[("2026-11-10", -7, "AFTER NOON")]);
    assert_eq!(offer(&mut ledger, &after_noon), 1);
    assert_eq!(closing(&ledger, "2026-11-10"), (113, true));
}

#[test]
fn statements_of_one_day_are_offered_as_they_chain_whatever_the_order_of_files() {
    let account = account();
    let morning = balanced(Some(100), 95, statement("2026-11-10", "2026-11-10", &[("2026-11-10", -5, "A")]));
    let noon = balanced(Some(95), 85, statement("2026-11-10", "2026-11-10", &[("2026-11-10", -10, "B")]));
    let evening = balanced(Some(85), 86, statement("2026-11-10", "2026-11-10", &[("2026-11-10", 1, "C")]));
    let files = [&evening, &morning, &noon];
    let headers = files
        .iter()
        .enumerate()
        .map(|(at, file)| (Header::of(Format::Camt053, file, account.day_complete), at))
        .collect();
    assert_eq!(Header::in_offering_order(headers), [1, 2, 0]);
}

/// Amounts of each of some days, in minor units; few values, so that twins and sums of zero are frequent.
fn days() -> impl Strategy<Value = Vec<Vec<i64>>> {
    let amount = prop_oneof![Just(-5_i64), Just(5), Just(7), -3_i64..=3].prop_filter("a movement", |minor| *minor != 0);
    proptest::collection::vec(proptest::collection::vec(amount, 0..5), 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Statements of any spans, again and again, in any order of lines: the ledger has each movement once, whatever comes.
    #[test]
    fn the_same_overlapping_and_regenerated_statements_add_nothing_that_is_not_new(
        days in days(),
        offers in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()), 1..12),
    ) {
        let first = day("2026-11-02");
        let date = |at: usize| first + chrono::Days::new(at as u64);
        // What the bank's balance is before each day, and after the last.
        let mut balances = vec![1000_i64];
        for amounts in &days {
            balances.push(balances.last().unwrap() + amounts.iter().sum::<i64>());
        }
        let mut ledger = BankLedger::new(&account_opened("2026-11-01", 1000));
        // Days that are covered, and movements that are known.
        let (mut covered, mut known) = (0_usize, 0_usize);
        for (from, to, backwards) in offers {
            // Any span that begins in, or right after, what is covered: whatever else would be held.
            let from = from.index(covered.min(days.len() - 1) + 1);
            let to = from + to.index(days.len() - from);
            let mut lines: Vec<(String, i64, &str)> = (from..=to)
                .flat_map(|at| days[at].iter().map(move |minor| (date(at).to_string(), *minor, "X")))
                .collect();
            if backwards {
                lines.reverse();
            }
            let lines: Vec<(&str, i64, &str)> = lines.iter().map(|(date, minor, text)| (date.as_str(), *minor, *text)).collect();
            let made = statement(&date(from).to_string(), &date(to).to_string(), &lines);
            let file = balanced(Some(balances[from]), balances[to + 1], made);
            match ledger.admit(Format::Ofx, &file) {
                Admission::Accepted(accepted) => {
                    ledger.take(&accepted);
                    known += accepted.new.len();
                    covered = covered.max(to + 1);
                }
                // Lines that cancel out close as repeated ones and as new ones: then nobody can tell, and nobody guesses.
                Admission::Quarantined { code, .. } => {
                    let repeated: i64 = days[from..covered.min(to + 1)].iter().flatten().sum();
                    prop_assert_eq!((code, repeated), ("STMT_OVERLAP", 0));
                }
                held @ Admission::Held { .. } => prop_assert!(false, "{:?}", held),
            }
            prop_assert_eq!(known, days[..covered].iter().map(Vec::len).sum::<usize>());
            if covered > 0 {
                let closing = ledger.closing(date(covered - 1)).unwrap();
                prop_assert_eq!((closing.amount.minor(), closing.stated), (i128::from(balances[covered]), true));
            }
        }
    }
}
