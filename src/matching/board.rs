//! The board: both sides' open lines as packed columns in canonical order, and what became of each.
//!
//! A line is known by its **rank**, its place in canonical order on its side (ledger day, amount, id). Passes see ranks
//! and columns; they touch the lines themselves only where packed keys agree. Nothing here depends on the order in which
//! lines were given.

use super::layout::{BusinessDays, Scan};
use super::normalise::{self, ReferenceKey, TokenKey};
use super::{Input, OpenLine, Rule, Side};

/// No line.
pub(super) const NONE: u32 = u32::MAX;

/// The bit of a packed line that says: of the books.
pub(super) const BOOK_BIT: u32 = 1 << 31;

/// Everything that passes read and write.
pub(super) struct Board<'a> {
    pub(super) input: &'a Input<'a>,
    pub(super) bank: Lines<'a>,
    pub(super) book: Lines<'a>,
    /// Entries and their voids, as ranks in the book: (the voided, the void).
    pub(super) voided: Vec<(u32, u32)>,
    /// Every reference that can name one payment, of all lines but those that the books voided, sorted.
    pub(super) references: Vec<ReferenceKey>,
    /// Every informative token of the lines that strong references left, sorted.
    pub(super) tokens: Vec<TokenKey>,
    /// How lines were decided: what [`Lines::how`] points at. The first is the commonest by far.
    hows: Vec<How>,
}

/// One side.
pub(super) struct Lines<'a> {
    input: &'a [OpenLine],
    /// Rank → place in the input.
    order: Vec<u32>,
    /// Place in the input → rank.
    rank_of: Vec<u32>,
    /// Signed minor units, by rank.
    pub(super) minor: Vec<i64>,
    /// The line's own date as a number of business days, by rank.
    pub(super) day: Vec<u32>,
    /// Which typed kinds its references have (a bit each), by rank.
    pub(super) typed: Vec<u8>,
    /// By rank.
    pub(super) state: Vec<State>,
    /// Entries that void another, as ranks.
    pub(super) voids: Vec<u32>,
    /// By rank, where the state is not open: the partner's rank; where tied, the first candidate in canonical order.
    other: Vec<u32>,
    /// By rank, where the state is not open: how.
    how: Vec<u32>,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing yet.
    Open,
    /// Taken by a confirmed match.
    Consumed,
    /// Tied: several lines could be meant. It keeps standing among the candidates of others, and is never taken.
    Tied,
    /// Part of a suggestion.
    Suggested,
}

/// By which rule a line was decided, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct How {
    /// Which rule decided.
    pub(super) rule: Rule,
    /// How many lines of the other side could have been meant.
    pub(super) candidates: u32,
    /// One of k × k equal lines.
    pub(super) interchangeable: bool,
    /// The place of the token that did it, for rules that go by tokens.
    pub(super) token: u32,
}

// === impl Board ===

impl<'a> Board<'a> {
    /// Lays both sides out.
    pub(super) fn new(input: &'a Input<'a>) -> Self {
        let mut references = Vec::with_capacity(input.bank.len() + input.book.len());
        let bank = Scan::of(input.bank, Side::Bank, &mut references);
        let book = Scan::of(input.book, Side::Book, &mut references);
        let days = BusinessDays::new(input.calendar, [&bank.dates, &book.dates]);
        let bank = Lines::new(input.bank, bank, &days);
        let book = Lines::new(input.book, book, &days);
        // Equal keys are one line's same reference twice, which changes nothing.
        references.sort_unstable();
        let commonest = How { rule: Rule::StrongReference, candidates: 1, interchangeable: false, token: NONE };
        Self { input, bank, book, voided: Vec::new(), references, tokens: Vec::new(), hows: vec![commonest] }
    }

