//! OFX: what its elements say, in SGML and XML; and the habits of banks, each as a claim. Where a habit was reported by
//! somebody, the issue is named.

#![expect(clippy::unwrap_used, reason = "tests: a fixture that cannot be read has failed")]

use std::fmt::Write as _;

use chrono::NaiveDate;
use counterfoil::diagnostic::Severity;
use counterfoil::proof::ProofStatus;
use counterfoil::reference::ReferenceKind;
use counterfoil::statement::identity::Identity;
use counterfoil::statement::proof::prove;
use counterfoil::statement::{
    AccountKind, BankLine, DayComplete, Format, Input, LineKind, LineStatus, Parsed, Statement, detect,
};
use proptest::prelude::*;

const TWO_ACCOUNTS: &[u8] = include_bytes!("fixtures/ofx/two-accounts.ofx");
const CARD: &[u8] = include_bytes!("fixtures/ofx/card.xml.ofx");

fn parse(bytes: &[u8]) -> Parsed {
    detect::parse(&Input { bytes })
}

fn statements(bytes: &[u8]) -> Vec<Statement> {
    let parsed = parse(bytes);
    assert_eq!(parsed.format, Some(Format::Ofx));
    assert!(!parsed.statements.is_empty(), "{:?}", parsed.diagnostics);
    parsed.statements
}

