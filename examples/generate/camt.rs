//! camt.053.001.08, one statement of one day.

use std::fmt::Write;

use super::day::{Account, BankLine, amount, friday, thursday};
use super::europe::modulo_97;

/// The account's number: a German IBAN of a bank code that is nobody's, with its check digits.
pub(crate) fn iban() -> String {
    let account = "999999990012345678";
    format!("DE{:02}{account}", 98 - modulo_97(&format!("{account}DE00")))
}

/// The statement of Friday.
pub(crate) fn file(account: &Account) -> Vec<u8> {
    let mut xml = Xml::default();
    xml.out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    xml.open("Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.08\"");
    xml.open("BkToCstmrStmt");
    xml.open("GrpHdr");
    xml.text("MsgId", "EX20261127-0001");
    xml.text("CreDtTm", "2026-11-28T02:10:00+01:00");
    xml.close();
    xml.open("Stmt");
    xml.text("Id", "EX-2026-229");
    xml.text("ElctrncSeqNb", "229");
    xml.text("CreDtTm", "2026-11-28T02:10:00+01:00");
    xml.open("Acct");
    xml.open("Id");
    xml.text("IBAN", &iban());
    xml.close();
    xml.text("Ccy", account.currency);
    xml.open("Svcr");
    xml.open("FinInstnId");
    xml.text("BICFI", "EXAMDEFFXXX");
    xml.close();
    xml.close();
    xml.close();
    balance(&mut xml, account, "OPBD", thursday());
    balance(&mut xml, account, "CLBD", friday());
    let booked: Vec<&BankLine> = account.bank.iter().filter(|line| !line.pending).collect();
    totals(&mut xml, &booked);
    for line in &account.bank {
        entry(&mut xml, line, account.currency);
    }
    while xml.close() {}
    xml.out.into_bytes()
}

fn balance(xml: &mut Xml, account: &Account, code: &str, day: chrono::NaiveDate) {
    let cents = account.bank_at(day);
    xml.open("Bal");
    xml.open("Tp");
    xml.open("CdOrPrtry");
    xml.text("Cd", code);
    xml.close();
    xml.close();
    xml.money("Amt", cents, account.currency);
    xml.open("Dt");
    xml.text("Dt", &day.to_string());
    xml.close();
    xml.close();
}

fn totals(xml: &mut Xml, booked: &[&BankLine]) {
    let total = |xml: &mut Xml, name: &str, of: &dyn Fn(i64) -> bool| {
        let cents: Vec<i64> = booked.iter().map(|line| line.cents).filter(|cents| of(*cents)).collect();
        xml.open(name);
        xml.text("NbOfNtries", &cents.len().to_string());
        xml.text("Sum", &amount(cents.iter().map(|cents| cents.abs()).sum(), '.'));
        xml.close();
    };
    xml.open("TxsSummry");
    total(xml, "TtlNtries", &|_| true);
    total(xml, "TtlCdtNtries", &|cents| cents > 0);
    total(xml, "TtlDbtNtries", &|cents| cents < 0);
    xml.close();
}

fn entry(xml: &mut Xml, line: &BankLine, currency: &str) {
    xml.open("Ntry");
    xml.text("NtryRef", &line.bank_id[line.bank_id.len().saturating_sub(6)..]);
    xml.money("Amt", line.cents, currency);
    if line.reversal {
        xml.text("RvslInd", "true");
    }
    xml.open("Sts");
    xml.text("Cd", if line.pending { "PDNG" } else { "BOOK" });
    xml.close();
    if !line.pending {
        xml.open("BookgDt");
        xml.text("Dt", &line.date.to_string());
        xml.close();
    }
    xml.open("ValDt");
    xml.text("Dt", &line.date.to_string());
    xml.close();
    xml.text("AcctSvcrRef", &line.bank_id);
    code(xml, line);
    xml.open("NtryDtls");
    if line.details.is_empty() {
        transaction(xml, line, &line.reference, &line.counterparty, line.cents, currency);
    } else {
        xml.open("Btch");
        xml.text("PmtInfId", &line.reference);
        xml.text("NbOfTxs", &line.details.len().to_string());
        xml.close();
        for (id, name, cents) in &line.details {
            transaction(xml, line, id, name, *cents, currency);
        }
    }
    xml.close();
    xml.text("AddtlNtryInf", &line.text);
    xml.close();
}

/// ISO 20022 bank transaction code: domain, family, sub-family.
fn code(xml: &mut Xml, line: &BankLine) {
    let (domain, sub_family) = match line.code {
        "CHRG" => ("ACMT", "CHRG"),
        "RDDT" if line.reversal => ("PMNT", "UPDD"),
        "RDDT" => ("PMNT", "ESDD"),
        _ => ("PMNT", "ESCT"),
    };
    let family = if line.code == "CHRG" { "MDOP" } else { line.code };
    xml.open("BkTxCd");
    xml.open("Domn");
    xml.text("Cd", domain);
    xml.open("Fmly");
    xml.text("Cd", family);
    xml.text("SubFmlyCd", sub_family);
    xml.close();
    xml.close();
    xml.close();
}

fn transaction(xml: &mut Xml, line: &BankLine, end_to_end: &str, name: &str, cents: i64, currency: &str) {
    xml.open("TxDtls");
    if !end_to_end.is_empty() {
        xml.open("Refs");
        xml.text("EndToEndId", end_to_end);
        xml.close();
    }
    xml.money("Amt", cents, currency);
    if !name.is_empty() {
        xml.open("RltdPties");
        xml.open(if cents < 0 { "Cdtr" } else { "Dbtr" });
        xml.open("Pty");
        xml.text("Nm", name);
        xml.close();
        xml.close();
        xml.close();
    }
    if !line.text.is_empty() || !line.creditor_reference.is_empty() {
        xml.open("RmtInf");
        if !line.text.is_empty() {
            xml.text("Ustrd", &line.text);
        }
        if !line.creditor_reference.is_empty() {
            xml.open("Strd");
            xml.open("CdtrRefInf");
            xml.open("Tp");
            xml.open("CdOrPrtry");
            xml.text("Cd", "SCOR");
            xml.close();
            xml.close();
            xml.text("Ref", &line.creditor_reference);
            xml.close();
            xml.close();
        }
        xml.close();
    }
    xml.close();
}

/// Elements, indented.
#[derive(Default)]
struct Xml {
    out: String,
    open: Vec<String>,
}

// === impl Xml ===

impl Xml {
    fn indent(&mut self) {
        self.out.extend(std::iter::repeat_n("  ", self.open.len()));
    }

    fn open(&mut self, tag: &str) {
        self.indent();
        let _ = writeln!(self.out, "<{tag}>");
        self.open.push(tag.split(' ').next().unwrap_or(tag).to_owned());
    }

    /// Closes the innermost element; false where none is open.
    fn close(&mut self) -> bool {
        let Some(tag) = self.open.pop() else { return false };
        self.indent();
        let _ = writeln!(self.out, "</{tag}>");
        true
    }

    fn text(&mut self, tag: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        self.indent();
        let _ = writeln!(self.out, "<{tag}>{text}</{tag}>");
    }

    /// An amount, which has no sign, and the indicator that gives it one.
    fn money(&mut self, tag: &str, cents: i64, currency: &str) {
        self.indent();
        let _ = writeln!(self.out, "<{tag} Ccy=\"{currency}\">{}</{tag}>", amount(cents.abs(), '.'));
        self.text("CdtDbtInd", if cents < 0 { "DBIT" } else { "CRDT" });
    }
}
