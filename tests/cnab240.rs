//! CNAB 240, segment E: what its records say, and the habits of banks, each as a claim.

#![expect(clippy::unwrap_used, reason = "tests: a fixture that cannot be read has failed")]

use chrono::NaiveDate;
use counterfoil::diagnostic::Severity;
use counterfoil::proof::ProofStatus;
use counterfoil::statement::proof::prove;
use counterfoil::statement::{DayComplete, Format, Input, Parsed, Statement, detect};
use proptest::prelude::*;

/// A record of spaces with these texts at these positions, from 1.
fn record(parts: &[(usize, &str)]) -> String {
    let mut characters = vec![' '; 240];
    for (at, text) in parts {
        for (offset, c) in text.chars().enumerate() {
            characters[at - 1 + offset] = c;
        }
    }
    characters.into_iter().collect()
}

/// Branch 1234-5, account 67890-1.
const ACCOUNT: [(usize, &str); 5] = [(53, "01234"), (58, "5"), (59, "000000067890"), (71, "1"), (72, "9")];

fn with_account(parts: &[(usize, &str)]) -> String {
    record(&[&ACCOUNT[..], parts].concat())
}

fn file_header() -> String {
    with_account(&[(1, "00100000"), (103, "BANCO EXEMPLO")])
}

fn header(batch: &str, date: &str, amount: &str, mark: &str) -> String {
    with_account(&[
        (1, "001"),
        (4, batch),
        (8, "1E0440032"),
        (143, date),
        (151, amount),
        (169, mark),
        (170, "F"),
        (171, "BRL00647"),
    ])
}

fn entry(number: &str, date: &str, amount: &str, mark: &str, more: &[(usize, &str)]) -> String {
    let parts = [
        (1, "0010001"),
        (8, "3"),
        (9, number),
        (14, "E"),
        (109, "DPV"),
        (135, date),
        (143, date),
        (151, amount),
        (169, mark),
    ];
    with_account(&[&parts[..], more].concat())
}

fn trailer(batch: &str, date: &str, amount: &str, mark: &str, more: &[(usize, &str)]) -> String {
    let parts = [(1, "001"), (4, batch), (8, "5"), (143, date), (151, amount), (169, mark), (170, "F")];
    with_account(&[&parts[..], more].concat())
}

/// 1 000.00 + 250.40 − 100.00 − 12.50 = 1 137.90.
fn lines() -> Vec<String> {
    vec![
        file_header(),
        header("0001", "13112026", "000000000000100000", "C"),
        entry(
            "00001",
            "16112026",
            "000000000000025040",
            "C",
            &[
                (170, "2090026"),
                (177, "TED RECEBIDA"),
                (202, "552093   OP1"),
                (112, "01"),
                (114, "33304321000000012345"),
            ],
        ),
        entry(
            "00002",
            "16112026",
            "000000000000010000",
            "D",
            &[(170, "1200038"), (177, "PAGAMENTO DE T\u{cd}TULO"), (202, "INV42")],
        ),
        entry("00003", "16112026", "000000000000001250", "D", &[(170, "1050013"), (177, "TARIFA"), (109, "CDS")]),
        trailer(
            "0001",
            "16112026",
            "000000000000113790",
            "C",
            &[(171, "000005"), (177, "000000000000011250"), (195, "000000000000025040")],
        ),
        with_account(&[(1, "00199999"), (18, "000001"), (24, "000007")]),
    ]
}

fn text(lines: &[String]) -> Vec<u8> {
    // As banks send it: latin-1, CR LF.
    lines
        .iter()
        .flat_map(|line| line.chars().chain("\r\n".chars()))
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect()
}

fn parse(lines: &[String]) -> Parsed {
    detect::parse(&Input { bytes: &text(lines) })
}

fn only(lines: &[String]) -> Statement {
    let mut parsed = parse(lines);
    assert_eq!((parsed.format, parsed.statements.len()), (Some(Format::Cnab240), 1), "{:?}", parsed.diagnostics);
    parsed.statements.remove(0)
}

