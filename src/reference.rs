//! Typed references: what both sides wrote to say which payment a line is.
//!
//! A reference has a type, because only two *different values of the same type* contradict each other. Placeholders
//! (`NOTPROVIDED`, zeros, `SEM DOC`) are no references: they are dropped here, once, for every format.

use serde::{Deserialize, Serialize};

/// What a reference is, by its standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceKind {
    /// Pix end-to-end id: `E`, ISPB, minute, eleven characters (BCB, SPI).
    PixEndToEnd,
    /// Pix return id: `D`, else as [`ReferenceKind::PixEndToEnd`] (BCB, SPI).
    PixReturn,
    /// ISO 20022 `EndToEndId`.
    EndToEnd,
    /// ISO 20022 `UETR`, a version 4 UUID.
    Uetr,
    /// ISO 11649 creditor reference, `RF` with check digits.
    Iso11649,
    /// Cheque number.
    Cheque,
    /// Boleto's nosso número (FEBRABAN).
    NossoNumero,
    /// Document number (número do documento).
    Document,
    /// Written by a person or a system, of no known type.
    Untyped,
    /// ISO 20022 `InstrId`.
    Instruction,
    /// ISO 20022 `TxId`.
    Transaction,
    /// ISO 20022 `MndtId`.
    Mandate,
    /// ISO 20022 `PmtInfId` of a batch.
    PaymentInformation,
    /// ISO 20022 `MsgId` of a batch.
    Message,
    /// OFX `FITID`: assigned by the bank.
    FitId,
    /// ISO 20022 `AcctSvcrRef`: assigned by the bank.
    AccountServicer,
    /// ISO 20022 `NtryRef`: assigned by the bank.
    Entry,
}

/// A reference that says something: never empty, never a placeholder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Reference {
    kind: ReferenceKind,
    value: String,
}

// === impl ReferenceKind ===

impl ReferenceKind {
    /// Every kind, in canonical order.
    pub const ALL: [Self; 17] = [
        Self::PixEndToEnd,
        Self::PixReturn,
        Self::EndToEnd,
        Self::Uetr,
        Self::Iso11649,
        Self::Cheque,
        Self::NossoNumero,
        Self::Document,
        Self::Untyped,
        Self::Instruction,
        Self::Transaction,
        Self::Mandate,
        Self::PaymentInformation,
        Self::Message,
        Self::FitId,
        Self::AccountServicer,
        Self::Entry,
    ];

    /// Its name in JSON, in settings and in a book's `reference_type` column.
    pub fn name(self) -> &'static str {
        match self {
            Self::PixEndToEnd => "pix_end_to_end",
            Self::PixReturn => "pix_return",
            Self::EndToEnd => "end_to_end",
            Self::Uetr => "uetr",
            Self::Iso11649 => "iso11649",
            Self::Cheque => "cheque",
            Self::NossoNumero => "nosso_numero",
            Self::Document => "document",
            Self::Untyped => "untyped",
            Self::Instruction => "instruction",
            Self::Transaction => "transaction",
            Self::Mandate => "mandate",
            Self::PaymentInformation => "payment_information",
            Self::Message => "message",
            Self::FitId => "fitid",
            Self::AccountServicer => "account_servicer",
            Self::Entry => "entry",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Assigned by the bank: it may be reused or regenerated, so it is no part of a line's identity.
    pub fn is_bank_assigned(self) -> bool {
        matches!(self, Self::FitId | Self::AccountServicer | Self::Entry)
    }

    /// Does a shared value alone say that two lines are one payment, and do two different values say that they are not?
    pub fn is_typed(self) -> bool {
        matches!(
            self,
            Self::PixEndToEnd
                | Self::PixReturn
                | Self::EndToEnd
                | Self::Uetr
                | Self::Iso11649
                | Self::Cheque
                | Self::NossoNumero
                | Self::Document
        )
    }
}

// === impl Reference ===

impl Reference {
    /// A reference of a known kind, trimmed and in upper case; `None` where the text is empty or a placeholder.
    /// An [`ReferenceKind::EndToEnd`] or [`ReferenceKind::Untyped`] value that has the form of a stronger type becomes
    /// that type.
    pub fn new(kind: ReferenceKind, text: &str) -> Option<Self> {
        let value = text.trim().to_uppercase();
        if is_placeholder(&value) {
            return None;
        }
        let kind = match kind {
            ReferenceKind::EndToEnd | ReferenceKind::Untyped => by_form(&value).unwrap_or(kind),
            given => given,
        };
        Some(Self { kind, value })
    }

