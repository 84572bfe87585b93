//! What the book readers promise.

use proptest::prelude::*;

use super::profile::{Column, Delimiter, Encoding, Field, Sign};
use super::*;
use crate::diagnostic::Diagnostics;
use crate::reference::ReferenceKind;

fn read_plain(text: &str) -> ParsedBook {
    parse(&Input { bytes: text.as_bytes(), profile: None })
}

fn taken(text: &str) -> ParsedBook {
    let parsed = read_plain(text);
    assert!(!parsed.is_refused(), "{:#?}", parsed.diagnostics);
    parsed
}

/// The errors of a file that is refused, as `line:column CODE message`.
fn refused(bytes: impl AsRef<[u8]>, profile: Option<&Profile>) -> Vec<String> {
    let parsed = parse(&Input { bytes: bytes.as_ref(), profile });
    assert!(parsed.is_refused() && parsed.lines.is_empty() && parsed.balances.is_empty(), "{parsed:#?}");
    let place = |part: Option<u32>| part.map_or("-".to_owned(), |part| part.to_string());
    let errors = parsed.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    errors
        .map(|found| format!("{}:{} {} {}", place(found.line), place(found.column), found.code, found.message))
        .collect()
}

/// The profile lines that a refusal offers.
fn offered(bytes: impl AsRef<[u8]>) -> Vec<String> {
    let parsed = parse(&Input { bytes: bytes.as_ref(), profile: None });
    assert!(parsed.is_refused());
    parsed.diagnostics.into_iter().filter(|found| found.code == "PROFILE").map(|found| found.message).collect()
}

const HEADER: &str = "id,account,date,amount,currency\n";

#[test]
fn a_plain_csv_is_read_with_its_columns_in_any_order() {
    let parsed = taken(
        "amount,id,currency,date,account,reference,reference_type,reverses,group,counterparty,description\n\
         -530.86,L-1,BRL,2026-11-27,main,000123,document,,LOTE-7,Acme Ltda,\"Rent, November\"\n\
         12.5,L-2,BRL,2026-11-27,main,E00416968202611101230aBcDeFgHiJk,,L-0,,,\n",
    );
    let line = &parsed.lines[0];
    assert_eq!((line.id.as_str(), line.account.as_str(), line.amount.minor()), ("L-1", "main", -53_086));
    assert_eq!(line.references[0].kind(), ReferenceKind::Document);
    assert_eq!(line.references[0].value(), "000123");
    assert_eq!(line.counterparty.as_deref(), Some("Acme Ltda"));
    assert_eq!(line.description, "Rent, November");
    assert_eq!(line.group.as_deref(), Some("LOTE-7"));
    assert_eq!((line.ordinal, line.line), (1, 2));
    let line = &parsed.lines[1];
    assert_eq!(line.references[0].kind(), ReferenceKind::PixEndToEnd);
    assert_eq!(line.reverses.as_deref(), Some("L-0"));
    assert_eq!((line.counterparty.as_deref(), line.description.as_str()), (None, ""));
}

#[test]
fn json_lines_read_as_the_same_postings() {
    let csv = taken(&format!("{HEADER}L-1,main,2026-11-27,-530.86,BRL\n"));
    let mut json = taken(
        "{\"id\":\"L-1\",\"account\":\"main\",\"date\":\"2026-11-27\",\"amount\":\"-530.86\",\"currency\":\"BRL\",\"group\":null}\n",
    );
    json.lines[0].line = 2;
    assert_eq!(json.lines, csv.lines);
}

#[test]
fn ledger_balances_are_told_apart_by_their_header() {
    let parsed = taken("account,date,currency,closing\nmain,2026-11-27,BRL,1200.00\n");
    assert!(parsed.lines.is_empty());
    assert_eq!(parsed.balances[0].closing.minor(), 120_000);
    assert_eq!(parsed.balances[0].line, 2);
    let parsed = taken("{\"account\":\"main\",\"date\":\"2026-11-27\",\"currency\":\"BRL\",\"closing\":\"1200.00\"}");
    assert_eq!(parsed.balances.len(), 1);
    let told = refused("id,account,date,amount,currency,closing\n", None);
    assert!(told[0].contains("closing beside amounts"), "{told:?}");
}