fn errors(lines: &[String]) -> Vec<(&'static str, Option<u32>)> {
    let parsed = parse(lines);
    assert!(parsed.statements.is_empty(), "nothing partial");
    let errors = parsed.diagnostics.into_iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| (found.code, found.line)).collect()
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

#[test]
fn a_batch_says_its_account_days_lines_and_balances_and_proves_itself() {
    let statement = only(&lines());
    let account = &statement.account;
    assert_eq!(
        (account.bank.as_deref(), account.branch.as_deref(), account.number.as_str()),
        (Some("001"), Some("1234-5"), "67890-1")
    );
    assert_eq!((statement.from, statement.to), (day("2026-11-14"), day("2026-11-16")), "Friday's balance opens Monday");
    assert_eq!(statement.sequence.as_deref(), Some("00647"));
    let minor: Vec<i64> = statement.lines.iter().map(|line| line.amount.minor()).collect();
    assert_eq!(minor, [25_040, -10_000, -1_250]);
    let first = &statement.lines[0];
    assert_eq!((first.code.as_deref(), first.description.as_str(), first.line), (Some("209 0026"), "TED RECEBIDA", 3));
    assert_eq!((first.references.len(), first.references[0].value()), (1, "552093"));
    let origin = first.counterparty.as_ref().unwrap();
    assert_eq!((origin.bank.as_deref(), origin.account.as_deref()), (Some("333"), Some("12345")));
    assert_eq!(statement.lines[1].description, "PAGAMENTO DE T\u{cd}TULO");
    assert_eq!(statement.lines[2].code.as_deref(), Some("105 0013 CDS"));
    assert_eq!(statement.complete_through(DayComplete::AsOf), Some(day("2026-11-16")));
    assert_eq!(prove(&statement).status, ProofStatus::Proved);
    assert_eq!(parse(&lines()).diagnostics, []);
}

#[test]
fn the_mark_alone_is_the_sign_also_of_a_reversal() {
    let mut lines = lines();
    lines[2] = entry("00001", "16112026", "000000000000025040", "C", &[(170, "103")]);
    let statement = only(&lines);
    assert_eq!((statement.lines[0].amount.minor(), statement.lines[0].reversal), (25_040, true));
}

#[test]
fn itau_puts_the_check_digit_behind_a_blank_and_the_document_at_the_end() {
    let itau = |line: &str| {
        let mut characters: Vec<char> = line.chars().collect();
        (characters[70], characters[71]) = (' ', '1');
        characters.into_iter().collect::<String>()
    };
    let mut lines: Vec<String> = lines().iter().map(|line| itau(line)).collect();
    lines[2] = itau(&entry("00001", "16112026", "000000000000025040", "C", &[(135, "        "), (235, "552093")]));
    let statement = only(&lines);
    assert_eq!(statement.account.number, "67890-1");
    assert_eq!(statement.lines[0].references[0].value(), "552093");
    assert_eq!(statement.lines[0].value_date, None);
}

#[test]
fn a_partial_statement_closes_no_day() {
    for (status, closes) in [("P", false), ("I", false), ("F", true)] {
        let mut lines = lines();
        lines[5].replace_range(169..170, status);
        assert_eq!(only(&lines).complete_through(DayComplete::AsOf).is_some(), closes, "{status}");
    }
}

