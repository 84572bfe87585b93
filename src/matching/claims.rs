//! Claims about matching, a sentence each. Those that name an issue show what went wrong elsewhere going right here.

use chrono::{NaiveDate, Weekday};

use super::{
    BreakClass, Input, Match, MatchStatus, OpenLine, Origin, Outcome, Residue, Rule, RuleSet, Side, reconcile,
};
use crate::calendar::Calendar;
use crate::money::Currency;
use crate::reference::{Reference, ReferenceKind};
use crate::statement::Counterparty;

pub(super) fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// A line of a Tuesday, with nothing but its amount.
pub(super) fn line(id: &str, minor: i64) -> OpenLine {
    OpenLine {
        id: id.into(),
        date: day("2026-05-12"),
        ledger_day: day("2026-05-12"),
        minor,
        references: Vec::new(),
        counterparty: None,
        description: String::new(),
        code: None,
        reversal: false,
        reverses: None,
        group: None,
        origin: Origin::default(),
        first_seen: day("2026-05-13"),
        late: false,
    }
}

impl OpenLine {
    pub(super) fn on(mut self, date: &str) -> Self {
        self.date = day(date);
        self.ledger_day = self.date;
        self
    }

    pub(super) fn says(mut self, text: &str) -> Self {
        self.description = text.into();
        self
    }

    pub(super) fn refers(mut self, kind: ReferenceKind, value: &str) -> Self {
        self.references.extend(Reference::new(kind, value));
        self
    }

    fn with(mut self, name: &str, tax_id: Option<&str>) -> Self {
        let (name, tax_id) = (Some(name.into()), tax_id.map(Into::into));
        self.counterparty = Some(Counterparty { name, tax_id, ..Counterparty::default() });
        self
    }

    fn voids(mut self, id: &str) -> Self {
        self.reverses = Some(id.into());
        self
    }
}

pub(super) fn run_with(bank: &[OpenLine], book: &[OpenLine], calendar: &Calendar, rules: &RuleSet) -> Outcome {
    reconcile(&Input { bank, book, currency: Currency::new("BRL").unwrap(), calendar, rules })
}

pub(super) fn run(bank: &[OpenLine], book: &[OpenLine]) -> Outcome {
    run_with(bank, book, &Calendar::weekdays(), &RuleSet::default())
}

fn only(outcome: &Outcome) -> &Match {
    assert_eq!(outcome.matches.len(), 1, "{outcome:#?}");
    &outcome.matches[0]
}

fn left<'a>(outcome: &'a Outcome, id: &str) -> &'a Residue {
    outcome
        .residue
        .iter()
        .find(|residue| residue.line == id)
        .unwrap_or_else(|| panic!("{id} is not left: {outcome:#?}"))
}

fn class(outcome: &Outcome, id: &str) -> BreakClass {
    left(outcome, id).class
}

fn why(outcome: &Outcome, id: &str) -> String {
    left(outcome, id).nearest.as_ref().map_or(String::new(), |nearest| nearest.why.clone())
}

const E2E: ReferenceKind = ReferenceKind::EndToEnd;
const UNTYPED: ReferenceKind = ReferenceKind::Untyped;
const DOCUMENT: ReferenceKind = ReferenceKind::Document;
const CHEQUE: ReferenceKind = ReferenceKind::Cheque;

// Strong references.

#[test]
fn a_strong_reference_and_the_amount_make_a_match_however_far_the_dates_are_apart() {
    let outcome = run(
        &[line("b", -10_000).on("2026-05-12").refers(E2E, "INV-7")],
        &[line("k", -10_000).on("2025-11-03").refers(E2E, "inv-7 ")],
    );
    let found = only(&outcome);
    assert_eq!((found.rule, found.status, found.difference), (Rule::StrongReference, MatchStatus::Confirmed, 0));
    assert_eq!(
        found.sentence(),
        "The same end-to-end id INV-7 and the same amount -100.00; bank 2026-05-12, book 2025-11-03."
    );
    assert!(outcome.residue.is_empty());
}

