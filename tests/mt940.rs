//! MT940: what its fields say, and the habits of banks, each as a claim. Where a habit was reported by somebody, the issue
//! is named.

#![expect(clippy::unwrap_used, reason = "tests: a fixture that cannot be read has failed")]

use chrono::NaiveDate;
use counterfoil::diagnostic::Severity;
use counterfoil::proof::ProofStatus;
use counterfoil::statement::proof::prove;
use counterfoil::statement::{BankLine, DayComplete, Format, Input, LineKind, Parsed, Statement, detect};
use proptest::prelude::*;

/// Two days of an account, in SWIFT's blocks, with a line of each sort.
const DAYS: &str = "\
{1:F01EXAMDEFFAXXX0000000000}{2:I940EXAMDEFFXXXXN}{4:\r\n\
:20:STMT-0142\r\n\
:25:10020030/0001234567\r\n\
:28C:142/1\r\n\
:60F:C261113EUR1000,00\r\n\
:61:2611161116D120,50NTRFINV-2026-0042//BK0001\r\n\
:86:177?00ONLINE-UEBERWEISUNG?109310?20EREF+INV-2026-0042?21SVWZ+Rechn\r\n\
ung 42?30EXAMDEFFXXX?31DE02120300000000202051?32MUSTER GMBH?34997\r\n\
:61:2611161116CR2000,NTRFNONREF\r\n\
:86:EINZAHLUNG FILIALE\r\n\
:61:2611131116RC20,00NCHK000123\r\n\
:86:RUECKSCHECK\r\n\
:62F:C261116EUR2859,5\r\n\
:64:C261116EUR2859,50\r\n\
-}{5:}{1:F01EXAMDEFFAXXX0000000000}{2:I940EXAMDEFFXXXXN}{4:\r\n\
:20:STMT-0143\r\n\
:25:10020030/0001234567\r\n\
:28C:143/1\r\n\
:60F:C261116EUR2859,50\r\n\
:61:2611171117D9,50NCHGNONREF\r\n\
KONTOFUEHRUNG 11/26\r\n\
:62F:C261117EUR2850,00\r\n\
-}\r\n";

fn parse(bytes: &[u8]) -> Parsed {
    detect::parse(&Input { bytes })
}

fn statements(text: &str) -> Vec<Statement> {
    let parsed = parse(text.as_bytes());
    assert_eq!(parsed.format, Some(Format::Mt940));
    assert!(!parsed.statements.is_empty(), "{:?}", parsed.diagnostics);
    parsed.statements
}

fn only(text: &str) -> Statement {
    let mut statements = statements(text);
    assert_eq!(statements.len(), 1);
    statements.remove(0)
}

/// The errors of a refused file: code, line, message.
fn refused(text: &str) -> Vec<(&'static str, Option<u32>, String)> {
    let parsed = parse(text.as_bytes());
    assert!(parsed.statements.is_empty(), "nothing partial");
    let errors = parsed.diagnostics.into_iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| (found.code, found.line, found.message)).collect()
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn references(line: &BankLine) -> Vec<String> {
    line.references.iter().map(|it| format!("{}={}", it.kind().name(), it.value())).collect()
}

/// A message of one account; its lines begin on line 4.
fn message(opening: &str, lines: &str, closing: &str) -> String {
    format!(":20:X\n:25:DE02120300000000202051\n:60F:{opening}\n{lines}:62F:{closing}\n-\n")
}

fn proof(statement: &Statement) -> ProofStatus {
    prove(statement).status
}

// === What the fields say ===

