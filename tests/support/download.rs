//! OFX downloads of the account 001 / 1234-5, in BRL.

#![expect(clippy::expect_used, unreachable_pub, reason = "a test says what it could not go on without")]

use std::fmt::Write as _;

/// (date, minor units, document, text)
pub type Row<'a> = (&'a str, i64, &'a str, &'a str);

pub fn decimal(minor: i64) -> String {
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
