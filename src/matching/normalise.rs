//! What of a line is compared: its references in normal form, and its informative tokens.
//!
//! Both become packed keys with the line in their low bits, so that a pass is a sort and a walk. The texts themselves
//! are read again only to explain, or to compare the few that agree.

use std::borrow::Cow;

use super::OpenLine;
use super::fingerprint::fingerprint;
use super::words;
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

/// From how many characters an untyped value can name a payment by itself.
const EXACT_LENGTH: usize = 6;

/// From how many characters a token says anything.
const TOKEN_LENGTH: usize = 4;

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
    [Some(&line.description), line.code.as_ref()].into_iter().flatten().any(|text| {
        fold(text, &mut scratch.folded);
        scratch.folded.split([' ', '-']).any(words::is_fee)
    })
}

/// Buffers that are used again for each line.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    folded: String,
    joined: String,
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

fn token_key(space: u64, text: &str, is_word: bool) -> u128 {
    let value = fingerprint(space, text.as_bytes()) >> VALUE << VALUE;
    (value & !(1 << WORD)) | (u128::from(is_word) << WORD)
}

/// The tokens of a text. A chunk between spaces that has a digit is a token as a whole, with its punctuation dropped
/// (`12.345.678/0001-90`, `INV-2024-001`); so are its parts, and a run of six digits or more within it (`NF900619`).
fn text_tokens(text: &str, minor: i64, scratch: &mut Scratch, visit: &mut impl FnMut(&Token<'_>)) {
    let Scratch { folded, joined } = scratch;
    fold(text, folded);
    let mut offer = |text: &str| {
        if let Some(is_word) = informative(text, minor) {
            let text = if is_word { text } else { number_without_zeros(text) };
            visit(&Token { key: token_key(0, text, is_word), name: "token", text });
        }
    };
    for chunk in folded.split(' ').map(|chunk| chunk.trim_matches('-')).filter(|chunk| !chunk.is_empty()) {
        if !chunk.contains('-') {
            offer(chunk);
            offer_digit_runs(chunk, &mut offer);
            continue;
        }
        if chunk.bytes().any(|byte| byte.is_ascii_digit()) {
            joined.clear();
            joined.extend(chunk.chars().filter(|c| *c != '-'));
            offer(joined);
        }
        for part in chunk.split('-') {
            offer(part);
            offer_digit_runs(part, &mut offer);
        }
    }
}

/// Runs of six digits or more in a chunk of letters and digits. Long chunks are ids of machines, whose runs are minutes
/// and bank numbers.
fn offer_digit_runs(chunk: &str, offer: &mut impl FnMut(&str)) {
    if chunk.len() > 15 || chunk.bytes().all(|byte| byte.is_ascii_digit()) {
        return;
    }
    for run in chunk.split(|c: char| !c.is_ascii_digit()).filter(|run| run.len() >= EXACT_LENGTH) {
        offer(run);
    }
}

/// Upper case, accents dropped, a run of white space one space, a run of other characters than letters and digits one
/// hyphen.
fn fold(text: &str, out: &mut String) {
    out.clear();
    let mut gap = None;
    if text.is_ascii() {
        for byte in text.bytes() {
            fold_char(char::from(byte.to_ascii_uppercase()), &mut gap, out);
        }
    } else {
        use unicode_normalization::UnicodeNormalization;
        use unicode_normalization::char::is_combining_mark;
        for c in text.nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_uppercase) {
            fold_char(c, &mut gap, out);
        }
    }
}

/// `gap` is what stands between the last letter or digit and the next, if anything.
fn fold_char(c: char, gap: &mut Option<char>, out: &mut String) {
    if c.is_alphanumeric() {
        if let Some(gap) = gap.take().filter(|_| !out.is_empty()) {
            out.push(gap);
        }
        out.push(c);
    } else if c.is_whitespace() {
        // A space says more than the punctuation beside it.
        *gap = Some(' ');
    } else {
        gap.get_or_insert('-');
    }
}

/// Says a token something about which payment a line is? If so: is it a word, without a digit?
///
/// Not: what is short; common words; years and dates, which every line of the day has; the line's own amount, which is
/// compared already.
fn informative(token: &str, minor: i64) -> Option<bool> {
    if token.len() < TOKEN_LENGTH {
        return None;
    }
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        return (token.chars().count() >= TOKEN_LENGTH && !words::is_uninformative(token)).then_some(true);
    }
    if digits < token.len() {
        // `PARC01`, `JAN2026`, `10H30`: not enough digits, or a common word with a number stuck to it.
        let letters = token.trim_end_matches(|c: char| c.is_ascii_digit());
        let common = letters.len() < token.len()
            && (words::is_uninformative(letters) || letters.len() <= 3 && is_year(&token[letters.len()..]));
        return (digits >= 3 && !common).then_some(false);
    }
    let number = number_without_zeros(token);
    let says_amount = number.parse::<u64>().is_ok_and(|value| {
        let magnitude = minor.unsigned_abs();
        value == magnitude || value == magnitude / 100
    });
    (number.len() >= TOKEN_LENGTH && !is_year(token) && !is_date(token) && !says_amount).then_some(false)
}

fn number_without_zeros(token: &str) -> &str {
    if token.bytes().all(|byte| byte.is_ascii_digit()) { token.trim_start_matches('0') } else { token }
}

fn is_year(token: &str) -> bool {
    token.len() == 4 && matches!(&token[..2], "19" | "20")
}

/// `DDMMYYYY`, `YYYYMMDD`, `MMDDYYYY`, `DDMMYY`, `YYMMDD`, of the years that statements are of.
fn is_date(digits: &str) -> bool {
    let within = |from: usize, length: usize, low: u32, high: u32| {
        digits.get(from..from + length).and_then(|part| part.parse().ok()).is_some_and(|n| (low..=high).contains(&n))
    };
    let day = |at| within(at, 2, 1, 31);
    let month = |at| within(at, 2, 1, 12);
    match digits.len() {
        8 => {
            (within(4, 4, 1990, 2059) && (day(0) && month(2) || month(0) && day(2)))
                || (within(0, 4, 1990, 2059) && month(4) && day(6))
        }
        6 => day(0) && month(2) && within(4, 2, 20, 39) || within(0, 2, 20, 39) && month(2) && day(4),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, minor: i64) -> Vec<String> {
        let mut found = Vec::new();
        text_tokens(text, minor, &mut Scratch::default(), &mut |token| found.push(token.text.to_owned()));
        found
    }

    fn reference(kind: ReferenceKind, text: &str) -> Reference {
        Reference::new(kind, text).unwrap()
    }

    #[test]
    fn a_chunk_with_digits_is_one_token_and_so_are_its_parts() {
        assert_eq!(
            tokens("INV-2024/0017", 1),
            ["INV20240017", "0017"].map(|t| t.trim_start_matches('0')).to_vec()[..1]
        );
        assert_eq!(tokens("CNPJ 12.345.678/0001-90", 1), ["CNPJ", "12345678000190"]);
        assert_eq!(tokens("ref. NF900619, Açúcar", 1), ["NF900619", "900619", "ACUCAR"]);
        assert_eq!(tokens("000900619", 1), ["900619"]);
    }

    #[test]
    fn common_words_dates_years_and_the_lines_own_amount_are_no_tokens() {
        assert!(tokens("PIX recebido 15/05/2026 de João Silva LTDA, maio 2026 20260515 150526 JAN2026", 1).is_empty());
        assert!(tokens("valor 1500,00 150000 R$ 1.500,00", -150_000).is_empty());
        assert_eq!(tokens("1500", 99), ["1500"]);
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
