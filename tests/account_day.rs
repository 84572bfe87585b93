//! No cent lost in a day: P4–P7 are exact integer identities, and they hold for whatever was taken and matched.

#![expect(clippy::unwrap_used, reason = "a test that cannot build its input has failed")]

use std::sync::Arc;

use chrono::NaiveDate;
use counterfoil::account::day::{Changed, DayInput, Standing, Take, canonical};
use counterfoil::account::ledger::{Anchor, Closing};
use counterfoil::account::{Account, AccountId, BookComplete, Cadence, Opening};
use counterfoil::calendar::Calendar;
use counterfoil::matching::{
    BreakClass, Explanation, Match, MatchStatus, OpenLine, Origin, Outcome, Residue, Rule, RuleSet, Side,
};
use counterfoil::money::{Currency, Money, Total};
use counterfoil::proof::{ProofId, ProofStatus};
use counterfoil::report::{AccountOutcome, Bucket};
use counterfoil::statement::DayComplete;
use proptest::prelude::*;

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn brl(minor: i64) -> Money {
    Money::new(minor, Currency::new("BRL").unwrap())
}

fn total(minor: i128) -> Total {
    Total::new(minor, Currency::new("BRL").unwrap())
}

fn line(id: &str, date: &str, minor: i64) -> OpenLine {
    OpenLine {
        id: id.to_owned(),
        date: day(date),
        ledger_day: day(date),
        minor,
        references: vec![],
        counterparty: None,
        description: String::new(),
        code: None,
        reversal: false,
        reverses: None,
        group: None,
        origin: Origin::default(),
        first_seen: day("2026-11-10"),
        late: false,
    }
}

/// An account opened on 2026-11-09 with an open bank line of 30 and an open book line of −20: bank − book = 50.
fn account(bank: i64, book: i64) -> Account {
    let items = vec![(Side::Bank, line("B0", "2026-11-06", 30)), (Side::Book, line("L0", "2026-11-05", -20))];
    Account {
        id: AccountId::new("main").unwrap(),
        bank: None,
        branch: None,
        number: "1".into(),
        aliases: vec![],
        currency: Currency::new("BRL").unwrap(),
        calendar: Arc::new(Calendar::weekdays()),
        opening: Some(Opening { date: day("2026-11-09"), bank: brl(bank), book: brl(book), items }),
        statements: Cadence::Daily,
        day_complete: DayComplete::AsOf,
        book_complete: BookComplete::Balance,
    }
}

fn start() -> Anchor {
    Anchor { day: day("2026-11-09"), minor: 1_000, over: true, stated: true }
}

struct Day {
    account: Account,
    standing: Standing,
    bank: Vec<OpenLine>,
    book: Vec<OpenLine>,
    changed: Changed,
    bank_closing: i128,
    bank_stated: bool,
    book_stated: Option<i64>,
}

impl Day {
    /// Closes the day with the given confirmed pairs; every other open line is residue.
    fn close(&self, pairs: &[(&str, &str)]) -> AccountOutcome {
        let rules = RuleSet::default();
        let input = DayInput {
            account: &self.account,
            date: day("2026-11-10"),
            revision: 0,
            rules: &rules,
            standing: &self.standing,
            bank_closing: Closing { amount: total(self.bank_closing), stated: self.bank_stated, known: true },
            book_stated: self.book_stated.map(brl),
            bank: &self.bank,
            book: &self.book,
            changed: &self.changed,
            door_proofs: &[],
            anchor_proofs: &[],
        };
        let (bank, book) = input.open_lines();
        let matches = pairs.iter().map(|(of_bank, of_book)| Match {
            id: format!("{of_bank}{of_book}"),
            rule: Rule::StrongReference,
            status: MatchStatus::Confirmed,
            bank: vec![(*of_bank).to_owned()],
            book: vec![(*of_book).to_owned()],
            difference: 0,
            explanation: Explanation::default(),
        });
        let open = |lines: &[OpenLine], side: Side| -> Vec<Residue> {
            let consumed = |id: &str| pairs.iter().any(|(a, b)| if side == Side::Bank { *a == id } else { *b == id });
            let left = lines.iter().filter(|line| !consumed(&line.id));
            let class = if side == Side::Bank { BreakClass::MissingInBook } else { BreakClass::MissingInBank };
            left.map(|line| Residue { side, line: line.id.clone(), class, nearest: None }).collect()
        };
        let residue = [open(&bank, Side::Bank), open(&book, Side::Book)].concat();
        input.close(&bank, &book, Outcome { matches: matches.collect(), residue })
    }
}

