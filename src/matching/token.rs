//! Shared rare token, amount, window: an invoice number in a text, a tax id, a name that few lines have.
//!
//! Three passes over one sorted list, the most telling tokens first: those that one open line of either side has, then
//! rare ones with a digit, then rare words. So an invoice number tells two payments of one customer apart before the
//! customer's name could tie them.

use super::board::{Board, State, pack};
use super::normalise::{TokenKey, each_token};
use super::text::Scratch;
use super::ties::{Edges, Evidence};
use super::window::{self, WindowKey};
use super::{Rule, Side};

/// Tokens that exactly one open line of either side has.
pub(super) fn unique_tokens(board: &mut Board<'_>) {
    collect(board);
    pass(board, 1, |_| true);
}

/// Rare tokens with a digit in them.
pub(super) fn rare_tokens_with_a_digit(board: &mut Board<'_>) {
    pass(board, board.input.rules.rare_token_limit, |key| !key.is_word());
}

/// Rare tokens without one.
pub(super) fn rare_words(board: &mut Board<'_>) {
    pass(board, board.input.rules.rare_token_limit, TokenKey::is_word);
}

/// The tokens of every line that is left, sorted.
fn collect(board: &mut Board<'_>) {
    // Two of a line are usual.
    let left = |side| board.side(side).left().count();
    let mut tokens = Vec::with_capacity(2 * (left(Side::Bank) + left(Side::Book)));
    let mut scratch = Scratch::default();
    for side in [Side::Bank, Side::Book] {
        let lines = board.side(side);
        // As they lie in memory, and not in canonical order: the keys are sorted anyway.
        for (rank, line) in lines.left_as_given() {
            each_token(line, &mut scratch, |token| tokens.push(TokenKey::new(token, pack(side, rank))));
        }
    }
    tokens.sort_unstable();
    tokens.dedup();
    board.tokens = tokens;
}

fn pass(board: &mut Board<'_>, limit: u32, wanted: impl Fn(TokenKey) -> bool) {
    let mut edges = Edges::default();
    let mut keys = Vec::new();
    let mut overflow = Vec::new();
    let mut place = 0_u32;
    for run in board.tokens.chunk_by(|a, b| a.token() == b.token()) {
        let evidence = place;
        place = place.saturating_add(super::board::rank_from(run.len()));
        if run.len() < 2 || !wanted(run[0]) || !rare_run(board, run, limit, &mut keys) {
            continue;
        }
        window::offer(board, &mut keys, evidence, &mut edges, &mut overflow);
    }
    window::tie_overflow(board, overflow, Rule::RareToken);
    edges.resolve(board, Rule::RareToken, Evidence::Token);
}

/// Fills `keys` with the lines of a run that are left. False if one side has none, or more than the limit.
pub(super) fn rare_run(board: &Board<'_>, run: &[TokenKey], limit: u32, keys: &mut Vec<WindowKey>) -> bool {
    keys.clear();
    let mut counts = [0_u32; 2];
    for key in run {
        let (side, rank) = super::board::unpack(key.line());
        let lines = board.side(side);
        if lines.state[rank as usize] == State::Consumed {
            continue;
        }
        let count = &mut counts[side as usize];
        *count += 1;
        if *count > limit {
            return false;
        }
        keys.push(WindowKey::new(lines, side, rank));
    }
    counts.iter().all(|count| *count > 0)
}
