//! Strong reference and amount: one bank line and one book line have the same reference, nobody else has it, and the
//! amounts are equal. No window: a reference does not age. The dates are stated with the match.

use super::Rule;
use super::board::{BOOK_BIT, Board, unpack};
use super::normalise::{ReferenceKey, is_kind_alone};
use super::ties::{Edges, Evidence};

/// The pass. Amounts and vetoes are looked at when edges are resolved, and only the keys here: they lie in the order of
/// their values, and the lines do not.
pub(super) fn strong_reference(board: &mut Board<'_>) {
    let mut edges = Edges::with_capacity(board.references.len() / 2);
    let namesakes = board.references.chunk_by(|a, b| a.value_and_direction() == b.value_and_direction());
    for run in namesakes.filter(|run| run.len() > 1) {
        // By kind, where a kind's value stands for itself however short.
        for of_kind in run.chunk_by(|a, b| a.is_exact() == b.is_exact() && a.kind() == b.kind()) {
            if is_kind_alone(of_kind[0].kind()) {
                offer(of_kind, 1 << of_kind[0].kind(), &mut edges);
            }
        }
        // Across kinds, where the value is long enough to be one of a kind.
        let exact = &run[run.partition_point(|key| !key.is_exact())..];
        if let (Some(first), Some(last)) = (exact.first(), exact.last())
            && (first.kind() != last.kind() || !is_kind_alone(first.kind()))
        {
            offer(exact, 0, &mut edges);
        }
    }
    edges.resolve(board, Rule::StrongReference, Evidence::Kinds);
}

/// An edge, if the references are on exactly one line of either side.
fn offer(keys: &[ReferenceKey], kinds: u32, edges: &mut Edges) {
    let (mut bank, mut book) = (None, None);
    for key in keys {
        let line = key.line();
        let seen = if line & BOOK_BIT == 0 { &mut bank } else { &mut book };
        match seen {
            None => *seen = Some(line),
            Some(same) if *same == line => {}
            Some(_) => return,
        }
    }
    if let (Some(bank), Some(book)) = (bank, book) {
        edges.push(bank, unpack(book).1, kinds);
    }
}
