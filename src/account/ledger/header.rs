//! What the ledger keeps of a statement, and in which order statements are offered to it.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::statement::{DayComplete, Format, Statement};

/// What of a statement the ledger keeps, once it was taken in. Enough to fold the ledger again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The format that delivered it.
    pub format: Format,
    /// The bank's id of it.
    pub id: Option<String>,
    /// First day covered.
    pub from: NaiveDate,
    /// Last day covered.
    pub to: NaiveDate,
    /// Last day that is over.
    pub complete_through: Option<NaiveDate>,
    /// Stated opening, minor units.
    pub opening: Option<i64>,
    /// Stated closing, minor units, and the end of which day it is of.
    pub closing: Option<(NaiveDate, i64)>,
    /// Balances at the ends of days between, in order.
    pub markers: Vec<(NaiveDate, i64)>,
    /// Sum of its movements, minor units.
    pub movements: i128,
}

// === impl Header ===

impl Header {
    /// Of a statement, by an account's rule of when a day is over.
    pub fn of(format: Format, statement: &Statement, rule: DayComplete) -> Self {
        let movements = statement.movements().map(|line| i128::from(line.amount.minor())).sum();
        let leading = statement.markers.iter().find(|marker| marker.after_lines == 0).map(|marker| marker.amount);
        let closing = statement.closing.map(|closing| {
            // A closing dated past the last day is of its own date (OFX DTASOF); one dated earlier is of the last day.
            (closing.date.map_or(statement.to, |date| date.max(statement.to)), closing.amount.minor())
        });
        Self {
            format,
            id: statement.id.clone(),
            from: statement.from,
            to: statement.to,
            complete_through: statement.complete_through(rule),
            opening: statement.opening.map(|opening| opening.amount).or(leading).map(|amount| amount.minor()),
            closing,
            markers: day_end_markers(statement),
            movements,
        }
    }

    /// Do the two speak of a day in common?
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.from <= other.to && other.from <= self.to
    }

    pub(super) fn opens_at(&self, minor: i128) -> bool {
        self.opening.is_some_and(|opening| i128::from(opening) == minor)
    }

    /// The order in which statements of one account are offered: by days, and within the same days as they chain. With
    /// it, a set of files gives the same ledger in whatever order they are found.
    pub fn in_offering_order(mut headers: Vec<(Self, usize)>) -> Vec<usize> {
        headers.sort_by(|(a, at), (b, bt)| (a.from, a.to, at).cmp(&(b.from, b.to, bt)));
        let mut order = Vec::with_capacity(headers.len());
        let mut rest = headers.as_slice();
        while let Some(((first, _), _)) = rest.split_first() {
            let same = rest.iter().take_while(|(other, _)| (other.from, other.to) == (first.from, first.to)).count();
            let (group, later) = rest.split_at(same);
            order.extend(chained(group));
            rest = later;
        }
        order
    }
}

/// Statements of the same days, each after the one whose closing it opens with; those that chain to none keep their place.
fn chained(group: &[(Header, usize)]) -> Vec<usize> {
    let mut left: Vec<&(Header, usize)> = group.iter().collect();
    let mut order = Vec::with_capacity(group.len());
    let mut tip: Option<i64> = None;
    while !left.is_empty() {
        let follows = |header: &Header, closing: i64| header.opening == Some(closing);
        let begins = |header: &Header| {
            let closes_here = |other: &Header| other.closing.map(|(_, minor)| minor) == header.opening;
            !left.iter().any(|(other, _)| other != header && closes_here(other))
        };
        let at = tip
            .and_then(|closing| left.iter().position(|(header, _)| follows(header, closing)))
            .or_else(|| left.iter().position(|(header, _)| begins(header)))
            .unwrap_or(0);
        let (header, index) = left.remove(at);
        tip = header.closing.map(|(_, minor)| minor);
        order.push(*index);
    }
    order
}

/// Markers that stand at the end of a day: after every line of theirs and earlier days, before every later one.
fn day_end_markers(statement: &Statement) -> Vec<(NaiveDate, i64)> {
    let days: Vec<NaiveDate> = statement.movements().map(|line| statement.ledger_day(line)).collect();
    let mut markers: BTreeMap<NaiveDate, i64> = BTreeMap::new();
    for marker in statement.markers.iter().filter(|marker| marker.after_lines > 0) {
        let (before, after) = days.split_at(days.len().min(marker.after_lines as usize));
        let at_day_end = before.iter().all(|day| *day <= marker.date) && after.iter().all(|day| *day > marker.date);
        if at_day_end && (statement.from..=statement.to).contains(&marker.date) {
            markers.insert(marker.date, marker.amount.minor());
        }
    }
    markers.into_iter().collect()
}
