//! Equal amounts within the window: what shares a token, and what shares nothing else (suggested, never confirmed).
//!
//! The window is counted in business days of the account's calendar, and is not symmetric: the books usually know
//! first.

use super::board::{Board, Lines, ordered, pack, unpack};
use super::rules::EDGES_PER_BLOCK;
use super::ties::{Edges, Evidence};
use super::{Rule, Side};

/// A line as windows see it: 64 bits of amount, 31 of day, 32 of line. Sorted, equal amounts are neighbours, in the
/// order of days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WindowKey(u128);

/// A line of a block with too many edges to write down: how many lines could be meant, and the first of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overflow {
    line: u32,
    first: u32,
    candidates: u32,
}

/// A day and a rank.
type Dated = (u32, u32);

const DAY: u32 = 32;
const AMOUNT: u32 = 64;

// === impl WindowKey ===

impl WindowKey {
    /// Of a line.
    pub(super) fn new(lines: &Lines<'_>, side: Side, rank: u32) -> Self {
        let (minor, day) = (lines.minor[rank as usize], lines.day[rank as usize]);
        Self((u128::from(ordered(minor)) << AMOUNT) | (u128::from(day) << DAY) | u128::from(pack(side, rank)))
    }

    /// Equal where amounts are.
    pub(super) fn amount(self) -> u128 {
        self.0 >> AMOUNT
    }

    #[expect(clippy::cast_possible_truncation, reason = "the day is the second 32 bits")]
    fn day(self) -> u32 {
        (self.0 >> DAY) as u32
    }

    /// The packed line.
    #[expect(clippy::cast_possible_truncation, reason = "the line is the low 32 bits")]
    pub(super) fn line(self) -> u32 {
        self.0 as u32
    }
}

/// Amount and window alone, over all that is left.
pub(super) fn amount_alone(board: &mut Board<'_>) {
    let mut keys = left(board);
    let (mut edges, mut overflow) = (Edges::default(), Vec::new());
    offer(board, &mut keys, 0, &mut edges, &mut overflow);
    tie_overflow(board, overflow, Rule::AmountWindow);
    edges.resolve(board, Rule::AmountWindow, Evidence::Token);
}

/// Every line that no confirmed match took.
pub(super) fn left(board: &Board<'_>) -> Vec<WindowKey> {
    let of = |side| {
        let lines = board.side(side);
        lines.left().map(move |rank| WindowKey::new(lines, side, rank))
    };
    of(Side::Bank).chain(of(Side::Book)).collect()
}

/// Adds an edge for every two of these lines whose amounts are equal and whose days lie within the window; sorts them.
/// A block with more edges than may be written down goes to `overflow` as a whole.
pub(super) fn offer(
    board: &Board<'_>,
    keys: &mut [WindowKey],
    evidence: u32,
    edges: &mut Edges,
    overflow: &mut Vec<Overflow>,
) {
    if let [one, other] = *keys {
        // By far the commonest: one line on either side.
        let (bank, book) = if one.line() < other.line() { (one, other) } else { (other, one) };
        if let ((Side::Bank, bank), (Side::Book, book)) = (unpack(bank.line()), unpack(book.line()))
            && one.amount() == other.amount()
            && board.in_window(bank, book)
        {
            edges.push(bank, book, evidence);
        }
        return;
    }
    keys.sort_unstable();
    let (mut bank, mut book) = (Vec::new(), Vec::new());
    for run in keys.chunk_by(|a, b| a.amount() == b.amount()).filter(|run| run.len() > 1) {
        split(run, &mut bank, &mut book);
        if bank.is_empty() || book.is_empty() {
            continue;
        }
        if bank.len().saturating_mul(book.len()) <= EDGES_PER_BLOCK {
            push_edges(board, &bank, &book, evidence, edges);
        } else {
            offer_large(board, &bank, &book, evidence, edges, overflow);
        }
    }
}

/// Ties the lines of blocks that overflowed. Before the edges are resolved: an edge to one of them is a tie, too.
pub(super) fn tie_overflow(board: &mut Board<'_>, overflow: Vec<Overflow>, rule: Rule) {
    for Overflow { line, first, candidates } in overflow {
        let (side, rank) = unpack(line);
        board.tie(side, rank, first, candidates, rule);
    }
}

