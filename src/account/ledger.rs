//! The bank's side of an account: which statements chain to what is known, and which of their lines are new.
//!
//! What an account's bank said is a row of *anchors* (the end of a day, a balance), and the lines between them. A
//! statement is taken in only where every pair of neighbouring anchors still closes over the distinct lines between (P2).
//! That one test decides overlaps, regenerated files and "last 30 days" downloads; nothing is decided by a file's name,
//! by the bank's ids or by the order of arrival.
//!
//! Where a statement repeats lines that are known, two readings are possible: its lines *add* to the known ones (a
//! second statement of the same day), or they are the *same* lines (an overlap), and then the greater number of
//! occurrences counts. The anchors tell which: exactly one reading must close, else it is quarantined.
//!
//! [`BankLedger`] is a fold over the statements taken in, in their order: the worker rebuilds it from Postgres, and
//! `counterfoil reconcile` from files, and both get the same answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{Days, NaiveDate};
use serde::{Deserialize, Serialize};

use super::Account;
use crate::calendar::Calendar;
use crate::money::{Currency, Total};
use crate::proof::{Proof, ProofId};
use crate::statement::identity::Identity;
use crate::statement::{DayComplete, Format, Statement};

/// The bank's side of one account, as far as it is known.
#[derive(Debug, Clone)]
pub struct BankLedger {
    currency: Currency,
    calendar: Arc<Calendar>,
    day_complete: DayComplete,
    /// The settings' opening: an anchor that no statement moves. Lines up to its day are outside every proof.
    configured: Option<Anchor>,
    /// In order of days, one a day, all neighbours closing.
    anchors: Vec<Anchor>,
    accepted: Vec<Header>,
    days: BTreeMap<NaiveDate, DaySum>,
    occurrences: HashMap<Identity, u32>,
}

/// A balance at the end of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The end of this day.
    pub day: NaiveDate,
    /// How much, in minor units.
    pub minor: i128,
    /// Is the day over? If not, the bank may still book on it, and a later statement replaces the anchor.
    pub over: bool,
    /// Did somebody outside state it? Only a first statement without an opening leaves one that we added up.
    pub stated: bool,
}

/// Movements of one ledger day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DaySum {
    /// How many.
    pub lines: u64,
    /// Their sum, in minor units.
    pub minor: i128,
}

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

/// How a statement's lines relate to known ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// All of them are new.
    Adds,
    /// Those beyond the known occurrences are new.
    Overlaps,
}

/// What becomes of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// It chains. [`BankLedger::take`] takes it in.
    Accepted(Accepted),
    /// It does not chain yet, because an earlier statement is missing; taken in by itself when the gap fills.
    Held {
        /// What it waits for, as a sentence.
        reason: String,
    },
    /// It contradicts what is known.
    Quarantined {
        /// `STMT_OVERLAP`, `STMT_GAP`, `FORMAT`.
        code: &'static str,
        /// The arithmetic, as a sentence.
        reason: String,
    },
}

/// A statement that chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// What is kept of it.
    pub header: Header,
    /// How its lines relate to known ones.
    pub reading: Reading,
    /// The movements that are new: place in [`Statement::lines`], identity, occurrence from 1, ledger day.
    pub new: Vec<NewLine>,
    /// How many of its movements were known.
    pub known: usize,
    /// Known lines on days that it covers whole, and that it does not have.
    pub vanished: u64,
}

/// A movement that was not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewLine {
    /// Place in [`Statement::lines`].
    pub index: usize,
    /// What it is.
    pub identity: Identity,
    /// Which one among equals in the account, from 1.
    pub occurrence: u32,
    /// The day that it counts in.
    pub ledger_day: NaiveDate,
    /// Its amount, in minor units.
    pub minor: i64,
    /// On or before the settings' opening: kept, and outside every proof.
    pub before_opening: bool,
}

/// The bank's balance at the end of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    /// How much.
    pub amount: Total,
    /// Did the bank state it: an anchor at that day, or later with no movement between?
    pub stated: bool,
    /// Is any balance of the account known? If not, this is only the sum of its movements, and P4 and P5 have nothing to
    /// be held against.
    pub known: bool,
}

/// A movement of a statement, by its identity: computed once, compared often.
#[derive(Debug, Clone, Copy)]
struct Movement {
    index: usize,
    identity: Identity,
    minor: i64,
}

// === impl BankLedger ===

