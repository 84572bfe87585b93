//! Each claim on a statement of a few lines, in cents.

use chrono::NaiveDate;

use super::*;
use crate::money::Currency;
use crate::statement::{
    AccountKind, AccountRef, Balance, Charge, DaysOver, Detail, LineKind, LineStatus, Marker, StatedTotal, TotalOf,
};

fn brl(minor: i64) -> Money {
    Money::new(minor, Currency::new("BRL").unwrap())
}

fn day(day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 11, day).unwrap()
}

fn line(minor: i64) -> BankLine {
    BankLine {
        ordinal: 1,
        line: 1,
        kind: LineKind::Movement,
        status: LineStatus::Booked,
        booking_date: day(10),
        value_date: None,
        amount: brl(minor),
        amount_text: String::new(),
        reversal: false,
        code: None,
        references: vec![],
        counterparty: None,
        description: format!("line of {minor}"),
        details: vec![],
        charges: vec![],
    }
}

fn balance(minor: i64) -> Balance {
    Balance { amount: brl(minor), date: Some(day(10)) }
}

fn statement(opening: Option<i64>, lines: Vec<BankLine>, closing: Option<i64>) -> Statement {
    Statement {
        account: AccountRef { bank: None, branch: None, number: "1".into(), kind: AccountKind::Bank },
        currency: Currency::new("BRL").unwrap(),
        id: None,
        sequence: None,
        from: day(10),
        to: day(10),
        over: DaysOver::Closed(Some(day(10))),
        opening: opening.map(balance),
        closing: closing.map(balance),
        markers: vec![],
        lines,
        totals: vec![],
        line: 1,
    }
}

fn of(amounts: &[i64]) -> Vec<BankLine> {
    amounts.iter().map(|minor| line(*minor)).collect()
}

fn marked(markers: &[(u32, i64)], lines: &[i64], closing: Option<i64>) -> Statement {
    let markers = markers.iter().map(|(after_lines, minor)| Marker {
        date: day(10),
        amount: brl(*minor),
        after_lines: *after_lines,
        line: 1,
    });
    Statement { markers: markers.collect(), ..statement(None, of(lines), closing) }
}

fn hypothesis(statement: &Statement) -> Option<Hypothesis> {
    let proof = prove(statement);
    assert!(proof.failed(), "{proof}");
    proof.hypothesis
}

#[test]
fn stated_balances_that_close_prove_the_statement() {
    let proof = prove(&statement(Some(10_000), of(&[500, -2_500]), Some(8_000)));
    assert_eq!((proof.status, proof.difference), (ProofStatus::Proved, Some(Total::zero(brl(0).currency()))));
    assert_eq!(proof.to_string(), "100.00 \u{2212} 20.00 = 80.00, as stated");
    assert_eq!(prove(&statement(Some(0), vec![], Some(0))).status, ProofStatus::Proved);
}

#[test]
fn balances_that_do_not_close_fail_with_the_arithmetic() {
    let statement = statement(Some(10_000), of(&[500]), Some(10_501));
    let proof = prove(&statement);
    assert_eq!((proof.status, proof.hypothesis), (ProofStatus::Failed, None));
    assert_eq!(proof.to_string(), "100.00 + 5.00 = 105.00, but 105.01 is stated: 0.01 is missing");
    let p1 = &proof.proofs(&statement)[0];
    assert_eq!((p1.id, p1.difference.as_deref()), (ProofId::P1, Some("-0.01")));
}

#[test]
fn without_an_opening_nothing_is_proved_and_nothing_has_failed() {
    for (opening, closing) in [(None, Some(5)), (Some(5), None), (None, None)] {
        let statement = statement(opening, of(&[500]), closing);
        let proof = prove(&statement);
        assert_eq!((proof.status, proof.difference), (ProofStatus::Unprovable, None));
        assert_eq!(proof.proofs(&statement)[0].status, ProofStatus::Unprovable);
    }
    assert_eq!(prove(&statement(None, vec![], Some(5))).status, ProofStatus::Unprovable);
}