#[test]
fn a_debit_to_the_cash_account_is_money_in_and_a_credit_is_money_out() {
    let header = "id,account,date,debit,credit,currency\n";
    let parsed = taken(&format!("{header}1,main,2026-11-27,10.00,,BRL\n2,main,2026-11-27,0.00,7.50,BRL\n"));
    let minor: Vec<_> = parsed.lines.iter().map(|line| line.amount.minor()).collect();
    assert_eq!(minor, [1_000, -750]);
}

#[test]
fn a_negative_amount_in_a_debit_column_is_refused_and_so_are_two_amounts() {
    let header = "id,account,date,debit,credit,currency\n";
    let told = refused(format!("{header}1,main,2026-11-27,-10.00,,BRL\n2,main,2026-11-27,3,4,BRL\n"), None);
    assert!(told[0].starts_with("2:19 SIGN debit: found -10.00, expected a magnitude"), "{told:?}");
    assert!(told[1].starts_with("3:21 SIGN credit: found a credit of 4.00 beside a debit of 3.00"), "{told:?}");
}

#[test]
fn every_wrong_field_is_told_with_its_line_column_and_what_was_expected() {
    let told = refused(
        format!(
            "{HEADER}\n\n,main,27/11/2026,\"1.234,56\",REAL\n\"x\ny\",main,2026-11-27,abc,BRL\nL,main,2026-11-27,1\n"
        ),
        None,
    );
    assert_eq!(
        told,
        [
            "4:1 EMPTY id: found nothing, expected a value",
            "4:7 DATE date: found \"27/11/2026\", expected a date as YYYY-MM-DD",
            "4:29 CURRENCY currency: found \"REAL\", expected a code such as BRL",
            "6:20 AMOUNT amount: \"abc\" has 'a' where a digit was expected; expected an amount such as -530.86",
            "7:- FIELDS found 4 fields, expected 5 as in the first record",
        ]
    );
}

#[test]
fn a_quote_that_is_never_closed_cannot_swallow_the_lines_after_it() {
    let header = "id,account,date,amount,currency,description\n";
    let rows = "1,main,2026-11-27,1,BRL,\"open\n2,main,2026-11-27,2,BRL,x\n";
    let told = refused(format!("{header}{rows}"), None);
    assert!(told[0].starts_with("2:25 QUOTE found a quote that is never closed"), "{told:?}");
    let rows = "1,main,2026-11-27,1,BRL,\"open\n2,main,2026-11-27,2,BRL,\"x\n";
    let told = refused(format!("{header}{rows}"), None);
    assert!(told[0].starts_with("3:26 QUOTE found text after the closing quote"), "{told:?}");
    let told = refused(format!("{header}1,main,2026-11-27,1,BRL,5\" pipe\n"), None);
    assert!(told[0].starts_with("2:26 QUOTE found a quote inside a field"), "{told:?}");
}

#[test]
fn a_second_posting_with_the_same_id_is_refused_unless_it_says_the_same() {
    let row = "L-1,main,2026-11-27,1.00,BRL\n";
    let parsed = taken(&format!("{HEADER}{row}{row}L-1,other,2026-11-27,2.00,BRL\n"));
    assert_eq!(parsed.lines.len(), 2);
    assert_eq!(parsed.diagnostics[0].severity, Severity::Warning);
    let told = refused(format!("{HEADER}{row}L-1,main,2026-11-27,2.00,BRL\n"), None);
    assert!(
        told[0].starts_with("3:- DUPLICATE id: found \"L-1\" of account \"main\" of line 2 with other content"),
        "{told:?}"
    );
    let balances = "account,date,currency,closing\nmain,2026-11-27,BRL,1\nmain,2026-11-27,BRL,2\n";
    assert!(refused(balances, None)[0].starts_with("3:- DUPLICATE closing"));
}