impl BankLedger {
    /// The ledger of an account of which no statement is known.
    pub fn new(account: &Account) -> Self {
        let configured = account.opening.as_ref().map(|opening| Anchor {
            day: opening.date,
            minor: i128::from(opening.bank.minor()),
            over: true,
            stated: true,
        });
        Self {
            currency: account.currency,
            calendar: Arc::clone(&account.calendar),
            day_complete: account.day_complete,
            configured,
            anchors: configured.into_iter().collect(),
            accepted: Vec::new(),
            days: BTreeMap::new(),
            occurrences: HashMap::new(),
        }
    }

    /// Decides about a statement that passed the proofs at the door. Changes nothing.
    pub fn admit(&self, format: Format, statement: &Statement) -> Admission {
        let header = self.header(format, statement);
        if let Some(other) = self.accepted.iter().find(|known| known.format != format && known.overlaps(&header)) {
            return Admission::Quarantined {
                code: "FORMAT",
                reason: format!(
                    "days {} to {} were already delivered in another format ({} to {}): one format at a time delivers an \
                     account's lines",
                    header.from, header.to, other.from, other.to
                ),
            };
        }
        let movements = identified(statement);
        let adds = self.new_lines(&movements, &header, Reading::Adds);
        let overlaps = self.new_lines(&movements, &header, Reading::Overlaps);
        let same = adds.len() == overlaps.len();
        let restated = header.id.is_some() && self.accepted.contains(&header);
        let adds_close = (!restated || same) && self.closes(&header, &adds, Reading::Adds);
        let overlaps_close = self.closes(&header, &overlaps, Reading::Overlaps);
        let (reading, new) = match (adds_close, overlaps_close) {
            // Nothing of it is known, or all readings agree: a plain new statement, or one without a movement.
            (_, true) if same => (Reading::Overlaps, overlaps),
            (true, false) => (Reading::Adds, adds),
            (false, true) => (Reading::Overlaps, overlaps),
            (true, true) => {
                return Admission::Quarantined {
                    code: "STMT_OVERLAP",
                    reason: format!(
                        "it repeats {} known lines, and the balances close both if they are the same lines and if they \
                         are others",
                        adds.len() - overlaps.len()
                    ),
                };
            }
            (false, false) => return self.does_not_chain(&header, &overlaps, movements.len()),
        };
        Admission::Accepted(Accepted {
            known: movements.len() - new.len(),
            vanished: if reading == Reading::Overlaps { self.vanished(&movements, &header) } else { 0 },
            header,
            reading,
            new,
        })
    }

    /// Takes in a statement that [`Self::admit`] accepted.
    pub fn take(&mut self, accepted: &Accepted) {
        self.add_lines(accepted.new.iter().map(|line| (line.identity, line.ledger_day, line.minor)));
        self.anchors = self.joined(&accepted.header, accepted.reading);
        self.accepted.push(accepted.header.clone());
    }

    /// Folds in a statement that was taken in earlier, without its lines ([`Self::add_lines`] brings them).
    pub fn replay(&mut self, header: Header, reading: Reading) {
        self.anchors = self.joined(&header, reading);
        self.accepted.push(header);
    }

    /// Folds in lines that were taken in earlier.
    pub fn add_lines(&mut self, lines: impl IntoIterator<Item = (Identity, NaiveDate, i64)>) {
        for (identity, ledger_day, minor) in lines {
            *self.occurrences.entry(identity).or_default() += 1;
            let day = self.days.entry(ledger_day).or_default();
            day.lines += 1;
            day.minor += i128::from(minor);
        }
    }

    /// Folds in the sum of a day whose lines are not needed one by one.
    pub fn add_day(&mut self, ledger_day: NaiveDate, sum: DaySum) {
        let day = self.days.entry(ledger_day).or_default();
        day.lines += sum.lines;
        day.minor += sum.minor;
    }

    /// The last day that an accepted statement says is over.
    pub fn covered_through(&self) -> Option<NaiveDate> {
        self.accepted.iter().filter_map(|header| header.complete_through).max()
    }

    /// The last day that any accepted statement speaks of, over or not.
    pub fn last_day(&self) -> Option<NaiveDate> {
        self.accepted.iter().map(|header| header.to).max()
    }

    /// The statements taken in, in order.
    pub fn accepted(&self) -> &[Header] {
        &self.accepted
    }

