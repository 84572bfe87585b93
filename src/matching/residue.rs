//! Why a line stays open, in one class and one sentence.
//!
//! The first that applies: a suspected duplicate; tied; part of a suggestion; a shared reference with something wrong
//! (conflict, window, direction, amount); a shared token outside the window; a reversal whose original is not there; a
//! fee of the bank; an amount alone, vetoed or outside the window; missing. Evidence goes before the line's own looks,
//! and those before coincidences of amounts.

use super::board::{Board, State, ordered, pack, unpack};
use super::explain::{label, match_id};
use super::near::{Apart, Miss, Misses, duplicates};
use super::normalise::{conflict, names_a_fee, shared_references, shared_token};
use super::text::Scratch;
use super::window::{WindowKey, left};
use super::{BreakClass, Nearest, OpenLine, Residue, Rule, Side};
use crate::money::{Money, Total};

/// Every line that no confirmed match took, in canonical order, bank first.
pub(super) fn residue(board: &Board<'_>) -> Vec<Residue> {
    let mut amounts = left(board);
    amounts.sort_unstable();
    let misses = Misses::of(board, &amounts);
    let mut teller = Teller { board, amounts, misses, duplicates: duplicates(board), scratch: Scratch::default() };
    let mut out = Vec::with_capacity(teller.amounts.len());
    for side in [Side::Bank, Side::Book] {
        for rank in board.side(side).left() {
            let (class, nearest) = teller.tell(side, rank);
            out.push(Residue { side, line: board.side(side).line(rank).id.clone(), class, nearest });
        }
    }
    out
}

/// Tells why.
struct Teller<'b, 'a> {
    board: &'b Board<'a>,
    amounts: Vec<WindowKey>,
    misses: Misses,
    duplicates: Vec<(u32, u32)>,
    scratch: Scratch,
}

// === impl Teller ===

impl Teller<'_, '_> {
    fn tell(&mut self, side: Side, rank: u32) -> (BreakClass, Option<Nearest>) {
        let lines = self.board.side(side);
        let line = lines.line(rank);
        let state = lines.state[rank as usize];
        // First, whatever else it may be: a suggestion's lines stand in a break that points at it (domain.md §7).
        if state == State::Suggested {
            return (BreakClass::Unconfirmed, Some(self.suggested(side, rank)));
        }
        if let Ok(at) = self.duplicates.binary_search_by_key(&pack(side, rank), |(line, _)| *line) {
            return self.duplicate(side, line, self.duplicates[at].1);
        }
        if state == State::Tied {
            return (BreakClass::Ambiguous, Some(self.tied(side, rank)));
        }
        let miss = self.misses.nearest(side, rank);
        if let Some(miss) = miss.filter(|miss| miss.apart <= Apart::TokenLate) {
            return self.missed(side, rank, miss);
        }
        if let Some(told) = self.reversal(side, line) {
            return told;
        }
        if side == Side::Bank && line.minor < 0 && names_a_fee(line, &mut self.scratch) {
            return (BreakClass::FeeUnbooked, None);
        }
        match (miss, side) {
            (Some(miss), _) => self.missed(side, rank, miss),
            (None, Side::Bank) => (BreakClass::MissingInBook, None),
            (None, Side::Book) => (BreakClass::MissingInBank, None),
        }
    }

    /// `twin` is a packed line of the same side.
    fn duplicate(&self, side: Side, line: &OpenLine, twin: u32) -> (BreakClass, Option<Nearest>) {
        let twin = self.board.side(side).line(unpack(twin).1);
        let shared = shared_references(line, twin).next();
        let reference = shared.map_or(String::new(), |(name, value, _)| format!("{} {value} and ", label(name)));
        let (class, other) = match side {
            Side::Bank => (BreakClass::DupBank, "the books have it less often"),
            Side::Book => (BreakClass::DupBook, "the bank has it less often"),
        };
        let why =
            format!("The {side} has {reference}{} again on line {}, and {other}.", self.money(line.minor), twin.id);
        (class, Some(Nearest { side, line: twin.id.clone(), why, suggestion: None }))
    }

    fn tied(&self, side: Side, rank: u32) -> Nearest {
        let how = self.board.how(side, rank);
        // Voids tie within the books; every other rule ties across.
        let across = if how.rule == Rule::Reversal { side } else { other(side) };
        let first = self.board.side(across).line(self.board.side(side).other(rank));
        let evidence = match how.rule {
            Rule::Reversal => "what voids what",
            Rule::StrongReference => "reference and amount",
            Rule::RareToken => "a shared token, amount and dates",
            Rule::AmountWindow => "amount and dates alone",
        };
        let why = if how.candidates == 1 {
            format!("By {evidence} only {across} line {} could be meant, but other lines claim it as well.", first.id)
        } else {
            format!(
                "By {evidence} {} {across} lines could be meant, and nothing tells which; the first is {}.",
                how.candidates, first.id
            )
        };
        Nearest { side: across, line: first.id.clone(), why, suggestion: None }
    }

