//! Matches as they are handed out: ids, legs, the keys compared with both values, and the sentence that they make.

use std::borrow::Cow;
use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::board::{Board, How, State};
use super::normalise::{TokenKey, each_token, shared_references};
use super::text::Scratch;
use super::{Explanation, Key, Match, MatchStatus, OpenLine, Rule, Side};
use crate::money::Money;
use crate::reference::ReferenceKind;

/// Every match on the board, in canonical order of its first leg, bank first.
pub(super) fn matches<'b>(board: &'b Board<'_>) -> impl Iterator<Item = Match> + 'b {
    let mut voided: Vec<(u32, u32)> = board.voided.iter().map(|(a, b)| (*a.min(b), *a.max(b))).collect();
    voided.sort_unstable();
    let mut voided = voided.into_iter().peekable();
    let paired = |rank: &u32| matches!(board.bank.state[*rank as usize], State::Consumed | State::Suggested);
    let mut across = (0..board.bank.len()).filter(paired).peekable();
    let mut scratch = Scratch::default();
    let position = |line: &OpenLine| (line.ledger_day, line.minor);
    std::iter::from_fn(move || {
        let next = across.peek().map(|rank| position(board.bank.line(*rank)));
        let within = voided.next_if(|pair| next.is_none_or(|next| position(board.book.line(pair.0)) < next));
        match within {
            Some(pair) => Some(internal(board, pair)),
            None => across.next().map(|rank| one_to_one(board, rank, &mut scratch)),
        }
    })
}

/// The id of a match: 16 hex. See [`Match::id`].
pub(super) fn match_id(rule: Rule, legs: [&str; 2]) -> String {
    let [a, b] = if legs[0].as_bytes() <= legs[1].as_bytes() { legs } else { [legs[1], legs[0]] };
    let mut hasher = Sha256::new();
    hasher.update(rule.name().as_bytes());
    for leg in [a, b] {
        hasher.update([0]);
        hasher.update(leg.as_bytes());
    }
    let digest = hasher.finalize();
    let mut hex = String::with_capacity(16);
    for byte in &digest[..8] {
        for nibble in [byte >> 4, byte & 15] {
            hex.push(char::from(b"0123456789abcdef"[usize::from(nibble)]));
        }
    }
    hex
}

/// A bank line with a book line.
fn one_to_one(board: &Board<'_>, rank: u32, scratch: &mut Scratch) -> Match {
    let state = board.bank.state[rank as usize];
    let how = board.how(Side::Bank, rank);
    let (bank, book) = (board.bank.line(rank), board.book.line(board.bank.other(rank)));
    let mut keys = Vec::with_capacity(3);
    match how.rule {
        Rule::StrongReference => keys.extend(shared_references(bank, book).map(|(name, a, b)| key(name, a, b))),
        Rule::RareToken => keys.extend(token(board, bank, &how, scratch)),
        Rule::Reversal | Rule::AmountWindow => {}
    }
    keys.push(key("amount", money(board, bank), money(board, book)));
    keys.push(key("date", date(bank), date(book)));
    Match {
        id: match_id(how.rule, [&bank.id, &book.id]),
        rule: how.rule,
        status: if state == State::Suggested { MatchStatus::Suggested } else { MatchStatus::Confirmed },
        bank: vec![bank.id.clone()],
        book: vec![book.id.clone()],
        // Every rule so far demands equal amounts.
        difference: 0,
        explanation: Explanation { keys, candidates: how.candidates, interchangeable: how.interchangeable },
    }
}

/// An entry of the books with its void. `first` and `second` in canonical order.
fn internal(board: &Board<'_>, (first, second): (u32, u32)) -> Match {
    let (a, b) = (board.book.line(first), board.book.line(second));
    let (entry, void) = if b.reverses.as_deref() == Some(a.id.as_str()) { (a, b) } else { (b, a) };
    Match {
        id: match_id(Rule::Reversal, [&a.id, &b.id]),
        rule: Rule::Reversal,
        status: MatchStatus::Confirmed,
        bank: Vec::new(),
        book: vec![a.id.clone(), b.id.clone()],
        difference: 0,
        explanation: Explanation {
            keys: vec![
                key("reverses", entry.id.as_str(), void.reverses.as_deref().unwrap_or_default()),
                key("amount", money(board, entry), money(board, void)),
                key("date", date(entry), date(void)),
            ],
            candidates: 1,
            interchangeable: false,
        },
    }
}