    /// Where the account's bank side starts: the settings' opening, else the first anchor; where no balance was ever
    /// stated, at nothing before the first day, which [`Closing::known`] then says of every closing.
    pub fn start(&self) -> Option<Anchor> {
        let unknown = || {
            let first = self.accepted.iter().map(|header| header.from).min()?;
            Some(Anchor { day: day_before(first), minor: 0, over: true, stated: false })
        };
        self.configured.or_else(|| self.anchors.first().copied()).or_else(unknown)
    }

    /// The balance at the end of `day`: the nearest anchor, and the lines between.
    pub fn closing(&self, day: NaiveDate) -> Option<Closing> {
        let money = |minor| Total::new(minor, self.currency);
        let after = self.anchors.iter().find(|anchor| anchor.day >= day);
        if let Some(anchor) = after {
            let between = self.sum(day, anchor.day);
            let stated = anchor.stated && between.lines == 0;
            return Some(Closing { amount: money(anchor.minor - between.minor), stated, known: true });
        }
        let last = self.anchors.last().copied();
        let anchor = last.or_else(|| self.start())?;
        let between = self.sum(anchor.day, day);
        Some(Closing { amount: money(anchor.minor + between.minor), stated: false, known: last.is_some() })
    }

    /// P2 of each pair of neighbouring anchors that touches the days after `after` up to `through`.
    pub fn proofs(&self, after: NaiveDate, through: NaiveDate) -> Vec<Proof> {
        self.anchors
            .windows(2)
            .filter(|pair| pair[1].day > after && pair[0].day < through)
            .map(|pair| {
                let between = self.sum(pair[0].day, pair[1].day);
                Proof::of_amounts(
                    ProofId::P2,
                    format!("{} to {}", pair[0].day, pair[1].day),
                    Total::new(pair[1].minor - pair[0].minor, self.currency),
                    Total::new(between.minor, self.currency),
                    pair[0].stated && pair[1].stated,
                )
            })
            .collect()
    }

    /// Movements with a ledger day in `(after, through]`, those before the opening left out.
    fn sum(&self, after: NaiveDate, through: NaiveDate) -> DaySum {
        let after = self.configured.map_or(after, |opening| after.max(opening.day));
        if through <= after {
            return DaySum::default();
        }
        let range = (std::ops::Bound::Excluded(after), std::ops::Bound::Included(through));
        self.days.range(range).fold(DaySum::default(), |sum, (_, day)| DaySum {
            lines: sum.lines + day.lines,
            minor: sum.minor + day.minor,
        })
    }

    /// The part of new sums that lies in `(after, through]`, by the same rule as [`Self::sum`].
    fn within(&self, new: &BTreeMap<NaiveDate, i128>, after: NaiveDate, through: NaiveDate) -> i128 {
        let after = self.configured.map_or(after, |opening| after.max(opening.day));
        new.iter().filter(|(day, _)| **day > after && **day <= through).map(|(_, minor)| minor).sum()
    }

    /// Would its lines come on top of those of days that are known?
    fn stacks(&self, header: &Header, reading: Reading) -> bool {
        reading == Reading::Adds && self.accepted.iter().any(|known| known.overlaps(header))
    }

    fn header(&self, format: Format, statement: &Statement) -> Header {
        let movements = statement.movements().map(|line| i128::from(line.amount.minor())).sum();
        let leading = statement.markers.iter().find(|marker| marker.after_lines == 0).map(|marker| marker.amount);
        let closing = statement.closing.map(|closing| {
            // A closing dated past the last day is of its own date (OFX DTASOF); one dated earlier is of the last day.
            (closing.date.map_or(statement.to, |date| date.max(statement.to)), closing.amount.minor())
        });
        Header {
            format,
            id: statement.id.clone(),
            from: statement.from,
            to: statement.to,
            complete_through: statement.complete_through(self.day_complete),
            opening: statement.opening.map(|opening| opening.amount).or(leading).map(|amount| amount.minor()),
            closing,
            markers: day_end_markers(statement),
            movements,
        }
    }

    fn new_lines(&self, movements: &[Movement], header: &Header, reading: Reading) -> Vec<NewLine> {
        let mut seen: HashMap<Identity, u32> = HashMap::with_capacity(movements.len());
        let mut new = Vec::new();
        for movement in movements {
            let count = seen.entry(movement.identity).or_default();
            *count += 1;
            let known = self.occurrences.get(&movement.identity).copied().unwrap_or(0);
            let occurrence = match reading {
                Reading::Adds => known + *count,
                Reading::Overlaps if *count > known => *count,
                Reading::Overlaps => continue,
            };
            let ledger_day = movement.identity.booking_date.clamp(header.from, header.to);
            new.push(NewLine {
                index: movement.index,
                identity: movement.identity,
                occurrence,
                ledger_day,
                minor: movement.minor,
                before_opening: self.configured.is_some_and(|opening| ledger_day <= opening.day),
            });
        }
        new
    }