#[test]
fn an_untyped_value_is_strong_from_six_characters_with_a_digit_and_equals_a_typed_one() {
    let strong =
        run(&[line("b", 5).refers(E2E, "NF90061")], &[line("k", 5).on("2025-01-02").refers(UNTYPED, "NF90061")]);
    assert_eq!(only(&strong).rule, Rule::StrongReference);
    for weak in ["NF901", "INVOICE"] {
        let outcome =
            run(&[line("b", 5).refers(UNTYPED, weak)], &[line("k", 5).on("2025-01-02").refers(UNTYPED, weak)]);
        assert_eq!(outcome.matches, [], "{weak}");
    }
}

#[test]
fn a_short_typed_value_is_strong_among_its_own_kind_and_leading_zeros_are_none_of_it() {
    let bank = [line("b", -700).on("2026-05-12").refers(CHEQUE, "000123")];
    let same = run(&bank, &[line("k", -700).on("2026-01-12").refers(CHEQUE, "123")]);
    assert_eq!(only(&same).rule, Rule::StrongReference);
    let other = run(&bank, &[line("k", -700).on("2026-01-12").refers(DOCUMENT, "123")]);
    assert_eq!(other.matches, []);
}

#[test]
fn an_id_that_the_bank_assigned_matches_only_where_the_book_has_the_same_kind_and_value() {
    let bank = [line("b", 5).on("2026-05-12").refers(ReferenceKind::FitId, "2026051200017")];
    let same = run(&bank, &[line("k", 5).on("2026-01-12").refers(ReferenceKind::FitId, "2026051200017")]);
    assert_eq!(only(&same).rule, Rule::StrongReference);
    let untyped = run(&bank, &[line("k", 5).on("2026-01-12").refers(UNTYPED, "2026051200017")]);
    assert_eq!(untyped.matches, []);
}

#[test]
fn a_reference_that_two_lines_of_a_side_have_is_not_strong_and_needs_the_window() {
    let bank = [
        line("b1", -100).on("2026-05-12").refers(DOCUMENT, "900619"),
        line("b2", -200).on("2026-05-12").refers(DOCUMENT, "900619"),
    ];
    let book = [
        line("k1", -100).on("2026-05-11").refers(DOCUMENT, "900619"),
        line("k2", -200).on("2026-02-11").refers(DOCUMENT, "900619"),
    ];
    let outcome = run(&bank, &book);
    assert_eq!((only(&outcome).rule, &*only(&outcome).book[0]), (Rule::RareToken, "k1"));
    assert_eq!(class(&outcome, "b2"), BreakClass::DateWindow);
    assert_eq!(
        why(&outcome, "b2"),
        "Both carry document 900619 and -2.00, but are 64 business days apart: outside the window."
    );
}

#[test]
fn the_direction_is_part_of_the_key_so_a_payment_and_its_return_do_not_hide_each_other() {
    let bank = [line("out", -100).refers(E2E, "PAY-77"), line("back", 100).on("2026-05-14").refers(E2E, "PAY-77")];
    let outcome = run(&bank, &[line("k", -100).on("2026-01-05").refers(E2E, "PAY-77")]);
    assert_eq!((only(&outcome).rule, &*only(&outcome).bank[0]), (Rule::StrongReference, "out"));
    assert_eq!(class(&outcome, "back"), BreakClass::MissingInBook);
}

#[test]
fn one_line_that_two_references_tie_to_two_others_is_ambiguous_and_weaker_evidence_may_not_choose() {
    let bank = [line("b", 500).refers(E2E, "ORDER-1").refers(DOCUMENT, "778899").says("ACME")];
    let book = [line("k1", 500).refers(E2E, "ORDER-1").says("ACME"), line("k2", 500).refers(DOCUMENT, "778899")];
    let outcome = run(&bank, &book);
    assert_eq!(outcome.matches, []);
    for id in ["b", "k1", "k2"] {
        assert_eq!(class(&outcome, id), BreakClass::Ambiguous, "{id}");
    }
    assert_eq!(
        why(&outcome, "b"),
        "By reference and amount 2 book lines could be meant, and nothing tells which; the first is k1."
    );
    assert_eq!(
        why(&outcome, "k1"),
        "By reference and amount only bank line b could be meant, but other lines claim it as well."
    );
}

// Vetoes.

#[test]
fn equal_amounts_with_two_document_numbers_are_a_conflict_and_never_a_match_erpnext_46725() {
    let outcome = run(
        &[line("b", 25_000).refers(DOCUMENT, "900619").says("ACME")],
        &[line("k", 25_000).refers(DOCUMENT, "712219").says("ACME")],
    );
    assert_eq!(outcome.matches, []);
    assert_eq!(class(&outcome, "b"), BreakClass::RefConflict);
    assert_eq!(class(&outcome, "k"), BreakClass::RefConflict);
    assert_eq!(
        why(&outcome, "b"),
        "Both have 250.00 within the window, but the bank says document 900619 and the books 712219."
    );
}

