//! A declared dialect of CSV: `[profiles.<name>]` of the settings. Nothing of it is ever inferred.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::date::DatePattern;
use crate::money::{Currency, DecimalMark};

/// How a CSV file is written. The default is the format of a book file: UTF-8, comma, a header with our own names,
/// decimal point, ISO dates, signed amounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// Character encoding, by its WHATWG label (`utf-8`, `windows-1252`, `iso-8859-1`, `utf-16le`).
    pub encoding: Encoding,
    /// What separates fields.
    pub delimiter: Delimiter,
    /// Can a field stand in double quotes? Where not, a quote is a character like any other.
    pub quote: bool,
    /// Is the first line (after `skip`) a header? Where not, `columns` gives numbers.
    pub header: bool,
    /// Which column holds which field. A column that is not named is left out. Empty: the header has our own names.
    pub columns: BTreeMap<Field, Column>,
    /// The account of every line, where the file has no column for it.
    pub account: Option<String>,
    /// The currency of every line, where the file has no column for it.
    pub currency: Option<Currency>,
    /// How dates are written.
    pub date: DatePattern,
    /// Which character begins the fraction.
    pub decimal: Decimal,
    /// Which character groups the digits before it, if any.
    pub thousands: Option<Thousands>,
    /// What the sign of an amount means.
    pub sign: Sign,
    /// What the `indicator` column says of money in (`D`, a debit to the cash account).
    pub indicator_in: Vec<String>,
    /// What it says of money out (`C`).
    pub indicator_out: Vec<String>,
    /// Lines before the header (or the first record) that are left out.
    pub skip: u32,
    /// Lines at the end, blank ones not counted, that are left out: totals, remarks.
    pub footer: u32,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The ledger's own id of the posting.
    Id,
    /// The account.
    Account,
    /// Posting date.
    Date,
    /// Signed amount.
    Amount,
    /// Debit to the cash account, money in; a magnitude. With `credit`, in place of `amount`.
    Debit,
    /// Credit to the cash account, money out; a magnitude.
    Credit,
    /// Debit or credit, as a word or letter beside a magnitude.
    Indicator,
    /// Currency.
    Currency,
    /// What it is a posting of.
    Reference,
    /// The kind of that reference.
    ReferenceType,
    /// Who.
    Counterparty,
    /// Prose.
    Description,
    /// Batch, settlement or remittance.
    Group,
    /// The id of the posting that this one voids.
    Reverses,
    /// The balance at the end of the day, in a file of ledger balances.
    Closing,
    /// `bank` or `book`, in a file of an opening's items alone.
    Side,
}

/// A column, by the text of its header or by its number from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Column {
    /// By number, from 1.
    Number(u32),
    /// By the header's text.
    Name(String),
}

/// What the sign of an amount means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// `+` is money in, as everywhere here.
    #[default]
    Signed,
    /// `+` is money out.
    Inverse,
    /// Amounts are magnitudes; the `indicator` column says the direction.
    Indicator,
}

/// A character encoding that is known by its WHATWG label.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Encoding(&'static encoding_rs::Encoding);

/// One ASCII character that separates fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Delimiter(u8);

/// `.` or `,`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Decimal {
    /// `1234.56`
    #[default]
    #[serde(rename = ".")]
    Point,
    /// `1234,56`
    #[serde(rename = ",")]
    Comma,
}

/// What groups digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Thousands {
    /// `1.234`
    #[serde(rename = ".")]
    Point,
    /// `1,234`
    #[serde(rename = ",")]
    Comma,
    /// `1 234`
    #[serde(rename = " ")]
    Space,
    /// `1'234`
    #[serde(rename = "'")]
    Apostrophe,
}

/// A profile value that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadProfile {
    /// Not one ASCII character.
    #[error("{0:?} is no delimiter: expected one ASCII character such as \";\", no quote and no line end")]
    Delimiter(String),
    /// A label that nobody knows.
    #[error("{0:?} is no encoding: expected a label such as utf-8, windows-1252 or iso-8859-1")]
    Encoding(String),
    /// A contradiction between two keys, as a sentence.
    #[error("{0}")]
    Contradiction(String),
}

// === impl Profile ===

impl Default for Profile {
    fn default() -> Self {
        Self {
            encoding: Encoding(encoding_rs::UTF_8),
            delimiter: Delimiter(b','),
            quote: true,
            header: true,
            columns: BTreeMap::new(),
            account: None,
            currency: None,
            date: DatePattern::default(),
            decimal: Decimal::Point,
            thousands: None,
            sign: Sign::Signed,
            indicator_in: vec!["D".to_owned()],
            indicator_out: vec!["C".to_owned()],
            skip: 0,
            footer: 0,
        }
    }
}

