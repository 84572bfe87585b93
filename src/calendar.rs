//! Business days: which dates a bank works, and how many lie between two of them.
//!
//! A calendar is a weekend and a list of holidays, both declared in the settings. Dates are civil dates as the bank
//! wrote them; no zone touches them here.

use std::collections::BTreeSet;

use chrono::{Datelike, Days, NaiveDate, Weekday};

/// A named set of days on which nothing is booked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar {
    name: String,
    weekend: Vec<Weekday>,
    holidays: BTreeSet<NaiveDate>,
}

/// A calendar that has no business day at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("calendar {0:?} has a weekend of seven days: no business day is left")]
pub struct NoBusinessDay(pub String);

impl Calendar {
    /// A calendar from its weekend and holidays.
    pub fn new(
        name: impl Into<String>,
        weekend: impl IntoIterator<Item = Weekday>,
        holidays: impl IntoIterator<Item = NaiveDate>,
    ) -> Result<Self, NoBusinessDay> {
        let name = name.into();
        let mut weekend: Vec<Weekday> = weekend.into_iter().collect();
        weekend.sort_by_key(Weekday::num_days_from_monday);
        weekend.dedup();
        if weekend.len() == 7 {
            return Err(NoBusinessDay(name));
        }
        Ok(Self { name, weekend, holidays: holidays.into_iter().collect() })
    }

    /// Saturdays and Sundays, no holidays: the default.
    pub fn weekdays() -> Self {
        Self { name: "weekdays".into(), weekend: vec![Weekday::Sat, Weekday::Sun], holidays: BTreeSet::new() }
    }

    /// Its name in the settings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The days of the week that are never business days, Monday first.
    pub fn weekend(&self) -> &[Weekday] {
        &self.weekend
    }

    /// The holidays, in order.
    pub fn holidays(&self) -> impl Iterator<Item = NaiveDate> {
        self.holidays.iter().copied()
    }

    /// Is anything booked on this date?
    pub fn is_business_day(&self, date: NaiveDate) -> bool {
        !self.weekend.contains(&date.weekday()) && !self.holidays.contains(&date)
    }

    /// The last business day before `date` (never `date` itself).
    pub fn previous(&self, date: NaiveDate) -> NaiveDate {
        let mut day = date;
        while let Some(before) = day.checked_sub_days(Days::new(1)) {
            day = before;
            if self.is_business_day(day) {
                break;
            }
        }
        day
    }

    /// The first business day after `date` (never `date` itself).
    pub fn next(&self, date: NaiveDate) -> NaiveDate {
        let mut day = date;
        while let Some(after) = day.checked_add_days(Days::new(1)) {
            day = after;
            if self.is_business_day(day) {
                break;
            }
        }
        day
    }

    /// `date` moved by `days` business days, forward if positive. Zero is `date` itself.
    pub fn shift(&self, date: NaiveDate, days: i32) -> NaiveDate {
        (0..days.unsigned_abs()).fold(date, |day, _| if days < 0 { self.previous(day) } else { self.next(day) })
    }

    /// How many business days lie in `(from, to]`: the age on `to` of what was written on `from`. Zero where `to` is not
    /// later than `from`.
    pub fn business_days_between(&self, from: NaiveDate, to: NaiveDate) -> u32 {
        if to <= from {
            return 0;
        }
        let calendar_days = u64::try_from((to - from).num_days()).unwrap_or(0);
        // Whole weeks by arithmetic, so that an age of decades costs no walk of thousands of days.
        let weeks = calendar_days / 7;
        let working = 7 - self.weekend.len() as u64;
        let rest_from = from + Days::new(weeks * 7);
        let rest = (1..=calendar_days % 7)
            .filter(|day| !self.weekend.contains(&(rest_from + Days::new(*day)).weekday()))
            .count() as u64;
        let holidays = self
            .holidays
            .range((std::ops::Bound::Excluded(from), std::ops::Bound::Included(to)))
            .filter(|holiday| !self.weekend.contains(&holiday.weekday()))
            .count() as u64;
        u32::try_from(weeks * working + rest - holidays).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn brazil() -> Calendar {
        Calendar::new("br", [Weekday::Sat, Weekday::Sun], [day("2026-11-02"), day("2026-11-20"), day("2026-11-15")])
            .unwrap()
    }

    #[test]
    fn the_business_day_before_a_monday_after_a_holiday_friday_is_thursday() {
        assert_eq!(brazil().previous(day("2026-11-23")), day("2026-11-19"));
        assert_eq!(brazil().next(day("2026-11-19")), day("2026-11-23"));
        assert_eq!(brazil().shift(day("2026-11-23"), -2), day("2026-11-18"));
        assert_eq!(brazil().shift(day("2026-11-21"), 0), day("2026-11-21"));
    }

    #[test]
    fn age_in_business_days_agrees_with_a_walk_over_every_day() {
        let calendar = brazil();
        let start = day("2026-10-25");
        for from in 0..30 {
            for length in 0..40 {
                let from = start + Days::new(from);
                let to = from + Days::new(length);
                let walked = (1..=length).filter(|days| calendar.is_business_day(from + Days::new(*days))).count();
                assert_eq!(calendar.business_days_between(from, to) as usize, walked, "{from} to {to}");
            }
        }
        assert_eq!(calendar.business_days_between(day("2026-11-10"), day("2026-11-09")), 0);
    }

    #[test]
    fn a_week_without_a_business_day_is_refused() {
        let all = [Weekday::Mon, Weekday::Tue, Weekday::Wed, Weekday::Thu, Weekday::Fri, Weekday::Sat, Weekday::Sun];
        assert_eq!(Calendar::new("none", all, []), Err(NoBusinessDay("none".into())));
    }
}