#[test]
fn a_conflict_of_one_type_outweighs_the_agreement_of_another() {
    let outcome = run(
        &[line("b", 9).refers(E2E, "ORDER-1").refers(CHEQUE, "11")],
        &[line("k", 9).refers(E2E, "ORDER-1").refers(CHEQUE, "12")],
    );
    assert_eq!(outcome.matches, []);
    assert_eq!(class(&outcome, "b"), BreakClass::RefConflict);
    assert_eq!(
        why(&outcome, "k"),
        "Both carry end-to-end id ORDER-1 and 0.09, but the bank says cheque 11 and the books 12."
    );
}

#[test]
fn values_of_different_types_or_of_no_type_contradict_nothing() {
    let outcome = run(
        &[line("b", 9).refers(DOCUMENT, "11").refers(UNTYPED, "A-1").says("ACME")],
        &[line("k", 9).refers(CHEQUE, "12").refers(UNTYPED, "A-2").says("ACME")],
    );
    assert_eq!(only(&outcome).rule, Rule::RareToken);
}

// Tokens.

#[test]
fn a_rare_token_with_amount_and_window_makes_a_match() {
    let outcome = run(
        &[line("b", 123_456).says("PIX RECEBIDO ACME COMERCIO LTDA")],
        &[line("k", 123_456).on("2026-05-08").says("Acmé comércio, fatura de maio")],
    );
    let found = only(&outcome);
    assert_eq!((found.rule, found.status), (Rule::RareToken, MatchStatus::Confirmed));
    assert_eq!(
        found.sentence(),
        "Both name token ACME, with the same amount 1234.56; bank 2026-05-12, book 2026-05-08, within the window."
    );
}

#[test]
fn a_number_in_a_text_meets_the_same_number_as_a_reference_and_a_tax_id_however_written() {
    let number = run(&[line("b", 70).says("PAGTO NF-900619")], &[line("k", 70).refers(UNTYPED, "900619")]);
    assert_eq!(only(&number).explanation.keys[0].bank, "900619");
    let tax_id =
        run(&[line("b", 70).says("TED 12.345.678/0001-90")], &[line("k", 70).with("Whoever", Some("12345678000190"))]);
    assert_eq!(only(&tax_id).explanation.keys[0].bank, "12345678000190");
}

#[test]
fn words_that_every_statement_has_connect_nothing() {
    let outcome = run(
        &[line("b", 60_000).says("PIX RECEBIDO 12/05/2026 JOAO DA SILVA 600,00")],
        &[line("k", 60_000).says("Recebido Pix 12/05/2026 Maria Silva 600,00")],
    );
    assert_eq!((only(&outcome).rule, only(&outcome).status), (Rule::AmountWindow, MatchStatus::Suggested));
}

#[test]
fn a_token_that_more_lines_have_than_are_rare_is_no_evidence() {
    let side = |side: &str| (1..=3).map(|n| line(&format!("{side}{n}"), n * 100).says("ACME")).collect::<Vec<_>>();
    let rules = RuleSet { rare_token_limit: 2, ..RuleSet::default() };
    let outcome = run_with(&side("b"), &side("k"), &Calendar::weekdays(), &rules);
    assert!(outcome.matches.iter().all(|found| found.rule == Rule::AmountWindow));
    let outcome = run(&side("b"), &side("k"));
    assert!(outcome.matches.iter().all(|found| found.rule == Rule::RareToken) && outcome.matches.len() == 3);
}

#[test]
fn an_invoice_number_tells_two_payments_of_one_customer_apart() {
    let outcome = run(
        &[line("b1", 500).says("ACME INV 10017"), line("b2", 500).says("ACME INV 10018")],
        &[line("k1", 500).says("10018 ACME"), line("k2", 500).says("10017 ACME")],
    );
    let pairs: Vec<_> = outcome.matches.iter().map(|found| (&*found.bank[0], &*found.book[0], found.rule)).collect();
    assert_eq!(pairs, [("b1", "k2", Rule::RareToken), ("b2", "k1", Rule::RareToken)]);
}