/// The token that a pair was made by, as the bank's line has it.
fn token(board: &Board<'_>, line: &OpenLine, how: &How, scratch: &mut Scratch) -> Option<Key> {
    let wanted = board.tokens.get(how.token as usize).copied().map(TokenKey::token)?;
    let mut found = None;
    each_token(line, scratch, |token| {
        if found.is_none() && token.token() == wanted {
            found = Some(key(token.name, token.text, token.text));
        }
    });
    found
}

fn key(name: &'static str, bank: impl Into<String>, book: impl Into<String>) -> Key {
    Key { name: Cow::Borrowed(name), bank: bank.into(), book: book.into() }
}

fn money(board: &Board<'_>, line: &OpenLine) -> String {
    Money::new(line.minor, board.input.currency).to_string()
}

fn date(line: &OpenLine) -> String {
    line.date.to_string()
}

// === impl Match ===

impl Match {
    /// Why, as a sentence.
    pub fn sentence(&self) -> String {
        let Explanation { keys, candidates, interchangeable } = &self.explanation;
        let pair = |name: &str| keys.iter().find(|key| key.name == name);
        let dates = pair("date").map_or(String::new(), |key| {
            if key.bank == key.book {
                format!("both of {}", key.bank)
            } else {
                format!("bank {}, book {}", key.bank, key.book)
            }
        });
        let amount = pair("amount").map_or("", |key| key.bank.as_str());
        let mut shared = String::new();
        for key in keys.iter().filter(|key| !matches!(key.name.as_ref(), "amount" | "date" | "reverses")) {
            let gap = if shared.is_empty() { "" } else { " and " };
            // Writing into a String cannot fail.
            let _ = write!(shared, "{gap}{} {}", label(&key.name), key.bank);
        }
        let mut text = match self.rule {
            Rule::Reversal => self.of_reversal(),
            Rule::StrongReference => format!("The same {shared} and the same amount {amount}; {dates}."),
            Rule::RareToken => {
                format!("Both name {shared}, with the same amount {amount}; {dates}, within the window.")
            }
            Rule::AmountWindow => format!(
                "Only the amount {amount} and the dates speak for it ({dates}); no reference or name that counts in common: a \
                 person must confirm it."
            ),
        };
        if *interchangeable {
            let _ = write!(
                text,
                " One of {candidates} bank and {candidates} book lines that are equal in all that is compared: any \
                 pairing proves the same."
            );
        }
        text
    }

    fn of_reversal(&self) -> String {
        let keys = &self.explanation.keys;
        let values = |name: &str| {
            keys.iter().find(|key| key.name == name).map_or(("", ""), |key| (key.bank.as_str(), key.book.as_str()))
        };
        let (entry, _) = values("reverses");
        let void = self.book.iter().find(|id| *id != entry).map_or("", String::as_str);
        let ((entered, voided), (entry_date, void_date)) = (values("amount"), values("date"));
        format!(
            "The books void it themselves: {entry} ({entered}, {entry_date}) and its void {void} ({voided}, {void_date})."
        )
    }
}

/// What a key is called in a sentence.
pub(super) fn label(name: &str) -> &str {
    match ReferenceKind::from_name(name) {
        Some(ReferenceKind::PixEndToEnd) => "Pix end-to-end id",
        Some(ReferenceKind::PixReturn) => "Pix return id",
        Some(ReferenceKind::EndToEnd) => "end-to-end id",
        Some(ReferenceKind::Uetr) => "UETR",
        Some(ReferenceKind::Iso11649) => "creditor reference",
        Some(ReferenceKind::Cheque) => "cheque",
        Some(ReferenceKind::NossoNumero) => "nosso número",
        Some(ReferenceKind::Document) => "document",
        Some(ReferenceKind::Untyped) => "reference",
        Some(ReferenceKind::Instruction) => "instruction id",
        Some(ReferenceKind::Transaction) => "transaction id",
        Some(ReferenceKind::Mandate) => "mandate",
        Some(ReferenceKind::PaymentInformation) => "payment information id",
        Some(ReferenceKind::Message) => "message id",
        Some(ReferenceKind::FitId) => "FITID",
        Some(ReferenceKind::AccountServicer) => "bank reference",
        Some(ReferenceKind::Entry) => "entry reference",
        None => name,
    }
}