    /// The anchors after taking in a statement: its own joined to the known ones.
    fn joined(&self, header: &Header, reading: Reading) -> Vec<Anchor> {
        let mut own: BTreeMap<NaiveDate, Anchor> = BTreeMap::new();
        let over = |day: NaiveDate| header.complete_through.is_some_and(|complete| day <= complete);
        let mut state = |day, minor: i64, over, stated| {
            own.insert(day, Anchor { day, minor: i128::from(minor), over, stated });
        };
        // A statement that adds to known days opens where an earlier one of those days closed: that is no end of a day.
        let stacked = self.stacks(header, reading);
        if let (Some(opening), false) = (header.opening, stacked) {
            state(day_before(header.from), opening, true, true);
        }
        for (day, minor) in &header.markers {
            state(*day, *minor, over(*day), true);
        }
        if let Some((day, minor)) = header.closing {
            state(day, minor, over(day), true);
        }
        let mut anchors: BTreeMap<NaiveDate, Anchor> = BTreeMap::new();
        for known in &self.anchors {
            let spoken_of = (header.from..=header.to).contains(&known.day);
            if !(spoken_of && (stacked || !known.over)) {
                anchors.insert(known.day, *known);
            }
        }
        for (day, anchor) in own {
            if self.configured.is_some_and(|opening| day <= opening.day) {
                continue;
            }
            // A known end of that day keeps its place; `closes` has seen to it that both say the same.
            anchors.entry(day).and_modify(|known| known.over |= anchor.over).or_insert(anchor);
        }
        let mut anchors: Vec<Anchor> = anchors.into_values().collect();
        if self.anchors.is_empty() && header.opening.is_none() && !anchors.is_empty() {
            // The first statement states no opening (OFX): the start is added up from its closing, and says so.
            if let Some((_, closing)) = header.closing {
                let minor = i128::from(closing) - header.movements;
                anchors.insert(0, Anchor { day: day_before(header.from), minor, over: true, stated: false });
            }
        }
        anchors
    }

    /// Do all neighbouring anchors close if the statement is read this way?
    fn closes(&self, header: &Header, new: &[NewLine], reading: Reading) -> bool {
        if self.configured.is_some_and(|opening| header.to <= opening.day) {
            // All of it lies before the opening, outside every proof.
            return reading == Reading::Overlaps;
        }
        if self.stacks(header, reading) {
            let tip = self.anchors.iter().rev().find(|anchor| anchor.day <= header.to);
            let chains = header.opening.is_some()
                && tip.is_some_and(|tip| tip.day >= day_before(header.from) && header.opens_at(tip.minor));
            if !chains {
                return false;
            }
        }
        let anchors = self.joined(header, reading);
        let new = sums_by_day(new);
        self.states(header, &anchors, reading)
            && anchors.windows(2).all(|pair| {
                let between = self.sum(pair[0].day, pair[1].day).minor + self.within(&new, pair[0].day, pair[1].day);
                pair[1].minor - pair[0].minor == between
            })
    }

    /// Does every balance that the statement states agree with the anchor of its day?
    fn states(&self, header: &Header, anchors: &[Anchor], reading: Reading) -> bool {
        let at = |day: NaiveDate| anchors.iter().find(|anchor| anchor.day == day).map(|anchor| anchor.minor);
        let agrees = |day: NaiveDate, minor: i64| at(day).is_none_or(|known| known == i128::from(minor));
        let stacked = self.stacks(header, reading);
        let outside = |day: NaiveDate| self.configured.is_some_and(|opening| day < opening.day);
        let opening = header
            .opening
            .is_none_or(|minor| stacked || outside(day_before(header.from)) || agrees(day_before(header.from), minor));
        opening
            && header.closing.is_none_or(|(day, minor)| agrees(day, minor))
            && header.markers.iter().all(|(day, minor)| outside(*day) || agrees(*day, *minor))
    }