// Windows.

fn window(bank: &str, book: &str, calendar: &Calendar) -> bool {
    let bank = [line("b", 600).on(bank).says("ACME")];
    let book = [line("k", 600).on(book).says("ACME")];
    run_with(&bank, &book, calendar, &RuleSet::default()).matches.iter().any(|found| found.rule == Rule::RareToken)
}

#[test]
fn the_book_may_precede_the_bank_by_five_business_days_and_follow_by_one() {
    let calendar = Calendar::weekdays();
    let tuesday = "2026-05-12";
    assert!(window(tuesday, "2026-05-05", &calendar));
    assert!(!window(tuesday, "2026-05-04", &calendar));
    assert!(window(tuesday, "2026-05-13", &calendar));
    assert!(!window(tuesday, "2026-05-14", &calendar));
}

#[test]
fn weekends_and_holidays_do_not_use_the_window_up() {
    let calendar = Calendar::weekdays();
    assert!(window("2026-05-15", "2026-05-18", &calendar), "Friday's line, Monday's entry");
    assert!(!window("2026-05-15", "2026-05-19", &calendar));
    assert!(window("2026-05-16", "2026-05-18", &calendar), "a Saturday counts as the Friday before it");
    let holidays = ["2026-05-18", "2026-05-08"].map(day);
    let calendar = Calendar::new("h", [Weekday::Sat, Weekday::Sun], holidays).unwrap();
    assert!(window("2026-05-15", "2026-05-19", &calendar), "the Monday between is a holiday");
    assert!(window("2026-05-12", "2026-05-04", &calendar), "so is the Friday between");
    assert!(window("2026-12-31", "2027-01-01", &calendar), "the year's end is no wall");
}

#[test]
fn a_shared_token_outside_the_window_is_a_date_window_break() {
    let outcome = run(&[line("b", 5).says("ACME")], &[line("k", 5).on("2026-03-12").says("ACME")]);
    assert_eq!(class(&outcome, "b"), BreakClass::DateWindow);
    assert_eq!(why(&outcome, "k"), "Both name ACME and 0.05, but are 43 business days apart: outside the window.");
}

// Suggestions.

#[test]
fn amount_and_window_alone_is_a_suggestion_at_most_actual_7855() {
    let outcome = run(
        &[line("b", 60_000).on("2026-05-15").says("PIX RECEBIDO")],
        &[line("k", 60_000).on("2026-05-08").says("Rent, split child")],
    );
    let found = only(&outcome);
    assert_eq!((found.rule, found.status), (Rule::AmountWindow, MatchStatus::Suggested));
    for (id, side, partner) in [("b", Side::Book, "k"), ("k", Side::Bank, "b")] {
        let residue = left(&outcome, id);
        assert_eq!(residue.class, BreakClass::Unconfirmed);
        let nearest = residue.nearest.as_ref().unwrap();
        assert_eq!((nearest.side, &*nearest.line, nearest.suggestion.as_ref()), (side, partner, Some(&found.id)));
    }
    assert_eq!(
        why(&outcome, "b"),
        "Book line k of 2026-05-08 has the same amount 600.00 5 business days apart; nothing else that counts connects them, so a \
         person must confirm it."
    );
}

#[test]
fn several_candidates_by_amount_alone_are_ambiguous_with_the_first_and_how_many() {
    let outcome = run(
        &[line("b", 600)],
        &[line("k2", 600).on("2026-05-11"), line("k1", 600).on("2026-05-11"), line("k3", 600).says("x")],
    );
    assert_eq!(outcome.matches, []);
    assert_eq!(
        why(&outcome, "b"),
        "By amount and dates alone 3 book lines could be meant, and nothing tells which; the first is k1."
    );
    assert!(outcome.residue.iter().all(|residue| residue.class == BreakClass::Ambiguous));
}

#[test]
fn a_line_tied_by_a_token_is_not_suggested_by_amount_alone_and_still_stands_among_the_candidates_of_others() {
    let bank = [line("b1", 600).says("ACME"), line("b2", 600)];
    let book = [line("k1", 600).says("ACME north"), line("k2", 600).says("ACME south")];
    let outcome = run(&bank, &book);
    assert_eq!(outcome.matches, []);
    assert!(outcome.residue.iter().all(|residue| residue.class == BreakClass::Ambiguous), "{outcome:#?}");
    let alone = run(&[line("b2", 600).on("2026-05-13")], &[line("k2", 600).on("2026-05-13")]);
    assert_eq!(only(&alone).status, MatchStatus::Suggested);
}