#[test]
fn a_json_number_is_no_amount_and_an_unknown_or_repeated_name_is_told() {
    let told =
        refused("\n{\"id\":1,\"account\":\"m\",\"date\":\"2026-11-27\",\"amount\":-530.86,\"currency\":\"BRL\"}", None);
    assert_eq!(told, ["2:- JSON amount: found a number with a fraction, expected a string"]);
    let told = refused("{\"id\":\"1\",\"amount\":12}", None);
    assert!(told[0].contains("numbers become floats on the way"), "{told:?}");
    assert!(refused("{\"idd\":\"1\"}", None)[0].contains("unknown name \"idd\""));
    assert!(refused("{\"id\":\"1\",\"id\":\"1\"}", None)[0].contains("the name \"id\" twice"));
    assert!(refused("[{\"id\":\"1\"}]", None)[0].contains("expected one object a line"));
}

#[test]
fn a_dialect_or_a_missing_header_is_one_finding_that_names_the_keys() {
    let rows = "1,main,2026-11-27,\"1,50\",BRL\n2,main,2026-11-27,\"2,50\",BRL\n";
    let told = refused(format!("{HEADER}{rows}"), None);
    let errors: Vec<_> = told.iter().filter(|told| told.contains("AMOUNT")).collect();
    assert_eq!(errors.len(), 1, "{told:?}");
    assert!(errors[0].contains("the first of 2 findings. The file is of another dialect"), "{told:?}");
    assert!(errors[0].ends_with("a profile with decimal = \",\" reads it"), "{told:?}");
    let told = refused("1,main,2026-11-27,1.50,BRL\n", None);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("1:1 HEADER found no header") && told[0].contains("header = false"), "{told:?}");
}

#[test]
fn a_column_that_nobody_knows_is_refused_by_name() {
    let told = refused("id,account,date,amount,currency,counterprty\n", None);
    assert!(told[0].starts_with("1:33 HEADER found the column \"counterprty\", expected one of id, account"));
    let told = refused("id,date,amount\n", None);
    assert_eq!(told, ["1:1 HEADER found no column for account", "1:1 HEADER found no column for currency"]);
}

#[test]
fn nothing_is_never_success() {
    assert!(refused("", None)[0].contains("EMPTY"));
    assert!(refused(" \r\n\n", None)[0].contains("EMPTY"));
    assert_eq!(taken(HEADER).diagnostics[0].code, "NO_RECORDS");
}

#[test]
fn text_of_another_encoding_is_refused_with_its_place_and_the_profile_that_reads_it() {
    let bytes = b"id,account,date,amount,currency,description\n1,main,2026-11-27,1.00,BRL,Caf\xe9\n";
    let told = refused(bytes, None);
    assert!(told[0].starts_with("2:31 CHARSET found bytes that are no utf-8"), "{told:?}");
    assert_eq!(
        offered(bytes),
        [
            "these lines of settings would read the file:\n[profiles.ledger]\nencoding = \"windows-1252\"\n[book]\nprofile = \"ledger\""
        ]
    );
    let marked = b"\xff\xfei\0d\0";
    assert!(refused(marked, None)[0].contains("found the byte order mark of utf-16le, expected utf-8"));
    assert!(refused(b"id\0,account", None)[0].contains("NUL"));
}

#[test]
fn a_control_character_in_a_field_is_refused_with_line_and_field() {
    let object = |text: &str| {
        format!(
            "{{\"id\":\"L-1\",\"account\":\"main\",\"date\":\"2026-11-27\",\"amount\":\"1.00\",\"currency\":\"BRL\",\"description\":\"{text}\"}}\n"
        )
    };
    let told = refused(object("Rent\\u0000"), None);
    assert_eq!(told, ["1:- CONTROL description: found the control character U+0000, expected text"]);
    assert_eq!(refused(object("a\\u001b[2J"), None).len(), 1);
    taken(&object("two\\nlines,\\ta tab, caf\u{e9}"));
    let csv = |text: &str| format!("id,account,date,amount,currency,group\nL-1,main,2026-11-27,1.00,BRL,{text}\n");
    let told = refused(csv("LOTE\u{7}7"), None);
    assert_eq!(told, ["2:30 CONTROL group: found the control character U+0007, expected text"]);
    taken(&csv("\"two\r\nlines\""));
    let told = refused("account,date,currency,closing\nma\u{7f}in,2026-11-27,BRL,1.00\n", None);
    assert_eq!(told, ["2:1 CONTROL account: found the control character U+007F, expected text"]);
}

