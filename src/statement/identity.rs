//! What makes a bank line the same line in two files.
//!
//! Account, booking date as written, signed amount, type, folded text and the references that a counterparty supplied.
//! Ids that the bank assigns are left out: banks reuse and regenerate them, and money was lost by trusting them
//! (`domain.md` §4). Equal lines are told apart by their occurrence, `k`, counted where statements are joined.

use std::fmt;

use chrono::NaiveDate;
use sha2::{Digest, Sha256};

use super::BankLine;
use super::text::folded;

/// The identity of a bank line within its account, without its occurrence: the first 8 bytes of a SHA-256.
///
/// The booking date is kept beside it, so that two identities can collide only within one day of one account.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// As the bank wrote it.
    pub booking_date: NaiveDate,
    hash: [u8; 8],
}

/// The id of a bank line: `<account id>:<booking date>:<16 hex of the identity>:<k>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineId(String);

// === impl Identity ===

impl Identity {
    /// Of a line.
    pub fn of(line: &BankLine) -> Self {
        let mut hasher = Sha256::new();
        let mut field = |name: &str, value: &[u8]| {
            // Name and length first, so that no two different lists of fields are the same bytes.
            hasher.update(name.as_bytes());
            hasher.update((value.len() as u64).to_be_bytes());
            hasher.update(value);
        };
        field("date", line.booking_date.to_string().as_bytes());
        field("amount", &line.amount.minor().to_be_bytes());
        field("currency", line.amount.currency().code().as_bytes());
        field("type", line.code.as_deref().unwrap_or("").trim().as_bytes());
        field("text", folded(&line.description).as_bytes());
        let mut references: Vec<_> = line.references.iter().filter(|r| !r.kind().is_bank_assigned()).collect();
        references.sort();
        for reference in references {
            field(reference.kind().name(), reference.value().as_bytes());
        }
        let digest = hasher.finalize();
        let mut hash = [0; 8];
        hash.copy_from_slice(&digest[..8]);
        Self { booking_date: line.booking_date, hash }
    }

    /// The 16 hexadecimal digits.
    pub fn hex(&self) -> String {
        self.hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// From a date and 16 hexadecimal digits, as stored.
    pub fn from_hex(booking_date: NaiveDate, hex: &str) -> Option<Self> {
        let mut hash = [0; 8];
        if hex.len() != 16 || !hex.is_ascii() {
            return None;
        }
        for (at, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).ok()?;
        }
        Some(Self { booking_date, hash })
    }

    /// The id of its `k`-th occurrence (from 1) in an account.
    pub fn line_id(&self, account: &str, k: u32) -> LineId {
        LineId(format!("{account}:{}:{}:{k}", self.booking_date, self.hex()))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.booking_date, self.hex())
    }
}

// === impl LineId ===

impl LineId {
    /// As written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<LineId> for String {
    fn from(id: LineId) -> Self {
        id.0
    }
}