// Ties.

#[test]
fn k_equal_lines_on_either_side_are_paired_in_canonical_order_and_any_other_count_is_a_tie() {
    for k in 1..=4_usize {
        for m in 1..=4_usize {
            for text in ["ACME 10017", ""] {
                let bank: Vec<_> = (1..=k).map(|n| line(&format!("b{n}"), 490).says(text)).collect();
                let book: Vec<_> = (1..=m).map(|n| line(&format!("k{n}"), 490).says(text)).collect();
                let outcome = run(&bank, &book);
                if k != m {
                    assert_eq!(outcome.matches, [], "{k} × {m}");
                    assert_eq!(outcome.residue.len(), k + m);
                    assert!(outcome.residue.iter().all(|residue| residue.class == BreakClass::Ambiguous));
                    continue;
                }
                assert_eq!(outcome.matches.len(), k);
                for (n, found) in (1..).zip(&outcome.matches) {
                    assert_eq!((&*found.bank[0], &*found.book[0]), (&*format!("b{n}"), &*format!("k{n}")));
                    assert_eq!(found.explanation.interchangeable, k > 1);
                    assert_eq!(found.explanation.candidates as usize, k);
                    let confirmed = found.status == MatchStatus::Confirmed;
                    assert_eq!(confirmed, !text.is_empty());
                }
            }
        }
    }
}

#[test]
fn twins_that_differ_only_in_the_banks_own_ids_are_still_twins_firefly_2353() {
    let fare = |id: &str, fit: &str| line(id, -490).says("TRAM ZENTRUM").refers(ReferenceKind::FitId, fit);
    let entry = |id: &str| line(id, -490).says("tram zentrum");
    let outcome = run(&[fare("b1", "17"), fare("b2", "18")], &[entry("k1"), entry("k2")]);
    assert_eq!(outcome.matches.len(), 2);
    assert!(outcome.matches.iter().all(|found| found.explanation.interchangeable));
}

#[test]
fn a_complete_block_of_lines_that_differ_is_a_tie() {
    let outcome = run(
        &[line("b1", 490).says("ACME"), line("b2", 490).says("ACME").on("2026-05-11")],
        &[line("k1", 490).says("ACME"), line("k2", 490).says("ACME")],
    );
    assert_eq!(outcome.matches, []);
}

#[test]
fn two_bank_lines_never_share_one_entry_beangulp_179() {
    let twin = |id: &str| line(id, -5_990).says("STREAMFLIX 88123");
    let outcome = run(&[twin("b1"), twin("b2")], &[line("k", -5_990).says("Streamflix 88123")]);
    assert_eq!(outcome.matches, []);
    assert_eq!(outcome.residue.len(), 3);
}

#[test]
fn a_block_with_too_many_edges_is_ambiguous_as_a_whole_and_counted_in_full() {
    let side = |name: &str| (0..70).map(|n| line(&format!("{name}{n:02}"), 490)).collect::<Vec<_>>();
    let outcome = run(&side("b"), &side("k"));
    assert_eq!(outcome.matches, []);
    assert_eq!(outcome.residue.len(), 140);
    assert!(outcome.residue.iter().all(|residue| residue.class == BreakClass::Ambiguous));
    assert_eq!(
        why(&outcome, "b69"),
        "By amount and dates alone 70 book lines could be meant, and nothing tells which; the first is k00."
    );
    let smaller = run(&side("b")[..64], &side("k")[..64]);
    assert_eq!(smaller.matches.len(), 64, "64 × 64 is within the bound");
}

#[test]
fn a_large_block_is_cut_where_no_window_reaches_across() {
    // Seventy equal lines in May, and one pair in August that has nothing to do with them.
    let side = |name: &str| {
        let mut lines: Vec<_> = (0..70).map(|n| line(&format!("{name}{n:02}"), 490)).collect();
        lines.push(line(&format!("{name}-august"), 490).on("2026-08-11"));
        lines
    };
    assert_eq!(only(&run(&side("b"), &side("k"))).bank, ["b-august"]);
}

// Reversals.