    /// Held or quarantined, with the arithmetic.
    fn does_not_chain(&self, header: &Header, new: &[NewLine], movements: usize) -> Admission {
        let money = |minor: i128| Total::new(minor, self.currency);
        let Some(last) = self.anchors.last() else {
            return Admission::Quarantined {
                code: "STMT_ARITH",
                reason: "its own balances between lines do not close".to_owned(),
            };
        };
        let first = self.anchors.first().unwrap_or(last);
        let opens = day_before(header.from);
        if let Some((day, closing)) = header.closing
            && day > header.to
            && opens <= last.day
        {
            return Admission::Held {
                reason: format!(
                    "its balance {} is of {day}, after its last day {}: movements between may be missing; it waits for a \
                     statement that covers them",
                    money(i128::from(closing)),
                    header.to
                ),
            };
        }
        // Days on which this bank does not work are no gap. Without a stated opening only the balance could tell, so a
        // statement that follows on the next working day is judged by its arithmetic.
        let gap = self.calendar.business_days_between(last.day, opens) > 0 || !last.over;
        if opens >= last.day && (gap || header.opening.is_some()) {
            let opening = header.opening.map_or_else(
                || "states no opening".to_owned(),
                |minor| format!("opens with {}", money(i128::from(minor))),
            );
            return Admission::Held {
                reason: format!(
                    "it begins on {} and {opening}, but what is known ends on {} with {}: a statement between is missing",
                    header.from,
                    last.day,
                    money(last.minor)
                ),
            };
        }
        if header.to < first.day && self.configured.is_none() {
            return Admission::Held {
                reason: format!(
                    "it ends on {}, and what is known begins after {} with {}: a statement between is missing",
                    header.to,
                    first.day,
                    money(first.minor)
                ),
            };
        }
        let overlapping = self.accepted.iter().any(|known| known.overlaps(header));
        let known = movements - new.len();
        let closing = header.closing.map(|(day, minor)| (day, i128::from(minor)));
        let arithmetic = closing.map_or_else(String::new, |(day, stated)| {
            let base = self.anchors.iter().rev().find(|anchor| anchor.day <= opens).unwrap_or(first);
            let between = self.sum(base.day, day).minor + self.within(&sums_by_day(new), base.day, day);
            format!(
                ": {} at the end of {}, and movements of {}, make {}, but it states {} for {day} (difference {})",
                money(base.minor),
                base.day,
                money(between),
                money(base.minor + between),
                money(stated),
                money(stated - base.minor - between)
            )
        });
        Admission::Quarantined {
            code: if overlapping { "STMT_OVERLAP" } else { "STMT_GAP" },
            reason: format!("its balances do not chain to what is known ({known} of its lines are known){arithmetic}"),
        }
    }

    /// Known lines on days that the statement covers whole, which it does not have.
    fn vanished(&self, movements: &[Movement], header: &Header) -> u64 {
        let Some(complete) = header.complete_through else { return 0 };
        let mut own: HashMap<Identity, u32> = HashMap::with_capacity(movements.len());
        for movement in movements {
            *own.entry(movement.identity).or_default() += 1;
        }
        self.occurrences
            .iter()
            .filter(|(identity, _)| identity.booking_date >= header.from && identity.booking_date <= complete)
            .map(|(identity, known)| u64::from(known.saturating_sub(own.get(identity).copied().unwrap_or(0))))
            .sum()
    }
}

// === impl Header ===

impl Header {
    /// Do the two speak of a day in common?
    fn overlaps(&self, other: &Self) -> bool {
        self.from <= other.to && other.from <= self.to
    }

    fn opens_at(&self, minor: i128) -> bool {
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

/// What [`Header`] a statement would have in an account, for [`Header::in_offering_order`].
pub fn header_of(account: &Account, format: Format, statement: &Statement) -> Header {
    BankLedger::new(account).header(format, statement)
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

fn day_before(day: NaiveDate) -> NaiveDate {
    day.checked_sub_days(Days::new(1)).unwrap_or(day)
}

fn identified(statement: &Statement) -> Vec<Movement> {
    let lines = statement.lines.iter().enumerate().filter(|(_, line)| line.is_movement());
    lines.map(|(index, line)| Movement { index, identity: Identity::of(line), minor: line.amount.minor() }).collect()
}

fn sums_by_day(new: &[NewLine]) -> BTreeMap<NaiveDate, i128> {
    let mut sums = BTreeMap::new();
    for line in new {
        *sums.entry(line.ledger_day).or_default() += i128::from(line.minor);
    }
    sums
}
