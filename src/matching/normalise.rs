//! What of a line is compared: its references in normal form, and its informative tokens.
//!
//! Both become packed keys with the line in their low bits, so that a pass is a sort and a walk. The texts themselves
//! are read again only to explain, or to compare the few that agree.

use std::borrow::Cow;

use super::OpenLine;
use super::fingerprint::fingerprint;
use super::text::{self, EXACT_LENGTH, Scratch};
use crate::reference::{Reference, ReferenceKind};

/// A reference of a line: 88 bits of its value's fingerprint, 1 of direction, 1 for [`ReferenceKey::is_exact`], 5 of
/// kind, 32 of line. Sorted, equal values are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReferenceKey(u128);

/// A token of a line: 1 bit for words, 87 of its fingerprint, 32 of line. Sorted, tokens with a digit come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TokenKey(u128);

/// A token, met in a line.
pub(super) struct Token<'a> {
    key: u128,
    /// The kind of reference that it is, or `token`.
    pub(super) name: &'static str,
    /// Its text, folded.
    pub(super) text: &'a str,
}

/// Two values of one type that contradict each other.
pub(super) struct Conflict<'a> {
    /// The type.
    pub(super) kind: ReferenceKind,
    /// The one line's value.
    pub(super) bank: &'a str,
    /// The other's.
    pub(super) book: &'a str,
}

const KIND: u32 = 32;
const EXACT: u32 = 38;
const DIRECTION: u32 = 39;
const VALUE: u32 = 40;
const WORD: u32 = 127;

// === impl ReferenceKey ===

impl ReferenceKey {
    fn new(kind: ReferenceKind, value: &str, minor: i64, line: u32) -> Self {
        let exact = !kind.is_bank_assigned() && is_exact(value);
        Self(
            (fingerprint(0, value.as_bytes()) >> VALUE << VALUE)
                | (u128::from(minor >= 0) << DIRECTION)
                | (u128::from(exact) << EXACT)
                | (u128::from(kind as u8) << KIND)
                | u128::from(line),
        )
    }

    /// The packed line.
    #[expect(clippy::cast_possible_truncation, reason = "the line is the low 32 bits")]
    pub(super) fn line(self) -> u32 {
        self.0 as u32
    }

    /// The same reference on another line.
    pub(super) fn with_line(self, line: u32) -> Self {
        Self(self.0 >> KIND << KIND | u128::from(line))
    }

    /// The kind's number, in the order of [`ReferenceKind::ALL`].
    #[expect(clippy::cast_possible_truncation, reason = "masked to five bits")]
    pub(super) fn kind(self) -> u8 {
        ((self.0 >> KIND) as u8) & 31
    }

    /// Does the value name a payment whatever its kind: not assigned by the bank, six characters or more, one of them a
    /// digit?
    pub(super) fn is_exact(self) -> bool {
        self.0 >> EXACT & 1 == 1
    }

    /// The parts of a run of one value that name the same thing: short values by kind, others together.
    pub(super) fn namesakes(run: &[Self]) -> impl Iterator<Item = &[Self]> {
        run.chunk_by(|a, b| a.is_exact() == b.is_exact() && (a.is_exact() || a.kind() == b.kind()))
            .filter(|part| part[0].is_exact() || is_kind_alone(part[0].kind()))
    }

    /// Value and direction: equal where both are.
    pub(super) fn value_and_direction(self) -> u128 {
        self.0 >> DIRECTION
    }

    /// Value alone.
    pub(super) fn value(self) -> u128 {
        self.0 >> VALUE
    }
}

// === impl TokenKey ===

impl TokenKey {
    /// Of a token in a line.
    pub(super) fn new(token: &Token<'_>, line: u32) -> Self {
        Self(token.key | u128::from(line))
    }

    /// The packed line.
    #[expect(clippy::cast_possible_truncation, reason = "the line is the low 32 bits")]
    pub(super) fn line(self) -> u32 {
        self.0 as u32
    }

