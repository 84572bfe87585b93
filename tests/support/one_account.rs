//! One account, `main`, and the files of its days: statements by OFX, books and their balances by CSV.

use std::fmt::Write as _;

use super::download::decimal;

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
