//! The day: Friday, 27 November 2026, reconciled on the Monday after.
//!
//! Three accounts start from a stated position at the end of Thursday. Most of what moves on Friday is on both sides;
//! the rest is one break of each class that this day is meant to show, built on purpose in [`super::operating`],
//! [`super::receivables`] and [`super::europe`]. Balances are never written down: they follow from the lines.

use chrono::NaiveDate;

use super::{books, camt, europe, ofx, operating, receivables, settings};

/// A file, by its path in the repository.
pub(crate) type File = (&'static str, Vec<u8>);

/// One account: where it starts, and what moves on either side.
pub(crate) struct Account {
    /// Its id in the settings.
    pub(crate) id: &'static str,
    pub(crate) currency: &'static str,
    /// The bank's balance at the end of Thursday, in cents.
    pub(crate) opening_bank: i64,
    /// What is open on either side at the end of Thursday.
    pub(crate) open_bank: Vec<OpenItem>,
    pub(crate) open_book: Vec<OpenItem>,
    /// The bank's lines in the order of the statement, and the books' postings in that of the ledger.
    pub(crate) bank: Vec<BankLine>,
    pub(crate) book: Vec<BookLine>,
}

/// A line that waits for its other side since before the day.
pub(crate) struct OpenItem {
    pub(crate) id: String,
    pub(crate) date: NaiveDate,
    pub(crate) cents: i64,
    pub(crate) reference: String,
    pub(crate) reference_type: &'static str,
    pub(crate) counterparty: String,
    pub(crate) description: String,
}

/// A line of a bank statement. Which of its texts a format has is the format's matter.
#[derive(Clone, Default)]
pub(crate) struct BankLine {
    pub(crate) date: NaiveDate,
    pub(crate) cents: i64,
    /// `TRNTYPE`, or `BkTxCd`.
    pub(crate) code: &'static str,
    pub(crate) text: String,
    /// `FITID`, or `AcctSvcrRef`.
    pub(crate) bank_id: String,
    /// `CHECKNUM`, or `EndToEndId`.
    pub(crate) reference: String,
    /// Creditor reference of remittance (ISO 11649).
    pub(crate) creditor_reference: String,
    pub(crate) counterparty: String,
    pub(crate) reversal: bool,
    /// Announced, not booked.
    pub(crate) pending: bool,
    /// The payments that this entry books as one: EndToEndId, name, cents.
    pub(crate) details: Vec<(String, String, i64)>,
}

/// A posting to the cash account.
#[derive(Clone, Default)]
pub(crate) struct BookLine {
    pub(crate) id: String,
    pub(crate) date: NaiveDate,
    pub(crate) cents: i64,
    pub(crate) reference: String,
    pub(crate) reference_type: &'static str,
    pub(crate) counterparty: String,
    pub(crate) description: String,
    pub(crate) group: String,
    pub(crate) reverses: String,
}

/// A date of November 2026.
pub(crate) fn november(day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 11, day).unwrap_or_default()
}

/// The business date.
pub(crate) fn friday() -> NaiveDate {
    november(27)
}

/// The end of this day is where the accounts start.
pub(crate) fn thursday() -> NaiveDate {
    november(26)
}

/// Cents as text, with this decimal mark.
pub(crate) fn amount(cents: i64, mark: char) -> String {
    let magnitude = cents.unsigned_abs();
    format!("{}{}{mark}{:02}", if cents < 0 { "-" } else { "" }, magnitude / 100, magnitude % 100)
}

/// The accounts of the example.
pub(crate) fn accounts() -> [Account; 3] {
    [operating::account(), receivables::account(), europe::account()]
}

/// Every file that is written.
pub(crate) fn files() -> Vec<File> {
    let accounts = accounts();
    let [operating, receivables, europe] = &accounts;
    vec![
        ("examples/inbox/bank/extrato-2026-11-27.ofx", ofx::file(&[operating, receivables])),
        ("examples/inbox/bank/europe/statement-2026-11-27.xml", camt::file(europe)),
        ("examples/inbox/book/ledger-brl-2026-11-27.csv", books::csv(&[operating, receivables])),
        ("examples/inbox/book/ledger-eur-2026-11-27.jsonl", books::json_lines(&[europe])),
        ("examples/inbox/book/balances-2026-11-27.csv", books::balances(&accounts)),
        ("examples/openings/operating.csv", books::open_items(operating)),
        ("examples/openings/receivables.csv", books::open_items(receivables)),
        ("examples/openings/europe.csv", books::open_items(europe)),
        (".env.example", settings::env_example().into_bytes()),
        ("docs/settings.md", settings::reference().into_bytes()),
    ]
}

// === impl Account ===

impl Account {
    /// Bank − book = Σ open bank items − Σ open book items, so this is the books' balance at the end of Thursday.
    pub(crate) fn opening_book(&self) -> i64 {
        let sum = |items: &[OpenItem]| items.iter().map(|item| item.cents).sum::<i64>();
        self.opening_bank - sum(&self.open_bank) + sum(&self.open_book)
    }

    /// The books' balance at the end of Friday.
    pub(crate) fn closing_book(&self) -> i64 {
        let taken = self.book.iter().filter(|line| line.date > thursday() && line.date <= friday());
        self.opening_book() + taken.map(|line| line.cents).sum::<i64>()
    }

    /// The bank's balance at the end of a day.
    pub(crate) fn bank_at(&self, day: NaiveDate) -> i64 {
        let booked = |from: NaiveDate, to: NaiveDate| -> i64 {
            let lines = self.bank.iter().filter(|line| !line.pending && line.date > from && line.date <= to);
            lines.map(|line| line.cents).sum()
        };
        self.opening_bank + booked(thursday(), day) - booked(day, thursday())
    }
}

// === impl BankLine ===

impl BankLine {
    /// A line of the day.
    pub(crate) fn on(date: NaiveDate, cents: i64, code: &'static str, text: impl Into<String>) -> Self {
        Self { date, cents, code, text: text.into(), ..Self::default() }
    }

    pub(crate) fn reference(mut self, reference: impl Into<String>) -> Self {
        self.reference = reference.into();
        self
    }
}

// === impl BookLine ===

impl BookLine {
    /// A posting of the day; its id is given when the ledger is written.
    pub(crate) fn on(date: NaiveDate, cents: i64, counterparty: &str, description: impl Into<String>) -> Self {
        let (counterparty, description) = (counterparty.to_owned(), description.into());
        Self { date, cents, counterparty, description, ..Self::default() }
    }

    pub(crate) fn reference(mut self, kind: &'static str, reference: impl Into<String>) -> Self {
        self.reference_type = kind;
        self.reference = reference.into();
        self
    }
}

/// Numbers the postings that have no id yet, in the order of the ledger.
pub(crate) fn numbered(mut lines: Vec<BookLine>, prefix: &str) -> Vec<BookLine> {
    for (number, line) in lines.iter_mut().enumerate().filter(|(_, line)| line.id.is_empty()) {
        line.id = format!("{prefix}-{:05}", 41_001 + number);
    }
    lines
}
