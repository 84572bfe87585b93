//! The nearest miss of every open line: what came closest to being its partner, and what kept them apart.
//!
//! Only open lines are near: what is matched is explained already. A value or token that more lines have than are rare
//! says nothing about which one is near, and is passed over.

use super::Side;
use super::board::{Board, NONE, pack, unpack};
use super::normalise::ReferenceKey;
use super::rules::{AMOUNT_ALONE_DAYS, EDGES_PER_BLOCK};
use super::token::rare_run;
use super::window::{WindowKey, split};

/// What kept two lines apart, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Apart {
    /// Same reference and amount, but two values of another type.
    ReferenceConflict,
    /// Same reference and amount, outside the window; the reference is not unique, so it does not stand alone.
    ReferenceLate,
    /// Same reference and magnitude, opposite sign.
    Direction,
    /// Same reference, other amount.
    Amount,
    /// Same token and amount, outside the window.
    TokenLate,
    /// Same amount within the window, but two values of one type.
    AmountConflict,
    /// The only two lines of an amount, outside the window.
    AmountLate,
}

/// A miss. Ordered by nearness; the last resort is canonical order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Miss {
    /// What kept them apart.
    pub(super) apart: Apart,
    gap: u128,
    days: u32,
    /// The rank on the other side.
    pub(super) other: u32,
}

/// The nearest miss of each open line that has one.
pub(super) struct Misses {
    sides: [Slots; 2],
}

/// A slot for each open line of a side: lines are many, open ones few.
struct Slots {
    slot_of: Vec<u32>,
    nearest: Vec<Option<Miss>>,
}

// === impl Misses ===

impl Misses {
    /// Of all open lines. `left` are those lines, sorted.
    pub(super) fn of(board: &Board<'_>, left: &[WindowKey]) -> Self {
        let mut misses = Self { sides: [Slots::of(board, Side::Bank), Slots::of(board, Side::Book)] };
        misses.by_reference(board);
        misses.by_token(board);
        misses.by_amount(board, left);
        misses
    }

    /// The nearest miss of a line.
    pub(super) fn nearest(&self, side: Side, rank: u32) -> Option<Miss> {
        let slots = &self.sides[side as usize];
        slots.nearest.get(slots.slot_of[rank as usize] as usize).copied().flatten()
    }

    fn by_reference(&mut self, board: &Board<'_>) {
        let (mut bank, mut book) = (Vec::new(), Vec::new());
        for run in board.references.chunk_by(|a, b| a.value() == b.value()).filter(|run| run.len() > 1) {
            for group in ReferenceKey::namesakes(run) {
                bank.clear();
                book.clear();
                for key in group.iter().filter(|key| !board.is_consumed(key.line())) {
                    match unpack(key.line()) {
                        (Side::Bank, rank) => bank.push(rank),
                        (Side::Book, rank) => book.push(rank),
                    }
                }
                let limit = board.input.rules.rare_token_limit as usize;
                if bank.len() <= limit && book.len() <= limit {
                    for bank in &bank {
                        for book in &book {
                            self.share_reference(board, *bank, *book);
                        }
                    }
                }
            }
        }
    }

    fn share_reference(&mut self, board: &Board<'_>, bank: u32, book: u32) {
        let (a, b) = (board.bank.minor[bank as usize], board.book.minor[book as usize]);
        let apart = match (board.vetoed(bank, book), a == b) {
            (true, true) => Apart::ReferenceConflict,
            (true, false) => return,
            (false, true) if board.in_window(bank, book) => return, // A tie, or it would be a match.
            (false, true) => Apart::ReferenceLate,
            (false, false) if a.checked_add(b) == Some(0) => Apart::Direction,
            (false, false) => Apart::Amount,
        };
        self.offer(board, bank, book, apart);
    }

