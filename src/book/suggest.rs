//! The profile lines that would read a file which its own format does not read.
//!
//! Nothing here decides anything: each suggestion was tried on the whole file and read it without an error, and where
//! two readings differ (is 03/04 a day in April or in March?) both are shown, for a person to choose.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::date::DatePattern;
use super::profile::{Column, Decimal, Delimiter, Encoding, Field, Profile, Sign, Thousands};
use super::read::{Stop, read_text};
use super::table::decode;
use super::{BookLine, LedgerBalance};
use crate::diagnostic::{Diagnostic, Severity};
use crate::money::Currency;
use crate::statement::text::folded;

/// The headers of exports, folded, that are commonly one of our fields. Portuguese, English, German, Spanish.
const HEADERS: [(Field, &[&str]); 15] = [
    (
        Field::Id,
        &[
            "ID",
            "LANCAMENTO",
            "NUMERO",
            "N LANCAMENTO",
            "NUM LANCAMENTO",
            "NUMERO LANCAMENTO",
            "ENTRY",
            "ENTRY ID",
            "TRANSACTION ID",
            "VOUCHER",
            "BELEGNUMMER",
            "BELEG",
            "ASIENTO",
        ],
    ),
    (Field::Account, &["ACCOUNT", "CONTA", "CONTA CORRENTE", "BANK ACCOUNT", "KONTO", "CUENTA"]),
    (
        Field::Date,
        &["DATE", "DATA", "DATA LANCAMENTO", "DT LANCAMENTO", "POSTING DATE", "DATUM", "BUCHUNGSDATUM", "FECHA"],
    ),
    (Field::Amount, &["AMOUNT", "VALOR", "VALUE", "BETRAG", "IMPORTE", "VALOR R"]),
    (Field::Debit, &["DEBIT", "DEBITO", "SOLL", "DEBE"]),
    (Field::Credit, &["CREDIT", "CREDITO", "HABEN", "HABER"]),
    (Field::Indicator, &["INDICATOR", "D C", "DC", "NATUREZA", "TIPO", "S H"]),
    (Field::Currency, &["CURRENCY", "MOEDA", "WAHRUNG", "MONEDA"]),
    (Field::Reference, &["REFERENCE", "REFERENCIA", "DOCUMENTO", "DOC", "REFERENZ", "NUMERO DOCUMENTO"]),
    (Field::ReferenceType, &["REFERENCE TYPE", "TIPO REFERENCIA", "TIPO DOCUMENTO"]),
    (
        Field::Counterparty,
        &["COUNTERPARTY", "FAVORECIDO", "CLIENTE", "FORNECEDOR", "CLIENTE FORNECEDOR", "CONTRAPARTE", "NAME", "NOME"],
    ),
    (Field::Description, &["DESCRIPTION", "HISTORICO", "DESCRICAO", "TEXT", "BUCHUNGSTEXT", "CONCEPTO", "MEMO"]),
    (Field::Group, &["GROUP", "LOTE", "BATCH", "GRUPO"]),
    (Field::Reverses, &["REVERSES", "ESTORNO DE", "ESTORNA", "STORNO"]),
    (Field::Closing, &["CLOSING", "SALDO", "SALDO FINAL", "BALANCE", "CLOSING BALANCE", "ENDSALDO"]),
];

const DATES: [&str; 12] = [
    "YYYY-MM-DD",
    "DD/MM/YYYY",
    "MM/DD/YYYY",
    "DD.MM.YYYY",
    "DD-MM-YYYY",
    "YYYY/MM/DD",
    "YYYYMMDD",
    "YYYY-MM-DD hh:mm:ss",
    "DD/MM/YYYY hh:mm:ss",
    "MM/DD/YYYY hh:mm:ss",
    "DD/MM/YYYY hh:mm",
    "YYYY-MM-DDThh:mm:ss",
];

const NUMBERS: [(Decimal, Option<Thousands>); 6] = [
    (Decimal::Point, None),
    (Decimal::Comma, None),
    (Decimal::Comma, Some(Thousands::Point)),
    (Decimal::Point, Some(Thousands::Comma)),
    (Decimal::Comma, Some(Thousands::Space)),
    (Decimal::Point, Some(Thousands::Apostrophe)),
];

