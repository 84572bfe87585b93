//! Business dates and their files: three accounts, two currencies, OFX and camt.053, all from a seed.

use std::fmt::Write as _;

use chrono::{Datelike, NaiveDate, Weekday};

use crate::dice::Dice;

/// The site's settings, but for addresses and times.
pub(crate) const SETTINGS: &str = r#"
[schedule]
cron = "0 6 * * 1-5"
timezone = "UTC"
deadline = "10:00"
# Nothing is due by itself: dates are asked for, one after the other.
start = "9999-01-01"

[inbox]
settle = "200ms"

[[accounts]]
id = "alpha"
bank = "001"
number = "1111-1"
currency = "BRL"
opening = { date = 2026-01-02, bank = "10000.00", book = "10000.00" }

[[accounts]]
id = "beta"
bank = "001"
number = "2222-2"
currency = "BRL"
opening = { date = 2026-01-02, bank = "10000.00", book = "10000.00" }

[[accounts]]
id = "gamma"
bank = "EXMPDEFF"
number = "333333"
currency = "EUR"
opening = { date = 2026-01-02, bank = "10000.00", book = "10000.00" }
"#;

const OPENING_MINOR: i64 = 1_000_000;
const ACCOUNTS: [&str; 3] = ["alpha", "beta", "gamma"];

/// Makes the files of one business date after the other.
#[derive(Debug)]
pub(crate) struct Days {
    dice: Dice,
    last: NaiveDate,
    bank: [i64; 3],
    book: [i64; 3],
}

/// One business date and its files.
#[derive(Debug, Clone)]
pub(crate) struct Day {
    pub(crate) date: NaiveDate,
    /// Path below the inbox, and content.
    pub(crate) files: Vec<(String, String)>,
}

/// A movement at the bank.
#[derive(Debug)]
struct Movement {
    minor: i64,
    reference: u64,
}

// === impl Days ===

impl Days {
    pub(crate) fn new(seed: u64) -> Self {
        let opening = NaiveDate::from_ymd_opt(2026, 1, 2).expect("a date");
        Self { dice: Dice::new(seed), last: opening, bank: [OPENING_MINOR; 3], book: [OPENING_MINOR; 3] }
    }

    /// The next business date. Most of the bank's movements are in the books by their reference; some differ by an
    /// amount, some are missing, and some entries are the books' alone.
    pub(crate) fn next_day(&mut self) -> Day {
        let first = self.last.succ_opt().expect("a date");
        let mut date = first;
        while matches!(date.weekday(), Weekday::Sat | Weekday::Sun) {
            date = date.succ_opt().expect("a date");
        }
        self.last = date;
        let mut files = Vec::new();
        let mut book = "id,account,date,amount,currency,reference,counterparty,description,group\n".to_owned();
        let mut closing = "account,date,currency,closing\n".to_owned();
        for (at, account) in ACCOUNTS.into_iter().enumerate() {
            let currency = if account == "gamma" { "EUR" } else { "BRL" };
            let movements: Vec<Movement> = (0..self.dice.between(40, 160)).map(|_| self.movement()).collect();
            let before = self.bank[at];
            self.bank[at] += movements.iter().map(|movement| movement.minor).sum::<i64>();
            let (name, text) = if account == "gamma" {
                ("xml", camt(date, before, self.bank[at], &movements))
            } else {
                let number = ["1111-1", "2222-2"][at];
                ("ofx", ofx(number, first, date, self.bank[at], &movements))
            };
            files.push((format!("bank/{account}-{date}.{name}"), text));
            let mut post = |id: &str, minor: i64, reference: &str| {
                self.book[at] += minor;
                writeln!(
                    book,
                    "{account}-{id},{account},{date},{},{currency},{reference},,Posting {id},",
                    decimal(minor)
                )
                .expect("a string");
            };
            for Movement { minor, reference } in &movements {
                match self.dice.below(12) {
                    0 => {}
                    1 => post(&reference.to_string(), minor + 1, &reference.to_string()),
                    2 => post(&reference.to_string(), *minor, ""),
                    _ => post(&reference.to_string(), *minor, &reference.to_string()),
                }
            }
            if self.dice.below(2) == 0 {
                post(&format!("only-{date}"), -4_321, "");
            }
            writeln!(closing, "{account},{date},{currency},{}", decimal(self.book[at])).expect("a string");
        }
        files.push((format!("book/entries-{date}.csv"), book));
        files.push((format!("book/closing-{date}.csv"), closing));
        Day { date, files }
    }