fn only(text: &str) -> Statement {
    let mut statements = statements(text.as_bytes());
    assert_eq!(statements.len(), 1);
    statements.remove(0)
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// The findings of a severity: code, line, message.
fn found(text: &str, severity: Severity) -> Vec<(&'static str, Option<u32>, String)> {
    let found = parse(text.as_bytes()).diagnostics.into_iter().filter(|found| found.severity == severity);
    found.map(|found| (found.code, found.line, found.message)).collect()
}

/// The one error of a refused file, and its place.
fn refused(bytes: &[u8]) -> (&'static str, Option<u32>, Option<u32>, String) {
    let parsed = parse(bytes);
    assert!(parsed.statements.is_empty(), "nothing partial");
    let mut errors: Vec<_> = parsed.diagnostics.into_iter().filter(|found| found.severity == Severity::Error).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let error = errors.remove(0);
    (error.code, error.line, error.column, error.message)
}

fn references(line: &BankLine) -> Vec<(ReferenceKind, &str)> {
    line.references.iter().map(|reference| (reference.kind(), reference.value())).collect()
}

/// A file of one statement around a list; what is in braces may be anything. The list begins on line 5.
fn file(list: &str) -> String {
    with_balance(list, "<LEDGERBAL><BALAMT>100.00<DTASOF>20261112</LEDGERBAL>")
}

fn with_balance(list: &str, balance: &str) -> String {
    format!(
        "OFXHEADER:100\n<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS>\n<CURDEF>BRL<BANKACCTFROM><BANKID>1<ACCTID>22\n\
         </BANKACCTFROM><BANKTRANLIST>\n{list}\n</BANKTRANLIST>{balance}\n\
         </STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>\n"
    )
}

const PERIOD: &str = "<DTSTART>20261110<DTEND>20261111\n";

/// A line of the list, on one line of the file.
fn entry(fields: &str) -> String {
    format!("<STMTTRN><TRNTYPE>OTHER<DTPOSTED>20261110{fields}</STMTTRN>\n")
}

fn entries(entries: &[&str]) -> String {
    let mut list = PERIOD.to_owned();
    for fields in entries {
        list.push_str(&entry(fields));
    }
    file(&list)
}

// === What the elements say ===

#[test]
fn a_bank_file_says_its_accounts_lines_and_balances() {
    let all = statements(TWO_ACCOUNTS);
    assert_eq!(all.len(), 2);
    let first = &all[0];
    let account = &first.account;
    assert_eq!((account.bank.as_deref(), account.branch.as_deref()), (Some("0077"), Some("0001")));
    assert_eq!((account.number.as_str(), account.kind, first.currency.code()), ("98765-0", AccountKind::Bank, "BRL"));
    assert_eq!((first.from, first.to), (day("2026-11-10"), day("2026-11-11")));
    assert_eq!(first.complete_through(DayComplete::AsOf), Some(day("2026-11-11")));
    assert_eq!(first.opening, None, "OFX has none: LEDGERBAL is the closing (odoo#3003)");
    let closing = first.closing.unwrap();
    assert_eq!((closing.amount.minor(), closing.date), (113_790, Some(day("2026-11-12"))));
    assert_eq!(first.line, 26);

    let told: Vec<_> =
        first.lines.iter().map(|line| (line.ordinal, line.kind, line.amount.minor(), line.line)).collect();
    assert_eq!(
        told,
        [
            (1, LineKind::BalanceMarker, 100_000, 37),
            (2, LineKind::Movement, 25_040, 44),
            (3, LineKind::Movement, -10_000, 53),
            (4, LineKind::BalanceMarker, 115_040, 61),
            (5, LineKind::Movement, -1_250, 68),
        ]
    );
    let pix = &first.lines[1];
    assert_eq!(pix.description, "PADARIA SÃO JOÃO & FILHOS PIX RECEBIDO E60746948202611101530aBcDeFgHiJk");
    assert_eq!(pix.counterparty.as_ref().unwrap().name.as_deref(), Some("PADARIA SÃO JOÃO & FILHOS"));
    assert_eq!(pix.amount_text, "250,40");
    assert_eq!(
        references(pix),
        [(ReferenceKind::PixEndToEnd, "E60746948202611101530ABCDEFGHIJK"), (ReferenceKind::FitId, "101")],
        "a CHECKNUM that repeats FITID says nothing of its own"
    );
    assert_eq!(references(&first.lines[2]), [(ReferenceKind::Cheque, "850076"), (ReferenceKind::FitId, "102")]);
    assert_eq!(
        references(&first.lines[4]),
        [(ReferenceKind::Document, "7741"), (ReferenceKind::Untyped, "NF-2026/118"), (ReferenceKind::FitId, "103")]
    );
    assert_eq!(prove(first).status, ProofStatus::Proved, "by its own balance rows");

    let second = &all[1];
    assert_eq!((second.account.number.as_str(), second.lines.len()), ("98765-1", 0));
    assert_eq!((second.from, second.to), (day("2026-11-12"), day("2026-11-12")), "the day of its balance");
    assert_eq!(second.complete_through(DayComplete::AsOf), None, "a day that still goes on");
    assert_eq!(second.closing.unwrap().amount.minor(), 0);
}

#[test]
fn a_card_in_xml_is_the_same_tree() {
    let statement = &statements(CARD)[0];
    assert_eq!((statement.account.kind, statement.account.number.as_str()), (AccountKind::Card, "4000-XXXX-1234"));
    let [lunch, payment, pending] = &statement.lines[..] else { panic!("{:?}", statement.lines) };
    assert_eq!(lunch.description, "Café Ørsted 2 <lunch> & tip");
    assert_eq!(lunch.counterparty.as_ref().unwrap().name.as_deref(), Some("Café Ørsted"));
    assert_eq!((lunch.amount.minor(), lunch.booking_date), (-4_120, day("2026-11-04")), "ORIGCURRENCY only tells");
    assert_eq!(payment.value_date, Some(day("2026-11-21")));
    let payer = payment.counterparty.as_ref().unwrap();
    assert_eq!((payer.account.as_deref(), payer.bank.as_deref()), (Some("NL02ABNA0123456789"), Some("ABNANL2A")));
    assert_eq!((pending.status, pending.booking_date), (LineStatus::Pending, day("2026-12-02")));
    assert_eq!(statement.movements().count(), 2);
    assert_eq!(statement.complete_through(DayComplete::AsOf), Some(day("2026-11-30")));
}

// === Forms of the file ===

#[test]
fn every_form_of_header_and_of_closing_reads_the_same() {
    let plain = entries(&["<TRNAMT>-5.00<FITID>7<MEMO>Tarifa"]);
    let expected = only(&plain);
    let body = plain.strip_prefix("OFXHEADER:100\n").unwrap();
    let closed = body
        .replace("<CURDEF>BRL", "<CURDEF>BRL</CURDEF>")
        .replace("<FITID>7<MEMO>Tarifa", "<FITID>7</FITID><MEMO>Tarifa</MEMO>")
        .replace("<DTEND>20261111", "<DTEND>20261111</DTEND>");
    for (form, text) in [
        ("no header", body.to_owned()),
        ("a header on one line (ofxtools#47)", format!("OFXHEADER:100DATA:OFXSGMLCHARSET:1252{body}")),
        ("keys with spaces (ofxtools#61)", format!("OFXHEADER: 100\r\nCHARSET: 1252\r\n\r\n{body}")),
        ("a comment around the header (ofxstatement#343)", format!("<!-- OFXHEADER:100 -->\n{body}")),
        ("a comment around all", format!("<!--\n{body}-->")),
        ("a byte order mark", format!("\u{feff}{body}")),
        ("the end of file of DOS", format!("{body}\u{1a}")),
        ("XML", format!("<?xml version=\"1.0\"?><?OFX OFXHEADER=\"200\"?>{body}")),
        ("end tags at some elements", closed),
        ("lower case", body.replace("<STMTTRN>", "<stmttrn>").replace("</STMTTRN>", "</stmttrn>")),
        ("no line breaks", body.replace('\n', "")),
        ("a self-closed element", body.replace("<MEMO>Tarifa", "<SIC/><MEMO>Tarifa")),
        ("an empty element left open", body.replace("<MEMO>Tarifa", "<SIC><MEMO>Tarifa")),
        ("a vendor's own aggregate", body.replace("<MEMO>Tarifa", "<INTU.X><INTU.Y>1<MEMO>no</INTU.X><MEMO>Tarifa")),
    ] {
        let mut read = only(&text);
        (read.line, read.lines[0].line) = (expected.line, expected.lines[0].line);
        assert_eq!(read, expected, "{form}");
    }
}

#[test]
fn files_that_were_joined_are_all_read() {
    let one = entries(&["<TRNAMT>1<FITID>1<MEMO>a"]);
    assert_eq!(statements(format!("{one}{one}").as_bytes()).len(), 2);
    let (code, ..) = refused(format!("{one}{}", &one[..200]).as_bytes());
    assert_eq!(code, "TRUNCATED");
}

#[test]
fn a_text_keeps_its_ampersands_and_angle_brackets() {
    let memo = |memo: &str| only(&entries(&[&format!("<TRNAMT>1<FITID>1<MEMO>{memo}\n")])).lines[0].description.clone();
    assert_eq!(memo("AT&T  & CIA"), "AT&T & CIA", "ofx4j#63");
    assert_eq!(memo("D&amp;D &copy; 1"), "D&D &copy; 1", "libofx#72");
    assert_eq!(memo("A < B > C <3"), "A < B > C <3");
    assert_eq!(memo("<![CDATA[<b>]]>"), "<b>");
}

#[test]
fn bytes_that_contradict_their_label_are_read_and_said() {
    let labelled = |label: &str, bytes: &[u8]| {
        let text = entries(&["<TRNAMT>1<FITID>1<MEMO>CART_O"]).replace("OFXHEADER:100", label);
        let at = text.find("CART_O").unwrap() + 4;
        let mut all = text.into_bytes();
        all.splice(at..=at, bytes.iter().copied());
        let parsed = parse(&all);
        let found: Vec<_> = parsed.diagnostics.iter().map(|found| (found.severity, found.code, found.line)).collect();
        assert_eq!(parsed.statements[0].lines[0].description, "CARTÃO");
        found
    };
    let line = Some(6);
    assert_eq!(labelled("ENCODING:USASCII CHARSET:1252", b"\xC3"), []);
    assert_eq!(labelled("ENCODING:UTF-8 CHARSET:NONE", b"\xC3\x83"), []);
    assert_eq!(
        labelled("ENCODING:UTF-8 CHARSET:NONE", b"\xC3"),
        [(Severity::Warning, "CHARSET", line)],
        "odoo-brasil#1095"
    );
    assert_eq!(labelled("ENCODING:USASCII", b"\xC3"), [(Severity::Warning, "CHARSET", line)]);
    assert_eq!(labelled("CHARSET:1252", b"\xC3\x83"), [(Severity::Info, "CHARSET", line)]);
}

#[test]
fn a_control_character_is_read_as_a_space_and_said() {
    let text = entries(&["<TRNAMT>1<FITID>1<MEMO>A\u{1b}[2J\u{7f}B"]) + "\r\n\u{1a}";
    let statement = only(&text);
    assert_eq!(statement.lines[0].description, "A [2J B");
    let said = found(&text, Severity::Warning);
    assert_eq!(said.len(), 1, "the mark that ends a file of DOS is none: {said:?}");
    assert!(said[0].0 == "CONTROL", "{said:?}");
}

// === What is damaged ===

#[test]
fn a_file_cut_anywhere_gives_nothing() {
    let end = TWO_ACCOUNTS.len() - b"</OFX>\r\n".len();
    for cut in (1..end).rev().step_by(7) {
        let parsed = parse(&TWO_ACCOUNTS[..cut]);
        assert!(parsed.statements.is_empty(), "cut at {cut}");
        let error = parsed.diagnostics.iter().find(|found| found.severity == Severity::Error).unwrap();
        assert!(matches!(error.code, "TRUNCATED" | "FORMAT"), "cut at {cut}: {error:?}");
        assert!(error.line.is_some(), "cut at {cut}");
    }
    let text = entries(&["<TRNAMT>1<FITID>1"]);
    let (code, line, column, message) = refused(&text.as_bytes()[..text.find("<FITID>").unwrap()]);
    assert_eq!((code, line, column), ("TRUNCATED", Some(6), Some(51)));
    assert!(message.contains("within STMTTRN"), "{message}");
}

#[test]
fn a_group_that_is_not_closed_is_refused_where_it_begins() {
    let text = entries(&["<TRNAMT>1<FITID>1", "<TRNAMT>2<FITID>2"]);
    let first = text.find("</STMTTRN>").unwrap();
    let broken = format!("{}{}", &text[..first], &text[first + "</STMTTRN>".len()..]);
    let (code, line, column, _) = refused(broken.as_bytes());
    assert_eq!((code, line, column), ("UNCLOSED", Some(6), Some(1)));
    let unlisted = text.replace("<BANKTRANLIST>", "").replace("</BANKTRANLIST>", "");
    assert_eq!(refused(unlisted.as_bytes()).0, "UNLISTED");
}

#[test]
fn a_line_within_something_else_is_refused_and_not_lost() {
    let text = entries(&["<TRNAMT>1<FITID>1", "<TRNAMT>2<FITID>2"]);
    for (from, to) in [
        (
            "<STMTTRN><TRNTYPE>OTHER<DTPOSTED>20261110<TRNAMT>2",
            "<ANY><STMTTRN><TRNTYPE>OTHER<DTPOSTED>20261110<TRNAMT>2",
        ),
        ("<TRNAMT>1", "<STMTTRN></STMTTRN><TRNAMT>1"),
    ] {
        let text = text.replace(from, to).replace("</BANKTRANLIST>", "</ANY></BANKTRANLIST>");
        assert_eq!(refused(text.as_bytes()).0, "UNLISTED", "{to}");
    }
    let investments = text.replace("STMTRS>", "INVSTMTRS>");
    assert_eq!(refused(investments.as_bytes()).0, "EMPTY", "what is not read at all is said as a whole");
}

#[test]
fn a_field_that_cannot_be_read_is_refused_at_its_place() {
    for (fields, code, column) in [
        ("<TRNAMT>.", "TRNAMT", 50),
        ("<TRNAMT>", "TRNAMT", 42),
        ("<FITID>1", "TRNAMT", 1),
        ("<TRNAMT>12,34,5", "TRNAMT", 50),
        ("<TRNAMT>0.001", "TRNAMT", 50),
        ("<TRNAMT>1<TRNAMT>2", "DUPLICATE", 51),
        ("<TRNAMT>1<CURRENCY><CURRATE>5.2<CURSYM>USD</CURRENCY>", "CURRENCY", 73),
        ("<TRNAMT>1<CURRENCY>USD", "CURRENCY", 51),
    ] {
        let (found, line, at, message) = refused(entries(&[fields]).as_bytes());
        assert_eq!((found, line, at), (code, Some(6), Some(column)), "{fields}: {message}");
    }
    let date = |date: &str| refused(file(&format!("{PERIOD}<STMTTRN><TRNAMT>1{date}</STMTTRN>")).as_bytes());
    for written in ["", "<DTPOSTED>", "<DTPOSTED>00000000", "<DTPOSTED>20261301", "<DTPOSTED>13/11/26"] {
        let (code, line, ..) = date(written);
        assert_eq!((code, line), ("DTPOSTED", Some(6)), "{written}");
    }
    let same = "<TRNAMT>1<CURRENCY><CURRATE>1<CURSYM>BRL</CURRENCY>";
    assert_eq!(only(&entries(&[same])).lines.len(), 1);
}

#[test]
fn every_fault_of_a_file_is_told_at_once() {
    let text = entries(&["<TRNAMT>.", "<TRNAMT>x", "<TRNAMT>1"]);
    let lines: Vec<_> = found(&text, Severity::Error).into_iter().map(|(_, line, _)| line).collect();
    assert_eq!((parse(text.as_bytes()).statements.len(), lines), (0, vec![Some(6), Some(7)]));
}

#[test]
fn a_file_without_a_statement_is_no_success() {
    assert_eq!(refused(b"OFXHEADER:100\n<OFX></OFX>").0, "EMPTY", "securo PR#416: never \"0 rows OK\"");
    let status =
        "<OFX><STMTTRNRS><STATUS><CODE>2003<SEVERITY>ERROR<MESSAGE>Account not found</STATUS></STMTTRNRS></OFX>";
    let (code, .., message) = refused(status.as_bytes());
    assert_eq!(code, "STATUS");
    assert!(message.contains("2003 Account not found"), "{message}");
}

#[test]
fn what_contradicts_itself_or_explodes_is_refused() {
    let period = file("<DTSTART>20261112<DTEND>20261111\n");
    assert_eq!(refused(period.as_bytes()).0, "PERIOD");
    for (text, code) in [
        (format!("<!doctype x [<!ENTITY a 'b'>]>{}", entries(&[])), "DOCTYPE"),
        (entries(&[]).replace("<CURDEF>", "<!DOCTYPE x><CURDEF>"), "DOCTYPE"),
        (entries(&[]).replace("<CURDEF>", &format!("{}<CURDEF>", "<X>".repeat(100))), "LIMIT"),
        (entries(&[&format!("<TRNAMT>1<MEMO>{}", "x".repeat(70_000))]), "LIMIT"),
        (entries(&[]).replace("</LEDGERBAL>", "</LEDGERBAL><LEDGERBAL></LEDGERBAL>"), "DUPLICATE"),
        (entries(&[]).replace("BRL", "R$"), "CURRENCY"),
        (entries(&[]).replace("<CURDEF>BRL", ""), "CURRENCY"),
        (entries(&[]).replace("BANKACCTFROM", "BANKACCT"), "ACCTID"),
    ] {
        let shown: String = text.chars().take(60).collect();
        let parsed = parse(text.as_bytes());
        let errors: Vec<_> = parsed.diagnostics.iter().filter(|found| found.severity == Severity::Error).collect();
        assert_eq!(errors[0].code, code, "{shown}");
    }
}

// === Balances, days, and what they cover ===

#[test]
fn a_balance_of_no_day_or_no_amount_is_absent_and_not_zero() {
    for (balance, code) in [
        ("<LEDGERBAL><BALAMT>0,00<DTASOF>00000000</LEDGERBAL>", "DTASOF"),
        ("<LEDGERBAL><BALAMT>5<DTASOF></LEDGERBAL>", "DTASOF"),
        ("<LEDGERBAL><BALAMT>5</LEDGERBAL>", "DTASOF"),
        ("<LEDGERBAL><BALAMT><DTASOF>20261112</LEDGERBAL>", "BALAMT"),
        ("", "LEDGERBAL"),
    ] {
        let text = with_balance(&format!("{PERIOD}{}", entry("<TRNAMT>1<FITID>1")), balance);
        assert_eq!(only(&text).closing, None, "{balance}");
        let warnings = found(&text, Severity::Warning);
        assert_eq!(warnings.iter().map(|(code, ..)| *code).collect::<Vec<_>>(), [code], "annacruz/ofx#11: {balance}");
    }
    let bad = with_balance(PERIOD, "<LEDGERBAL><BALAMT>x<DTASOF>20261112</LEDGERBAL>");
    assert_eq!(refused(bad.as_bytes()).0, "BALAMT");
}

#[test]
fn a_balance_without_a_mark_among_lines_with_one_is_pointed_at() {
    let balance = "<LEDGERBAL><BALAMT>12345<DTASOF>20261112</LEDGERBAL>";
    let text = with_balance(&format!("{PERIOD}{}", entry("<TRNAMT>1,50<FITID>1")), balance);
    assert_eq!(only(&text).closing.unwrap().amount.minor(), 1_234_500, "nothing is rescaled in silence (ofxparse#174)");
    assert_eq!(found(&text, Severity::Warning)[0].0, "BALAMT");
}

#[test]
fn a_day_counts_as_over_only_before_the_day_of_the_balance() {
    let over = |as_of: &str, server: &str, rule| {
        let text = with_balance(PERIOD, &format!("<LEDGERBAL><BALAMT>1<DTASOF>{as_of}</LEDGERBAL>"))
            .replace("<BANKMSGSRSV1>", &format!("<SONRS><DTSERVER>{server}</SONRS><BANKMSGSRSV1>"));
        let parsed = detect::parse(&Input { bytes: text.as_bytes() });
        parsed.statements[0].complete_through(rule)
    };
    let as_of = DayComplete::AsOf;
    assert_eq!(over("20261112", "", as_of), Some(day("2026-11-11")));
    assert_eq!(over("20261230", "", as_of), Some(day("2026-11-11")), "never past DTEND");
    assert_eq!(over("20261111235959", "", as_of), Some(day("2026-11-10")));
    assert_eq!(over("20261110", "", as_of), None);
    assert_eq!(over("0", "20261112", as_of), Some(day("2026-11-11")), "else DTSERVER");
    assert_eq!(over("0", "00000000", as_of), None, "and never today (OfxSharp PR#1)");
    assert_eq!(over("20261111", "", DayComplete::DtEnd), Some(day("2026-11-11")));
}

#[test]
fn an_end_that_the_file_does_not_state_ends_nothing() {
    let line = entry("<TRNAMT>1<FITID>1").replace("20261110", "20261112");
    let balance = "<LEDGERBAL><BALAMT>1<DTASOF>20261112</LEDGERBAL>";
    let statement = only(&with_balance(&format!("<DTSTART>20261101\n{line}"), balance));
    assert_eq!(statement.to, day("2026-11-12"), "as far as its lines go");
    assert_eq!(statement.complete_through(DayComplete::DtEnd), Some(day("2026-11-11")));
}

#[test]
fn without_stated_days_the_lines_and_the_balance_say_which() {
    let lines = [entry("<TRNAMT>1<FITID>1"), entry("<TRNAMT>1<FITID>2").replace("20261110", "20261107")].concat();
    let read = |period: &str| only(&file(&format!("{period}\n{lines}")));
    let days = |statement: &Statement| (statement.from.to_string(), statement.to.to_string());
    assert_eq!(days(&read("<DTSTART>00000000<DTEND>00000000")), ("2026-11-07".into(), "2026-11-10".into()));
    assert_eq!(days(&read("<DTSTART>20261101")), ("2026-11-01".into(), "2026-11-10".into()));
    assert_eq!(days(&read("<DTEND>20261111")), ("2026-11-07".into(), "2026-11-11".into()));
    assert_eq!(found(&file(&lines), Severity::Info)[0].0, "PERIOD");
    let nothing = with_balance("", "<LEDGERBAL><BALAMT>0,00<DTASOF>00000000</LEDGERBAL>");
    assert_eq!(refused(nothing.as_bytes()).0, "PERIOD");
}

#[test]
fn a_booking_date_is_the_banks_own_whatever_the_zone() {
    for written in ["20190102", "20190102000000[-3:GMT]", "20190102235959[-03:EST]", "20190102000000.000[12:NZST]"] {
        let text = entries(&["<TRNAMT>1<FITID>1"]).replace("<DTPOSTED>20261110", &format!("<DTPOSTED>{written}"));
        let statement = only(&text);
        assert_eq!(statement.lines[0].booking_date, day("2019-01-02"), "ofx4j#30: {written}");
        assert_eq!(
            statement.ledger_day(&statement.lines[0]),
            day("2026-11-10"),
            "a line outside the days counts in them"
        );
    }
}

// === Balance rows ===

#[test]
fn balance_rows_are_no_money_and_prove_the_lines_between() {
    let rows = [
        "<TRNAMT>1000.00<MEMO>SALDO ANTERIOR",
        "<TRNAMT>-50.00<FITID>1<MEMO>RESGATE SALDO",
        "<TRNAMT>950.00<FITID>0<MEMO>SALDO DO DIA 10/11",
        "<TRNAMT>-850.00<FITID>2<MEMO>Pagamento",
        "<TRNAMT>5000.00<MEMO>SALDO TOTAL DISPONÍVEL DIA",
    ];
    let statement = only(&entries(&rows));
    let markers: Vec<_> = statement.markers.iter().map(|marker| (marker.amount.minor(), marker.after_lines)).collect();
    assert_eq!(markers, [(100_000, 0), (95_000, 1)], "securo#99");
    assert_eq!(statement.movements().count(), 2);
    assert_eq!(prove(&statement).status, ProofStatus::Proved);
    assert_eq!(prove(&only(&entries(&rows[1..]))).status, ProofStatus::Unprovable);
    let wrong = entries(&rows).replace("-850.00", "-849.99").replace("20261112", "20261111");
    let proof = prove(&only(&wrong));
    assert_eq!(proof.to_string(), "950.00 \u{2212} 849.99 = 100.01, but 100.00 is stated: 0.01 too much");
    assert!(found(&entries(&rows), Severity::Info).is_empty(), "a balance row needs no FITID");
}

#[test]
fn balances_among_lines_that_run_backwards_are_no_anchors() {
    let older = entry("<TRNAMT>-50.00<FITID>1<MEMO>x").replace("20261110", "20261109");
    let list = [entry("<TRNAMT>-1.00<FITID>2<MEMO>y"), entry("<TRNAMT>950.00<MEMO>Saldo"), older].concat();
    let text = file(&format!("{PERIOD}{list}"));
    let statement = only(&text);
    assert_eq!((statement.markers.len(), statement.movements().count()), (0, 2));
    assert!(found(&text, Severity::Info).iter().any(|(code, ..)| *code == "ORDER"));
}

// === Ids and types of lines ===

#[test]
fn a_reused_fitid_loses_no_line() {
    let text = entries(&[
        "<TRNAMT>-10.00<FITID>20261110<MEMO>Compra",
        "<TRNAMT>-20.00<FITID>20261110<MEMO>Compra",
        "<TRNAMT>-0.30<FITID>20261110<MEMO>IOF",
        "<TRNAMT>-4.50<FITID>77<MEMO>Onibus",
        "<TRNAMT>-4.50<FITID>77<MEMO>Onibus",
        "<TRNAMT>-1<FITID>0<MEMO>x",
        "<TRNAMT>-2<FITID><MEMO>y",
        "<TRNAMT>-3<MEMO>z",
    ]);
    let statement = only(&text);
    assert_eq!(statement.movements().count(), 8, "securo#911, beancount-import#216, firefly#2353");
    assert_eq!(Identity::of(&statement.lines[3]), Identity::of(&statement.lines[4]), "told apart by their occurrence");
    let warnings = found(&text, Severity::Warning);
    let said: Vec<_> = warnings.iter().map(|(code, line, _)| (*code, *line)).collect();
    assert_eq!(said, [("FITID", Some(7)), ("FITID", Some(10))], "{warnings:?}");
    let (reused, repeated) = (&warnings[0].2, &warnings[1].2);
    assert!(reused.contains("something else") && reused.contains("2 lines"), "counted once a kind: {reused}");
    assert!(repeated.contains("as in an earlier line") && repeated.contains("1 line"), "{repeated}");
    let missing = found(&text, Severity::Info);
    assert!(missing.len() == 1 && missing[0].2.contains("3 lines"), "{missing:?}");
}

#[test]
fn a_fitid_belongs_to_its_account_alone() {
    let one = entries(&["<TRNAMT>1<FITID>1<MEMO>a"]);
    let statement = &one[one.find("<STMTRS>").unwrap()..one.find("</STMTTRNRS>").unwrap()];
    let other = statement.replace("<ACCTID>22", "<ACCTID>23").replace("<MEMO>a", "<MEMO>b");
    let text = one.replace("</STMTTRNRS>", &format!("{other}</STMTTRNRS>"));
    assert_eq!(statements(text.as_bytes()).len(), 2, "buckets#894");
    assert!(found(&text, Severity::Warning).is_empty());
}

#[test]
fn an_unknown_type_or_one_against_the_sign_is_said_and_the_sign_counts() {
    let text = entries(&["<TRNAMT>-7<FITID>1", "<TRNAMT>7<FITID>2"]);
    let text = text.replacen("OTHER", "OUT", 1).replacen("OTHER", "DEBIT", 1);
    let statement = only(&text);
    let told: Vec<_> =
        statement.lines.iter().map(|line| (line.code.as_deref().unwrap(), line.amount.minor())).collect();
    assert_eq!(told, [("OUT", -700), ("DEBIT", 700)]);
    assert_eq!(found(&text, Severity::Info)[0].0, "TRNTYPE");
    assert_eq!(found(&text, Severity::Warning)[0].0, "TRNAMT");
}

#[test]
fn a_name_beside_a_memo_is_who_and_one_that_the_memo_repeats_is_not() {
    let told = |fields: &str| {
        let line = only(&entries(&[&format!("<TRNAMT>1<FITID>1{fields}")])).lines.remove(0);
        (line.description, line.counterparty.and_then(|who| who.name))
    };
    assert_eq!(told("<NAME>Acme<MEMO>NF 1"), ("Acme NF 1".into(), Some("Acme".into())));
    assert_eq!(told("<NAME>Acme"), ("Acme".into(), None));
    assert_eq!(told("<NAME>Pagto de bol<MEMO>Pagto de boleto 7"), ("Pagto de boleto 7".into(), None));
    assert_eq!(told("<PAYEE>Acme<MEMO>NF 1"), ("Acme NF 1".into(), Some("Acme".into())));
    assert_eq!(told("<NAME>  Acme   SA <MEMO>"), ("Acme SA".into(), None));
}

#[test]
fn a_line_of_nothing_is_kept_apart() {
    let statement = only(&entries(&["<TRNAMT>0.00<FITID>1<MEMO>Isento"]));
    assert_eq!((statement.lines[0].kind, statement.movements().count()), (LineKind::ZeroAmount, 0));
}

// === Any bytes ===

fn judge(bytes: &[u8]) {
    let parsed = parse(bytes);
    let errors = parsed.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    assert_eq!(errors > 0, parsed.statements.is_empty(), "statements, or errors: {:?}", parsed.diagnostics);
    for found in &parsed.diagnostics {
        let of_the_file = matches!(found.code, "EMPTY" | "MORE" | "LIMIT" | "FORMAT" | "CHARSET");
        assert!(found.line.is_some() || of_the_file, "{found:?} has no place");
    }
    for statement in &parsed.statements {
        assert!(statement.from <= statement.to);
        assert!(
            statement
                .complete_through(DayComplete::AsOf)
                .is_none_or(|day| (statement.from..=statement.to).contains(&day))
        );
        prove(statement);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_end_in_statements_or_in_located_errors(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        judge(&bytes);
        judge(&[b"OFXHEADER:100\n<OFX>", &bytes[..], b"</OFX>"].concat());
    }

    #[test]
    fn any_mixture_of_ofx_ends_in_statements_or_in_located_errors(parts in proptest::collection::vec(0..PARTS.len(), 0..60)) {
        let mut text = String::from("<OFX>");
        for part in parts {
            let _ = write!(text, "{}", PARTS[part]);
        }
        text.push_str("</OFX>");
        judge(text.as_bytes());
    }

    #[test]
    fn a_damaged_file_never_panics_and_is_never_read_in_part(
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        card in any::<bool>(),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = if card { CARD } else { TWO_ACCOUNTS }.to_vec();
        for (at, byte) in hits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        judge(&bytes);
    }
}

const PARTS: [&str; 32] = [
    "<STMTRS>",
    "</STMTRS>",
    "<CURDEF>BRL",
    "<BANKACCTFROM><ACCTID>1</BANKACCTFROM>",
    "<BANKTRANLIST>",
    "</BANKTRANLIST>",
    "<STMTTRN>",
    "</STMTTRN>",
    "<DTPOSTED>20261110",
    "<TRNAMT>1,00",
    "<FITID>1",
    "<MEMO>Saldo",
    "<MEMO>a & b < c",
    "<LEDGERBAL>",
    "</LEDGERBAL>",
    "<BALAMT>5",
    "<DTASOF>20261111",
    "<DTSTART>20261101",
    "<DTEND>20261130",
    "<CURRENCY>",
    "</CURRENCY>",
    "<CURSYM>BRL",
    "<PAYEE>",
    "</PAYEE>",
    "<NAME>x",
    "<X>",
    "</X>",
    "<!-- ",
    " -->",
    "<![CDATA[",
    "]]>",
    "<OFX>",
];
