//! The bank's side: statement files, read into one shape whatever their format.
//!
//! Every parser is total: any bytes end in whole statements or in located diagnostics, never in a panic and never in a
//! part of a statement. It computes each sign once, keeps dates as the bank wrote them, and decides nothing about money:
//! whether the balances close is [`proof`]'s to say, and whether a statement chains to what is known is
//! [`crate::account::ledger`]'s.
//!
//! To add a format: a file here with `parse(&Input) -> Parsed`, a [`Format`], a line in [`detect`], and fixtures.

mod archive;
pub mod bai2;
mod balance_row;
pub mod camt;
pub mod charset;
pub mod cnab240;
mod covered;
pub mod detect;
pub mod identity;
pub mod mt940;
pub mod ofx;
mod place;
pub mod proof;
pub mod text;
mod whole;

use std::fmt;

use chrono::NaiveDate;
use serde::Serialize;

use crate::diagnostic::Diagnostic;
use crate::money::{Currency, Money};
use crate::reference::Reference;

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, serde::Deserialize)]
pub enum Format {
    /// ISO 20022 BankToCustomerStatement.
    #[serde(rename = "camt.053")]
    Camt053,
    /// Open Financial Exchange, 1.x (SGML) and 2.x (XML).
    #[serde(rename = "ofx")]
    Ofx,
    /// SWIFT customer statement message.
    #[serde(rename = "mt940")]
    Mt940,
    /// Cash management balance reporting, version 2.
    #[serde(rename = "bai2")]
    Bai2,
    /// FEBRABAN's statement for reconciliation, segment E.
    #[serde(rename = "cnab240")]
    Cnab240,
}

/// What a parser is given.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The file's bytes.
    pub bytes: &'a [u8],
}

/// When a download's last day counts as over (`accounts[].day_complete`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DayComplete {
    /// The days before DTASOF (else DTSERVER): the bank may still book on that day itself.
    #[default]
    AsOf,
    /// All days up to DTEND, where the file states it; else as [`DayComplete::AsOf`].
    DtEnd,
}

/// What a statement says about which of its days are over. The account decides what to make of it:
/// [`Statement::complete_through`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DaysOver {
    /// The bank closed all days up to this one (camt.053 CLBD); none where it closed no day.
    Closed(Option<NaiveDate>),
    /// A download (OFX), which closes nothing.
    Download {
        /// The day at which it was made: DTASOF, else DTSERVER.
        as_of: Option<NaiveDate>,
        /// DTEND, as stated: never taken from the lines.
        end: Option<NaiveDate>,
    },
}

/// What came out of a file: statements if it was read whole, and what was odd or wrong.
///
/// An error among the diagnostics means that the file is refused; then there are no statements.
#[derive(Debug)]
pub struct Parsed {
    /// What the content is; `None` if it is no format that is read.
    pub format: Option<Format>,
    /// The statements, in file order.
    pub statements: Vec<Statement>,
    /// Findings, in file order.
    pub diagnostics: Vec<Diagnostic>,
}

/// One account's statement: what the bank says it held and what moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The account as the bank names it.
    pub account: AccountRef,
    /// The account's currency.
    pub currency: Currency,
    /// The bank's identification of the statement.
    pub id: Option<String>,
    /// The bank's sequence number (`ElctrncSeqNb`, `LglSeqNb`, `:28C:`).
    pub sequence: Option<String>,
    /// First day that it covers.
    pub from: NaiveDate,
    /// Last day that it covers, over or not.
    pub to: NaiveDate,
    /// Which of its days are over, as far as it says.
    pub over: DaysOver,
    /// Stated opening: the balance at the end of the day before `from`, whatever date it carries.
    pub opening: Option<Balance>,
    /// Stated closing: the balance after its last booked line.
    pub closing: Option<Balance>,
    /// Balances stated between lines ("SALDO DO DIA").
    pub markers: Vec<Marker>,
    /// Every row, in file order: movements, and what is kept apart from them.
    pub lines: Vec<BankLine>,
    /// Counts and sums that the bank delivered beside the lines (`TxsSummry`).
    pub totals: Vec<StatedTotal>,
    /// Line in the file where it begins.
    pub line: u32,
}

/// An account as a file names it; parts that the format lacks are absent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountRef {
    /// Bank code, ISPB, BIC.
    pub bank: Option<String>,
    /// Branch (agência).
    pub branch: Option<String>,
    /// IBAN or account number, as written.
    pub number: String,
    /// Bank account or credit card.
    pub kind: AccountKind,
}

/// What kind of account a statement is of. On a card, `+` reduces the debt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AccountKind {
    /// An account with money in it.
    Bank,
    /// A credit card.
    Card,
}

/// A balance that somebody outside stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// How much; `+` is the owner's.
    pub amount: Money,
    /// The date that it carries; absent where the file has none or zeros.
    pub date: Option<NaiveDate>,
}

/// A balance stated between the lines of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// The end of this day.
    pub date: NaiveDate,
    /// How much.
    pub amount: Money,
    /// How many booked lines of the statement, in file order, come before it.
    pub after_lines: u32,
    /// Line in the file.
    pub line: u32,
}