fn sound_day() -> Day {
    let account = account(1_000, 950);
    let standing = Standing::start(&account, start());
    Day {
        account,
        standing,
        bank: vec![line("B1", "2026-11-10", 200), line("B2", "2026-11-10", -75)],
        book: vec![line("L1", "2026-11-10", 200), line("L2", "2026-11-10", 5)],
        changed: Changed::default(),
        bank_closing: 1_125,
        bank_stated: true,
        book_stated: Some(1_155),
    }
}

fn statuses(outcome: &AccountOutcome, id: ProofId) -> Vec<ProofStatus> {
    outcome.proofs.iter().filter(|proof| proof.id == id).map(|proof| proof.status).collect()
}

#[test]
fn a_day_whose_figures_all_come_from_outside_is_proved_in_every_identity() {
    let outcome = sound_day().close(&[("B1", "L1")]);
    assert!(outcome.proofs.iter().all(|proof| proof.status == ProofStatus::Proved), "{:?}", outcome.proofs);
    assert_eq!(outcome.proofs.len(), 10);
    let p5 = outcome.proofs.iter().find(|proof| proof.id == ProofId::P5).unwrap();
    // 1125 − 1155 = (30 − 75) − (−20 + 5)
    assert_eq!((p5.left.as_deref(), p5.right.as_deref()), (Some("-0.30"), Some("-0.30")));
    assert_eq!(outcome.position.bank.taken.lines, 3);
    assert_eq!(outcome.position.bank.matched.sum, total(200));
    assert_eq!(outcome.position.book.open.lines, 2);
}

#[test]
fn an_open_line_is_as_old_as_its_own_date_says_in_business_days() {
    let outcome = sound_day().close(&[("B1", "L1")]);
    let carried = outcome.breaks.iter().find(|open| open.line == "L0").unwrap();
    assert_eq!((carried.age_business_days, carried.bucket), (3, Bucket::UpTo3));
    let new = outcome.breaks.iter().find(|open| open.line == "B2").unwrap();
    assert_eq!((new.age_business_days, new.bucket, new.amount), (0, Bucket::UpTo1, brl(-75)));
}

#[test]
fn a_ledger_balance_that_differs_from_the_postings_fails_p4_with_the_difference() {
    let outcome = Day { book_stated: Some(1_150), ..sound_day() }.close(&[]);
    let p4 = outcome.proofs.iter().find(|proof| proof.id == ProofId::P4).unwrap();
    assert_eq!((p4.status, p4.difference.as_deref()), (ProofStatus::Failed, Some("0.05")));
    assert_eq!(statuses(&outcome, ProofId::P5), [ProofStatus::Failed]);
    assert!(statuses(&outcome, ProofId::P6).iter().all(|status| *status == ProofStatus::Proved));
}

#[test]
fn a_bank_line_that_was_lost_on_the_way_fails_p5() {
    let mut day = sound_day();
    day.bank.pop();
    assert_eq!(statuses(&day.close(&[("B1", "L1")]), ProofId::P5), [ProofStatus::Failed]);
}

#[test]
fn what_nobody_stated_is_derived_and_never_proved() {
    let no_balance = Day { book_stated: None, ..sound_day() }.close(&[]);
    assert_eq!(statuses(&no_balance, ProofId::P4), [ProofStatus::Derived]);
    assert_eq!(statuses(&no_balance, ProofId::P5), [ProofStatus::Derived]);
    let between_anchors = Day { bank_stated: false, ..sound_day() }.close(&[]);
    assert_eq!(statuses(&between_anchors, ProofId::P5), [ProofStatus::Derived]);
    let mut no_opening = sound_day();
    no_opening.account.opening = None;
    no_opening.standing = Standing::start(&no_opening.account, start());
    no_opening.book_stated = Some(1_205);
    let outcome = no_opening.close(&[]);
    assert_eq!(statuses(&outcome, ProofId::P4), [ProofStatus::Proved]);
    assert_eq!(statuses(&outcome, ProofId::P5), [ProofStatus::Derived]);
}