    fn movement(&mut self) -> Movement {
        let minor = i64::try_from(self.dice.between(1, 90_000)).expect("small");
        let sign = if self.dice.below(2) == 0 { 1 } else { -1 };
        Movement { minor: sign * minor, reference: self.dice.between(10_000_000, 99_999_999) }
    }
}

fn decimal(minor: i64) -> String {
    let sign = if minor < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", minor.abs() / 100, minor.abs() % 100)
}

/// An OFX download of whole days, made on the next one, with the balance at their end.
fn ofx(number: &str, from: NaiveDate, to: NaiveDate, balance: i64, movements: &[Movement]) -> String {
    let bare = |date: NaiveDate| date.format("%Y%m%d").to_string();
    let (from, made, to) = (bare(from), bare(to.succ_opt().expect("a date")), bare(to));
    let mut text = format!(
        "OFXHEADER:100\nDATA:OFXSGML\nVERSION:102\nSECURITY:NONE\nENCODING:USASCII\nCHARSET:1252\nCOMPRESSION:NONE\n\
         OLDFILEUID:NONE\nNEWFILEUID:NONE\n\n<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0<SEVERITY>INFO</STATUS>\
         <DTSERVER>{made}<LANGUAGE>POR</SONRS></SIGNONMSGSRSV1>\n<BANKMSGSRSV1><STMTTRNRS><TRNUID>1<STATUS><CODE>0\
         <SEVERITY>INFO</STATUS><STMTRS><CURDEF>BRL<BANKACCTFROM><BANKID>001<ACCTID>{number}<ACCTTYPE>CHECKING\
         </BANKACCTFROM><BANKTRANLIST><DTSTART>{from}<DTEND>{to}\n",
    );
    for (at, Movement { minor, reference }) in movements.iter().enumerate() {
        let kind = if *minor < 0 { "DEBIT" } else { "CREDIT" };
        writeln!(
            text,
            "<STMTTRN><TRNTYPE>{kind}<DTPOSTED>{to}<TRNAMT>{}<FITID>{to}{at}<CHECKNUM>{reference}<MEMO>MOVEMENT {at}</STMTTRN>",
            decimal(*minor)
        )
        .expect("a string");
    }
    writeln!(
        text,
        "</BANKTRANLIST><LEDGERBAL><BALAMT>{}<DTASOF>{made}</LEDGERBAL></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>",
        decimal(balance)
    )
    .expect("a string");
    text
}

/// A camt.053.001.08 of one day, with both balances.
fn camt(date: NaiveDate, opening: i64, closing: i64, movements: &[Movement]) -> String {
    let balance = |code: &str, minor: i64| {
        let sign = if minor < 0 { "DBIT" } else { "CRDT" };
        format!(
            "<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy=\"EUR\">{}</Amt><CdtDbtInd>{sign}</CdtDbtInd>\
             <Dt><Dt>{date}</Dt></Dt></Bal>\n",
            decimal(minor.abs())
        )
    };
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.08\">\
         <BkToCstmrStmt><GrpHdr><MsgId>M-{date}</MsgId><CreDtTm>{date}T23:00:00Z</CreDtTm></GrpHdr><Stmt><Id>S-{date}</Id>\
         <CreDtTm>{date}T23:00:00Z</CreDtTm><Acct><Id><Othr><Id>333333</Id></Othr></Id><Ccy>EUR</Ccy><Svcr><FinInstnId>\
         <BICFI>EXMPDEFF</BICFI></FinInstnId></Svcr></Acct>\n{}{}",
        balance("OPBD", opening),
        balance("CLBD", closing)
    );
    for (at, Movement { minor, reference }) in movements.iter().enumerate() {
        let sign = if *minor < 0 { "DBIT" } else { "CRDT" };
        writeln!(
            text,
            "<Ntry><NtryRef>{at}</NtryRef><Amt Ccy=\"EUR\">{}</Amt><CdtDbtInd>{sign}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>\
             <BookgDt><Dt>{date}</Dt></BookgDt><ValDt><Dt>{date}</Dt></ValDt><BkTxCd><Prtry><Cd>TRF</Cd></Prtry></BkTxCd>\
             <NtryDtls><TxDtls><Refs><EndToEndId>INV{reference}</EndToEndId></Refs><RmtInf><Ustrd>{reference}</Ustrd></RmtInf>\
             </TxDtls></NtryDtls></Ntry>",
            decimal(minor.abs())
        )
        .expect("a string");
    }
    text.push_str("</Stmt></BkToCstmrStmt></Document>\n");
    text
}