    /// The token alone: equal where the texts are.
    pub(super) fn token(self) -> u128 {
        self.0 >> VALUE
    }

    /// Has it no digit?
    pub(super) fn is_word(self) -> bool {
        self.0 >> WORD == 1
    }
}

// === impl Token ===

impl Token<'_> {
    /// As [`TokenKey::token`].
    pub(super) fn token(&self) -> u128 {
        self.key >> VALUE
    }
}

/// Appends the keys of a line's references that can name one payment, with `line` in them. Mandates, batches and
/// messages name many: they are tokens only. Answers which typed kinds there are, a bit each.
pub(super) fn reference_keys(line: &OpenLine, place: u32, out: &mut Vec<ReferenceKey>) -> u8 {
    let mut typed = 0;
    for reference in &line.references {
        let kind = reference.kind();
        typed |= typed_bit(kind);
        if names_one_payment(kind) {
            out.push(ReferenceKey::new(kind, &normal(reference), line.minor, place));
        }
    }
    typed
}

/// The bit of a typed kind; of others, none.
pub(super) fn typed_bit(kind: ReferenceKind) -> u8 {
    if kind.is_typed() { 1 << (kind as u8) } else { 0 }
}

/// Does a value of this kind match only the same value of the same kind, however short it is? (Others match as exact
/// tokens.)
pub(super) fn is_kind_alone(kind: u8) -> bool {
    ReferenceKind::ALL.get(usize::from(kind)).is_some_and(|kind| kind.is_typed() || kind.is_bank_assigned())
}

/// The first of the typed kinds in `shared` of which the two lines have no value in common.
pub(super) fn conflict<'a>(bank: &'a OpenLine, book: &'a OpenLine, shared: u8) -> Option<Conflict<'a>> {
    ReferenceKind::ALL.into_iter().filter(|kind| typed_bit(*kind) & shared != 0).find_map(|kind| {
        let values = |line: &'a OpenLine| line.references.iter().filter(move |reference| reference.kind() == kind);
        let agree = values(bank).any(|a| values(book).any(|b| normal(a) == normal(b)));
        match (agree, values(bank).next(), values(book).next()) {
            (false, Some(a), Some(b)) => Some(Conflict { kind, bank: a.value(), book: b.value() }),
            _ => None,
        }
    })
}

/// The references that two lines share as a strong reference is shared: each by its name with both values.
pub(super) fn shared_references<'a>(
    bank: &'a OpenLine,
    book: &'a OpenLine,
) -> impl Iterator<Item = (&'static str, &'a str, &'a str)> {
    bank.references.iter().filter(|a| names_one_payment(a.kind())).filter_map(|a| {
        let mut partners = book.references.iter().filter(|b| names_one_payment(b.kind()));
        let same_kind = a.kind().is_typed() || a.kind().is_bank_assigned();
        let found = partners.find(|b| {
            let cross = !a.kind().is_bank_assigned() && !b.kind().is_bank_assigned() && is_exact(&normal(a));
            (cross || (same_kind && a.kind() == b.kind())) && normal(a) == normal(b)
        })?;
        let named = if a.kind() == ReferenceKind::Untyped { found.kind() } else { a.kind() };
        Some((named.name(), a.value(), found.value()))
    })
}

