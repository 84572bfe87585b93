//! BAI2: what its records say, and the habits of banks, each as a claim. Where a habit was reported by somebody, the issue
//! is named.

#![expect(clippy::unwrap_used, reason = "tests: a fixture that cannot be read has failed")]

use chrono::NaiveDate;
use counterfoil::diagnostic::Severity;
use counterfoil::proof::ProofStatus;
use counterfoil::statement::proof::prove;
use counterfoil::statement::{DayComplete, Format, Input, LineKind, Parsed, Statement, TotalOf, detect};
use proptest::prelude::*;

/// Two days of one account, in two groups: 1 000.00 + 250.40 − 100.00 − 12.50 = 1 137.90, and a day without movement.
const FILE: &str = "\
01,021000021,ACME,261117,0600,1,80,,2/\n\
02,ACME,021000021,1,261116,2359,USD,2/\n\
03,0123456789,,010,100000,,,015,113790,,,/\n\
88,100,25040,1,,400,11250,2,,040,100000,,/\n\
16,142,25040,S,25040,0,0,B0001,INV-2026-0042,ACH CREDIT, INVOICE 42/\n\
88,FROM MUSTER/PARTNER\n\
16,475,10000,V,261118,,B0002,000123,/\n\
16,698,1250,,,,MONTHLY FEE\n\
49,386370,7/\n\
98,386370,1,9/\n\
02,ACME,021000021,1,261117,2359,USD,2/\n\
03,0123456789,,010,113790,,,015,113790,,/\n\
49,227580,2/\n\
98,227580,1,4/\n\
99,613950,2,15/\n";

fn parse(text: &str) -> Parsed {
    detect::parse(&Input { bytes: text.as_bytes() })
}

fn statements(text: &str) -> Vec<Statement> {
    let parsed = parse(text);
    assert_eq!(parsed.format, Some(Format::Bai2));
    assert!(!parsed.statements.is_empty(), "{:?}", parsed.diagnostics);
    parsed.statements
}