#[test]
fn a_statements_own_markers_prove_it_where_they_enclose_every_movement() {
    let status = |markers: &[_], closing| prove(&marked(markers, &[500, -200, 100], closing)).status;
    assert_eq!(status(&[(0, 1_000)], Some(1_400)), ProofStatus::Proved);
    assert_eq!(status(&[(0, 1_000), (2, 1_300), (3, 1_400)], None), ProofStatus::Proved);
    assert_eq!(status(&[(0, 1_000), (2, 1_301), (3, 1_400)], None), ProofStatus::Failed);
    assert_eq!(status(&[(0, 1_000)], Some(1_401)), ProofStatus::Failed);
    // The first movement lies before the first balance.
    assert_eq!(status(&[(1, 1_500)], Some(1_400)), ProofStatus::Unprovable);
    assert_eq!(status(&[(1, 1_500)], Some(1_300)), ProofStatus::Failed);
    assert_eq!(status(&[(0, 1_000)], None), ProofStatus::Unprovable);
}

#[test]
fn the_link_that_does_not_close_is_the_one_that_is_shown() {
    let proof = prove(&marked(&[(0, 1_000), (2, 1_301), (3, 1_401)], &[500, -200, 100], None));
    assert_eq!(proof.to_string(), "10.00 + 3.00 = 13.00, but 13.01 is stated: 0.01 is missing");
}

#[test]
fn a_closing_of_a_later_day_disproves_nothing() {
    let mut statement = marked(&[(0, 1_000)], &[500], Some(9_999));
    statement.closing = Some(Balance { date: Some(day(12)), ..statement.closing.unwrap() });
    assert_eq!(prove(&statement).status, ProofStatus::Unprovable);
    statement.closing = Some(Balance { amount: brl(1_500), ..statement.closing.unwrap() });
    assert_eq!(prove(&statement).status, ProofStatus::Proved);
    // With a stated opening, the closing is the one after its lines, whatever it is dated.
    statement.opening = Some(balance(1_000));
    statement.closing = Some(Balance { amount: brl(1_501), ..statement.closing.unwrap() });
    assert_eq!(prove(&statement).status, ProofStatus::Failed);
}

#[test]
fn pending_rows_and_markers_are_in_no_proof() {
    let mut lines = of(&[500, 777, 888]);
    lines[1].status = LineStatus::Pending;
    lines[2].kind = LineKind::BalanceMarker;
    assert_eq!(prove(&statement(Some(0), lines, Some(500))).status, ProofStatus::Proved);
}

#[test]
fn reversals_with_the_sign_of_what_they_reverse_are_named() {
    let mut lines = of(&[5_000, -300, -41]);
    lines[1].reversal = true;
    assert_eq!(hypothesis(&statement(Some(1_000), lines, Some(6_259))), Some(Hypothesis::ReversalSign));
}

#[test]
fn a_missing_decimal_mark_is_named_wherever_it_is_missing() {
    let named = |opening, lines: &[i64], closing| hypothesis(&statement(Some(opening), of(lines), Some(closing)));
    assert_eq!(named(1_234, &[501], 173_500), Some(Hypothesis::Scale100));
    assert_eq!(named(123_400, &[501], 1_735), Some(Hypothesis::Scale100));
    assert_eq!(named(123_400, &[501], 173_500), Some(Hypothesis::Scale100));
    assert_eq!(named(1_234, &[50_100], 1_735), Some(Hypothesis::Scale100));
}

#[test]
fn balances_counted_as_movements_are_named_by_their_text_or_by_their_amount() {
    let mut lines = of(&[700, 1_700]);
    lines[1].description = "SALDO NA DATA".into();
    assert_eq!(hypothesis(&statement(Some(1_000), lines, Some(1_700))), Some(Hypothesis::BalanceRows));
    let lines = of(&[1_000, 700, 1_700, -50, 1_650]);
    assert_eq!(hypothesis(&statement(Some(1_000), lines, Some(1_650))), Some(Hypothesis::BalanceRows));
}