/// Visits every informative token of a line: references, description, counterparty.
pub(super) fn each_token(line: &OpenLine, scratch: &mut Scratch, mut visit: impl FnMut(&Token<'_>)) {
    for reference in &line.references {
        let kind = reference.kind();
        if kind.is_typed() || kind.is_bank_assigned() {
            let value = normal(reference);
            let space = 1 + u64::from(kind as u8);
            visit(&Token { key: token_key(space, &value, false), name: kind.name(), text: &value });
        }
        if !kind.is_bank_assigned() {
            text_tokens(reference.value(), line.minor, scratch, &mut visit);
        }
    }
    text_tokens(&line.description, line.minor, scratch, &mut visit);
    if let Some(counterparty) = &line.counterparty {
        if let Some(name) = &counterparty.name {
            text_tokens(name, line.minor, scratch, &mut visit);
        }
        for number in [&counterparty.account, &counterparty.tax_id].into_iter().flatten() {
            // Printed in groups or not, a number is one token.
            let bare: String = number.chars().filter(|c| !c.is_whitespace()).collect();
            text_tokens(&bare, line.minor, scratch, &mut visit);
        }
    }
}

/// The most telling token that two lines share: one with a digit, else the longest; by text among equals.
pub(super) fn shared_token(bank: &OpenLine, book: &OpenLine, scratch: &mut Scratch) -> Option<String> {
    let mut of_bank = std::collections::BTreeSet::new();
    each_token(bank, scratch, |token| {
        of_bank.insert(token.token());
    });
    let mut best: Option<(bool, usize, String)> = None;
    each_token(book, scratch, |token| {
        if of_bank.contains(&token.token()) {
            let digit = token.text.bytes().any(|byte| byte.is_ascii_digit());
            let found = (digit, token.text.len(), token.text.to_owned());
            best = best.take().max(Some(found));
        }
    });
    best.map(|(_, _, text)| text)
}

/// Does a word of the line's text or type name a fee?
pub(super) fn names_a_fee(line: &OpenLine, scratch: &mut Scratch) -> bool {
    [Some(&line.description), line.code.as_ref()].into_iter().flatten().any(|text| text::names_a_fee(text, scratch))
}

/// Can a value of this kind name one payment, and not a batch or an agreement?
fn names_one_payment(kind: ReferenceKind) -> bool {
    kind.is_typed()
        || kind.is_bank_assigned()
        || matches!(kind, ReferenceKind::Untyped | ReferenceKind::Instruction | ReferenceKind::Transaction)
}

/// A value as it is compared: numbers without leading zeros, ISO 11649 without the spaces it is printed with.
fn normal(reference: &Reference) -> Cow<'_, str> {
    let value = reference.value();
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Cow::Borrowed(value.trim_start_matches('0'));
    }
    if reference.kind() == ReferenceKind::Iso11649 && value.contains(' ') {
        return Cow::Owned(value.replace(' ', ""));
    }
    Cow::Borrowed(value)
}

fn is_exact(normal: &str) -> bool {
    normal.len() >= EXACT_LENGTH
        && normal.bytes().any(|byte| byte.is_ascii_digit())
        // No character has more than four bytes.
        && (normal.len() >= 4 * EXACT_LENGTH || normal.chars().count() >= EXACT_LENGTH)
}

fn text_tokens(text: &str, minor: i64, scratch: &mut Scratch, visit: &mut impl FnMut(&Token<'_>)) {
    text::tokens(text, minor, scratch, &mut |text, is_word| {
        visit(&Token { key: token_key(0, text, is_word), name: "token", text });
    });
}

fn token_key(space: u64, text: &str, is_word: bool) -> u128 {
    let value = fingerprint(space, text.as_bytes()) >> VALUE << VALUE;
    (value & !(1 << WORD)) | (u128::from(is_word) << WORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(kind: ReferenceKind, text: &str) -> Reference {
        Reference::new(kind, text).unwrap()
    }

    #[test]
    fn numbers_are_compared_without_leading_zeros_and_creditor_references_without_spaces() {
        assert_eq!(normal(&reference(ReferenceKind::Cheque, "000123")), "123");
        assert_eq!(normal(&reference(ReferenceKind::Untyped, "RF18 5390 0754 7034")), "RF18539007547034");
        assert_eq!(normal(&reference(ReferenceKind::Untyped, "0A12")), "0A12");
    }

    #[test]
    fn an_exact_value_has_six_characters_and_a_digit() {
        assert!(is_exact("INV001") && !is_exact("INV01") && !is_exact("INVOICE") && !is_exact("12345"));
    }
}
