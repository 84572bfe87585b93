//! What a text says: folded, cut into parts, and of those the tokens that tell one payment from another.
//!
//! Read for every line that no reference matched, so that it is one walk over the bytes; most texts are ASCII, and all
//! are mostly.

use super::fingerprint::fingerprint;
use super::words;

/// From how many characters an untyped value can name a payment by itself.
pub(super) const EXACT_LENGTH: usize = 6;

/// From how many characters a token says anything.
const TOKEN_LENGTH: usize = 4;

/// Longer mixed chunks are ids of machines, whose runs of digits are minutes and bank numbers.
const MIXED_LENGTH: usize = 15;

/// Buffers that are used again for each line.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    folded: Folded,
    joined: String,
    silent: Silent,
}

/// Texts without a token, whatever the line's amount: "PIX RECEBIDO" is on a tenth of a statement's lines. Known again by
/// their fingerprint; a newer one takes the place of an older.
#[derive(Debug)]
struct Silent(Vec<u128>);

const SILENT: u128 = 256;

/// A text in upper case, without accents and without what is no letter or digit.
#[derive(Debug, Default)]
struct Folded {
    /// The parts, one behind the other.
    bytes: Vec<u8>,
    parts: Vec<Part>,
}

/// A run of letters and digits.
#[derive(Debug, Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
    /// How many ASCII digits it has.
    digits: usize,
    /// Nothing but punctuation stands between it and the part before it: no white space.
    joins: bool,
}

/// What stands between the last letter or digit and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    None,
    Punctuation,
    /// A space says more than the punctuation beside it.
    Space,
}

/// What an ASCII character is: a letter in upper case or a digit as itself, white space as a space, other as zero.
const ASCII: [u8; 128] = ascii();

/// Visits the tokens of a text, each with whether it is a word, without a digit. A chunk between spaces that has a digit
/// is a token as a whole, with its punctuation dropped (`12.345.678/0001-90`, `INV-2024-001`); so are its parts, and a
/// run of six digits or more within it (`NF900619`). `minor` is the line's own amount, which is no token.
pub(super) fn tokens(text: &str, minor: i64, scratch: &mut Scratch, visit: &mut impl FnMut(&str, bool)) {
    let Scratch { folded, joined, silent } = scratch;
    let known = fingerprint(0, text.as_bytes());
    if silent.has(known) {
        return;
    }
    folded.fill(text);
    let mut says = false;
    let mut offer = |token: &str, digits: usize| {
        // What a number says may depend on the amount.
        says |= digits > 0;
        if let Some(is_word) = informative(token, digits, minor) {
            says = true;
            visit(if is_word { token } else { number_without_zeros(token) }, is_word);
        }
    };
    let all = folded.text();
    for chunk in folded.parts.chunk_by(|_, next| next.joins) {
        if chunk.len() > 1 {
            let digits = chunk.iter().map(|part| part.digits).sum();
            if digits > 0 {
                joined.clear();
                for part in chunk {
                    joined.push_str(part.of(all));
                }
                offer(joined, digits);
            }
        }
        for part in chunk {
            let text = part.of(all);
            offer(text, part.digits);
            if part.digits >= EXACT_LENGTH && part.digits < text.len() && text.len() <= MIXED_LENGTH {
                for run in text.split(|c: char| !c.is_ascii_digit()).filter(|run| run.len() >= EXACT_LENGTH) {
                    offer(run, run.len());
                }
            }
        }
    }
    if !says {
        silent.keep(known);
    }
}

/// Does a word of the text name a fee?
pub(super) fn names_a_fee(text: &str, scratch: &mut Scratch) -> bool {
    scratch.folded.fill(text);
    let all = scratch.folded.text();
    scratch.folded.parts.iter().any(|part| words::is_fee(part.of(all)))
}

/// A number without leading zeros; other texts as they are.
pub(super) fn number_without_zeros(token: &str) -> &str {
    if token.bytes().all(|byte| byte.is_ascii_digit()) { token.trim_start_matches('0') } else { token }
}

// === impl Silent ===

impl Silent {
    fn has(&self, text: u128) -> bool {
        self.0[Self::place(text)] == text
    }

    fn keep(&mut self, text: u128) {
        self.0[Self::place(text)] = text;
    }

    fn place(text: u128) -> usize {
        usize::try_from(text % SILENT).unwrap_or(0)
    }
}

impl Default for Silent {
    fn default() -> Self {
        Self((0..SILENT).map(|_| 0).collect())
    }
}

// === impl Folded ===

impl Folded {
    fn fill(&mut self, text: &str) {
        self.bytes.clear();
        self.parts.clear();
        let mut part = Part { start: 0, end: 0, digits: 0, joins: false };
        let mut gap = Gap::None;
        if text.is_ascii() {
            for byte in text.bytes() {
                self.ascii(byte, &mut part, &mut gap);
            }
        } else {
            for c in text.chars() {
                match u8::try_from(c) {
                    Ok(byte) if byte.is_ascii() => self.ascii(byte, &mut part, &mut gap),
                    _ => self.other(c, &mut part, &mut gap),
                }
            }
        }
        self.close(&part);
    }

    fn ascii(&mut self, byte: u8, part: &mut Part, gap: &mut Gap) {
        match ASCII[usize::from(byte & 127)] {
            0 => *gap = if *gap == Gap::Space { Gap::Space } else { Gap::Punctuation },
            b' ' => *gap = Gap::Space,
            upper => {
                if *gap != Gap::None {
                    self.open(part, gap);
                }
                part.digits += usize::from(upper.is_ascii_digit());
                self.bytes.push(upper);
            }
        }
    }

