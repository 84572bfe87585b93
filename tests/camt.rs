//! camt.053: what its fields say, in every version; and the deviations of real banks, each by its number in the field
//! notes (D1–D12).

#![expect(clippy::unwrap_used, reason = "tests: a fixture that cannot be read has failed")]

use std::fmt::Write as _;

use chrono::NaiveDate;
use counterfoil::diagnostic::Severity;
use counterfoil::reference::ReferenceKind;
use counterfoil::statement::identity::Identity;
use counterfoil::statement::{
    BankLine, DayComplete, Format, Input, LineKind, LineStatus, Parsed, Statement, TotalOf, camt,
};
use proptest::prelude::*;

const DAY_V02: &[u8] = include_bytes!("fixtures/camt/day.v02.xml");
const DAY_V08: &[u8] = include_bytes!("fixtures/camt/day.v08.xml");

fn parse(bytes: &[u8]) -> Parsed {
    camt::parse(&Input { bytes })
}

fn statements(bytes: &[u8]) -> Vec<Statement> {
    let parsed = parse(bytes);
    assert_eq!(parsed.format, Some(Format::Camt053));
    assert!(!parsed.statements.is_empty(), "{:?}", parsed.diagnostics);
    parsed.statements
}

/// What a file says, wherever in it that stands.
fn said(bytes: &[u8]) -> Vec<Statement> {
    let mut statements = statements(bytes);
    for statement in &mut statements {
        statement.line = 0;
        statement.lines.iter_mut().for_each(|line| line.line = 0);
    }
    statements
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// The one error of a refused file.
fn error(bytes: &[u8]) -> (String, String, Option<(u32, u32)>) {
    let parsed = parse(bytes);
    assert!(parsed.statements.is_empty());
    let mut errors: Vec<_> = parsed.diagnostics.into_iter().filter(|found| found.severity == Severity::Error).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let error = errors.remove(0);
    (error.code.to_owned(), error.message, error.line.zip(error.column))
}

fn references(line: &BankLine) -> Vec<(ReferenceKind, &str)> {
    line.references.iter().map(|reference| (reference.kind(), reference.value())).collect()
}

/// A message around the content of one statement.
fn message(stmt: &str) -> String {
    format!(
        "<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.02\"><BkToCstmrStmt><GrpHdr/><Stmt><Id>1</Id>\
         <Acct><Id><IBAN>NL02ABNA0123456789</IBAN></Id><Ccy>EUR</Ccy></Acct>{stmt}</Stmt></BkToCstmrStmt></Document>"
    )
}

fn balance(code: &str, amount: &str, date: &str) -> String {
    format!(
        "<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy=\"EUR\">{amount}</Amt>\
         <CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>{date}</Dt></Dt></Bal>"
    )
}

fn entry(amount: &str, direction: &str, rest: &str) -> String {
    format!(
        "<Ntry><Amt Ccy=\"EUR\">{amount}</Amt><CdtDbtInd>{direction}</CdtDbtInd><Sts>BOOK</Sts>\
         <BookgDt><Dt>2026-11-10</Dt></BookgDt>{rest}</Ntry>"
    )
}

fn only_line(stmt: &str) -> BankLine {
    let mut statements = statements(message(stmt).as_bytes());
    assert_eq!(statements[0].lines.len(), 1);
    statements.remove(0).lines.remove(0)
}

#[test]
fn a_day_is_read_whole() {
    let statement = statements(DAY_V02).remove(0);
    assert_eq!(statement.account.number, "00012345-6");
    assert_eq!(statement.account.bank.as_deref(), Some("EXMPBRSP"));
    assert_eq!(statement.account.branch.as_deref(), Some("0417"));
    assert_eq!((statement.id.as_deref(), statement.sequence.as_deref()), (Some("0417-20261110"), Some("214")));
    assert_eq!((statement.from, statement.to), (day("2026-11-10"), day("2026-11-10")));
    assert_eq!(statement.complete_through(DayComplete::AsOf), Some(day("2026-11-10")));
    let opening = statement.opening.unwrap();
    assert_eq!((opening.amount.to_string(), opening.date), ("1000.00".into(), Some(day("2026-11-10"))));
    assert_eq!(statement.closing.unwrap().amount.to_string(), "-120.55");
    let moved: i64 = statement.movements().map(|line| line.amount.minor()).sum();
    assert_eq!(opening.amount.minor() + moved, statement.closing.unwrap().amount.minor());
    let totals: Vec<_> = statement.totals.iter().map(|t| (t.of, t.count, t.sum.unwrap().to_string())).collect();
    assert_eq!(
        totals,
        [
            (TotalOf::All, Some(5), "3520.55".to_owned()),
            (TotalOf::Credits, Some(2), "1200.00".to_owned()),
            (TotalOf::Debits, Some(3), "-2320.55".to_owned()),
        ]
    );
}

#[test]
fn a_transaction_alone_in_its_entry_lends_the_line_what_it_says() {
    let statement = statements(DAY_V02).remove(0);
    let pix = &statement.lines[0];
    assert_eq!((pix.ordinal, pix.line), (1, 54));
    assert_eq!((pix.amount.to_string().as_str(), pix.amount_text.as_str()), ("700.00", "700.0"));
    assert_eq!(pix.code.as_deref(), Some("PMNT/RRCT/DMCT"));
    assert_eq!(pix.description, "Pedido 4471 & frete PIX RECEBIDO");
    assert_eq!(
        references(pix),
        [
            (ReferenceKind::Entry, "1"),
            (ReferenceKind::AccountServicer, "SVC-1"),
            (ReferenceKind::PixEndToEnd, "E99999008202611101421ABCDEFGHIJK"),
            (ReferenceKind::Transaction, "TX-700"),
            (ReferenceKind::Iso11649, "RF18539007547034"),
        ]
    );
    let payer = pix.counterparty.as_ref().unwrap();
    assert_eq!(payer.name.as_deref(), Some("Padaria Estrela do Sul Ltda"));
    assert_eq!(payer.account.as_deref(), Some("778899"));
    assert_eq!(payer.tax_id.as_deref(), Some("11222333000181"));
    assert_eq!(payer.bank.as_deref(), Some("99999008"));
    assert!(pix.details.is_empty());
    let cheque = &statement.lines[4];
    assert_eq!(references(cheque)[1], (ReferenceKind::Cheque, "000851"));
}

#[test]
fn the_indicator_is_the_sign_whatever_the_reversal_indicator_says() {
    // D4: "CRDT and reversed" is a credit; what it undoes was a debit.
    let estorno = &statements(DAY_V02)[0].lines[2];
    assert_eq!((estorno.amount.to_string().as_str(), estorno.reversal), ("500.00", true));
    assert_eq!(references(estorno)[1], (ReferenceKind::PixReturn, "D99999008202611101500ABCDEFGHIJK"));
    assert_eq!(estorno.counterparty.as_ref().unwrap().name.as_deref(), Some("Fornecedor Azul"));
}

#[test]
fn a_pending_entry_is_kept_apart_and_no_money() {
    let statement = statements(DAY_V02).remove(0);
    let pending = &statement.lines[5];
    assert_eq!((pending.status, pending.is_movement()), (LineStatus::Pending, false));
    assert_eq!(pending.booking_date, day("2026-11-11"));
    let undated = message(
        &(balance("CLBD", "1", "2026-11-10")
            + "<Ntry><Amt Ccy='EUR'>1</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>FUTR</Cd></Sts></Ntry>"),
    );
    let undated = statements(undated.as_bytes()).remove(0);
    assert_eq!((undated.lines[0].status, undated.lines[0].booking_date), (LineStatus::Pending, undated.to));
}

#[test]
fn every_version_says_the_same() {
    // D5, D10: Sts/Cd, Dbtr/Pty, BICFI, Amt in TxDtls, DtTm just before midnight, prefixes, a byte order mark.
    assert_eq!(said(DAY_V02), said(DAY_V08));
    for version in 2..=13 {
        let text = String::from_utf8(DAY_V08.to_vec()).unwrap().replace("053.001.08", &format!("053.001.{version:02}"));
        assert_eq!(said(text.as_bytes()), said(DAY_V02));
        assert!(parse(text.as_bytes()).diagnostics.is_empty());
    }
    let unnamed = String::from_utf8(DAY_V02.to_vec())
        .unwrap()
        .replace(" xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.02\"", "");
    assert_eq!(said(unnamed.as_bytes()), said(DAY_V02));
    let enveloped = String::from_utf8(DAY_V02.to_vec())
        .unwrap()
        .replace("<Document", "<BizData><AppHdr><Fr>x</Fr></AppHdr><Document")
        .replace("</Document>", "</Document></BizData>");
    assert_eq!(said(enveloped.as_bytes()), said(DAY_V02));
    let newer = String::from_utf8(DAY_V08.to_vec()).unwrap().replace("053.001.08", "053.001.14");
    let parsed = parse(newer.as_bytes());
    assert_eq!((parsed.statements.len(), parsed.diagnostics[0].code), (1, "VERSION"));
}

#[test]
fn the_character_set_changes_no_identity() {
    let text = String::from_utf8(DAY_V02.to_vec()).unwrap().replace("PIX RECEBIDO", "PIX RECEBIDO – AÇÚCAR");
    let told = statements(text.as_bytes()).remove(0);
    let (cp1252, _, _) = encoding_rs::WINDOWS_1252.encode(&text);
    let latin = String::from_utf8_lossy(&cp1252).len();
    assert_ne!(latin, text.len());
    let mut latin = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>".to_vec();
    latin.extend_from_slice(&cp1252[cp1252.windows(2).position(|pair| pair == b"?>").unwrap() + 2..]);
    assert_eq!(statements(&latin).remove(0), told);
    for big in [false, true] {
        let units = format!("\u{feff}{text}").replace("UTF-8", "UTF-16");
        let bytes: Vec<u8> =
            units.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect();
        assert_eq!(statements(&bytes).remove(0), told);
    }
    let mislabelled = parse(&cp1252);
    assert_eq!((mislabelled.diagnostics[0].severity, mislabelled.diagnostics[0].code), (Severity::Warning, "CHARSET"));
    assert_eq!(Identity::of(&mislabelled.statements[0].lines[0]), Identity::of(&told.lines[0]));
}

#[test]
fn bytes_that_contradict_their_label_are_read_and_said_at_their_place() {
    let text = String::from_utf8(DAY_V02.to_vec()).unwrap().replace("PIX RECEBIDO", "PIX AÇÚCAR");
    let line = u32::try_from(text[..text.find("AÇÚCAR").unwrap()].lines().count()).unwrap();
    let (latin, _, _) = encoding_rs::WINDOWS_1252.encode(&text);
    let said = |bytes: &[u8]| {
        let parsed = parse(bytes);
        let found = parsed.diagnostics.iter().find(|found| found.code == "CHARSET").cloned();
        let found = found.map(|found| (found.severity, found.line));
        (parsed.statements.first().map(|statement| statement.lines[0].description.contains("AÇÚCAR")), found)
    };
    assert_eq!(said(&latin), (Some(true), Some((Severity::Warning, Some(line)))));
    let labelled = text.replace("encoding=\"UTF-8\"", "encoding=\"ISO-8859-1\"");
    assert_ne!(labelled, text);
    assert_eq!(said(labelled.as_bytes()), (Some(true), Some((Severity::Info, Some(line)))), "as in OFX");
    let mut damaged = latin.into_owned();
    let at = damaged.iter().position(|byte| *byte == 0xC7).unwrap();
    damaged[at] = 0x81;
    assert_eq!(said(&damaged), (None, Some((Severity::Error, Some(line)))), "a byte without a meaning is no letter");
}

#[test]
fn a_batch_stays_one_line_and_its_transactions_explain_it() {
    // D1, D2, D3, D7: the line is the entry; a detail's amount is the one in the account's currency.
    let batch = &statements(DAY_V02)[0].lines[1];
    assert_eq!(batch.amount.to_string(), "-2300.00");
    assert_eq!(
        references(batch)[1..],
        [(ReferenceKind::Message, "REMESSA-88"), (ReferenceKind::PaymentInformation, "FOLHA-11"),]
    );
    assert_eq!(batch.counterparty, None);
    let details: Vec<_> = batch
        .details
        .iter()
        .map(|detail| {
            (
                detail.amount.unwrap().to_string(),
                detail.references[0].value(),
                detail.counterparty.as_ref().unwrap().name.as_deref().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        details,
        [("-1300.00".to_owned(), "FOLHA-11-A", "Ana Prado"), ("-1000.00".to_owned(), "FOLHA-11-B", "Bruno Reis"),]
    );
    assert_eq!(batch.value_date, None);
}

#[test]
fn a_detail_in_another_currency_has_no_amount() {
    // D3: 997.29 was instructed, 137.47 moved.
    let fx = "<NtryDtls><TxDtls><AmtDtls><InstdAmt><Amt Ccy='DKK'>997.29</Amt></InstdAmt><TxAmt><Amt Ccy='EUR'>137.47</Amt>\
              </TxAmt><CntrValAmt><Amt Ccy='EUR'>138.00</Amt></CntrValAmt></AmtDtls></TxDtls></NtryDtls>";
    let line = only_line(&entry("137.47", "DBIT", fx));
    assert_eq!(line.details[0].amount.unwrap().to_string(), "-137.47");
    let foreign =
        "<NtryDtls><TxDtls><Refs><EndToEndId>A-1</EndToEndId></Refs><Amt Ccy='SEK'>0</Amt></TxDtls></NtryDtls>";
    let line = only_line(&entry("8.85", "CRDT", foreign));
    assert!(line.details.is_empty());
    assert_eq!(references(&line), [(ReferenceKind::EndToEnd, "A-1")]);
}

#[test]
fn charges_are_read_in_both_forms() {
    // D2: 1526 left the account, 1500 of it is the transaction, 26 the bank's.
    let old = "<Chrgs><Amt Ccy='EUR'>26</Amt><CdtDbtInd>DBIT</CdtDbtInd></Chrgs>\
               <NtryDtls><TxDtls><AmtDtls><TxAmt><Amt Ccy='EUR'>1500</Amt></TxAmt></AmtDtls></TxDtls></NtryDtls>";
    let line = only_line(&entry("1526.00", "DBIT", old));
    assert_eq!((line.charges[0].amount.to_string().as_str(), line.charges[0].included), ("-26.00", None));
    assert_eq!(line.details[0].amount.unwrap().to_string(), "-1500.00");
    let new = "<Chrgs><TtlChrgsAndTaxAmt Ccy='EUR'>3</TtlChrgsAndTaxAmt><Rcrd><Amt Ccy='EUR'>1</Amt><ChrgInclInd>true</ChrgInclInd>\
               </Rcrd><Rcrd><Amt Ccy='EUR'>2</Amt><CdtDbtInd>CRDT</CdtDbtInd><ChrgInclInd>false</ChrgInclInd></Rcrd>\
               <Rcrd><Amt Ccy='USD'>9</Amt></Rcrd></Chrgs>";
    let line = only_line(&entry("10", "DBIT", new));
    let charges: Vec<_> = line.charges.iter().map(|charge| (charge.amount.to_string(), charge.included)).collect();
    assert_eq!(charges, [("-1.00".to_owned(), Some(true)), ("2.00".to_owned(), Some(false))]);
}

#[test]
fn the_counterparty_is_the_other_side() {
    let parties = "<NtryDtls><TxDtls><RltdPties><Dbtr><Nm>Payer</Nm></Dbtr><DbtrAcct><Id><IBAN>DE1</IBAN></Id></DbtrAcct>\
                   <UltmtDbtr><Nm>Behind</Nm></UltmtDbtr><Cdtr><Pty><Id><OrgId><AnyBIC>PAYEEBIC</AnyBIC></OrgId></Id></Pty></Cdtr>\
                   <UltmtCdtr><Pty><Nm>Behind the payee</Nm></Pty></UltmtCdtr></RltdPties></TxDtls></NtryDtls>";
    let credit = only_line(&entry("1", "CRDT", parties)).counterparty.unwrap();
    assert_eq!((credit.name.as_deref(), credit.account.as_deref()), (Some("Payer"), Some("DE1")));
    let debit = only_line(&entry("1", "DBIT", parties)).counterparty.unwrap();
    assert_eq!((debit.name.as_deref(), debit.account), (Some("Behind the payee"), None));
    assert_eq!(debit.bank.as_deref(), Some("PAYEEBIC"));
}

#[test]
fn the_strongest_form_of_each_reference_is_kept_once() {
    let refs = "<AcctSvcrRef>S1</AcctSvcrRef><NtryDtls><TxDtls><Refs><MsgId>M1</MsgId><AcctSvcrRef>S1</AcctSvcrRef><PmtInfId>P1</PmtInfId>\
                <InstrId>I1</InstrId><EndToEndId>NONREF</EndToEndId><UETR>eb6305c9-1f7f-49de-aed0-16487c27b42d</UETR>\
                <TxId>T1</TxId><MndtId>D1</MndtId><ChqNb>7</ChqNb><ClrSysRef>C1</ClrSysRef>\
                <Prtry><Tp>LegalSequenceNumber</Tp><Ref>100</Ref></Prtry></Refs>\
                <RmtInf><Strd><RfrdDocInf><Nb>INV-9</Nb></RfrdDocInf><CdtrRefInf><Ref>4654</Ref></CdtrRefInf></Strd></RmtInf></TxDtls></NtryDtls>";
    assert_eq!(
        references(&only_line(&entry("1", "CRDT", refs))),
        [
            (ReferenceKind::AccountServicer, "S1"),
            (ReferenceKind::Message, "M1"),
            (ReferenceKind::PaymentInformation, "P1"),
            (ReferenceKind::Instruction, "I1"),
            (ReferenceKind::Uetr, "EB6305C9-1F7F-49DE-AED0-16487C27B42D"),
            (ReferenceKind::Transaction, "T1"),
            (ReferenceKind::Mandate, "D1"),
            (ReferenceKind::Cheque, "7"),
            (ReferenceKind::Untyped, "C1"),
            (ReferenceKind::Untyped, "INV-9"),
            (ReferenceKind::Untyped, "4654"),
        ]
    );
}

#[test]
fn a_statement_without_entries_is_a_statement() {
    // D8: nothing moved, and that is proved.
    let quiet = message(&(balance("PRCD", "5.00", "2026-11-09") + &balance("CLBD", "5.00", "2026-11-10")));
    let quiet = statements(quiet.as_bytes()).remove(0);
    assert!(quiet.lines.is_empty());
    assert_eq!((quiet.from, quiet.complete_through(DayComplete::AsOf)), (day("2026-11-10"), Some(day("2026-11-10"))));
}

#[test]
fn every_entry_of_every_statement_is_read() {
    // D9: more than the first Ntry, more than the first Stmt; equal entries are two.
    let coffee = entry("4.50", "DBIT", "<AddtlNtryInf>COFFEE</AddtlNtryInf>");
    let text = message(&coffee.repeat(3)).replace("</BkToCstmrStmt>", "<Stmt><Id>2</Id><Acct><Id><IBAN>NL91</IBAN></Id><Ccy>JPY</Ccy></Acct>\
        <Ntry><Amt Ccy='JPY'>1200</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><DtTm>2026-11-10T23:59:59+01:00</DtTm></BookgDt></Ntry>\
        </Stmt></BkToCstmrStmt>");
    let all = statements(text.as_bytes());
    assert_eq!(all.iter().map(|statement| statement.lines.len()).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(Identity::of(&all[0].lines[0]), Identity::of(&all[0].lines[2]));
    assert_eq!(all[1].lines[0].amount.to_string(), "1200");
    assert_eq!(all[1].lines[0].booking_date, day("2026-11-10"));
}

#[test]
fn other_messages_are_named_and_refused_and_never_empty_successes() {
    // D9, D11.
    for (element, name) in [("BkToCstmrAcctRpt", "camt.052"), ("BkToCstmrDbtCdtNtfctn", "camt.054")] {
        let text = format!("<Document><{element}><GrpHdr/><Rpt><Id>1</Id></Rpt></{element}></Document>");
        let (code, message, _) = error(text.as_bytes());
        assert_eq!(code, "UNSUPPORTED");
        assert!(message.contains(name), "{message}");
        assert_eq!(parse(text.as_bytes()).format, None);
    }
    assert_eq!(error(b"<Document><CstmrCdtTrfInitn/></Document>").0, "FORMAT");
    assert_eq!(error(b"").0, "FORMAT");
    assert_eq!(error(b"<Document><BkToCstmrStmt><GrpHdr/></BkToCstmrStmt></Document>").0, "EMPTY");
    assert_eq!(error(message("").as_bytes()).0, "DATE");
}

#[test]
fn a_garbled_amount_is_refused_at_its_place() {
    let text = "<Document><BkToCstmrStmt><Stmt><Acct><Id><IBAN>X1</IBAN></Id></Acct>\n  <Ntry>\n    <Amt Ccy=\"EUR\">12..34</Amt>\
                <CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-04-10</Dt></BookgDt></Ntry></Stmt></BkToCstmrStmt></Document>";
    let (code, message, place) = error(text.as_bytes());
    assert_eq!((code.as_str(), place), ("AMOUNT", Some((3, 20))));
    assert_eq!(message, "Ntry 1 Amt: found \"12..34\", expected a decimal number with a point, such as 1234.56");
}

#[test]
fn an_amount_is_exact_or_refused() {
    // D10: leading zeros, superfluous decimals, a zero.
    assert_eq!(only_line(&entry("0027.050", "DBIT", "")).amount.to_string(), "-27.05");
    assert_eq!(only_line(&entry("0.00", "DBIT", "")).kind, LineKind::ZeroAmount);
    for (amount, expected) in [
        ("1.005", "2 decimal digits"),
        ("-1", "no sign"),
        ("1,50", "with a point"),
        ("", "with a point"),
        ("1e3", "with a point"),
        ("99999999999999999999", "below"),
    ] {
        let (code, message, _) = error(message(&entry(amount, "CRDT", "")).as_bytes());
        assert_eq!(code, "AMOUNT");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_decides_about_money_is_never_guessed() {
    let wrong = |from: &str, to: &str| error(message(&entry("1", "CRDT", "").replace(from, to)).as_bytes()).0;
    assert_eq!(wrong("CRDT", "CREDIT"), "DIRECTION");
    assert_eq!(wrong("<CdtDbtInd>CRDT</CdtDbtInd>", ""), "DIRECTION");
    assert_eq!(wrong("BOOK</Sts>", "MAYBE</Sts>"), "STATUS");
    assert_eq!(wrong("2026-11-10", "2026-11-31"), "DATE");
    assert_eq!(wrong("2026-11-10", "10.11.2026"), "DATE");
    assert_eq!(wrong("<BookgDt><Dt>2026-11-10</Dt></BookgDt>", ""), "DATE");
    assert_eq!(wrong("<Amt Ccy=\"EUR\">1</Amt>", ""), "AMOUNT");
    assert_eq!(wrong("EUR", "SEK"), "CURRENCY");
    assert_eq!(wrong(" Ccy=\"EUR\"", ""), "CURRENCY");
    let (_, message, _) = error(message("<Ntry><Amt Ccy='SEK'>1</Amt><CdtDbtInd>CRDT</CdtDbtInd></Ntry>").as_bytes());
    assert!(message.contains("SEK") && message.contains("EUR"), "{message}");
}

#[test]
fn a_missing_booking_date_or_status_is_told() {
    let line = entry("1", "CRDT", "").replace("BookgDt", "ValDt").replace("<Sts>BOOK</Sts>", "");
    let parsed = parse(message(&line).as_bytes());
    assert_eq!(parsed.statements[0].lines[0].booking_date, day("2026-11-10"));
    let codes: Vec<_> = parsed.diagnostics.iter().map(|found| (found.severity, found.code)).collect();
    assert_eq!(codes, [(Severity::Warning, "STATUS"), (Severity::Warning, "DATE")]);
}

#[test]
fn contradictory_balances_are_named() {
    let two = balance("OPBD", "1.01", "2026-11-10") + &balance("PRCD", "2.02", "2026-11-09");
    let (code, text, _) = error(message(&two).as_bytes());
    assert_eq!(code, "BALANCE");
    assert!(text.contains("1.01") && text.contains("2.02"), "{text}");
    let two = balance("OPBD", "1", "2026-11-10") + &balance("CLBD", "1", "2026-11-10").replace("EUR", "SEK");
    let unstated = message(&two).replace("<Ccy>EUR</Ccy>", "");
    let (code, text, _) = error(unstated.as_bytes());
    assert_eq!(code, "CURRENCY");
    assert!(text.contains("OPBD is in EUR, CLBD is in SEK"), "{text}");
    assert_eq!(error(message(&two).as_bytes()).0, "CURRENCY");
    let twice = balance("CLBD", "1", "2026-11-10") + &balance("CLBD", "2", "2026-11-10");
    assert_eq!(error(message(&twice).as_bytes()).0, "BALANCE");
    let unsigned = balance("CLBD", "1", "2026-11-10").replace("<CdtDbtInd>CRDT</CdtDbtInd>", "");
    assert_eq!(error(message(&unsigned).as_bytes()).0, "BALANCE");
}

#[test]
fn the_currency_is_the_accounts_else_the_balances_else_the_entries() {
    let bare = |stmt: &str| message(stmt).replace("<Ccy>EUR</Ccy>", "");
    let of = |text: String| statements(text.as_bytes())[0].currency.to_string();
    assert_eq!(of(bare(&balance("CLBD", "1", "2026-11-10"))), "EUR");
    assert_eq!(of(bare(&entry("1", "CRDT", ""))), "EUR");
    let mixed = bare(&(entry("1", "CRDT", "") + &entry("1", "CRDT", "").replace("EUR", "SEK")));
    assert_eq!(error(mixed.as_bytes()).0, "CURRENCY");
    // Other balances of other currencies say nothing about the account's.
    let available = balance("CLBD", "1", "2026-11-10") + &balance("CLAV", "1", "2026-11-10").replace("EUR", "CHF");
    assert_eq!(of(bare(&available)), "EUR");
}

#[test]
fn a_page_that_is_not_the_last_covers_nothing() {
    let body = balance("OPBD", "5", "2026-11-10") + &balance("ITBD", "6", "2026-11-10") + &entry("1", "CRDT", "");
    let paged = |page: &str| message(&format!("{page}{body}{}", balance("CLBD", "9", "2026-11-10")));
    let first = parse(paged("<StmtPgntn><PgNb>1</PgNb><LastPgInd>false</LastPgInd></StmtPgntn>").as_bytes());
    let statement = &first.statements[0];
    assert_eq!((statement.closing, statement.complete_through(DayComplete::AsOf)), (None, None));
    assert!(statement.opening.is_some());
    assert_eq!((first.diagnostics[0].severity, first.diagnostics[0].code), (Severity::Warning, "PAGE"));
    let second = parse(paged("<StmtPgntn><PgNb>2</PgNb><LastPgInd>true</LastPgInd></StmtPgntn>").as_bytes());
    assert_eq!(second.statements[0].opening, None);
    assert_eq!(second.statements[0].complete_through(DayComplete::AsOf), Some(day("2026-11-10")));
    let of_message = paged("")
        .replace("<GrpHdr/>", "<GrpHdr><MsgPgntn><PgNb>1</PgNb><LastPgInd>false</LastPgInd></MsgPgntn></GrpHdr>");
    assert_eq!(parse(of_message.as_bytes()).statements[0].complete_through(DayComplete::AsOf), None);
    let interim = balance("OPBD", "5", "2026-11-10").replace("</Tp>", "<SubTp><Cd>INTM</Cd></SubTp></Tp>");
    let interim = statements(message(&(interim + &balance("CLBD", "5", "2026-11-10"))).as_bytes()).remove(0);
    assert_eq!(interim.opening, None);
}

#[test]
fn xml_that_attacks_or_breaks_off_is_refused() {
    let bomb = "<!DOCTYPE lolz [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><Document><BkToCstmrStmt>&b;</BkToCstmrStmt></Document>";
    assert_eq!(error(bomb.as_bytes()).0, "DOCTYPE");
    assert_eq!(error(message("<Foo>&b;</Foo><Id>&unknown;</Id>").as_bytes()).0, "XML");
    assert_eq!(error("<a>".repeat(100_000).as_bytes()).0, "LIMIT");
    assert_eq!(error(message(&format!("<X>{}", "<y>".repeat(100))).as_bytes()).0, "LIMIT");
    assert_eq!(error(message(&format!("<Id>{}</Id>", "x".repeat(70_000))).as_bytes()).0, "LIMIT");
    assert_eq!(error(message("<Id>1</Nope>").as_bytes()).0, "XML");
    assert_eq!(error(b"<Document><BkToCstmrStmt>\0").0, "CHARSET");
    assert_eq!(error(b"<Document><BkToCstmrStmt>\x01").0, "XML");
    let whole = message(&entry("1", "CRDT", ""));
    for cut in 1..whole.len() {
        let parsed = parse(&whole.as_bytes()[..cut]);
        assert!(parsed.statements.is_empty(), "cut at {cut}");
    }
    assert_eq!(error(&whole.as_bytes()[..whole.len() - 30]).0, "TRUNCATED");
}

#[test]
fn a_file_full_of_faults_is_given_up_with_a_bounded_answer() {
    let mut body = String::new();
    for n in 0..5_000 {
        write!(body, "\n{}", entry(&format!("{n}..0"), "CRDT", "")).unwrap();
    }
    let parsed = parse(message(&body).as_bytes());
    assert!(parsed.statements.is_empty());
    assert!((100..=102).contains(&parsed.diagnostics.len()), "{}", parsed.diagnostics.len());
    assert_eq!(parsed.diagnostics.last().unwrap().code, "MORE");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_end_in_statements_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let parsed = parse(&bytes);
        prop_assert!(!parsed.statements.is_empty() || parsed.diagnostics.iter().any(|d| d.severity == Severity::Error));
    }

    #[test]
    fn a_changed_byte_ends_in_whole_statements_or_an_error(at in 0..DAY_V02.len(), byte in any::<u8>(), cut in 0..3usize) {
        let mut bytes = DAY_V02.to_vec();
        bytes[at] = byte;
        bytes.drain(at..(at + cut).min(bytes.len()));
        let parsed = parse(&bytes);
        let refused = parsed.diagnostics.iter().any(|d| d.severity == Severity::Error);
        prop_assert_eq!(parsed.statements.is_empty(), refused);
    }
}