impl Profile {
    /// Every contradiction between its keys, as sentences.
    pub fn check(&self) -> Result<(), Vec<BadProfile>> {
        let mut found = Vec::new();
        let mut say = |sentence: String| found.push(BadProfile::Contradiction(sentence));
        if self.thousands.is_some_and(|thousands| thousands.character() == self.decimal.character()) {
            say(format!("decimal and thousands are both {:?}", self.decimal.character()));
        }
        if !self.header && self.columns.is_empty() {
            say("header = false needs columns by number, such as columns = { date = 1, amount = 2 }".to_owned());
        }
        for (field, column) in &self.columns {
            match column {
                Column::Number(0) => say(format!("column 0 of {field}: columns are counted from 1")),
                Column::Name(name) if !self.header => {
                    say(format!("header = false leaves no column {name:?} for {field}: give its number"));
                }
                _ => {}
            }
        }
        let has = |field| self.columns.contains_key(&field);
        if has(Field::Side) {
            say("columns has side, which only the items of an opening have".to_owned());
        }
        if !self.columns.is_empty() {
            if has(Field::Amount) && (has(Field::Debit) || has(Field::Credit)) {
                say("columns has amount beside debit or credit: an amount has one place".to_owned());
            }
            if has(Field::Debit) != has(Field::Credit) {
                say("columns has one of debit and credit: both are needed".to_owned());
            }
            if (self.sign == Sign::Indicator) != has(Field::Indicator) {
                say("sign = \"indicator\" and a column for indicator need each other".to_owned());
            }
        }
        if self.sign == Sign::Inverse && has(Field::Debit) {
            say("sign = \"inverse\" beside columns for debit and credit: those have their direction already".to_owned());
        }
        for both in self.indicator_in.iter().filter(|text| self.indicator_out.contains(text)) {
            say(format!("{both:?} is in indicator_in and in indicator_out"));
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }
}

// === impl Field ===

impl Field {
    /// Every field, in the order of a book file's header.
    pub const ALL: [Self; 16] = [
        Self::Id,
        Self::Account,
        Self::Date,
        Self::Amount,
        Self::Debit,
        Self::Credit,
        Self::Indicator,
        Self::Currency,
        Self::Reference,
        Self::ReferenceType,
        Self::Counterparty,
        Self::Description,
        Self::Group,
        Self::Reverses,
        Self::Closing,
        Self::Side,
    ];

    /// Its name: the header of a plain book file, and the key in `columns`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Account => "account",
            Self::Date => "date",
            Self::Amount => "amount",
            Self::Debit => "debit",
            Self::Credit => "credit",
            Self::Indicator => "indicator",
            Self::Currency => "currency",
            Self::Reference => "reference",
            Self::ReferenceType => "reference_type",
            Self::Counterparty => "counterparty",
            Self::Description => "description",
            Self::Group => "group",
            Self::Reverses => "reverses",
            Self::Closing => "closing",
            Self::Side => "side",
        }
    }

    /// The field of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

// === impl Encoding ===

impl Encoding {
    /// By its label.
    pub fn new(label: &str) -> Result<Self, BadProfile> {
        encoding_rs::Encoding::for_label(label.as_bytes())
            .map(Self)
            .ok_or_else(|| BadProfile::Encoding(label.to_owned()))
    }

    /// The decoder's table.
    pub fn get(self) -> &'static encoding_rs::Encoding {
        self.0
    }

    /// Its label, in lower case.
    pub fn label(self) -> String {
        self.0.name().to_lowercase()
    }
}

impl TryFrom<String> for Encoding {
    type Error = BadProfile;
    fn try_from(label: String) -> Result<Self, Self::Error> {
        Self::new(&label)
    }
}

impl From<Encoding> for String {
    fn from(encoding: Encoding) -> Self {
        encoding.label()
    }
}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

// === impl Delimiter ===

impl Delimiter {
    /// Checks that it can separate fields.
    pub fn new(text: &str) -> Result<Self, BadProfile> {
        match text.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n' | 0) => Ok(Self(*byte)),
            _ => Err(BadProfile::Delimiter(text.to_owned())),
        }
    }

    /// The byte.
    pub fn byte(self) -> u8 {
        self.0
    }
}

impl TryFrom<String> for Delimiter {
    type Error = BadProfile;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl From<Delimiter> for String {
    fn from(delimiter: Delimiter) -> Self {
        char::from(delimiter.0).to_string()
    }
}

// === impl Decimal, Thousands ===

impl Decimal {
    /// The character.
    pub fn character(self) -> char {
        match self {
            Self::Point => '.',
            Self::Comma => ',',
        }
    }
}

impl From<Decimal> for DecimalMark {
    fn from(decimal: Decimal) -> Self {
        match decimal {
            Decimal::Point => Self::Point,
            Decimal::Comma => Self::Comma,
        }
    }
}

impl Thousands {
    /// The character.
    pub fn character(self) -> char {
        match self {
            Self::Point => '.',
            Self::Comma => ',',
            Self::Space => ' ',
            Self::Apostrophe => '\'',
        }
    }
}