/// How many lines before the header, and after the last record, are thought of.
const MOST_SKIPPED: u32 = 10;
const MOST_FOOTER: u32 = 2;
/// More readings than this help nobody.
const MOST_SHOWN: usize = 3;
/// Stand-ins for what no column says: the reader has to name them.
const SOME_ACCOUNT: &str = "THE-ACCOUNT-ID";
const SOME_CURRENCY: &str = "BRL";

/// What to declare, if there is something that reads the file.
pub(super) fn profiles(bytes: &[u8]) -> Vec<Diagnostic> {
    let Some((encoding, text)) = decoded(bytes) else { return Vec::new() };
    let mut shown: Vec<(Profile, Content)> = Vec::new();
    for footer in 0..=MOST_FOOTER {
        for profile in candidates(&text, encoding, footer) {
            let parsed = read_text(&text, &profile, Stop::AtFirstError);
            if parsed.is_refused() || (parsed.lines.is_empty() && parsed.balances.is_empty()) {
                continue;
            }
            let content = (parsed.lines, parsed.balances);
            // Two profiles that read the same are one; the first has the fewer keys.
            if shown.len() < MOST_SHOWN && shown.iter().all(|(_, other)| *other != content) {
                shown.push((profile, content));
            }
        }
        // A footer is what must be left out, not what may be.
        if !shown.is_empty() {
            break;
        }
    }
    let several = shown.len() > 1;
    let say = |(at, (profile, _)): (usize, &(Profile, Content))| {
        let beginning = match (several, at) {
            (false, _) => "these lines of settings would read the file:",
            (true, 0) => "this file can be read in more than one way, and only you can say which is meant; either:",
            (true, _) => "or:",
        };
        Diagnostic::new(Severity::Info, "PROFILE", format!("{beginning}\n{}", toml(profile)))
    };
    shown.iter().enumerate().map(say).collect()
}

type Content = (Vec<BookLine>, Vec<LedgerBalance>);

/// The text, in the first encoding that it can be.
fn decoded(bytes: &[u8]) -> Option<(Encoding, Cow<'_, str>)> {
    ["utf-8", "utf-16le", "utf-16be", "windows-1252"].iter().find_map(|label| {
        let encoding = Encoding::new(label).ok()?;
        // Without a byte order mark nothing says UTF-16, and windows-1252 reads any bytes at all.
        let marked = encoding_rs::Encoding::for_bom(bytes).is_some_and(|(found, _)| found == encoding.get());
        if label.starts_with("utf-16") && !marked {
            return None;
        }
        Some((encoding, decode(bytes, encoding).ok()?))
    })
}

/// Profiles worth trying, the simplest first.
fn candidates(text: &str, encoding: Encoding, footer: u32) -> Vec<Profile> {
    let Some((skip, delimiter, columns)) = header(text) else { return Vec::new() };
    if !are_no_postings(text, footer, skip, delimiter) {
        return Vec::new();
    }
    let plain_names = columns.iter().all(|(field, column)| *column == Column::Name(field.name().to_owned()));
    let declared = if plain_names { BTreeMap::new() } else { columns.clone() };
    let has = |field| columns.contains_key(&field);
    let base = Profile {
        encoding,
        delimiter,
        skip,
        columns: declared,
        account: (!has(Field::Account)).then(|| SOME_ACCOUNT.to_owned()),
        currency: if has(Field::Currency) { None } else { Currency::new(SOME_CURRENCY).ok() },
        sign: if has(Field::Indicator) { Sign::Indicator } else { Sign::Signed },
        ..Profile::default()
    };
    let mut all = Vec::new();
    for date in DATES.iter().filter_map(|date| DatePattern::new(date).ok()) {
        for (decimal, thousands) in NUMBERS {
            all.push(Profile { footer, date: date.clone(), decimal, thousands, ..base.clone() });
        }
    }
    all
}

