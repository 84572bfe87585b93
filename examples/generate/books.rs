//! The company's side: postings as CSV and as JSON lines, ledger balances, and the openings.

use std::fmt::Write;

use serde::Serialize;

use super::day::{Account, BookLine, amount, friday, thursday};

const HEADER: [&str; 11] = [
    "id",
    "account",
    "date",
    "amount",
    "currency",
    "reference",
    "reference_type",
    "counterparty",
    "description",
    "group",
    "reverses",
];

/// A CSV of records. Writing to memory cannot fail.
fn records(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let _ = writer.write_record(header);
    for row in rows {
        let _ = writer.write_record(row);
    }
    writer.into_inner().unwrap_or_default()
}

/// Postings in the plain format.
pub(crate) fn csv(accounts: &[&Account]) -> Vec<u8> {
    let rows = accounts.iter().flat_map(|account| account.book.iter().map(|line| row(account, line)));
    records(&HEADER, rows)
}

fn row(account: &Account, line: &BookLine) -> Vec<String> {
    vec![
        line.id.clone(),
        account.id.to_owned(),
        line.date.to_string(),
        amount(line.cents, '.'),
        account.currency.to_owned(),
        line.reference.clone(),
        line.reference_type.to_owned(),
        line.counterparty.clone(),
        line.description.clone(),
        line.group.clone(),
        line.reverses.clone(),
    ]
}

/// Postings as JSON lines; what is empty is left out.
pub(crate) fn json_lines(accounts: &[&Account]) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        id: &'a str,
        account: &'a str,
        date: String,
        amount: String,
        currency: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        reference: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        reference_type: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        counterparty: &'a str,
        description: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        group: &'a str,
    }
    let mut out = String::new();
    for account in accounts {
        for line in &account.book {
            let line = Line {
                id: &line.id,
                account: account.id,
                date: line.date.to_string(),
                amount: amount(line.cents, '.'),
                currency: account.currency,
                reference: &line.reference,
                reference_type: line.reference_type,
                counterparty: &line.counterparty,
                description: &line.description,
                group: &line.group,
            };
            let _ = writeln!(out, "{}", serde_json::to_string(&line).unwrap_or_default());
        }
    }
    out.into_bytes()
}

/// What the ledger says that it holds at the end of Friday.
pub(crate) fn balances(accounts: &[Account]) -> Vec<u8> {
    let row = |account: &Account| {
        let closing = amount(account.closing_book(), '.');
        vec![account.id.to_owned(), friday().to_string(), account.currency.to_owned(), closing]
    };
    records(&["account", "date", "currency", "closing"], accounts.iter().map(row))
}

/// The items that are open at an account's start.
pub(crate) fn open_items(account: &Account) -> Vec<u8> {
    let sides = [("bank", &account.open_bank), ("book", &account.open_book)];
    let rows = sides.into_iter().flat_map(|(side, items)| {
        items.iter().map(move |item| {
            vec![
                side.to_owned(),
                item.id.clone(),
                item.date.to_string(),
                amount(item.cents, '.'),
                item.reference.clone(),
                item.reference_type.to_owned(),
                item.counterparty.clone(),
                item.description.clone(),
            ]
        })
    });
    records(&["side", "id", "date", "amount", "reference", "reference_type", "counterparty", "description"], rows)
}

/// The line of the settings that says where an account starts.
pub(crate) fn opening(account: &Account) -> String {
    format!(
        "opening = {{ date = {}, bank = \"{}\", book = \"{}\", items = \"openings/{}.csv\" }}",
        thursday(),
        amount(account.opening_bank, '.'),
        amount(account.opening_book(), '.'),
        account.id,
    )
}