    /// Its kind.
    pub fn kind(&self) -> ReferenceKind {
        self.kind
    }

    /// Its value, trimmed and in upper case.
    pub fn value(&self) -> &str {
        &self.value
    }
}

/// Texts that banks and systems write where they have no reference, without what is no letter or digit.
const PLACEHOLDERS: [&str; 11] =
    ["NOTPROVIDED", "NONREF", "NOREF", "NONE", "NULL", "NA", "SEMDOC", "SEMDOCUMENTO", "SD", "SN", "SEMREF"];

/// Is it one of [`PLACEHOLDERS`], zeros, or without a letter or digit? Asked for every reference of every line, so it
/// looks at the characters where they are.
fn is_placeholder(upper: &str) -> bool {
    let bare = || upper.chars().filter(|c| c.is_alphanumeric());
    bare().all(|c| c == '0') || PLACEHOLDERS.iter().any(|placeholder| bare().eq(placeholder.chars()))
}

/// The type that a value's own form proves, if any.
fn by_form(value: &str) -> Option<ReferenceKind> {
    let bytes = value.as_bytes();
    let pix = bytes.len() == 32
        && bytes[1..21].iter().all(u8::is_ascii_digit)
        && bytes[21..].iter().all(u8::is_ascii_alphanumeric);
    match bytes.first() {
        Some(b'E') if pix => return Some(ReferenceKind::PixEndToEnd),
        Some(b'D') if pix => return Some(ReferenceKind::PixReturn),
        _ => {}
    }
    let uetr = bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            14 => *byte == b'4',
            _ => byte.is_ascii_hexdigit(),
        });
    if uetr {
        return Some(ReferenceKind::Uetr);
    }
    (value.starts_with("RF") && iso_11649_checks(value)).then_some(ReferenceKind::Iso11649)
}

/// ISO 11649: `RF`, two check digits, up to 21 characters; moved to the front and read in base 36, modulo 97 is 1.
fn iso_11649_checks(value: &str) -> bool {
    let bare: Vec<char> = value.chars().filter(|c| *c != ' ').collect();
    if !(5..=25).contains(&bare.len()) || !bare[2..4].iter().all(char::is_ascii_digit) {
        return false;
    }
    let mut remainder: u32 = 0;
    for c in bare[4..].iter().chain(&bare[..4]) {
        let Some(digit) = c.to_digit(36) else { return false };
        remainder = (remainder * if digit < 10 { 10 } else { 100 } + digit) % 97;
    }
    remainder == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> ReferenceKind {
        Reference::new(ReferenceKind::Untyped, text).unwrap().kind()
    }

    #[test]
    fn a_placeholder_is_no_reference() {
        for text in ["", "  ", "NOTPROVIDED", "not provided", "NONREF", "0", "000000", "0-0", "SEM DOC", "s/d", "---"] {
            assert_eq!(Reference::new(ReferenceKind::EndToEnd, text), None, "{text:?}");
        }
    }

    #[test]
    fn a_value_says_its_own_type_where_its_form_proves_one() {
        assert_eq!(kind("E00416968202611101230aBcDeFgHiJk"), ReferenceKind::PixEndToEnd);
        assert_eq!(kind("D00416968202611101230aBcDeFgHiJk"), ReferenceKind::PixReturn);
        assert_eq!(kind("E0041696820261110123"), ReferenceKind::Untyped);
        assert_eq!(kind("eb6305c9-1f7f-49de-aed0-16487c27b42d"), ReferenceKind::Uetr);
        assert_eq!(kind("RF18 5390 0754 7034"), ReferenceKind::Iso11649);
        assert_eq!(kind("RF19 5390 0754 7034"), ReferenceKind::Untyped);
        assert_eq!(kind("RFQUOTE"), ReferenceKind::Untyped);
    }

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in ReferenceKind::ALL {
            assert_eq!(ReferenceKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(ReferenceKind::from_name("bogus"), None);
    }
}
