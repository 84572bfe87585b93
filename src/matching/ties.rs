//! Which pairs are certain, which are interchangeable, and which are ties.
//!
//! A pass hands in edges: pairs of lines that its evidence allows. An edge whose ends have no other is a pair. A block
//! of k × k edges between lines that are equal in all that is compared is paired in canonical order: any pairing proves
//! the same. Every other block is a tie, and nothing in it is paired. So the answer depends on the set of edges alone.

use super::board::{Board, How, NONE, rank_from};
use super::rules::EDGES_PER_BLOCK;
use super::{OpenLine, Rule, Side};
use crate::statement::text::folded;

/// What a pass found.
#[derive(Debug, Default)]
pub(super) struct Edges {
    edges: Vec<Edge>,
}

/// Two lines that may be one payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    bank: u32,
    book: u32,
    evidence: u32,
}

/// How the evidence of edges between the same two lines becomes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// A set of typed kinds whose values agree: all of them.
    Kinds,
    /// The place of a token: the first.
    Token,
}

/// On a line's first neighbour: it has others.
const SEVERAL: u32 = 1 << 31;

// === impl Edges ===

impl Edges {
    /// None, with room for so many.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { edges: Vec::with_capacity(count) }
    }

    /// Adds an edge.
    pub(super) fn push(&mut self, bank: u32, book: u32, evidence: u32) {
        self.edges.push(Edge { bank, book, evidence });
    }

    /// Decides all of them. Edges between different amounts, and vetoed ones, are none.
    ///
    /// Edges come in the order of their evidence, which is no order of lines. One scattered write each puts them in the
    /// order of bank lines; the rest walks both sides nearly in order, since canonical order is much the same on both.
    pub(super) fn resolve(self, board: &mut Board<'_>, rule: Rule, evidence_is: Evidence) {
        if self.edges.is_empty() {
            return;
        }
        let mut of_bank = vec![(NONE, 0_u32); board.bank.len() as usize];
        let mut of_book = vec![NONE; board.book.len() as usize];
        let mut several = false;
        for edge in &self.edges {
            let (first, merged) = &mut of_bank[edge.bank as usize];
            *merged = match evidence_is {
                _ if *first == NONE => edge.evidence,
                Evidence::Kinds => *merged | edge.evidence,
                Evidence::Token => *merged,
            };
            several |= meet(first, edge.book);
        }
        for (bank, (book, _)) in (0_u32..).zip(&of_bank).filter(|(_, (book, _))| book & SEVERAL == 0) {
            several |= meet(&mut of_book[*book as usize], bank);
        }
        if several {
            for edge in self.edges.iter().filter(|edge| of_bank[edge.bank as usize].0 & SEVERAL != 0) {
                meet(&mut of_book[edge.book as usize], edge.bank);
            }
        }
        for (bank, (book, evidence)) in (0_u32..).zip(of_bank.iter().copied()) {
            let agreed = if evidence_is == Evidence::Kinds { evidence } else { 0 };
            if book & SEVERAL == 0 && of_book[book as usize] == bank && board.allowed(bank, book, agreed) {
                single(board, rule, Edge { bank, book, evidence });
            }
        }
        if several {
            // Where a block has two edges or more, each of them has an end with two or more.
            let mut blocks = self.edges;
            blocks
                .retain(|edge| of_bank[edge.bank as usize].0 != edge.book || of_book[edge.book as usize] != edge.bank);
            resolve_blocks(board, rule, blocks);
        }
    }
}

/// Notes a neighbour. Are there several now?
fn meet(first: &mut u32, other: u32) -> bool {
    if *first == NONE {
        *first = other;
    } else if *first & !SEVERAL != other {
        *first |= SEVERAL;
    }
    *first & SEVERAL != 0
}

/// An edge whose ends have no other.
fn single(board: &mut Board<'_>, rule: Rule, edge: Edge) {
    let Edge { bank, book, evidence } = edge;
    if board.bank.is_open(bank) && board.book.is_open(book) {
        let token = if rule == Rule::RareToken { evidence } else { NONE };
        board.pair(bank, book, How { rule, candidates: 1, interchangeable: false, token });
    } else {
        // An end that is tied by stronger evidence is not to be had by weaker.
        board.tie(Side::Bank, bank, book, 1, rule);
        board.tie(Side::Book, book, bank, 1, rule);
    }
}

