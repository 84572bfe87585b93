//! One account, `main`, and the files of its days: statements by OFX, books and their balances by CSV.

use std::fmt::Write as _;

pub const SETTINGS: &str = r#"
[schedule]
cron = "0 6 * * 1-5"
timezone = "UTC"
deadline = "10:00"

[[accounts]]
id = "main"
bank = "001"
number = "1234-5"
currency = "BRL"
opening = { date = 2026-11-06, bank = "1000.00", book = "950.00", items = "items.csv" }
"#;
/// Friday evening: one deposit that the books do not have.
pub const ITEMS: &str = "side,id,date,amount,reference,reference_type,counterparty,description\n\
                     bank,OPEN-1,2026-11-06,50.00,,,,Unexplained deposit\n";

/// (date, minor units, document, text)
pub type Row<'a> = (&'a str, i64, &'a str, &'a str);

fn decimal(minor: i64) -> String {
    let sign = if minor < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", minor.abs() / 100, minor.abs() % 100)
}

/// An OFX download of the days `from` to `to`, that are over, with its balance at their end.
pub fn ofx(from: &str, to: &str, as_of: &str, balance: i64, rows: &[Row<'_>]) -> String {
    let bare = |date: &str| date.replace('-', "");
    let mut text = format!(
        "OFXHEADER:100\nDATA:OFXSGML\nVERSION:102\nSECURITY:NONE\nENCODING:USASCII\nCHARSET:1252\nCOMPRESSION:NONE\n\
         OLDFILEUID:NONE\nNEWFILEUID:NONE\n\n<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0<SEVERITY>INFO</STATUS>\
         <DTSERVER>{as_of}<LANGUAGE>POR</SONRS></SIGNONMSGSRSV1>\n<BANKMSGSRSV1><STMTTRNRS><TRNUID>1<STATUS><CODE>0\
         <SEVERITY>INFO</STATUS><STMTRS><CURDEF>BRL<BANKACCTFROM><BANKID>001<ACCTID>1234-5<ACCTTYPE>CHECKING\
         </BANKACCTFROM><BANKTRANLIST><DTSTART>{from}<DTEND>{to}\n",
        as_of = bare(as_of),
        from = bare(from),
        to = bare(to),
    );
    for (at, (date, minor, document, memo)) in rows.iter().enumerate() {
        let kind = if *minor < 0 { "DEBIT" } else { "CREDIT" };
        let (posted, amount) = (bare(date), decimal(*minor));
        writeln!(
            text,
            "<STMTTRN><TRNTYPE>{kind}<DTPOSTED>{posted}<TRNAMT>{amount}<FITID>{to}{at}<CHECKNUM>{document}<MEMO>{memo}</STMTTRN>"
        )
        .expect("a string");
    }
    writeln!(
        text,
        "</BANKTRANLIST><LEDGERBAL><BALAMT>{}<DTASOF>{}</LEDGERBAL></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>",
        decimal(balance),
        bare(as_of)
    )
    .expect("a string");
    text
}

/// (id, date, minor units, reference, text)
pub fn book(rows: &[(&str, &str, i64, &str, &str)]) -> String {
    let mut text = "id,account,date,amount,currency,reference,counterparty,description,group\n".to_owned();
    for (id, date, minor, reference, description) in rows {
        writeln!(text, "{id},main,{date},{},BRL,{reference},,{description},", decimal(*minor)).expect("a string");
    }
    text
}

pub fn balance(date: &str, minor: i64) -> String {
    format!("account,date,currency,closing\nmain,{date},BRL,{}\n", decimal(minor))
}