    fn suggested(&self, side: Side, rank: u32) -> Nearest {
        let partner_rank = self.board.side(side).other(rank);
        let line = self.board.side(side).line(rank);
        let partner = self.board.side(other(side)).line(partner_rank);
        let why = format!(
            "{} line {} of {} has the same amount {} {}; nothing else that counts connects them, so a person must confirm it.",
            capital(other(side)),
            partner.id,
            partner.date,
            self.money(line.minor),
            self.apart(side, rank, partner_rank),
        );
        let suggestion = Some(match_id(Rule::AmountWindow, [&line.id, &partner.id]));
        Nearest { side: other(side), line: partner.id.clone(), why, suggestion }
    }

    fn missed(&mut self, side: Side, rank: u32, miss: Miss) -> (BreakClass, Option<Nearest>) {
        let (bank, book) = match side {
            Side::Bank => (self.board.bank.line(rank), self.board.book.line(miss.other)),
            Side::Book => (self.board.bank.line(miss.other), self.board.book.line(rank)),
        };
        let shared = shared_references(bank, book).next();
        let reference =
            shared.map_or("the same reference".into(), |(name, value, _)| format!("{} {value}", label(name)));
        let apart = self.apart(side, rank, miss.other);
        let amount = self.money(bank.minor);
        let (class, why) = match miss.apart {
            Apart::ReferenceConflict => (
                BreakClass::RefConflict,
                format!("Both carry {reference} and {amount}, but {}.", contradiction(bank, book)),
            ),
            Apart::ReferenceLate => (
                BreakClass::DateWindow,
                format!("Both carry {reference} and {amount}, but are {apart}: outside the window."),
            ),
            Apart::Direction => (
                BreakClass::Direction,
                format!("Both carry {reference}, but the bank has {amount} and the books {}.", self.money(book.minor)),
            ),
            Apart::Amount => {
                let gap = Total::new(i128::from(bank.minor) - i128::from(book.minor), self.board.input.currency);
                let booked = self.money(book.minor);
                (
                    BreakClass::Amount,
                    format!(
                        "Both carry {reference}, but the bank has {amount} and the books {booked}: {gap} more at the bank."
                    ),
                )
            }
            Apart::TokenLate => {
                let token = shared_token(bank, book, &mut self.scratch).unwrap_or_default();
                (
                    BreakClass::DateWindow,
                    format!("Both name {token} and {amount}, but are {apart}: outside the window."),
                )
            }
            Apart::AmountConflict => (
                BreakClass::RefConflict,
                format!("Both have {amount} within the window, but {}.", contradiction(bank, book)),
            ),
            Apart::AmountLate => (
                BreakClass::DateWindow,
                format!("They are the only open lines of {amount}, but are {apart}: outside the window."),
            ),
        };
        let line = if side == Side::Bank { book } else { bank }.id.clone();
        (class, Some(Nearest { side: other(side), line, why, suggestion: None }))
    }

    /// A reversal that the bank flags, or a void in the books, that found no original.
    fn reversal(&self, side: Side, line: &OpenLine) -> Option<(BreakClass, Option<Nearest>)> {
        match side {
            Side::Book => line.reverses.as_ref().map(|_| (BreakClass::ReversalUnpaired, None)),
            Side::Bank if !line.reversal => None,
            Side::Bank => {
                let Some(original) = self.original(line) else { return Some((BreakClass::ReversalUnpaired, None)) };
                let why = format!(
                    "It reverses an amount of {}, as open bank line {} of {} has it; the books have neither.",
                    self.money(original.minor),
                    original.id,
                    original.date
                );
                let nearest = Nearest { side, line: original.id.clone(), why, suggestion: None };
                Some((BreakClass::MissingInBook, Some(nearest)))
            }
        }
    }

    /// The first open bank line of the opposite amount.
    fn original(&self, reversal: &OpenLine) -> Option<&OpenLine> {
        let wanted = u128::from(ordered(reversal.minor.checked_neg()?));
        let from = self.amounts.partition_point(|key| key.amount() < wanted);
        self.amounts[from..].iter().take_while(|key| key.amount() == wanted).find_map(|key| match unpack(key.line()) {
            (Side::Bank, rank) => Some(self.board.bank.line(rank)),
            (Side::Book, _) => None,
        })
    }

    /// How far apart two lines are, in words.
    fn apart(&self, side: Side, rank: u32, partner: u32) -> String {
        let (bank, book) = if side == Side::Bank { (rank, partner) } else { (partner, rank) };
        match self.board.bank.day[bank as usize].abs_diff(self.board.book.day[book as usize]) {
            0 => "on the same business day".into(),
            1 => "1 business day apart".into(),
            days => format!("{days} business days apart"),
        }
    }

    fn money(&self, minor: i64) -> Money {
        Money::new(minor, self.board.input.currency)
    }
}

fn contradiction(bank: &OpenLine, book: &OpenLine) -> String {
    match conflict(bank, book, u8::MAX) {
        Some(conflict) => {
            format!("the bank says {} {} and the books {}", label(conflict.kind.name()), conflict.bank, conflict.book)
        }
        None => "their references contradict each other".into(),
    }
}

fn other(side: Side) -> Side {
    match side {
        Side::Bank => Side::Book,
        Side::Book => Side::Bank,
    }
}

fn capital(side: Side) -> &'static str {
    match side {
        Side::Bank => "Bank",
        Side::Book => "Book",
    }
}