/// Are the last `footer` rows no postings, but a total or a count, with cells in at most half of the header's columns? A
/// posting with a mistake in it would be read by leaving it out, and lost without a word.
fn are_no_postings(text: &str, footer: u32, skip: u32, delimiter: Delimiter) -> bool {
    let separator = char::from(delimiter.byte());
    let cells = |row: &str| row.split(separator).filter(|cell| !cell.trim().is_empty()).count();
    let header = text.lines().nth(skip as usize).map_or(0, cells);
    let last = text.lines().rev().filter(|row| !row.trim().is_empty()).take(footer as usize);
    last.into_iter().all(|row| cells(row) * 2 <= header)
}

/// The line that has the most columns that we know, how it is split, and which column is which field.
fn header(text: &str) -> Option<(u32, Delimiter, BTreeMap<Field, Column>)> {
    let mut best: Option<(u32, Delimiter, BTreeMap<Field, Column>)> = None;
    for (skip, line) in (0..=MOST_SKIPPED).zip(text.lines()) {
        for delimiter in [",", ";", "\t", "|"] {
            let mut columns = BTreeMap::new();
            for name in line.split(delimiter) {
                let name = name.trim().trim_matches('"').trim();
                if let Some(field) = field_of(name, &columns) {
                    columns.insert(field, Column::Name(name.to_owned()));
                }
            }
            // A balance column beside amounts is the running balance of an export, not a ledger balance.
            if columns.contains_key(&Field::Amount) || columns.contains_key(&Field::Debit) {
                columns.remove(&Field::Closing);
            }
            let known = columns.len();
            if known >= 3 && best.as_ref().is_none_or(|(_, _, best)| known > best.len()) {
                best = Delimiter::new(delimiter).ok().map(|delimiter| (skip, delimiter, columns));
            }
        }
    }
    best
}

fn field_of(name: &str, taken: &BTreeMap<Field, Column>) -> Option<Field> {
    let folded = folded(name);
    let exact = Field::from_name(name);
    let known = HEADERS.iter().find(|(_, names)| names.contains(&folded.as_str())).map(|(field, _)| *field);
    exact.or(known).filter(|field| !taken.contains_key(field))
}

/// The keys of a suggestion, on one line: `delimiter = ";", decimal = ","`.
pub(super) fn keys(suggestion: &Diagnostic) -> String {
    let lines = suggestion.message.lines().skip(1);
    let keys: Vec<&str> = lines.filter(|line| !line.starts_with('[') && !line.starts_with("profile = ")).collect();
    keys.join(", ")
}

/// The lines of `counterfoil.toml`: only what differs from the plain format.
fn toml(profile: &Profile) -> String {
    let plain = Profile::default();
    let mut lines = vec!["[profiles.ledger]".to_owned()];
    if profile.encoding != plain.encoding {
        lines.push(format!("encoding = {:?}", profile.encoding.label()));
    }
    if profile.delimiter != plain.delimiter {
        lines.push(format!("delimiter = {:?}", String::from(profile.delimiter)));
    }
    if !profile.columns.is_empty() {
        let columns: Vec<String> = profile
            .columns
            .iter()
            .map(|(field, column)| match column {
                Column::Name(name) => format!("{field} = {name:?}"),
                Column::Number(number) => format!("{field} = {number}"),
            })
            .collect();
        lines.push(format!("columns = {{ {} }}", columns.join(", ")));
    }
    if profile.account.is_some() {
        lines.push("account = \"…\"  # no column says it: an account's id, number or alias".to_owned());
    }
    if profile.currency.is_some() {
        lines.push("currency = \"…\"  # no column says it: a code such as BRL".to_owned());
    }
    if profile.date != plain.date {
        lines.push(format!("date = {:?}", profile.date.as_str()));
    }
    if profile.decimal != plain.decimal {
        lines.push(format!("decimal = {:?}", profile.decimal.character().to_string()));
    }
    if let Some(thousands) = profile.thousands {
        lines.push(format!("thousands = {:?}", thousands.character().to_string()));
    }
    if profile.sign == Sign::Indicator {
        lines.push("sign = \"indicator\"".to_owned());
    }
    for (name, value) in [("skip", profile.skip), ("footer", profile.footer)] {
        if value > 0 {
            lines.push(format!("{name} = {value}"));
        }
    }
    lines.push("[book]\nprofile = \"ledger\"".to_owned());
    lines.join("\n")
}
