//! Strong reference and amount: one bank line and one book line have the same reference, nobody else has it, and the
//! amounts are equal. No window: a reference does not age. The dates are stated with the match.

use super::Rule;
use super::board::{BOOK_BIT, Board, unpack};
use super::normalise::{ReferenceKey, is_kind_alone};
use super::ties::{Edges, Evidence};

/// The pass.
pub(super) fn strong_reference(board: &mut Board<'_>) {
    let mut edges = Edges::default();
    let mut open = Vec::new();
    for run in board.references.chunk_by(|a, b| a.value_and_direction() == b.value_and_direction()) {
        if run.len() < 2 {
            continue;
        }
        open.clear();
        open.extend(run.iter().copied().filter(|key| !board.is_consumed(key.line())));
        // By kind, where a kind's value stands for itself however short.
        for of_kind in open.chunk_by(|a, b| a.is_exact() == b.is_exact() && a.kind() == b.kind()) {
            if is_kind_alone(of_kind[0].kind()) {
                offer(board, of_kind, 1 << of_kind[0].kind(), &mut edges);
            }
        }
        // Across kinds, where the value is long enough to be one of a kind.
        let exact = &open[open.partition_point(|key| !key.is_exact())..];
        if let (Some(first), Some(last)) = (exact.first(), exact.last())
            && (first.kind() != last.kind() || !is_kind_alone(first.kind()))
        {
            offer(board, exact, 0, &mut edges);
        }
    }
    edges.resolve(board, Rule::StrongReference, Evidence::Kinds);
}

/// An edge, if the references are on exactly one line of either side and the amounts agree.
fn offer(board: &Board<'_>, keys: &[ReferenceKey], kinds: u32, edges: &mut Edges) {
    let Some((bank, book)) = unique_on_both_sides(keys) else { return };
    if board.bank.minor[bank as usize] == board.book.minor[book as usize] {
        edges.push(bank, book, kinds);
    }
}

/// The one bank line and the one book line, as ranks.
fn unique_on_both_sides(keys: &[ReferenceKey]) -> Option<(u32, u32)> {
    let (mut bank, mut book) = (None, None);
    for key in keys {
        let line = key.line();
        let seen = if line & BOOK_BIT == 0 { &mut bank } else { &mut book };
        match seen {
            None => *seen = Some(line),
            Some(same) if *same == line => {}
            Some(_) => return None,
        }
    }
    Some((bank?, unpack(book?).1))
}