/// One row of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BankLine {
    /// Place among all rows of the statement, from 1.
    pub ordinal: u32,
    /// Line in the file where it begins.
    pub line: u32,
    /// What it is: only [`LineKind::Movement`] is money.
    pub kind: LineKind,
    /// Booked, or not yet.
    pub status: LineStatus,
    /// The calendar date that the bank wrote as the booking's.
    pub booking_date: NaiveDate,
    /// When the funds count.
    pub value_date: Option<NaiveDate>,
    /// Signed, in the account's currency.
    pub amount: Money,
    /// The amount as written, where reading it was interpreting it.
    pub amount_text: String,
    /// The bank calls it a reversal. Changes no sign.
    pub reversal: bool,
    /// The bank's transaction type (`TRNTYPE`, `BkTxCd`), as written.
    pub code: Option<String>,
    /// References, placeholders dropped, each kind and value once.
    pub references: Vec<Reference>,
    /// Who is on the other side.
    pub counterparty: Option<Counterparty>,
    /// Remittance and other prose, joined by single spaces.
    pub description: String,
    /// Transactions that this entry books as one. They explain; they never add money.
    pub details: Vec<Detail>,
    /// Charges that the entry states, and whether its amount already has them in.
    pub charges: Vec<Charge>,
}

/// What a row of a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// A movement of money.
    Movement,
    /// A balance written as a row.
    BalanceMarker,
    /// A movement of nothing.
    ZeroAmount,
}

/// Does the bank count the row in its balance?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LineStatus {
    /// In the balance.
    Booked,
    /// Announced.
    Pending,
    /// Told, and never counted.
    Information,
}

/// Who is on the other side of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, serde::Deserialize)]
pub struct Counterparty {
    /// Name.
    pub name: Option<String>,
    /// IBAN or number.
    pub account: Option<String>,
    /// CNPJ, CPF, VAT number.
    pub tax_id: Option<String>,
    /// Bank, as BIC or code.
    pub bank: Option<String>,
}

/// One transaction of a batch entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// Signed, in the account's currency; absent where the file gives none in it.
    pub amount: Option<Money>,
    /// Its own references.
    pub references: Vec<Reference>,
    /// Who.
    pub counterparty: Option<Counterparty>,
    /// Its own remittance.
    pub description: String,
    /// Its own charges.
    pub charges: Vec<Charge>,
}

/// A charge stated beside an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    /// Signed as the owner sees it: a charge taken is negative.
    pub amount: Money,
    /// Is it in the entry's amount already?
    pub included: Option<bool>,
}

/// A count and a sum that the bank delivered about its own lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedTotal {
    /// Over which booked lines.
    pub of: TotalOf,
    /// How many.
    pub count: Option<u64>,
    /// How much: signed as [`TotalOf`] says.
    pub sum: Option<Money>,
}

/// Which lines a stated total is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TotalOf {
    /// All entries; the sum is of magnitudes.
    All,
    /// Credits; the sum is positive.
    Credits,
    /// Debits; the sum is negative.
    Debits,
}

// === impl Format ===

impl Format {
    /// Its name in JSON and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Camt053 => "camt.053",
            Self::Ofx => "ofx",
            Self::Mt940 => "mt940",
            Self::Bai2 => "bai2",
            Self::Cnab240 => "cnab240",
        }
    }

    /// Its name, as people write it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Camt053 => "camt.053",
            Self::Ofx => "OFX",
            Self::Mt940 => "MT940",
            Self::Bai2 => "BAI2",
            Self::Cnab240 => "CNAB 240",
        }
    }
}

// === impl AccountRef ===

/// Bank, branch and number, as far as the file has them: `001 / 1234 / 56789-0`.
impl fmt::Display for AccountRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.bank, &self.branch].into_iter().flatten() {
            write!(f, "{part} / ")?;
        }
        f.write_str(&self.number)
    }
}

// === impl Statement ===

impl Statement {
    /// The lines that are money: booked movements. Only these enter identities and proofs.
    pub fn movements(&self) -> impl Iterator<Item = &BankLine> {
        self.lines.iter().filter(|line| line.is_movement())
    }

    /// The last of its days that is over, by an account's rule; `None` if none is known to be. This alone decides it.
    pub fn complete_through(&self, rule: DayComplete) -> Option<NaiveDate> {
        let through = match (self.over, rule) {
            (DaysOver::Closed(through), _) => through,
            (DaysOver::Download { end: Some(end), .. }, DayComplete::DtEnd) => Some(end),
            (DaysOver::Download { as_of, .. }, _) => as_of.and_then(|day| day.pred_opt()),
        };
        through.map(|day| day.min(self.to)).filter(|day| *day >= self.from)
    }

    /// The ledger day of a line: its booking date, clamped into the days that this statement covers.
    pub fn ledger_day(&self, line: &BankLine) -> NaiveDate {
        line.booking_date.clamp(self.from, self.to)
    }
}

// === impl BankLine ===

impl BankLine {
    /// A booked amount other than zero.
    pub fn is_movement(&self) -> bool {
        self.kind == LineKind::Movement && self.status == LineStatus::Booked
    }
}

// === impl Parsed ===

impl Parsed {
    /// A file that was not taken, for the reasons given.
    pub fn refused(format: Option<Format>, diagnostics: Vec<Diagnostic>) -> Self {
        Self { format, statements: Vec::new(), diagnostics }
    }
}