#[test]
fn a_file_says_its_accounts_days_lines_and_balances_and_proves_itself() {
    let all = statements(DAYS);
    assert_eq!(all.len(), 2);
    let first = &all[0];
    assert_eq!((first.account.bank.as_deref(), first.account.number.as_str()), (Some("10020030"), "0001234567"));
    assert_eq!((first.id.as_deref(), first.sequence.as_deref()), (Some("STMT-0142"), Some("142/1")));
    assert_eq!((first.opening.unwrap().amount.minor(), first.closing.unwrap().amount.minor()), (100_000, 285_950));
    let minor: Vec<i64> = first.lines.iter().map(|line| line.amount.minor()).collect();
    assert_eq!(minor, [-12_050, 200_000, -2_000], "a debit takes, CR is a credit in euro, RC takes back a credit");
    assert_eq!(first.lines.iter().map(|line| line.reversal).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(
        references(&first.lines[0]),
        ["end_to_end=INV-2026-0042", "untyped=INV-2026-0042", "account_servicer=BK0001"]
    );
    assert_eq!(references(&first.lines[2]), ["cheque=000123"]);
    assert_eq!(first.lines[0].description, "ONLINE-UEBERWEISUNG Rechnung 42");
    assert_eq!(first.lines[0].code.as_deref(), Some("NTRF 177"));
    assert_eq!(first.lines[0].counterparty.as_ref().unwrap().name.as_deref(), Some("MUSTER GMBH"));
    assert_eq!(first.lines[2].value_date, Some(day("2026-11-13")));
    assert_eq!(first.lines[2].booking_date, day("2026-11-16"));
    assert_eq!(all[1].lines[0].description, "KONTOFUEHRUNG 11/26");
    assert_eq!(all.iter().map(proof).collect::<Vec<_>>(), [ProofStatus::Proved, ProofStatus::Proved]);
}

#[test]
fn an_opening_bears_the_date_of_the_closing_before_it_and_the_days_follow_from_that() {
    let all = statements(DAYS);
    // Friday's closing opens Monday's statement, which covers the weekend.
    assert_eq!((all[0].from, all[0].to), (day("2026-11-14"), day("2026-11-16")));
    assert_eq!((all[1].from, all[1].to), (day("2026-11-17"), day("2026-11-17")));
    assert_eq!(all[1].complete_through(DayComplete::AsOf), Some(day("2026-11-17")), "62F closes the day");
    // Some banks write the first of the statement's own days: a line booked on it tells.
    let text = message("C261101EUR0,", ":61:261101C5,NTRF\n:61:261130C5,NTRF\n", "C261130EUR10,");
    assert_eq!(only(&text).from, day("2026-11-01"));
    let text = message("C261130EUR0,", "", "C261130EUR0,");
    assert_eq!((only(&text).from, only(&text).to), (day("2026-11-30"), day("2026-11-30")));
}

#[test]
fn pages_are_one_statement_and_a_page_alone_is_none() {
    let page = |reference: &str, number: &str, opening: &str, line: &str, closing: &str| {
        format!(":20:{reference}\n:25:1/2\n:28C:{number}\n{opening}\n{line}\n{closing}\n-\n")
    };
    let first = page("A", "7/1", ":60F:C261116EUR0,", ":61:2611171117C1,NTRF", ":62M:C261117EUR1,");
    let second = page("A", "7/2", ":60M:C261117EUR1,", ":61:2611171117C2,NTRF", ":62M:C261117EUR3,");
    let third = page("A", "7/3", ":60M:C261117EUR3,", ":61:2611171117C3,NTRF", ":62F:C261117EUR6,");
    let whole = only(&[first.as_str(), &second, &third].concat());
    assert_eq!(whole.lines.iter().map(|line| line.ordinal).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((whole.opening.unwrap().amount.minor(), whole.closing.unwrap().amount.minor()), (0, 600));
    assert_eq!(proof(&whole), ProofStatus::Proved);
    for text in
        [[first.as_str(), &third].concat(), [second.as_str(), &third].concat(), [first.as_str(), &second].concat()]
    {
        let errors = refused(&text);
        assert!(errors.iter().all(|(code, ..)| *code == "PAGES") && !errors.is_empty(), "{errors:?}");
    }
    assert_eq!(refused(&third)[0].1, Some(1));
}

#[test]
fn a_statement_without_lines_is_one() {
    let text = message("C261116EUR10,", "", "C261117EUR10,");
    let statement = only(&text);
    assert_eq!((statement.lines.len(), proof(&statement)), (0, ProofStatus::Proved));
}

// === Habits ===

#[test]
fn a_missing_reference_is_no_reason_to_lose_a_message() {
    // php-mt940#46
    let text = ":25:1/2\n:60F:C261116EUR0,\n:62F:C261116EUR0,\n:25:1/3\n:60F:C261116EUR5,\n:62F:C261116EUR5,\n";
    assert_eq!(statements(text).iter().map(|it| it.account.number.as_str()).collect::<Vec<_>>(), ["2", "3"]);
}

#[test]
fn several_accounts_in_one_file_keep_their_own_balances() {
    // wolph#52, #84
    let of =
        |number: &str, minor: &str| format!(":20:X\n:25:{number}\n:60F:C261116EUR{minor}\n:62F:C261116EUR{minor}\n-\n");
    let all = statements(&[of("11", "1,"), of("22", "2,"), of("11", "1,")].concat());
    let told: Vec<_> = all.iter().map(|it| (it.account.number.as_str(), it.closing.unwrap().amount.minor())).collect();
    assert_eq!(told, [("11", 100), ("22", 200), ("11", 100)]);
}

#[test]
fn an_account_may_have_its_currency_behind_it() {
    for (written, number) in [
        ("DE02120300000000202051EUR", "DE02120300000000202051"),
        ("NL02ABNA0123456789 EUR", "NL02ABNA0123456789"),
        ("123456789", "123456789"),
        ("10020030/123EUR", "123"),
    ] {
        let text = format!(":20:X\n:25:{written}\n:60F:C261116EUR0,\n:62F:C261116EUR0,\n");
        assert_eq!(only(&text).account.number, number, "{written}");
    }
}

#[test]
fn a_closing_may_leave_out_the_currency() {
    let text = message("C261116EUR105000,00", ":61:261116CM40000,00S051\n", "C261116145000,00");
    assert_eq!(only(&text).closing.unwrap().amount.minor(), 14_500_000);
}

#[test]
fn thirty_days_a_month_are_read_as_its_last_day_and_said() {
    let text = message("C261030EUR0,", ":61:2611311131C5,NTRF\n", "C261131EUR5,");
    let parsed = parse(text.as_bytes());
    assert_eq!(parsed.statements[0].to, day("2026-11-30"));
    assert_eq!(parsed.statements[0].lines[0].booking_date, day("2026-11-30"));
    let told: Vec<_> = parsed.diagnostics.iter().map(|it| (it.severity, it.code, it.line)).collect();
    assert_eq!(told, [(Severity::Warning, "DATE", Some(5))]);
}

#[test]
fn december_in_january_is_the_old_years() {
    // wolph#17, python-fints#63, mt940js#52
    let text = message("C251230EUR0,", ":61:2512311231C5,NTRF\n:61:2601021231C5,NTRF\n", "C260102EUR10,");
    let booked: Vec<_> = only(&text).lines.iter().map(|line| line.booking_date).collect();
    assert_eq!(booked, [day("2025-12-31"), day("2025-12-31")]);
}

#[test]
fn lines_of_one_form_that_means_nothing_refuse_the_file_with_their_place_all_at_once() {
    // cmxl#34: D-104,12 could be either direction.
    let text = message("C261116EUR0,", ":61:2611161116D-104,12NTRF\n:61:2611161116X5,NTRF\n", "C261116EUR0,");
    let told: Vec<_> = refused(&text).into_iter().map(|(code, line, _)| (code, line)).collect();
    assert_eq!(told, [("LINE", Some(4)), ("LINE", Some(5))]);
    assert!(
        refused(&text)[0]
            .2
            .contains("amount \"-104,12NTRF\": expected digits, a comma, and behind it no more than the currency has"),
        "{:?}",
        refused(&text)
    );
}

#[test]
fn what_is_cut_off_is_refused_whole() {
    let at = DAYS.find(":62F:C261117").unwrap();
    let errors = refused(&DAYS[..at]);
    assert_eq!((errors[0].0, errors[0].1), ("MISSING", Some(16)));
    assert!(errors[0].2.contains("closing balance"), "{errors:?}");
}

#[test]
fn a_closing_that_does_not_follow_is_shown_by_the_proof_and_not_by_the_parser() {
    let text = message("C261116EUR0,", ":61:2611161116C5,NTRF\n", "C261116EUR6,");
    assert_eq!(proof(&only(&text)), ProofStatus::Failed);
}

#[test]
fn an_interim_report_is_named() {
    let text = ":20:X\n:25:1/2\n:28C:1/1\n:34F:EUR0,\n:13D:2611161200+0100\n:61:261116C5,NTRF\n:90C:1EUR5,\n-\n";
    let errors = refused(text);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].2.contains("MT942"), "{errors:?}");
}

