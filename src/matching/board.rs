//! The board: both sides' open lines as packed columns in canonical order, and what became of each.
//!
//! A line is known by its **rank**, its place in canonical order on its side (ledger day, amount, id). Passes see ranks
//! and columns; they touch the lines themselves only where packed keys agree. Nothing here depends on the order in which
//! lines were given.

use chrono::{Datelike, NaiveDate};

use super::normalise::{self, ReferenceKey};
use super::{Input, OpenLine, Rule, Side};
use crate::calendar::Calendar;

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
    /// Every reference of both sides that can name one payment, sorted.
    pub(super) references: Vec<ReferenceKey>,
    /// Every informative token of the lines that strong references left, sorted.
    pub(super) tokens: Vec<normalise::TokenKey>,
}

/// One side.
pub(super) struct Lines<'a> {
    input: &'a [OpenLine],
    /// Rank → place in the input.
    order: Vec<u32>,
    /// Signed minor units, by rank.
    pub(super) minor: Vec<i64>,
    /// The line's own date as a number of business days, by rank.
    pub(super) day: Vec<u32>,
    /// Which typed kinds its references have (a bit each), by rank.
    pub(super) typed: Vec<u8>,
    /// By rank.
    pub(super) state: Vec<State>,
    /// By rank: meaningful where the state is not open.
    pub(super) fate: Vec<Fate>,
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

/// By which rule, and with what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fate {
    /// The partner's rank; where tied, the first candidate in canonical order.
    pub(super) other: u32,
    /// How many lines of the other side could have been meant.
    pub(super) candidates: u32,
    /// What the pass that decided it keeps as evidence: kinds of references, or the place of a token.
    pub(super) evidence: u32,
    /// Which rule decided.
    pub(super) rule: Rule,
    /// One of k × k equal lines.
    pub(super) interchangeable: bool,
}

// === impl Board ===

impl<'a> Board<'a> {
    /// Lays both sides out.
    pub(super) fn new(input: &'a Input<'a>) -> Self {
        let days = BusinessDays::of(input);
        let mut references = Vec::with_capacity(input.bank.len() + input.book.len());
        let bank = Lines::new(input.bank, Side::Bank, &days, &mut references);
        let book = Lines::new(input.book, Side::Book, &days, &mut references);
        references.sort_unstable();
        references.dedup();
        Self { input, bank, book, voided: Vec::new(), references, tokens: Vec::new() }
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

    /// Did the books void this line, or does it void another? Of a packed line.
    pub(super) fn is_voided(&self, line: u32) -> bool {
        let (side, rank) = unpack(line);
        self.is_consumed(line) && self.side(side).fate[rank as usize].rule == Rule::Reversal
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

    /// Pairs two lines: confirmed, or suggested where that is all that the rule may do.
    pub(super) fn pair(&mut self, bank: u32, book: u32, fate: Fate) {
        let state = if fate.rule == Rule::AmountWindow { State::Suggested } else { State::Consumed };
        debug_assert!(self.bank.is_open(bank) && self.book.is_open(book), "a line is taken once");
        self.bank.settle(bank, state, Fate { other: book, ..fate });
        self.book.settle(book, state, Fate { other: bank, ..fate });
    }

    /// Marks a line as tied, unless something stronger has decided it.
    pub(super) fn tie(&mut self, side: Side, rank: u32, first: u32, candidates: u32, rule: Rule) {
        let lines = self.side_mut(side);
        if lines.is_open(rank) {
            let fate = Fate { other: first, candidates, evidence: 0, rule, interchangeable: false };
            lines.settle(rank, State::Tied, fate);
        }
    }
}

// === impl Lines ===

impl<'a> Lines<'a> {
    fn new(lines: &'a [OpenLine], side: Side, days: &BusinessDays<'_>, references: &mut Vec<ReferenceKey>) -> Self {
        let mut keys = Vec::with_capacity(lines.len());
        let mut typed_of = Vec::with_capacity(lines.len());
        let first_reference = references.len();
        for (place, line) in (0_u32..).zip(lines) {
            keys.push(canonical_key(line, place));
            typed_of.push(normalise::reference_keys(line, place, references));
        }
        let order = canonical_order(lines, keys);
        let mut rank_of = vec![0_u32; lines.len()];
        for (rank, place) in (0_u32..).zip(&order) {
            rank_of[*place as usize] = rank;
        }
        for key in &mut references[first_reference..] {
            let rank = rank_of[key.line() as usize];
            *key = key.with_line(pack(side, rank));
        }
        let by_rank = |place: &u32| &lines[*place as usize];
        Self {
            input: lines,
            minor: order.iter().map(|place| by_rank(place).minor).collect(),
            day: order.iter().map(|place| days.number(by_rank(place).date)).collect(),
            typed: order.iter().map(|place| typed_of[*place as usize]).collect(),
            state: vec![State::Open; lines.len()],
            fate: vec![
                Fate { other: NONE, candidates: 0, evidence: 0, rule: Rule::Reversal, interchangeable: false };
                lines.len()
            ],
            order,
        }
    }

    /// How many.
    pub(super) fn len(&self) -> u32 {
        rank_from(self.input.len())
    }

    /// How many are part of a match, confirmed or suggested.
    pub(super) fn paired(&self) -> usize {
        self.state.iter().filter(|state| matches!(state, State::Consumed | State::Suggested)).count()
    }

    /// The line of that rank.
    pub(super) fn line(&self, rank: u32) -> &'a OpenLine {
        &self.input[self.order[rank as usize] as usize]
    }

    /// Every rank whose line no confirmed match took, in canonical order.
    pub(super) fn left(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).zip(&self.state).filter(|(_, state)| **state != State::Consumed).map(|(rank, _)| rank)
    }

