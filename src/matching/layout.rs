//! How lines become columns: one walk over them as they lie in memory, then sorting and moving of packed keys only.

use chrono::{Datelike, NaiveDate};

use super::board::{ordered, pack};
use super::normalise::{self, ReferenceKey};
use super::{OpenLine, Side};
use crate::calendar::Calendar;

/// One side, walked over.
pub(super) struct Scan {
    /// Rank → place in the input.
    pub(super) order: Vec<u32>,
    /// Place in the input → rank.
    pub(super) rank_of: Vec<u32>,
    /// Signed minor units, by rank.
    pub(super) minor: Vec<i64>,
    /// Dates, by place.
    pub(super) dates: Vec<NaiveDate>,
    /// Typed kinds, by place.
    pub(super) typed: Vec<u8>,
    /// Ranks of the lines that void another, in order.
    pub(super) voids: Vec<u32>,
}

/// Dates as numbers of business days, so that a window is two subtractions.
pub(super) struct BusinessDays<'a> {
    calendar: &'a Calendar,
    base: NaiveDate,
    /// Of `base` and the days after it; further days are computed one by one.
    near: Vec<u32>,
}

/// Sixteen bytes of each id, from where the ids of the side begin to differ.
struct Heads {
    /// With what ids begin: of a sample, so that some may not.
    alike: Vec<u8>,
    /// By place; `None` if one of the ids begins otherwise.
    heads: Option<Vec<u128>>,
}

// === impl Scan ===

impl Scan {
    /// Of one side's lines; appends their references.
    pub(super) fn of(lines: &[OpenLine], side: Side, references: &mut Vec<ReferenceKey>) -> Self {
        let (mut keys, mut dates, mut typed) =
            (Vec::with_capacity(lines.len()), Vec::with_capacity(lines.len()), Vec::with_capacity(lines.len()));
        let mut voids = Vec::new();
        let mut heads = Heads::of_a_sample(lines);
        let first_reference = references.len();
        for (place, line) in (0_u32..).zip(lines) {
            keys.push(canonical_key(line, place));
            dates.push(line.date);
            typed.push(normalise::reference_keys(line, place, references));
            heads.push(&line.id);
            if line.reverses.is_some() {
                voids.push(place);
            }
        }
        sort_canonically(lines, &heads, &mut keys);
        let order: Vec<u32> = keys.iter().map(|key| place_of(*key)).collect();
        let mut rank_of = vec![0_u32; lines.len()];
        for (rank, place) in (0_u32..).zip(&order) {
            rank_of[*place as usize] = rank;
        }
        for key in &mut references[first_reference..] {
            *key = key.with_line(pack(side, rank_of[key.line() as usize]));
        }
        for place in &mut voids {
            *place = rank_of[*place as usize];
        }
        voids.sort_unstable();
        Self { order, rank_of, minor: keys.iter().map(|key| amount_of(*key)).collect(), dates, typed, voids }
    }
}

// === impl BusinessDays ===

impl<'a> BusinessDays<'a> {
    /// How many days are tabled: a century and a half.
    const TABLE: i64 = 55_000;

    /// From the earliest of these dates.
    pub(super) fn new(calendar: &'a Calendar, dates: [&[NaiveDate]; 2]) -> Self {
        let ends = dates.iter().filter_map(|dates| Some((dates.iter().min()?, dates.iter().max()?)));
        let (base, last) = ends
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
            .map_or((NaiveDate::MIN, NaiveDate::MIN), |(first, last)| (*first, *last));
        let span = (last - base).num_days().min(Self::TABLE);
        let mut near = Vec::new();
        let mut number = 0;
        for day in base.iter_days().take(usize::try_from(span).unwrap_or(0) + 1) {
            if day != base && calendar.is_business_day(day) {
                number += 1;
            }
            near.push(number);
        }
        Self { calendar, base, near }
    }

    /// How many business days lie in `(base, date]`.
    pub(super) fn number(&self, date: NaiveDate) -> u32 {
        let at = date.num_days_from_ce() - self.base.num_days_from_ce();
        let near = usize::try_from(at).ok().and_then(|at| self.near.get(at).copied());
        near.unwrap_or_else(|| self.calendar.business_days_between(self.base, date))
    }
}