#[test]
fn a_page_that_is_there_twice_or_not_at_all_is_named() {
    let lines = of(&[900, 10, -20, 31, 10, -20, 31, 5]);
    assert_eq!(hypothesis(&statement(Some(1_000), lines, Some(1_926))), Some(Hypothesis::Pages));
    let mut short = statement(Some(1_000), of(&[10, -20]), Some(1_321));
    short.totals = vec![
        StatedTotal { of: TotalOf::Credits, count: Some(2), sum: Some(brl(341)) },
        StatedTotal { of: TotalOf::Debits, count: Some(1), sum: Some(brl(-20)) },
    ];
    assert_eq!(hypothesis(&short), Some(Hypothesis::Pages));
}

#[test]
fn twins_that_are_no_page_are_no_explanation() {
    assert_eq!(hypothesis(&statement(Some(1_000), of(&[10, 10, 37]), Some(1_047))), None);
    // 5 + 10 is what is too much, and 10 was there before; but not 5 and 10, one after the other.
    assert_eq!(hypothesis(&statement(Some(1_000), of(&[10, 5, 10, 37]), Some(1_047))), None);
}

#[test]
fn charges_beside_the_lines_are_named() {
    let mut lines = of(&[-1_500, 77]);
    lines[0].charges = vec![Charge { amount: brl(-26), included: Some(false) }];
    assert_eq!(hypothesis(&statement(Some(5_000), lines.clone(), Some(3_551))), Some(Hypothesis::FeesNetted));
    lines[0].charges[0].included = Some(true);
    assert_eq!(hypothesis(&statement(Some(5_000), lines, Some(3_603))), Some(Hypothesis::FeesNetted));
}

#[test]
fn two_explanations_are_none() {
    let mut lines = of(&[5_000, -13]);
    lines[1].reversal = true;
    lines[0].charges = vec![Charge { amount: brl(26), included: Some(false) }];
    assert_eq!(hypothesis(&statement(Some(1_000), lines, Some(6_013))), None);
}

#[test]
fn details_add_up_to_their_entry_before_or_after_charges() {
    let detail = |minor, fee: Option<i64>| Detail {
        amount: Some(brl(minor)),
        references: vec![],
        counterparty: None,
        description: String::new(),
        charges: fee.into_iter().map(|fee| Charge { amount: brl(fee), included: None }).collect(),
    };
    let status = |entry, details: Vec<Detail>, fee: Option<i64>| {
        let mut line = line(entry);
        line.charges = fee.into_iter().map(|fee| Charge { amount: brl(fee), included: Some(true) }).collect();
        line.details = details;
        prove(&statement(Some(0), vec![line], Some(entry))).status
    };
    assert_eq!(status(42_956, vec![detail(32_956, None), detail(10_000, None)], None), ProofStatus::Proved);
    assert_eq!(status(-152_600, vec![detail(-150_000, None)], Some(-2_600)), ProofStatus::Proved);
    assert_eq!(status(9_700, vec![detail(10_000, Some(-300))], None), ProofStatus::Proved);
    assert_eq!(status(42_956, vec![detail(32_956, None), detail(9_999, None)], None), ProofStatus::Failed);
    // A detail without an amount leaves nothing to add up.
    let silent = Detail { amount: None, ..detail(0, None) };
    assert_eq!(status(42_956, vec![detail(32_956, None), silent], None), ProofStatus::Proved);
}

#[test]
fn counts_and_sums_as_delivered_must_hold() {
    let status = |of: TotalOf, count, sum| {
        let mut lines = super::tests::of(&[500, -200, 100, 7]);
        lines[3].status = LineStatus::Pending;
        let mut statement = statement(Some(0), lines, Some(400));
        statement.totals = vec![StatedTotal { of, count: Some(count), sum: Some(brl(sum)) }];
        let proof = prove(&statement);
        assert_eq!(proof.proofs(&statement).len(), 3);
        proof.status
    };
    assert_eq!(status(TotalOf::All, 3, 800), ProofStatus::Proved);
    assert_eq!(status(TotalOf::All, 4, 807), ProofStatus::Proved, "pending ones counted too");
    assert_eq!(status(TotalOf::All, 3, 807), ProofStatus::Failed, "one population for count and sum");
    assert_eq!(status(TotalOf::Credits, 2, 600), ProofStatus::Proved);
    assert_eq!(status(TotalOf::Debits, 1, -200), ProofStatus::Proved);
    assert_eq!(status(TotalOf::Debits, 1, 200), ProofStatus::Failed);
}