#[test]
fn leaving_out_a_posting_with_a_mistake_in_it_is_never_offered() {
    let text = "id,account,date,amount,currency\n1,main,2026-11-27,10.00,BRL\n2,main,2026-11-27,-30.5O,BRL\n";
    assert_eq!(offered(text), Vec::<String>::new());
}

#[test]
fn a_brazilian_export_is_refused_with_the_very_lines_that_read_it() {
    let text = "Razão da conta 1.1.1.02;;;;;;\n\
                Lançamento;Conta;Data;Valor;Moeda;Histórico;Saldo\n\
                1001;main;27/11/2026;-1.355,90;BRL;Aluguel;10.000,00\n\
                1002;main;26/11/2026;10,00;BRL;Venda;10.010,00\n\
                Total;;;-1.345,90;;;\n";
    let offers = offered(text);
    let expected = "these lines of settings would read the file:\n\
        [profiles.ledger]\n\
        delimiter = \";\"\n\
        columns = { id = \"Lançamento\", account = \"Conta\", date = \"Data\", amount = \"Valor\", currency = \"Moeda\", description = \"Histórico\" }\n\
        date = \"DD/MM/YYYY\"\n\
        decimal = \",\"\n\
        thousands = \".\"\n\
        skip = 1\n\
        footer = 1\n\
        [book]\n\
        profile = \"ledger\"";
    assert_eq!(offers, [expected]);
    // And they do.
    let table: toml::Table = offers[0].split_once('\n').unwrap().1.parse().unwrap();
    let profile: Profile = table["profiles"]["ledger"].clone().try_into().unwrap();
    assert_eq!(profile.check(), Ok(()));
    let parsed = parse(&Input { bytes: text.as_bytes(), profile: Some(&profile) });
    assert!(!parsed.is_refused(), "{parsed:#?}");
    let minor: Vec<_> = parsed.lines.iter().map(|line| (line.amount.minor(), line.line, line.ordinal)).collect();
    assert_eq!(minor, [(-135_590, 3, 1), (1_000, 4, 2)]);
}

#[test]
fn where_two_readings_differ_both_are_offered_and_none_is_chosen() {
    let offers = offered("id,account,date,amount,currency\n1,main,03/04/2026,1.00,BRL\n");
    assert_eq!(offers.len(), 2, "{offers:?}");
    assert!(offers[0].contains("only you can say") && offers[0].contains("DD/MM/YYYY"));
    assert!(offers[1].starts_with("or:") && offers[1].contains("MM/DD/YYYY"));
}

#[test]
fn a_file_that_nothing_reads_gets_no_suggestion() {
    assert_eq!(offered("id,account,date,amount,currency\n1,main,soon,1.00,BRL\n"), Vec::<String>::new());
    assert_eq!(offered("\x7fELF"), Vec::<String>::new());
}

#[test]
fn a_declared_dialect_is_read_as_declared() {
    let profile = Profile {
        encoding: Encoding::new("iso-8859-1").unwrap(),
        delimiter: Delimiter::new("|").unwrap(),
        header: false,
        columns: [
            (Field::Id, 1),
            (Field::Date, 2),
            (Field::Amount, 3),
            (Field::Indicator, 4),
            (Field::Counterparty, 6),
        ]
        .into_iter()
        .map(|(field, number)| (field, Column::Number(number)))
        .collect(),
        account: Some("main".into()),
        currency: Some(crate::money::Currency::new("EUR").unwrap()),
        date: super::date::DatePattern::new("YYYYMMDD").unwrap(),
        sign: Sign::Indicator,
        indicator_in: vec!["S".into()],
        indicator_out: vec!["H".into()],
        quote: false,
        ..Profile::default()
    };
    assert_eq!(profile.check(), Ok(()));
    let bytes = b"7|20261127|10.00|H|ignored|M\xfcller \"5\r\n8|20261127|2.00|S||\r\n";
    let parsed = parse(&Input { bytes, profile: Some(&profile) });
    assert!(!parsed.is_refused(), "{parsed:#?}");
    let line = &parsed.lines[0];
    assert_eq!((line.amount.minor(), line.counterparty.as_deref(), line.line), (-1_000, Some("Müller \"5"), 1));
    assert_eq!((parsed.lines[1].amount.minor(), parsed.lines[1].line), (200, 2));
    let told = refused(b"7|20261127|10.00|X||\n8|20261127|-1|S||\n", Some(&profile));
    assert!(told[0].starts_with("1:18 SIGN indicator: found \"X\", expected one of S, H"), "{told:?}");
    assert!(told[1].contains("negative amount beside an indicator"), "{told:?}");
}