// === impl Heads ===

impl Heads {
    fn of_a_sample(lines: &[OpenLine]) -> Self {
        let first = lines.first().map_or(&[][..], |line| line.id.as_bytes());
        let alike = lines.iter().take(256).fold(first.len(), |alike, line| {
            first.iter().zip(line.id.as_bytes()).take(alike).take_while(|(a, b)| a == b).count()
        });
        Self { alike: first[..alike].to_vec(), heads: Some(Vec::with_capacity(lines.len())) }
    }

    fn push(&mut self, id: &str) {
        let Some(heads) = &mut self.heads else { return };
        match id.as_bytes().strip_prefix(self.alike.as_slice()) {
            Some(rest) => {
                let mut bytes = [0; 16];
                let count = rest.len().min(16);
                bytes[..count].copy_from_slice(&rest[..count]);
                heads.push(u128::from_be_bytes(bytes));
            }
            None => self.heads = None,
        }
    }

    /// Orders as the ids do, as far as it tells.
    fn get(&self, place: u32) -> u128 {
        self.heads.as_ref().map_or(0, |heads| heads[place as usize])
    }
}

/// Ledger day, amount, place: canonical order, but for lines equal in both.
fn canonical_key(line: &OpenLine, place: u32) -> u128 {
    let day = line.ledger_day.num_days_from_ce().cast_unsigned() ^ (1 << 31);
    (u128::from(day) << 96) | (u128::from(ordered(line.minor)) << 32) | u128::from(place)
}

/// The amount in a [`canonical_key`].
#[expect(clippy::cast_possible_truncation, reason = "the amount is the middle 64 bits")]
fn amount_of(key: u128) -> i64 {
    ((key >> 32) as u64 ^ (1 << 63)).cast_signed()
}

/// The place in a [`canonical_key`].
#[expect(clippy::cast_possible_truncation, reason = "the place is the low 32 bits")]
fn place_of(key: u128) -> u32 {
    key as u32
}

/// Sorts keys into canonical order: those of equal day and amount by the ids of their lines.
fn sort_canonically(lines: &[OpenLine], heads: &Heads, keys: &mut [u128]) {
    keys.sort_unstable();
    let id = |key: u128| lines[place_of(key) as usize].id.as_bytes();
    let mut headed: Vec<(u128, u128)> = Vec::new();
    for run in keys.chunk_by_mut(|a, b| *a >> 32 == *b >> 32).filter(|run| run.len() > 1) {
        headed.clear();
        headed.extend(run.iter().map(|key| (heads.get(place_of(*key)), *key)));
        headed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| id(a.1).cmp(id(b.1))));
        for (key, (_, sorted)) in run.iter_mut().zip(&headed) {
            *key = *sorted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::claims::line;
    use super::*;

    fn order(ids: &[&str]) -> Vec<String> {
        let lines: Vec<_> = ids.iter().map(|id| line(id, 100)).collect();
        let scan = Scan::of(&lines, Side::Bank, &mut Vec::new());
        scan.order.iter().map(|place| ids[*place as usize].to_owned()).collect()
    }

    #[test]
    fn equal_days_and_amounts_are_in_the_order_of_the_ids_bytes() {
        for ids in [
            &["k10", "k9", "k", "k1"][..],
            &["same-beginning-and-long-1", "same-beginning-and-long-0", "same-beginning-and-longer-x"],
            &["z", "é", "a", "A"],
            &["a\0", "a", "a\0\0"],
        ] {
            let mut sorted: Vec<_> = ids.iter().map(|id| (*id).to_owned()).collect();
            sorted.sort();
            assert_eq!(order(ids), sorted);
        }
        // One id among many that begins otherwise, past the sample.
        let mut ids: Vec<String> = (0..300).map(|n| format!("prefix-{:03}", (n * 7) % 300)).collect();
        ids.push("other".into());
        let order = order(&ids.iter().map(String::as_str).collect::<Vec<_>>());
        ids.sort();
        assert_eq!(order, ids);
    }
}