#[test]
fn an_entry_and_its_void_leave_together_before_anything_else_can_take_them() {
    let book =
        [line("k", -100).refers(E2E, "PAY-77"), line("v", 100).on("2026-05-14").voids("k").refers(E2E, "PAY-77")];
    let outcome = run(&[line("b", -100).refers(E2E, "PAY-77")], &book);
    let found = only(&outcome);
    assert_eq!((found.rule, found.bank.len(), found.book.join(" ")), (Rule::Reversal, 0, "k v".into()));
    assert_eq!(
        found.sentence(),
        "The books void it themselves: k (-1.00, 2026-05-12) and its void v (1.00, 2026-05-14)."
    );
    assert_eq!(class(&outcome, "b"), BreakClass::MissingInBook);
}

#[test]
fn a_void_that_is_voided_leaves_the_entry_standing() {
    let book = [line("k", 100).refers(E2E, "P-1"), line("v", -100).voids("k"), line("w", 100).voids("v")];
    let outcome = run(&[line("b", 100).refers(E2E, "P-1")], &book);
    let rules: Vec<_> = outcome.matches.iter().map(|found| (found.rule, found.book.join(" "))).collect();
    assert_eq!(rules, [(Rule::Reversal, "v w".into()), (Rule::StrongReference, "k".into())]);
}

#[test]
fn two_voids_of_one_entry_are_a_tie() {
    let outcome = run(&[], &[line("k", 100), line("v", -100).voids("k"), line("w", -100).voids("k")]);
    assert_eq!(outcome.matches, []);
    assert!(outcome.residue.iter().all(|residue| residue.class == BreakClass::Ambiguous));
    assert_eq!(left(&outcome, "k").nearest.as_ref().unwrap().side, Side::Book);
}

#[test]
fn a_void_of_another_amount_or_of_an_entry_that_is_not_open_is_unpaired() {
    let outcome =
        run(&[], &[line("k", 100), line("v", -90).voids("k"), line("w", -70).voids("gone"), line("s", 0).voids("s")]);
    assert_eq!(outcome.matches, []);
    assert_eq!(class(&outcome, "v"), BreakClass::ReversalUnpaired);
    assert_eq!(class(&outcome, "w"), BreakClass::ReversalUnpaired);
    assert_eq!(class(&outcome, "k"), BreakClass::MissingInBank);
}

#[test]
fn a_bank_reversal_without_its_original_says_so_and_one_with_it_points_there() {
    let reversal = OpenLine { reversal: true, ..line("r", 100) };
    let outcome = run(std::slice::from_ref(&reversal), &[]);
    assert_eq!(class(&outcome, "r"), BreakClass::ReversalUnpaired);
    let outcome = run(&[reversal, line("o", -100)], &[]);
    assert_eq!(class(&outcome, "r"), BreakClass::MissingInBook);
    assert_eq!(left(&outcome, "r").nearest.as_ref().unwrap().line, "o");
}

// Residue.

#[test]
fn the_same_reference_with_another_amount_or_sign_says_which() {
    let amount = run(&[line("b", -10_000).refers(DOCUMENT, "77")], &[line("k", -9_000).refers(DOCUMENT, "77")]);
    assert_eq!(class(&amount, "b"), BreakClass::Amount);
    assert_eq!(class(&amount, "k"), BreakClass::Amount);
    assert_eq!(
        why(&amount, "k"),
        "Both carry document 77, but the bank has -100.00 and the books -90.00: -10.00 more at the bank."
    );
    let direction = run(&[line("b", -10_000).refers(E2E, "A1")], &[line("k", 10_000).refers(E2E, "A1")]);
    assert_eq!(class(&direction, "b"), BreakClass::Direction);
    assert_eq!(class(&direction, "k"), BreakClass::Direction);
}

#[test]
fn of_several_misses_the_nearest_amount_is_named() {
    let book = [90, 99, 120].map(|minor| line(&format!("k{minor}"), minor).refers(DOCUMENT, "77"));
    let outcome = run(&[line("b", 100).refers(DOCUMENT, "77")], &book);
    assert_eq!(left(&outcome, "b").nearest.as_ref().unwrap().line, "k99");
}

