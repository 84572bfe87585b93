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
//! What is kept of a statement is in `header`, the anchors and whether they close in `chain`.
//!
//! [`BankLedger`] is a fold over the statements taken in, in their order: the worker rebuilds it from Postgres, and
//! `counterfoil reconcile` from files, and both get the same answers.

mod chain;
mod header;

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

pub use header::Header;

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
        let header = Header::of(format, statement, self.day_complete);
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