    /// Its letters without the marks on them. Marks move past each other when a text is decomposed; as all are dropped,
    /// each character can be taken by itself.
    fn other(&mut self, c: char, part: &mut Part, gap: &mut Gap) {
        use unicode_normalization::char::{decompose_canonical, is_combining_mark};
        decompose_canonical(c, |plain| {
            if is_combining_mark(plain) {
                return;
            }
            for upper in plain.to_uppercase() {
                if upper.is_ascii() {
                    self.ascii(upper as u8, part, gap);
                } else if upper.is_alphanumeric() {
                    if *gap != Gap::None {
                        self.open(part, gap);
                    }
                    self.bytes.extend_from_slice(upper.encode_utf8(&mut [0; 4]).as_bytes());
                } else if upper.is_whitespace() {
                    *gap = Gap::Space;
                } else if *gap == Gap::None {
                    *gap = Gap::Punctuation;
                }
            }
        });
    }

    /// Begins a part after a gap.
    fn open(&mut self, part: &mut Part, gap: &mut Gap) {
        self.close(part);
        let joins = *gap == Gap::Punctuation && !self.parts.is_empty();
        *part = Part { start: self.bytes.len(), end: 0, digits: 0, joins };
        *gap = Gap::None;
    }

    fn close(&mut self, part: &Part) {
        if part.start < self.bytes.len() {
            self.parts.push(Part { end: self.bytes.len(), ..*part });
        }
    }

    /// The parts' bytes, which are whole characters.
    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }
}

// === impl Part ===

impl Part {
    fn of<'a>(&self, all: &'a str) -> &'a str {
        all.get(self.start..self.end).unwrap_or_default()
    }
}

const fn ascii() -> [u8; 128] {
    let mut table = [0; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => byte.to_ascii_uppercase(),
            b'\t'..=b'\r' | b' ' => b' ',
            _ => 0,
        };
        byte += 1;
    }
    table
}

/// Says a token something about which payment a line is? If so: is it a word, without a digit?
///
/// Not: what is short; common words; years and dates, which every line of the day has; the line's own amount, which is
/// compared already. `digits` is how many it has.
fn informative(token: &str, digits: usize, minor: i64) -> Option<bool> {
    if token.len() < TOKEN_LENGTH {
        return None;
    }
    if digits == 0 {
        let long = token.is_ascii() || token.chars().count() >= TOKEN_LENGTH;
        return (long && !words::is_uninformative(token)).then_some(true);
    }
    if digits < token.len() {
        if digits < 3 {
            return None;
        }
        // `PARC001`, `JAN2026`: a common word with a number stuck to it.
        let letters = token.trim_end_matches(|c: char| c.is_ascii_digit());
        let common = letters.len() < token.len()
            && (words::is_uninformative(letters) || letters.len() <= 3 && is_year(&token[letters.len()..]));
        return (!common).then_some(false);
    }
    let number = token.trim_start_matches('0');
    let says_amount = || {
        let magnitude = minor.unsigned_abs();
        number.parse::<u64>().is_ok_and(|value| value == magnitude || value == magnitude / 100)
    };
    (number.len() >= TOKEN_LENGTH && !is_year(token) && !is_date(token) && !says_amount()).then_some(false)
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
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str, minor: i64) -> Vec<String> {
        let mut found = Vec::new();
        tokens(text, minor, &mut Scratch::default(), &mut |token, _| found.push(token.to_owned()));
        found
    }

    #[test]
    fn a_chunk_with_digits_is_one_token_and_so_are_its_parts() {
        assert_eq!(found("INV-2024/0017", 1), ["INV20240017", "0017"].map(|t| t.trim_start_matches('0')).to_vec()[..1]);
        assert_eq!(found("CNPJ 12.345.678/0001-90", 1), ["CNPJ", "12345678000190"]);
        assert_eq!(found("ref. NF900619, Açúcar", 1), ["NF900619", "900619", "ACUCAR"]);
        assert_eq!(found("000900619", 1), ["900619"]);
    }

    #[test]
    fn common_words_dates_years_and_the_lines_own_amount_are_no_tokens() {
        assert!(found("PIX recebido 15/05/2026 de João Silva LTDA, maio 2026 20260515 150526 JAN2026", 1).is_empty());
        assert!(found("valor 1500,00 150000 R$ 1.500,00", -150_000).is_empty());
        assert_eq!(found("1500", 99), ["1500"]);
    }

    #[test]
    fn a_text_that_said_nothing_is_known_again_and_a_number_is_looked_at_for_each_amount() {
        let mut scratch = Scratch::default();
        let mut count = |text: &str, minor: i64| {
            let mut count = 0;
            tokens(text, minor, &mut scratch, &mut |_, _| count += 1);
            count
        };
        for _ in 0..2 {
            assert_eq!([count("PIX recebido", 1), count("PIX recebido ACME", 1), count("", 1)], [0, 1, 0]);
            assert_eq!([count("valor 150000", 150_000), count("valor 150000", 99)], [0, 1]);
        }
    }

    proptest! {
        #[test]
        fn the_parts_of_a_text_are_those_of_its_folded_form(text in "(?s)[a-z0-9 .\\-]{0,9}.{0,12}[À-ž\u{300}-\u{304}]{0,4}.{0,4}") {
            let mut folded = Folded::default();
            folded.fill(&text);
            let parts: Vec<_> = folded.parts.iter().map(|part| part.of(folded.text())).collect();
            prop_assert_eq!(parts.join(" "), crate::statement::text::folded(&text));
            for part in &folded.parts {
                let digits = part.of(folded.text()).bytes().filter(u8::is_ascii_digit).count();
                prop_assert_eq!(part.digits, digits);
            }
        }
    }
}