    /// One side.
    pub(super) fn side(&self, side: Side) -> &Lines<'a> {
        match side {
            Side::Bank => &self.bank,
            Side::Book => &self.book,
        }
    }

    /// One side, to be changed.
    pub(super) fn side_mut(&mut self, side: Side) -> &mut Lines<'a> {
        match side {
            Side::Bank => &mut self.bank,
            Side::Book => &mut self.book,
        }
    }

    /// Was this line taken by a confirmed match? Of a packed line.
    pub(super) fn is_consumed(&self, line: u32) -> bool {
        let (side, rank) = unpack(line);
        self.side(side).state[rank as usize] == State::Consumed
    }

    /// May these two be one payment, as far as amount and typed references say? `agreed` are kinds that are known to
    /// have a value in common, so that most pairs need no look at the lines.
    pub(super) fn allowed(&self, bank: u32, book: u32, agreed: u32) -> bool {
        let typed = self.bank.typed[bank as usize] & self.book.typed[book as usize];
        self.bank.minor[bank as usize] == self.book.minor[book as usize]
            && (u32::from(typed) & !agreed == 0 || !self.vetoed(bank, book))
    }

    /// Do two different values of one type stand on the two lines?
    pub(super) fn vetoed(&self, bank: u32, book: u32) -> bool {
        let shared = self.bank.typed[bank as usize] & self.book.typed[book as usize];
        shared != 0 && normalise::conflict(self.bank.line(bank), self.book.line(book), shared).is_some()
    }

    /// Is the book's line inside the window around the bank's?
    pub(super) fn in_window(&self, bank: u32, book: u32) -> bool {
        let (first, last) = self.window(self.bank.day[bank as usize]);
        (first..=last).contains(&self.book.day[book as usize])
    }

    /// The first and the last day that a book line may have for a bank line of this day.
    pub(super) fn window(&self, bank_day: u32) -> (u32, u32) {
        let rules = self.input.rules;
        (bank_day.saturating_sub(rules.book_precedes_bank), bank_day.saturating_add(rules.book_follows_bank))
    }

    /// How a line was decided.
    pub(super) fn how(&self, side: Side, rank: u32) -> How {
        self.hows[self.side(side).how[rank as usize] as usize]
    }

    /// Pairs a bank line and a book line: confirmed, or suggested where that is all that the rule may do.
    pub(super) fn pair(&mut self, bank: u32, book: u32, how: How) {
        debug_assert!(self.bank.is_open(bank) && self.book.is_open(book), "a line is taken once");
        let state = if how.rule == Rule::AmountWindow { State::Suggested } else { State::Consumed };
        let how = self.note(how);
        self.bank.settle(bank, state, book, how);
        self.book.settle(book, state, bank, how);
    }

    /// Takes an entry and its void out.
    pub(super) fn cancel(&mut self, entry: u32, void: u32) {
        let how = self.note(How { rule: Rule::Reversal, candidates: 1, interchangeable: false, token: NONE });
        self.book.settle(entry, State::Consumed, void, how);
        self.book.settle(void, State::Consumed, entry, how);
        self.voided.push((entry, void));
    }

    /// Marks a line as tied, unless something stronger has decided it.
    pub(super) fn tie(&mut self, side: Side, rank: u32, first: u32, candidates: u32, rule: Rule) {
        if self.side(side).is_open(rank) {
            let how = self.note(How { rule, candidates, interchangeable: false, token: NONE });
            self.side_mut(side).settle(rank, State::Tied, first, how);
        }
    }

    /// The place of a [`How`]: the first, the last, or a new one.
    fn note(&mut self, how: How) -> u32 {
        if self.hows[0] == how {
            return 0;
        }
        if self.hows.last() != Some(&how) {
            self.hows.push(how);
        }
        rank_from(self.hows.len() - 1)
    }
}

// === impl Lines ===

impl<'a> Lines<'a> {
    fn new(input: &'a [OpenLine], scan: Scan, days: &BusinessDays<'_>) -> Self {
        let count = input.len();
        let by_place: Vec<(u32, u8)> =
            scan.dates.iter().zip(&scan.typed).map(|(date, typed)| (days.number(*date), *typed)).collect();
        let (day, typed) = scan.order.iter().map(|place| by_place[*place as usize]).unzip();
        Self {
            input,
            day,
            typed,
            minor: scan.minor,
            order: scan.order,
            rank_of: scan.rank_of,
            voids: scan.voids,
            state: vec![State::Open; count],
            other: vec![0; count],
            how: vec![0; count],
        }
    }

    /// How many.
    pub(super) fn len(&self) -> u32 {
        rank_from(self.input.len())
    }

    /// The line of that rank.
    pub(super) fn line(&self, rank: u32) -> &'a OpenLine {
        &self.input[self.order[rank as usize] as usize]
    }

    /// Every rank whose line no confirmed match took, in canonical order.
    pub(super) fn left(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).zip(&self.state).filter(|(_, state)| **state != State::Consumed).map(|(rank, _)| rank)
    }

    /// The same, as the lines were given: by place.
    pub(super) fn left_as_given(&self) -> impl Iterator<Item = (u32, &'a OpenLine)> + '_ {
        let left = |(rank, _): &(u32, &OpenLine)| self.state[*rank as usize] != State::Consumed;
        self.rank_of.iter().copied().zip(self.input).filter(left)
    }

    /// Has nothing become of it yet?
    pub(super) fn is_open(&self, rank: u32) -> bool {
        self.state[rank as usize] == State::Open
    }

    /// The partner of a line, as a rank; where it is tied, the first candidate.
    pub(super) fn other(&self, rank: u32) -> u32 {
        self.other[rank as usize]
    }

    fn settle(&mut self, rank: u32, state: State, other: u32, how: u32) {
        self.state[rank as usize] = state;
        self.other[rank as usize] = other;
        self.how[rank as usize] = how;
    }
}

/// Side and rank in 32 bits, bank first.
pub(super) fn pack(side: Side, rank: u32) -> u32 {
    match side {
        Side::Bank => rank,
        Side::Book => rank | BOOK_BIT,
    }
}

/// What [`pack`] packed.
pub(super) fn unpack(line: u32) -> (Side, u32) {
    (if line & BOOK_BIT == 0 { Side::Bank } else { Side::Book }, line & !BOOK_BIT)
}

/// A count of lines as ranks are counted. Two thousand million lines of one account do not fit in memory, so that the
/// bound is never met.
pub(super) fn rank_from(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(NONE)
}

/// An amount as an unsigned number of the same order.
pub(super) fn ordered(minor: i64) -> u64 {
    minor.cast_unsigned() ^ (1 << 63)
}