    /// Has nothing become of it yet?
    pub(super) fn is_open(&self, rank: u32) -> bool {
        self.state[rank as usize] == State::Open
    }

    /// Decides a line.
    pub(super) fn settle(&mut self, rank: u32, state: State, fate: Fate) {
        self.state[rank as usize] = state;
        self.fate[rank as usize] = fate;
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

/// Ledger day, amount, place: canonical order, but for lines equal in both.
fn canonical_key(line: &OpenLine, place: u32) -> u128 {
    let day = line.ledger_day.num_days_from_ce().cast_unsigned() ^ (1 << 31);
    (u128::from(day) << 96) | (u128::from(ordered(line.minor)) << 32) | u128::from(place)
}

/// The places of the lines in canonical order.
fn canonical_order(lines: &[OpenLine], mut keys: Vec<u128>) -> Vec<u32> {
    keys.sort_unstable();
    #[expect(clippy::cast_possible_truncation, reason = "the place is the low 32 bits")]
    let mut order: Vec<u32> = keys.iter().map(|key| *key as u32).collect();
    let mut start = 0;
    for run in keys.chunk_by(|a, b| a >> 32 == b >> 32) {
        if run.len() > 1 {
            let places = &mut order[start..start + run.len()];
            places.sort_unstable_by(|a, b| lines[*a as usize].id.as_bytes().cmp(lines[*b as usize].id.as_bytes()));
        }
        start += run.len();
    }
    order
}

/// Dates as numbers of business days, so that a window is two subtractions.
struct BusinessDays<'a> {
    calendar: &'a Calendar,
    base: NaiveDate,
    /// Of `base` and the days after it; further days are computed one by one.
    near: Vec<u32>,
}

// === impl BusinessDays ===

impl<'a> BusinessDays<'a> {
    /// How many days are tabled: a century and a half.
    const TABLE: i64 = 55_000;

    fn of(input: &Input<'a>) -> Self {
        let dates = || input.bank.iter().chain(input.book).map(|line| line.date);
        let base = dates().min().unwrap_or(NaiveDate::MIN);
        let span = dates().max().map_or(0, |last| (last - base).num_days()).min(Self::TABLE);
        let mut near = Vec::new();
        let mut number = 0;
        for day in base.iter_days().take(usize::try_from(span).unwrap_or(0) + 1) {
            if day != base && input.calendar.is_business_day(day) {
                number += 1;
            }
            near.push(number);
        }
        Self { calendar: input.calendar, base, near }
    }

    /// How many business days lie in `(base, date]`.
    fn number(&self, date: NaiveDate) -> u32 {
        let at = usize::try_from((date - self.base).num_days()).unwrap_or(0);
        self.near.get(at).copied().unwrap_or_else(|| self.calendar.business_days_between(self.base, date))
    }
}