    fn by_token(&mut self, board: &Board<'_>) {
        let (mut keys, mut bank, mut book) = (Vec::new(), Vec::new(), Vec::new());
        for run in board.tokens.chunk_by(|a, b| a.token() == b.token()).filter(|run| run.len() > 1) {
            if !rare_run(board, run, board.input.rules.rare_token_limit, &mut keys) {
                continue;
            }
            keys.sort_unstable();
            for run in keys.chunk_by(|a, b| a.amount() == b.amount()).filter(|run| run.len() > 1) {
                split(run, &mut bank, &mut book);
                if bank.len().saturating_mul(book.len()) > EDGES_PER_BLOCK {
                    continue;
                }
                for (_, bank) in &bank {
                    for (_, book) in &book {
                        if !board.in_window(*bank, *book) && !board.vetoed(*bank, *book) {
                            self.offer(board, *bank, *book, Apart::TokenLate);
                        }
                    }
                }
            }
        }
    }

    fn by_amount(&mut self, board: &Board<'_>, left: &[WindowKey]) {
        let (mut bank, mut book) = (Vec::new(), Vec::new());
        for run in left.chunk_by(|a, b| a.amount() == b.amount()).filter(|run| run.len() > 1) {
            split(run, &mut bank, &mut book);
            if bank.len().saturating_mul(book.len()) > EDGES_PER_BLOCK {
                continue; // So many that nearness means nothing.
            }
            let only = bank.len() == 1 && book.len() == 1;
            for (bank_day, bank) in &bank {
                for (book_day, book) in &book {
                    match (board.in_window(*bank, *book), board.vetoed(*bank, *book)) {
                        (true, true) => self.offer(board, *bank, *book, Apart::AmountConflict),
                        (false, false) if only && bank_day.abs_diff(*book_day) <= AMOUNT_ALONE_DAYS => {
                            self.offer(board, *bank, *book, Apart::AmountLate);
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// A miss is one of both lines.
    fn offer(&mut self, board: &Board<'_>, bank: u32, book: u32, apart: Apart) {
        let (a, b) = (board.bank.minor[bank as usize], board.book.minor[book as usize]);
        let gap = i128::from(a).abs_diff(i128::from(b));
        let days = board.bank.day[bank as usize].abs_diff(board.book.day[book as usize]);
        self.sides[Side::Bank as usize].offer(bank, Miss { apart, gap, days, other: book });
        self.sides[Side::Book as usize].offer(book, Miss { apart, gap, days, other: bank });
    }
}

// === impl Slots ===

impl Slots {
    fn of(board: &Board<'_>, side: Side) -> Self {
        let lines = board.side(side);
        let mut slot_of = vec![NONE; lines.len() as usize];
        let mut count = 0;
        for (slot, rank) in (0_u32..).zip(lines.left()) {
            slot_of[rank as usize] = slot;
            count = slot as usize + 1;
        }
        Self { slot_of, nearest: vec![None; count] }
    }

    fn offer(&mut self, rank: u32, miss: Miss) {
        if let Some(nearest) = self.nearest.get_mut(self.slot_of[rank as usize] as usize)
            && nearest.is_none_or(|known| miss < known)
        {
            *nearest = Some(miss);
        }
    }
}

/// Suspected duplicates: open lines whose strong reference and amount stand more often on their side than on the other,
/// where they do stand. Sorted pairs of packed lines: the line, and the first of its own side that has the same.
pub(super) fn duplicates(board: &Board<'_>) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut lines: Vec<(i64, u32)> = Vec::new();
    for run in board.references.chunk_by(|a, b| a.value_and_direction() == b.value_and_direction()) {
        // Three at least: two on a side and one on the other.
        if run.len() < 3 || run.iter().all(|key| board.is_consumed(key.line())) {
            continue;
        }
        for group in ReferenceKey::namesakes(run) {
            lines.clear();
            lines.extend(group.iter().map(|key| {
                let (side, rank) = unpack(key.line());
                (board.side(side).minor[rank as usize], pack(side, rank))
            }));
            lines.sort_unstable();
            lines.dedup();
            for equal in lines.chunk_by(|a, b| a.0 == b.0) {
                let (bank, book) = equal.split_at(equal.partition_point(|(_, line)| unpack(*line).0 == Side::Bank));
                let (more, fewer) = if bank.len() > book.len() { (bank, book) } else { (book, bank) };
                if more.len() == fewer.len() || fewer.is_empty() {
                    continue;
                }
                for (at, (_, line)) in more.iter().enumerate().filter(|(_, (_, line))| !board.is_consumed(*line)) {
                    found.push((*line, more[usize::from(at == 0)].1));
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup_by_key(|(line, _)| *line);
    found
}