/// The findings of a severity: code and line.
fn found(text: &str, severity: Severity) -> Vec<(&'static str, Option<u32>)> {
    let found = parse(text).diagnostics.into_iter().filter(|found| found.severity == severity);
    found.map(|found| (found.code, found.line)).collect()
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// One account of one group, whose totals are stated as nothing.
fn account(records: &str) -> String {
    format!("01,A,B,261117,0600,1,,,2/\n02,B,A,1,261116,,USD,/\n{records}49,,/\n98,,,/\n99,,,/\n")
}

#[test]
fn a_file_says_its_accounts_days_lines_and_balances_and_proves_itself() {
    let all = statements(FILE);
    assert_eq!(all.len(), 2);
    let first = &all[0];
    assert_eq!((first.account.bank.as_deref(), first.account.number.as_str()), (Some("021000021"), "0123456789"));
    assert_eq!((first.currency.code(), first.from, first.to), ("USD", day("2026-11-16"), day("2026-11-16")));
    let minor: Vec<i64> = first.lines.iter().map(|line| line.amount.minor()).collect();
    assert_eq!(minor, [25_040, -10_000, -1_250], "the type code is the sign");
    assert_eq!(first.lines[0].description, "ACH CREDIT, INVOICE 42 FROM MUSTER/PARTNER");
    let references = |at: usize| {
        let of = first.lines[at].references.iter();
        of.map(|it| format!("{}={}", it.kind().name(), it.value())).collect::<Vec<_>>()
    };
    assert_eq!(references(0), ["untyped=INV-2026-0042", "account_servicer=B0001"]);
    assert_eq!(references(1), ["cheque=000123", "account_servicer=B0002"]);
    assert_eq!(first.lines[1].value_date, Some(day("2026-11-18")));
    assert_eq!(first.lines[2].description, "MONTHLY FEE");
    let totals: Vec<_> = first.totals.iter().map(|it| (it.of, it.count, it.sum.unwrap().minor())).collect();
    assert_eq!(totals, [(TotalOf::Credits, Some(1), 25_040), (TotalOf::Debits, Some(2), -11_250)]);
    assert_eq!(first.complete_through(DayComplete::AsOf), Some(day("2026-11-16")), "015 closes the day");
    let proved: Vec<_> = all.iter().map(|it| prove(it).status).collect();
    assert_eq!(proved, [ProofStatus::Proved, ProofStatus::Proved]);
    assert_eq!(found(FILE, Severity::Warning), []);
}

#[test]
fn an_interim_report_closes_no_day() {
    for (modifier, closes) in [("1", false), ("3", false), ("2", true), ("4", true), ("", true)] {
        let text = account("03,1,,010,5,,,015,5,,/\n").replace("USD,/", &format!("USD,{modifier}/"));
        assert_eq!(statements(&text)[0].complete_through(DayComplete::AsOf).is_some(), closes, "{modifier:?}");
    }
}

#[test]
fn a_control_total_that_differs_refuses_the_file() {
    let text = FILE.replace("49,386370,7/", "49,386371,7/");
    assert_eq!(found(&text, Severity::Error), [("CONTROL", Some(9))]);
    let text = FILE.replace("98,227580,1,4/", "98,227580,2,4/");
    assert_eq!(found(&text, Severity::Error), [("CONTROL", Some(14))]);
    // Counted otherwise, and nothing is missing: a remark.
    let text = FILE.replace("49,386370,7/", "49,386370,6/");
    assert_eq!((found(&text, Severity::Error), found(&text, Severity::Warning)), (vec![], vec![("CONTROL", Some(9))]));
}

#[test]
fn a_line_that_was_lost_on_the_way_is_seen() {
    let text = FILE.replace("16,698,1250,,,,MONTHLY FEE\n", "");
    assert!(found(&text, Severity::Error).contains(&("CONTROL", Some(8))));
}

#[test]
fn what_is_cut_off_or_out_of_order_is_refused() {
    for (text, code) in [
        (&FILE[..FILE.find("99,").unwrap()], "TRUNCATED"),
        (&FILE[..FILE.find("49,386370").unwrap()], "TRUNCATED"),
        (&FILE.replace("49,386370,7/\n", ""), "ORDER"),
        (&FILE.replace("03,0123456789,,010,113790,,,015,113790,,/\n", ""), "ORDER"),
        (&FILE.replace("98,227580,1,4/\n", ""), "ORDER"),
    ] {
        let errors = found(text, Severity::Error);
        assert!(errors.iter().any(|(found, _)| *found == code), "{code}: {errors:?}");
    }
}

#[test]
fn what_says_neither_credit_nor_debit_is_not_guessed() {
    for (records, code) in [
        ("03,1,,/\n16,700,5,,,,/\n", "TYPE"),
        ("03,1,,/\n16,910,5,,,,/\n", "TYPE"),
        ("03,1,,/\n16,xyz,5,,,,/\n", "TYPE"),
        ("03,1,,/\n16,142,5.00,,,,/\n", "AMOUNT"),
        ("03,1,,/\n16,142,-5,,,,/\n", "AMOUNT"),
        ("03,1,,/\n16,142,5,Q,,,/\n", "FUNDS"),
        ("03,1,,010,5x,,/\n", "AMOUNT"),
        ("03,1,XXY,/\n", "CURRENCY"),
        ("03,,USD,/\n", "ACCOUNT"),
    ] {
        let errors = found(&account(records), Severity::Error);
        assert!(errors.iter().any(|(found, _)| *found == code), "{records}: {errors:?}");
    }
}

#[test]
fn own_types_of_a_bank_have_the_direction_that_the_standard_gave_their_numbers() {
    // moj bai2#42
    let text = account("03,1,,/\n16,925,5,,,,/\n16,970,6,,,,/\n");
    assert_eq!(statements(&text)[0].lines.iter().map(|line| line.amount.minor()).collect::<Vec<_>>(), [5, -6]);
}

#[test]
fn distributed_availability_is_passed_over_whole() {
    // The numbers in it must not be taken for types.
    let text = account("03,1,,190,70000000,4,0,110/\n88,70000000,15,D,3,0,20000000,1,30000000,3,20000000,015,900,,/\n");
    assert_eq!(statements(&text)[0].closing.unwrap().amount.minor(), 900);
}

#[test]
fn totals_that_are_left_out_are_said_and_lose_nothing() {
    let text = account("03,1,,010,5,,,015,5,,/\n");
    assert_eq!(statements(&text).len(), 1);
    assert_eq!(found(&text, Severity::Info).len(), 3);
}

#[test]
fn a_currency_without_a_fraction_has_none() {
    let text = account("03,1,JPY,010,5,,,015,105,,/\n16,142,100,,,,/\n");
    let statement = &statements(&text)[0];
    assert_eq!((statement.currency.digits(), statement.lines[0].amount.minor()), (0, 100));
    assert_eq!(prove(statement).status, ProofStatus::Proved);
}

#[test]
fn files_one_after_the_other_are_read_and_padding_is_not_text() {
    let padded: String = FILE.lines().map(|line| format!("{line:<80}\r\n")).collect();
    let all = statements(&[padded.as_str(), FILE].concat());
    assert_eq!(all.len(), 4);
    assert_eq!(all[0].lines[2].description, "MONTHLY FEE");
}

#[test]
fn information_without_money_is_no_movement() {
    let text = account("03,1,,/\n16,890,,,,,SEE LETTER/\n16,142,0,,,,/\n");
    let statement = &statements(&text)[0];
    assert_eq!(statement.lines.iter().map(|line| line.kind).collect::<Vec<_>>(), [LineKind::ZeroAmount]);
}

#[test]
fn a_group_that_takes_back_or_tests_is_not_read() {
    for status in ["2", "4"] {
        let text = account("03,1,,/\n").replace("02,B,A,1,", &format!("02,B,A,{status},"));
        assert_eq!(found(&text, Severity::Error)[0], ("STATUS", Some(2)));
    }
}

proptest! {
    #[test]
    fn a_changed_byte_ends_in_whole_statements_or_an_error(at in 0..FILE.len(), byte: u8, cut in 0..FILE.len()) {
        let mut bytes = FILE.as_bytes().to_vec();
        bytes[at] = byte;
        for bytes in [&bytes[..], &bytes[..cut]] {
            let parsed = detect::parse(&Input { bytes });
            let errors = parsed.diagnostics.iter().any(|found| found.severity == Severity::Error);
            prop_assert_eq!(errors, parsed.statements.is_empty());
        }
    }
}