/// The lines of a run by side, each in the order of days.
pub(super) fn split(run: &[WindowKey], bank: &mut Vec<Dated>, book: &mut Vec<Dated>) {
    bank.clear();
    book.clear();
    for key in run {
        match unpack(key.line()) {
            (Side::Bank, rank) => bank.push((key.day(), rank)),
            (Side::Book, rank) => book.push((key.day(), rank)),
        }
    }
}

/// The part of `book` that lies within the window of a bank line's day. `from` is where the last search began; days only
/// grow.
fn within<'a>(board: &Board<'_>, bank_day: u32, book: &'a [Dated], from: &mut usize) -> &'a [Dated] {
    let (first, last) = board.window(bank_day);
    while book.get(*from).is_some_and(|(day, _)| *day < first) {
        *from += 1;
    }
    let rest = &book[*from..];
    &rest[..rest.partition_point(|(day, _)| *day <= last)]
}

fn push_edges(board: &Board<'_>, bank: &[Dated], book: &[Dated], evidence: u32, edges: &mut Edges) {
    let mut from = 0;
    for (day, rank) in bank {
        for (_, other) in within(board, *day, book, &mut from) {
            edges.push(*rank, *other, evidence);
        }
    }
}

/// Many lines of one amount: cut where no window can reach across, then each piece by itself.
fn offer_large(
    board: &Board<'_>,
    bank: &[Dated],
    book: &[Dated],
    evidence: u32,
    edges: &mut Edges,
    overflow: &mut Vec<Overflow>,
) {
    let reach = board.input.rules.book_precedes_bank.max(board.input.rules.book_follows_bank);
    let (mut bank, mut book) = (bank, book);
    while !bank.is_empty() && !book.is_empty() {
        let (b, k) = piece(bank, book, reach);
        let (bank_piece, book_piece) = (&bank[..b], &book[..k]);
        (bank, book) = (&bank[b..], &book[k..]);
        let mut from = 0;
        let count = bank_piece
            .iter()
            .map(|(day, _)| within(board, *day, book_piece, &mut from).len())
            .fold(0_usize, usize::saturating_add);
        if count <= EDGES_PER_BLOCK {
            push_edges(board, bank_piece, book_piece, evidence, edges);
        } else {
            let rules = board.input.rules;
            let (precedes, follows) = (rules.book_precedes_bank, rules.book_follows_bank);
            spill(Side::Bank, bank_piece, book_piece, (precedes, follows), overflow);
            spill(Side::Book, book_piece, bank_piece, (follows, precedes), overflow);
        }
    }
}

/// How many lines of either side come before the first gap that is wider than `reach`.
fn piece(bank: &[Dated], book: &[Dated], reach: u32) -> (usize, usize) {
    let (mut b, mut k) = (0, 0);
    let mut last = None;
    loop {
        let next = match (bank.get(b), book.get(k)) {
            (Some(x), Some(y)) => x.0.min(y.0),
            (Some(x), None) => x.0,
            (None, Some(y)) => y.0,
            (None, None) => break,
        };
        if last.is_some_and(|day: u32| next - day > reach) {
            break;
        }
        last = Some(next);
        b += bank[b..].partition_point(|(day, _)| *day == next);
        k += book[k..].partition_point(|(day, _)| *day == next);
    }
    (b, k)
}

/// Counts the candidates of each line without writing down its edges: days are few where lines are many. `before` and
/// `after` are how far the other side may lie.
fn spill(side: Side, lines: &[Dated], others: &[Dated], (before, after): (u32, u32), out: &mut Vec<Overflow>) {
    // For each day of the other side: how many lines, and the first in canonical order.
    let days: Vec<(u32, u32, u32)> = others
        .chunk_by(|a, b| a.0 == b.0)
        .map(|day| {
            let first = day.iter().map(|(_, rank)| *rank).min().unwrap_or(0);
            (day[0].0, super::board::rank_from(day.len()), first)
        })
        .collect();
    for of_day in lines.chunk_by(|a, b| a.0 == b.0) {
        let day = of_day[0].0;
        let low = days.partition_point(|other| other.0 < day.saturating_sub(before));
        let high = days.partition_point(|other| other.0 <= day.saturating_add(after));
        let Some(first) = days[low..high].iter().map(|other| other.2).min() else { continue };
        let candidates = days[low..high].iter().fold(0_u32, |sum, other| sum.saturating_add(other.1));
        out.extend(of_day.iter().map(|(_, rank)| Overflow { line: pack(side, *rank), first, candidates }));
    }
}