#[test]
fn balances_in_the_plain_format_are_read_whatever_the_profile() {
    let profile = Profile { delimiter: Delimiter::new(";").unwrap(), ..Profile::default() };
    let bytes = b"account,date,currency,closing\nmain,2026-11-27,BRL,1.00\n";
    let parsed = parse(&Input { bytes, profile: Some(&profile) });
    assert_eq!(parsed.balances.len(), 1, "{parsed:#?}");
}

#[test]
fn a_profile_that_contradicts_itself_is_told_all_of_it() {
    let profile: Profile = toml::from_str(
        "header = false\ndecimal = \".\"\nthousands = \".\"\nsign = \"indicator\"\ncolumns = { amount = 0, debit = \"Soll\" }\nindicator_in = [\"C\"]",
    )
    .unwrap();
    let told: Vec<_> = profile.check().unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 7, "{told:#?}");
    assert!(toml::from_str::<Profile>("delimiter = \"ab\"").is_err());
    assert!(toml::from_str::<Profile>("encoding = \"klingon\"").is_err());
    assert!(toml::from_str::<Profile>("columns = { amonut = 1 }").is_err());
}

#[test]
fn a_million_faults_are_not_a_million_sentences() {
    let text = format!("{HEADER}{}", "1,main,soon,1.00,BRL\n".repeat(1_000));
    let parsed = read_plain(&text);
    assert!(parsed.diagnostics.len() <= Diagnostics::CAP + 1);
    assert!(parsed.diagnostics.last().unwrap().message.contains("more findings"));
}

proptest! {
    #[test]
    fn any_bytes_end_in_a_book_or_in_findings(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let parsed = parse(&Input { bytes: &bytes, profile: None });
        prop_assert!(parsed.is_refused() || !parsed.lines.is_empty() || !parsed.diagnostics.is_empty() || !parsed.balances.is_empty());
    }

    #[test]
    fn what_is_written_is_what_is_read(
        // The place before the id keeps ids apart, whatever they are trimmed to.
        rows in proptest::collection::vec(("[A-Za-z0-9 ,\"\n;é]{1,12}", -99_999_999_i64..99_999_999, "[a-z,\"\n ]{0,10}"), 1..20)
    ) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["id", "account", "date", "amount", "currency", "description"]).unwrap();
        for (at, (id, minor, text)) in rows.iter().enumerate() {
            let amount = crate::money::Money::new(*minor, crate::money::Currency::new("EUR").unwrap()).to_string();
            writer.write_record([&format!("{at}:{id}"), "main", "2026-11-27", &amount, "EUR", text]).unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        let parsed = parse(&Input { bytes: &bytes, profile: None });
        prop_assert!(!parsed.is_refused(), "{:#?}", parsed.diagnostics);
        prop_assert_eq!(parsed.lines.len(), rows.len());
        for ((at, (id, minor, text)), line) in rows.iter().enumerate().zip(&parsed.lines) {
            let written = format!("{at}:{id}");
            prop_assert_eq!(&line.id, written.trim());
            prop_assert_eq!(line.amount.minor(), *minor);
            prop_assert_eq!(&line.description, text.trim());
        }
    }
}

proptest! {
    // Each refusal tries every profile there is.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_damaged_book_ends_in_a_book_or_in_findings(
        at in 0_usize..120, junk in "[\"\r\n,;0-9é\u{feff}-]{0,4}", skip in 0_u32..4, footer in 0_u32..4, quote: bool
    ) {
        let mut text = format!("{HEADER}L-1,main,2026-11-27,-530.86,BRL\n\"L\n2\",main,2026-11-27,1,BRL\n");
        let at = at.min(text.len());
        text.insert_str(at, &junk);
        let profile = Profile { quote, skip, footer, ..Profile::default() };
        let _ = parse(&Input { bytes: text.as_bytes(), profile: Some(&profile) });
        let _ = super::read::read(text.as_bytes(), &profile);
    }
}