/// Edges that share ends.
fn resolve_blocks(board: &mut Board<'_>, rule: Rule, mut edges: Vec<Edge>) {
    edges.sort_unstable();
    edges.dedup_by_key(|edge| (edge.bank, edge.book));
    edges.retain(|edge| board.allowed(edge.bank, edge.book, 0));
    // A node for each rank of either side, of which most stay alone: no search for the few.
    let banks = board.bank.len();
    let mut forest = Forest::new(banks + board.book.len());
    for edge in &edges {
        forest.join(edge.bank, banks + edge.book);
    }
    // Stable: within a block the edges stay in the order of bank, then book.
    let mut rooted: Vec<(u32, Edge)> = edges.into_iter().map(|edge| (forest.root(edge.bank), edge)).collect();
    rooted.sort_by_key(|(root, _)| *root);
    for block in rooted.chunk_by(|a, b| a.0 == b.0) {
        resolve_block(board, rule, block);
    }
}

fn resolve_block(board: &mut Board<'_>, rule: Rule, block: &[(u32, Edge)]) {
    if let [(_, edge)] = block {
        return single(board, rule, *edge);
    }
    let mut banks: Vec<u32> = block.iter().map(|(_, edge)| edge.bank).collect();
    banks.dedup();
    let mut by_book: Vec<(u32, u32)> = block.iter().map(|(_, edge)| (edge.book, edge.bank)).collect();
    by_book.sort_unstable();
    let mut books: Vec<u32> = by_book.iter().map(|(book, _)| *book).collect();
    books.dedup();
    let open = banks.iter().all(|bank| board.bank.is_open(*bank)) && books.iter().all(|book| board.book.is_open(*book));
    let complete = banks.len() == books.len() && block.len() == banks.len() * books.len();
    if open
        && complete
        && block.len() <= EDGES_PER_BLOCK
        && all_equal(banks.iter().map(|bank| board.bank.line(*bank)))
        && all_equal(books.iter().map(|book| board.book.line(*book)))
    {
        let candidates = rank_from(banks.len());
        let token = if rule == Rule::RareToken { block[0].1.evidence } else { NONE };
        for (bank, book) in banks.iter().zip(&books) {
            board.pair(*bank, *book, How { rule, candidates, interchangeable: true, token });
        }
        return;
    }
    for of_bank in block.chunk_by(|a, b| a.1.bank == b.1.bank) {
        let edge = of_bank[0].1;
        board.tie(Side::Bank, edge.bank, edge.book, rank_from(of_bank.len()), rule);
    }
    for of_book in by_book.chunk_by(|a, b| a.0 == b.0) {
        let (book, first) = of_book[0];
        board.tie(Side::Book, book, first, rank_from(of_book.len()), rule);
    }
}

/// Are the lines equal in all that is compared? Their ids, and ids that the bank gave them, are not: the other side
/// knows neither.
fn all_equal<'a>(mut lines: impl Iterator<Item = &'a OpenLine>) -> bool {
    let Some(first) = lines.next() else { return true };
    lines.all(|line| equal(first, line))
}

fn equal(a: &OpenLine, b: &OpenLine) -> bool {
    let references = |line: &OpenLine| {
        let mut kept: Vec<_> =
            line.references.iter().filter(|reference| !reference.kind().is_bank_assigned()).cloned().collect();
        kept.sort();
        kept.dedup();
        kept
    };
    a.date == b.date
        && a.minor == b.minor
        && a.reversal == b.reversal
        && a.reverses == b.reverses
        && a.group == b.group
        && a.code == b.code
        && a.counterparty == b.counterparty
        && (a.description == b.description || folded(&a.description) == folded(&b.description))
        && references(a) == references(b)
}

/// Union-find. The root of a set is its least member, so that sets come in canonical order.
struct Forest {
    parent: Vec<u32>,
}

// === impl Forest ===

impl Forest {
    fn new(count: u32) -> Self {
        Self { parent: (0..count).collect() }
    }

    fn root(&mut self, node: u32) -> u32 {
        let mut at = node;
        while self.of(at) != at {
            let above = self.of(self.of(at));
            self.parent[at as usize] = above;
            at = above;
        }
        at
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }

    fn of(&self, node: u32) -> u32 {
        self.parent[node as usize]
    }
}
