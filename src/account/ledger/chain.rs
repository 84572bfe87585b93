//! Does a statement chain to what is known? The anchors that it would leave, whether they close, and the arithmetic where
//! they do not.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use super::{Admission, Anchor, BankLedger, Header, NewLine, Reading, day_before, sums_by_day};
use crate::money::Total;

// === impl BankLedger ===

impl BankLedger {
    /// Would its lines come on top of those of days that are known?
    fn stacks(&self, header: &Header, reading: Reading) -> bool {
        reading == Reading::Adds && self.accepted.iter().any(|known| known.overlaps(header))
    }

    /// The anchors after taking in a statement: its own joined to the known ones.
    pub(super) fn joined(&self, header: &Header, reading: Reading) -> Vec<Anchor> {
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
    pub(super) fn closes(&self, header: &Header, new: &[NewLine], reading: Reading) -> bool {
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
    pub(super) fn does_not_chain(&self, header: &Header, new: &[NewLine], movements: usize) -> Admission {
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
}