#[test]
fn a_zero_line_is_no_movement_and_old_character_sets_are_read() {
    let text = message("C261116EUR0,", ":61:2611161116C0,NTRF\n:86:B\u{fc}ro\n", "C261116EUR0,");
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let parsed = parse(&bytes);
    let line = &parsed.statements[0].lines[0];
    assert_eq!((line.kind, line.description.as_str()), (LineKind::ZeroAmount, "B\u{fc}ro"));
}

#[test]
fn a_line_that_swallowed_the_next_one_is_taken_apart() {
    let text = message("C261116EUR0,", ":61:2611161116C5,NTRFNONREF:86:166?00GUTSCHRIFT?20DANKE\n", "C261116EUR5,");
    assert_eq!(only(&text).lines[0].description, "GUTSCHRIFT DANKE");
}

#[test]
fn what_follows_a_message_is_refused_and_never_left_out() {
    let whole = message("C261116EUR0,", "", "C261116EUR0,");
    for (text, line) in [
        (format!("{whole}{}\n", "a line that no bank writes behind its messages"), 6),
        (whole.replace("\n-\n", "\nand more\n"), 5),
    ] {
        assert_eq!(
            refused(&text).into_iter().map(|(code, line, _)| (code, line)).collect::<Vec<_>>(),
            [("CONTENT", Some(line))]
        );
    }
    let long = format!(":61:2611161116C5,NTRF\n:86:{}\n", "A".repeat(70_000));
    assert_eq!(refused(&message("C261116EUR0,", &long, "C261116EUR5,"))[0].0, "LIMIT");
    let odd = message("C261116EUR0,", ":61:2611161116C5,5OTRFX\n", "C261116EUR5,5");
    assert_eq!(refused(&odd)[0].0, "LINE");
}

#[test]
fn a_line_booked_after_the_closing_day_is_said() {
    let text = message("C261115EUR0,", ":61:2611161120C5,NTRF\n:61:2611161116C5,NTRF\n", "C261116EUR10,");
    let told: Vec<_> = parse(text.as_bytes()).diagnostics.iter().map(|it| (it.severity, it.code, it.line)).collect();
    assert_eq!(told, [(Severity::Warning, "PERIOD", Some(4))]);
}

proptest! {
    /// Any change of one byte ends in whole statements or in errors, never in a panic, and never in both.
    #[test]
    fn a_changed_byte_ends_in_whole_statements_or_an_error(at in 0..DAYS.len(), byte: u8, cut in 0..DAYS.len()) {
        let mut bytes = DAYS.as_bytes().to_vec();
        bytes[at] = byte;
        for bytes in [&bytes[..], &bytes[..cut]] {
            let parsed = parse(bytes);
            let errors = parsed.diagnostics.iter().any(|found| found.severity == Severity::Error);
            prop_assert_eq!(errors, parsed.statements.is_empty());
        }
    }
}