#[test]
fn a_changed_book_entry_leaves_and_its_bank_line_is_open_again() {
    let first = sound_day().close(&[("B1", "L1")]);
    let open = |side: Side, lines: &[OpenLine]| -> Vec<OpenLine> {
        let still = |line: &&OpenLine| first.breaks.iter().any(|open| open.side == side && open.line == line.id);
        lines.iter().filter(still).cloned().collect()
    };
    let all: Vec<OpenLine> = first.lines.bank.values().cloned().collect();
    let books: Vec<OpenLine> = first.lines.book.values().cloned().collect();
    let standing = Standing {
        date: day("2026-11-09"),
        position: first.position.clone(),
        bank: open(Side::Bank, &all),
        book: open(Side::Book, &books),
        stated_start: true,
        closed: true,
    };
    let changed = Changed {
        withdrawn: vec![line("L1", "2026-11-10", 200)],
        released_bank: vec![line("B1", "2026-11-10", 200)],
        released_book: vec![line("L1", "2026-11-10", 200)],
    };
    let next = Day {
        account: account(1_000, 950),
        standing,
        bank: vec![],
        book: vec![line("L1", "2026-11-10", 190)],
        changed,
        bank_closing: 1_125,
        bank_stated: true,
        book_stated: Some(1_145),
    };
    let outcome = next.close(&[]);
    assert!(outcome.proofs.iter().all(|proof| proof.status == ProofStatus::Proved), "{:?}", outcome.proofs);
    assert!(outcome.breaks.iter().any(|open| open.line == "B1"));
    let entry = outcome.breaks.iter().find(|open| open.line == "L1").unwrap();
    assert_eq!(entry.amount, brl(190));
    assert_eq!(outcome.position.book.taken.lines, 3);
    assert_eq!(outcome.position.bank.matched.lines, 0);
}

#[test]
fn a_day_takes_what_is_due_and_calls_late_what_its_own_closed_day_missed() {
    let account = account(1_000, 950);
    let mut standing = Standing::start(&account, start());
    let takes = |standing: &Standing, of: &str| standing.takes(day(of), day("2026-11-10"), day("2026-11-09"));
    assert_eq!(takes(&standing, "2026-11-11"), Take::Later);
    assert_eq!(takes(&standing, "2026-11-10"), Take::Now { late: false });
    assert_eq!(takes(&standing, "2026-11-09"), Take::BeforeStart);
    standing.date = day("2026-11-10");
    standing.closed = true;
    assert_eq!(standing.takes(day("2026-11-10"), day("2026-11-11"), day("2026-11-09")), Take::Now { late: true });
    assert_eq!(standing.takes(day("2026-11-11"), day("2026-11-11"), day("2026-11-09")), Take::Now { late: false });
}

proptest! {
    /// Whatever was taken and however much of it was paired, the identities hold; and they see one cent.
    #[test]
    fn the_identities_hold_for_any_lines_and_any_pairs_and_see_a_single_cent(
        bank in prop::collection::vec(-1_000_000_i64..1_000_000, 0..20),
        book in prop::collection::vec(-1_000_000_i64..1_000_000, 0..20),
        pairs in 0_usize..20,
        cent in prop::sample::select(vec![-1_i64, 1]),
    ) {
        let named = |prefix: &str, minors: &[i64]| -> Vec<OpenLine> {
            minors.iter().enumerate().map(|(at, minor)| line(&format!("{prefix}{at}x"), "2026-11-10", *minor)).collect()
        };
        // A pair matches equal amounts, as matching does.
        let pairs = pairs.min(bank.len()).min(book.len());
        let mut book = book;
        book[..pairs].copy_from_slice(&bank[..pairs]);
        let day = Day {
            bank_closing: 1_000 + bank.iter().map(|minor| i128::from(*minor)).sum::<i128>(),
            book_stated: Some(950 + book.iter().sum::<i64>()),
            bank: named("B", &bank),
            book: named("L", &book),
            ..sound_day()
        };
        let names: Vec<(String, String)> = (0..pairs).map(|at| (format!("B{at}x"), format!("L{at}x"))).collect();
        let names: Vec<(&str, &str)> = names.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let outcome = day.close(&names);
        prop_assert!(outcome.proofs.iter().all(|proof| proof.status == ProofStatus::Proved), "{:?}", outcome.proofs);
        let off = Day { bank_closing: day.bank_closing + i128::from(cent), ..day };
        prop_assert_eq!(statuses(&off.close(&names), ProofId::P5), [ProofStatus::Failed]);
    }

    #[test]
    fn the_canonical_order_does_not_depend_on_the_order_given(minors in prop::collection::vec(-5_i64..5, 0..12), seed in any::<u64>()) {
        let lines: Vec<OpenLine> =
            minors.iter().enumerate().map(|(at, minor)| line(&format!("L{at}"), "2026-11-10", *minor)).collect();
        let mut shuffled = lines.clone();
        shuffled.sort_by_key(|line| seed.wrapping_mul(line.id.bytes().map(u64::from).sum::<u64>() + 1));
        prop_assert_eq!(canonical(lines), canonical(shuffled));
    }
}