#[test]
fn a_reference_and_amount_twice_at_the_bank_and_once_in_the_books_is_a_suspected_duplicate() {
    let twin = |id: &str, date: &str| line(id, 8_000).on(date).refers(E2E, "PAY-77");
    let outcome = run(&[twin("b1", "2026-05-12"), twin("b2", "2026-05-12")], &[twin("k", "2026-05-12")]);
    assert_eq!((class(&outcome, "b1"), class(&outcome, "b2")), (BreakClass::DupBank, BreakClass::DupBank));
    assert_eq!(class(&outcome, "k"), BreakClass::Ambiguous);
    assert_eq!(
        why(&outcome, "b2"),
        "The bank has end-to-end id PAY-77 and 80.00 again on line b1, and the books have it less often."
    );
    let later = run(&[twin("b1", "2026-05-12"), twin("b2", "2026-07-12")], &[twin("k", "2026-05-12")]);
    assert_eq!(only(&later).bank, ["b1"]);
    assert_eq!(class(&later, "b2"), BreakClass::DupBank);
    let book = run(&[twin("b", "2026-05-12")], &[twin("k1", "2026-05-12"), twin("k2", "2026-05-12")]);
    assert_eq!(class(&book, "k1"), BreakClass::DupBook);
}

#[test]
fn what_the_bank_took_for_itself_is_a_fee_and_what_it_paid_is_not() {
    let bank = [
        line("fee", -1_290).says("TARIFA PACOTE SERVIÇOS"),
        OpenLine { code: Some("IOF".into()), ..line("tax", -31) },
        line("in", 1_291).says("TARIFA ESTORNADA"),
    ];
    let outcome = run(&bank, &[]);
    assert_eq!(class(&outcome, "fee"), BreakClass::FeeUnbooked);
    assert_eq!(class(&outcome, "tax"), BreakClass::FeeUnbooked);
    assert_eq!(class(&outcome, "in"), BreakClass::MissingInBook);
}

#[test]
fn the_only_two_lines_of_an_amount_are_a_date_window_break_within_thirty_business_days() {
    let outcome = run(&[line("b", 77_777).on("2026-05-12")], &[line("k", 77_777).on("2026-04-13")]);
    assert_eq!((class(&outcome, "b"), class(&outcome, "k")), (BreakClass::DateWindow, BreakClass::DateWindow));
    let outcome = run(&[line("b", 77_777).on("2026-05-12")], &[line("k", 77_777).on("2025-05-12")]);
    assert_eq!((class(&outcome, "b"), class(&outcome, "k")), (BreakClass::MissingInBook, BreakClass::MissingInBank));
}

#[test]
fn the_residue_comes_in_canonical_order_bank_first() {
    let bank = [line("b2", 3).on("2026-05-13"), line("b1", 3), line("b0", 1).on("2026-05-13")];
    let book = [line("k", -7)];
    let order: Vec<_> = run(&bank, &book).residue.into_iter().map(|residue| residue.line).collect();
    assert_eq!(order, ["b1", "b0", "b2", "k"]);
}

// Ids.

#[test]
fn a_match_is_known_by_its_rule_and_its_legs_in_the_order_of_their_bytes() {
    use sha2::{Digest, Sha256};
    let outcome = run(&[line("z", 5).refers(E2E, "A1")], &[line("a", 5).refers(E2E, "A1")]);
    let digest = Sha256::digest(b"strong_reference\0a\0z");
    let hex: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(only(&outcome).id, hex);
}

#[test]
fn amounts_at_the_ends_of_sixty_four_bits_break_nothing() {
    let ends = [i64::MIN, i64::MAX, i64::MIN + 1, -1, 0, 1];
    let side = |name: &str| {
        let mut lines: Vec<_> = (0..).zip(ends).map(|(n, minor)| line(&format!("{name}{n}"), minor)).collect();
        lines.push(line(&format!("{name}r"), i64::MIN).refers(DOCUMENT, "1").on("-262143-01-01"));
        lines.push(OpenLine { reversal: true, ..line(&format!("{name}s"), i64::MIN).on("+262142-12-31") });
        lines.push(line(&format!("{name}v"), i64::MIN).voids(&format!("{name}0")));
        lines.push(line(&format!("{name}d"), i64::MAX).refers(DOCUMENT, "1").says("TARIFA"));
        lines
    };
    let outcome = run(&side("b"), &side("k"));
    assert!(!outcome.residue.is_empty());
    let sentences: String = outcome.matches.iter().map(Match::sentence).collect();
    assert!(sentences.contains("0.01"));
}
