//! OFX 1.x as Brazilian banks write it: comma decimals, bytes of windows-1252 under the label USASCII, balances as rows,
//! ids that are empty, zero or used again, an ampersand that is not escaped, several accounts in one file.

use std::fmt::Write;

use super::day::{Account, BankLine, amount, friday, november};

/// The statements of these accounts, in one file.
pub(crate) fn file(accounts: &[&Account]) -> Vec<u8> {
    let mut out = String::new();
    let header = [
        "OFXHEADER:100",
        "DATA:OFXSGML",
        "VERSION:102",
        "SECURITY:NONE",
        "ENCODING:USASCII",
        "CHARSET:1252",
        "COMPRESSION:NONE",
        "OLDFILEUID:NONE",
        "NEWFILEUID:NONE",
        "",
        "<OFX>",
        "<SIGNONMSGSRSV1>",
        "<SONRS>",
        "<STATUS>",
        "<CODE>0",
        "<SEVERITY>INFO",
        "</STATUS>",
        "<DTSERVER>20261130060112[-3:BRT]",
        "<LANGUAGE>POR",
        "<FI>",
        "<ORG>Banco Exemplo S.A.",
        "<FID>0999",
        "</FI>",
        "</SONRS>",
        "</SIGNONMSGSRSV1>",
        "<BANKMSGSRSV1>",
    ];
    let mut line = |text: &str| {
        // Writing to a String cannot fail.
        let _ = write!(out, "{text}\r\n");
    };
    header.into_iter().for_each(&mut line);
    for (number, account) in accounts.iter().enumerate() {
        statement(account, number, &mut line);
    }
    ["</BANKMSGSRSV1>", "</OFX>"].into_iter().for_each(&mut line);
    encoding_rs::WINDOWS_1252.encode(&out).0.into_owned()
}

fn statement(account: &Account, number: usize, line: &mut impl FnMut(&str)) {
    let acct_id = if account.id == "operating" { "00012345-6" } else { "00065432-1" };
    line("<STMTTRNRS>");
    line(&format!("<TRNUID>{}", 1_001 + number));
    for text in [
        "<STATUS>",
        "<CODE>0",
        "<SEVERITY>INFO",
        "</STATUS>",
        "<STMTRS>",
        "<CURDEF>BRL",
        "<BANKACCTFROM>",
        "<BANKID>0999",
    ] {
        line(text);
    }
    line("<BRANCHID>0042");
    line(&format!("<ACCTID>{acct_id}"));
    for text in ["<ACCTTYPE>CHECKING", "</BANKACCTFROM>", "<BANKTRANLIST>"] {
        line(text);
    }
    line("<DTSTART>20261124000000[-3:BRT]");
    line("<DTEND>20261127000000[-3:BRT]");
    for day in (24..=27).map(november) {
        for row in account.bank.iter().filter(|row| row.date == day) {
            transaction(row, line);
        }
        let balance = account.bank_at(day);
        let text = "SALDO DO DIA".to_owned();
        transaction(&BankLine { bank_id: "0".to_owned(), ..BankLine::on(day, balance, "OTHER", text) }, line);
    }
    line("</BANKTRANLIST>");
    line("<LEDGERBAL>");
    line(&format!("<BALAMT>{}", amount(account.bank_at(friday()), ',')));
    // Asked for on Monday morning: Friday is over.
    line("<DTASOF>20261130060112[-3:BRT]");
    for text in ["</LEDGERBAL>", "</STMTRS>", "</STMTTRNRS>"] {
        line(text);
    }
}

fn transaction(row: &BankLine, line: &mut impl FnMut(&str)) {
    line("<STMTTRN>");
    line(&format!("<TRNTYPE>{}", row.code));
    line(&format!("<DTPOSTED>{}120000[-3:BRT]", row.date.format("%Y%m%d")));
    line(&format!("<TRNAMT>{}", amount(row.cents, ',')));
    line(&format!("<FITID>{}", row.bank_id));
    if !row.reference.is_empty() {
        line(&format!("<CHECKNUM>{}", row.reference));
    }
    line(&format!("<MEMO>{}", row.text));
    line("</STMTTRN>");
}