#[test]
fn every_batch_is_an_account_and_one_of_another_service_is_told() {
    let mut lines = lines();
    let of_another = |line: &str| line.replace("000000067890", "000000011111");
    let second = [
        of_another(&header("0002", "16112026", "000000000000000500", "D")),
        of_another(&trailer("0002", "16112026", "000000000000000500", "D", &[(171, "000002")])),
        header("0003", "16112026", "000000000000000000", "C").replace("E04", "C20"),
        trailer("0003", "16112026", "000000000000000000", "C", &[]),
    ];
    lines.splice(6..6, second);
    lines[10] = with_account(&[(1, "00199999"), (18, "000003"), (24, "000011")]);
    let parsed = parse(&lines);
    let told: Vec<_> =
        parsed.statements.iter().map(|it| (it.account.number.as_str(), it.closing.unwrap().amount.minor())).collect();
    assert_eq!(told, [("67890-1", 113_790), ("11111-1", -500)]);
    let told: Vec<_> = parsed.diagnostics.iter().map(|it| (it.code, it.line)).collect();
    assert_eq!(told, [("UNREAD", Some(9))]);
}

#[test]
fn lines_that_lost_their_end_or_gained_a_space_are_read() {
    let short: Vec<String> = lines().iter().map(|line| line.trim_end().to_owned()).collect();
    assert_eq!(only(&short), only(&lines()));
    let long: Vec<String> = lines().iter().map(|line| format!("{line} ")).collect();
    assert_eq!(only(&long), only(&lines()));
}

#[test]
fn what_is_lost_cut_or_unreadable_refuses_the_file_with_its_line() {
    let without = |at: usize| {
        let mut lines = lines();
        lines.remove(at);
        lines
    };
    assert_eq!(errors(&without(3)), [("CONTROL", Some(5)), ("CONTROL", Some(6))]);
    assert_eq!(errors(&lines()[..4]), [("TRUNCATED", Some(2))]);
    assert_eq!(errors(&without(1))[0], ("ORDER", Some(2)));
    let changed = |at: usize, position: usize, text: &str| {
        let mut lines = lines();
        let mut characters: Vec<char> = lines[at].chars().collect();
        for (offset, c) in text.chars().enumerate() {
            characters[position - 1 + offset] = c;
        }
        lines[at] = characters.into_iter().collect();
        errors(&lines)
    };
    assert_eq!(changed(2, 151, "00000000000025,040"), [("AMOUNT", Some(3))]);
    assert_eq!(changed(2, 169, "X"), [("AMOUNT", Some(3))]);
    assert_eq!(changed(2, 143, "31022026"), [("DATE", Some(3))]);
    assert_eq!(changed(2, 143, "00000000"), [("DATE", Some(3))]);
    assert_eq!(changed(2, 14, "F"), [("SEGMENT", Some(3))]);
    assert_eq!(changed(2, 66, "99999"), [("ACCOUNT", Some(3))]);
    assert_eq!(changed(1, 143, "        "), [("DATE", Some(2))]);
    assert_eq!(changed(1, 171, "XXY"), [("CURRENCY", Some(2))]);
    assert_eq!(changed(5, 151, "x"), [("BALANCE", Some(6))]);
    let mut long = lines();
    long[2].push_str(" y");
    assert!(errors(&long).contains(&("RECORD", Some(3))));
}

#[test]
fn a_closing_that_does_not_follow_is_shown_by_the_proof_and_not_by_the_parser() {
    let mut lines = lines();
    lines[5] = lines[5].replace("000000000000113790", "000000000000113791");
    assert_eq!(prove(&only(&lines)).status, ProofStatus::Failed);
}

#[test]
fn a_file_of_another_service_is_no_empty_success() {
    let lines: Vec<String> = lines().iter().map(|line| line.replace("1E0440", "1C2040")).collect();
    assert_eq!(errors(&lines), [("EMPTY", None)]);
}

proptest! {
    #[test]
    fn a_changed_byte_ends_in_whole_statements_or_an_error(at in 0..1694_usize, byte: u8, cut in 0..1694_usize) {
        let mut bytes = text(&lines());
        bytes[at] = byte;
        for bytes in [&bytes[..], &bytes[..cut]] {
            let parsed = detect::parse(&Input { bytes });
            let errors = parsed.diagnostics.iter().any(|found| found.severity == Severity::Error);
            prop_assert_eq!(errors, parsed.statements.is_empty());
        }
    }
}
