//! What is due: cron expression × zone × business calendar × ledger of runs × now. Pure.
//!
//! An occurrence on local date L reconciles the last business day before L, so a business date D is due at the first
//! occurrence on a date in (D, next business day after D]. The fields of a cron expression are independent of each
//! other, hence an expression has one first time of day, the same on every day that it names: the wall-clock side of
//! an occurrence is a date and that time. It becomes an instant by the zone's own rules: a time that a clock change
//! skips happens at the end of the gap, and one that happens twice is taken the first time.
//!
//! The planner remembers nothing. What it planned is in the ledger, written in one transaction, oldest first; so
//! every date up to the ledger's newest planned one has been decided, and two leaders that plan at a hand-over give
//! the same rows, of which the ledger keeps one each.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Days, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Utc};
use chrono_tz::{GapInfo, Tz};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use crate::calendar::Calendar;

/// When reconciliation is due, as the settings say.
#[derive(Debug, Clone)]
pub struct Timetable {
    cron: Cron,
    time: NaiveTime,
    zone: Tz,
    calendar: Arc<Calendar>,
    catch_up: u32,
    deadline: NaiveTime,
    start: Option<NaiveDate>,
}

/// A schedule that cannot be kept. Each says what would be accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTimetable {
    /// The expression was not understood.
    #[error(
        "schedule.cron {cron:?} is no cron expression: {why} (five fields as in crontab, six with seconds in front)"
    )]
    Cron {
        /// As written.
        cron: String,
        /// What the parser said.
        why: String,
    },
    /// It names no date at all (31 February).
    #[error("schedule.cron {0:?} never happens")]
    Never(String),
    /// Not in the IANA database.
    #[error("schedule.timezone {0:?} is no IANA time zone, such as America/Sao_Paulo")]
    Zone(String),
    /// The deadline would pass before the run is due.
    #[error("schedule.deadline {deadline} does not lie after the schedule's own time, {time}")]
    Deadline {
        /// The deadline.
        deadline: NaiveTime,
        /// The first time of day of the cron expression.
        time: NaiveTime,
    },
    /// Nothing would ever be due.
    #[error("schedule.catch_up is 0: then no date would ever be due; 1 means the latest date alone")]
    CatchUp,
}

/// One business date, with the instants that belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// What is reconciled.
    pub business_date: NaiveDate,
    /// The local date on which it is due.
    pub local_date: NaiveDate,
    /// When it is due.
    pub due: DateTime<Utc>,
    /// When an account that still waits is named.
    pub deadline: DateTime<Utc>,
}

/// What the ledger of runs says to the planner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The newest date that a planner recorded, due or skipped. Everything up to it has been decided.
    pub planned_through: Option<NaiveDate>,
    /// Later dates that are in the ledger all the same, because somebody asked for them by hand.
    pub asked: BTreeSet<NaiveDate>,
}

/// What is to be recorded, oldest first: all skips are older than all that is due.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Dates that nobody will run, and why.
    pub skipped: Vec<Skip>,
    /// Dates to run.
    pub due: Vec<Occurrence>,
}

/// A date left out, and the reason as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// Which.
    pub occurrence: Occurrence,
    /// Why: names the numbers.
    pub reason: String,
}

/// A date that somebody asked for by hand, and that is not to be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing is booked on it; its lines, if any, enter the next business day's run.
    #[error("{date} is no business day of calendar {calendar:?}; its lines enter the run of {next}")]
    NoBusinessDay {
        /// The date asked for.
        date: NaiveDate,
        /// The calendar.
        calendar: String,
        /// The next business day.
        next: NaiveDate,
    },
    /// It has not begun.
    #[error("{date} lies ahead: it is {today} in {zone}")]
    Ahead {
        /// The date asked for.
        date: NaiveDate,
        /// Today, there.
        today: NaiveDate,
        /// The schedule's zone.
        zone: Tz,
    },
    /// Reconciliation had not begun.
    #[error("{date} is not later than {opening}, the earliest opening of any account")]
    BeforeOpening {
        /// The date asked for.
        date: NaiveDate,
        /// The earliest opening.
        opening: NaiveDate,
    },
}

// === impl Timetable ===

impl Timetable {
    /// Checks everything that can be checked without the world.
    ///
    /// `catch_up` counts business days of `calendar` and includes the latest date: 3 runs the latest date and the two
    /// before it. `start` is the first business date that may be due.
    pub fn new(
        cron: &str,
        zone: &str,
        calendar: Arc<Calendar>,
        catch_up: u32,
        deadline: NaiveTime,
        start: Option<NaiveDate>,
    ) -> Result<Self, BadTimetable> {
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let parsed =
            parser.parse(cron).map_err(|error| BadTimetable::Cron { cron: cron.to_owned(), why: error.to_string() })?;
        let zone: Tz = zone.parse().map_err(|_| BadTimetable::Zone(zone.to_owned()))?;
        let time = first_time(&parsed).ok_or_else(|| BadTimetable::Never(cron.to_owned()))?;
        if deadline <= time {
            return Err(BadTimetable::Deadline { deadline, time });
        }
        if catch_up == 0 {
            return Err(BadTimetable::CatchUp);
        }
        Ok(Self { cron: parsed, time, zone, calendar, catch_up, deadline, start })
    }

    /// The zone in which the expression is read.
    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// The calendar of business dates.
    pub fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    /// The time of day of every occurrence, on the wall clock of the zone.
    pub fn time(&self) -> NaiveTime {
        self.time
    }

    /// The occurrence that makes a business date due: the first on a local date in (date, next business day]. `None`
    /// where the expression names no date among them (a weekly schedule): then the date's lines enter the next run.
    pub fn occurrence(&self, business_date: NaiveDate) -> Option<Occurrence> {
        let last = self.calendar.next(business_date);
        business_date
            .iter_days()
            .skip(1)
            .take_while(|local| *local <= last)
            .find(|local| self.names(*local))
            .map(|local| self.at(business_date, local))
    }

    /// What to record now. `opening` is the earliest opening of any account, if accounts have openings.
    pub fn plan(&self, ledger: &Ledger, opening: Option<NaiveDate>, now: DateTime<Utc>) -> Plan {
        let Some(latest) = self.latest_due(now) else { return Plan::default() };
        // The first date that may be planned. What the ledger has decided is never decided again.
        let mut first = match (ledger.planned_through, self.start, opening) {
            (Some(through), start, _) => start.map_or(through.succ(), |start| start.max(through.succ())),
            (None, Some(start), _) => start,
            (None, None, Some(opening)) => opening.succ(),
            (None, None, None) => latest.business_date,
        };
        if let Some(opening) = opening {
            first = first.max(opening.succ());
        }
        let mut plan = Plan::default();
        let mut date = if self.calendar.is_business_day(first) { first } else { self.calendar.next(first) };
        while date <= latest.business_date {
            if !ledger.asked.contains(&date)
                && let Some(occurrence) = self.occurrence(date)
            {
                let behind = self.calendar.business_days_between(date, latest.business_date);
                if behind < self.catch_up {
                    plan.due.push(occurrence);
                } else {
                    let reason = format!(
                        "{behind} business days behind {}, and schedule.catch_up is {}; its lines enter the next run",
                        latest.business_date, self.catch_up
                    );
                    plan.skipped.push(Skip { occurrence, reason });
                }
            }
            let next = self.calendar.next(date);
            if next <= date {
                break; // The end of the calendar of chrono itself.
            }
            date = next;
        }
        plan
    }

    /// The first occurrence of a business date that is not due yet: when the planner will next have something to say.
    pub fn next(&self, now: DateTime<Utc>) -> Option<Occurrence> {
        let today = self.today(now);
        let mut date = self.calendar.previous(today);
        // A year of business days: an expression that can happen at all happens within four, and a face that shows
        // "next run" has no use for one further away.
        for _ in 0..366 {
            if let Some(occurrence) = self.occurrence(date).filter(|occurrence| occurrence.due > now) {
                return Some(occurrence);
            }
            date = self.calendar.next(date);
        }
        None
    }

    /// Judges a date that somebody asked for by hand. One that the expression never names gets the instants of the
    /// business day after it.
    pub fn asked(
        &self,
        date: NaiveDate,
        opening: Option<NaiveDate>,
        now: DateTime<Utc>,
    ) -> Result<Occurrence, Refusal> {
        if !self.calendar.is_business_day(date) {
            let (calendar, next) = (self.calendar.name().to_owned(), self.calendar.next(date));
            return Err(Refusal::NoBusinessDay { date, calendar, next });
        }
        let today = self.today(now);
        if date > today {
            return Err(Refusal::Ahead { date, today, zone: self.zone });
        }
        if let Some(opening) = opening.filter(|opening| date <= *opening) {
            return Err(Refusal::BeforeOpening { date, opening });
        }
        Ok(self.occurrence(date).unwrap_or_else(|| self.at(date, self.calendar.next(date))))
    }

    /// The newest business date whose occurrence has come.
    fn latest_due(&self, now: DateTime<Utc>) -> Option<Occurrence> {
        let mut local = self.today(now);
        // Back over days that the expression does not name, and over a today whose time has not come. Four years
        // and a day hold every date that an expression can name, 29 February included (save around 1900 and 2100).
        for _ in 0..1462 {
            if self.names(local) {
                let occurrence = self.occurrence(self.calendar.previous(local))?;
                if occurrence.due <= now {
                    return Some(occurrence);
                }
            }
            local = local.pred_opt()?;
        }
        None
    }

    fn today(&self, now: DateTime<Utc>) -> NaiveDate {
        now.with_timezone(&self.zone).date_naive()
    }

    /// Does the expression name this date?
    fn names(&self, date: NaiveDate) -> bool {
        // In UTC no hour is missing or repeated: there, croner does civil time.
        self.cron.is_time_matching(&date.and_time(self.time).and_utc()).unwrap_or(false)
    }

    fn at(&self, business_date: NaiveDate, local_date: NaiveDate) -> Occurrence {
        Occurrence {
            business_date,
            local_date,
            due: instant(local_date.and_time(self.time), self.zone),
            deadline: instant(local_date.and_time(self.deadline), self.zone),
        }
    }
}

/// The first time of day that an expression names, if it names any date.
fn first_time(cron: &Cron) -> Option<NaiveTime> {
    let origin = NaiveDate::from_ymd_opt(2024, 1, 1)?.and_time(NaiveTime::MIN).and_utc();
    cron.find_next_occurrence(&origin, true).ok().map(|found| found.time())
}

/// A wall-clock time as an instant: at the end of the gap where a clock change skips it, the first of the two where a
/// clock change repeats it.
fn instant(local: NaiveDateTime, zone: Tz) -> DateTime<Utc> {
    match zone.from_local_datetime(&local) {
        LocalResult::Single(at) | LocalResult::Ambiguous(at, _) => at.to_utc(),
        LocalResult::None => GapInfo::new(&local, &zone)
            .and_then(|gap| gap.end)
            // A gap without an end is none that the IANA database has; its own wall clock in UTC is within hours.
            .map_or_else(|| local.and_utc(), |end| end.to_utc()),
    }
}

/// The day after; the last day of all is its own.
trait Succ {
    fn succ(self) -> Self;
}

impl Succ for NaiveDate {
    fn succ(self) -> Self {
        self.checked_add_days(Days::new(1)).unwrap_or(self)
    }
}

impl fmt::Display for Occurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (due {})", self.business_date, self.due.format("%Y-%m-%dT%H:%M:%SZ"))
    }
}

#[cfg(test)]
mod tests {
    use chrono::{Duration, Weekday};
    use proptest::prelude::*;

    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn hour(text: &str) -> NaiveTime {
        text.parse().unwrap()
    }

    fn timetable(cron: &str, zone: &str) -> Timetable {
        let holidays = [day("2026-01-01"), day("2026-12-25"), day("2027-01-01"), day("2027-03-26")];
        let calendar = Calendar::new("test", [Weekday::Sat, Weekday::Sun], holidays).unwrap();
        Timetable::new(cron, zone, Arc::new(calendar), 3, hour("23:59:59"), None).unwrap()
    }

    fn ledger(through: &str) -> Ledger {
        Ledger { planned_through: Some(day(through)), asked: BTreeSet::new() }
    }

    fn due(plan: &Plan) -> Vec<String> {
        plan.due.iter().map(|occurrence| occurrence.business_date.to_string()).collect()
    }

    fn skipped(plan: &Plan) -> Vec<String> {
        plan.skipped.iter().map(|skip| skip.occurrence.business_date.to_string()).collect()
    }

    /// The ledger after a plan was recorded.
    fn record(ledger: &mut Ledger, plan: &Plan) {
        let dates = plan.skipped.iter().map(|skip| skip.occurrence).chain(plan.due.iter().copied());
        for occurrence in dates {
            assert!(ledger.planned_through < Some(occurrence.business_date), "oldest first, each once");
            ledger.planned_through = Some(occurrence.business_date);
        }
    }

    #[test]
    fn a_schedule_that_cannot_be_kept_is_refused_with_what_would_be() {
        let new = |cron: &str, zone: &str, catch_up, deadline: &str| {
            Timetable::new(cron, zone, Arc::new(Calendar::weekdays()), catch_up, hour(deadline), None)
                .map(|timetable| timetable.time().to_string())
                .map_err(|error| error.to_string())
        };
        assert_eq!(new("0 6 * * *", "America/Sao_Paulo", 5, "10:00:00"), Ok("06:00:00".into()));
        assert_eq!(new("30 0 6 * * MON-FRI", "UTC", 5, "06:00:31"), Ok("06:00:30".into()));
        assert!(new("0 6 * *", "UTC", 5, "10:00:00").unwrap_err().contains("five fields as in crontab"));
        assert!(new("0 0 6 * * * 2027", "UTC", 5, "10:00:00").unwrap_err().contains("no cron expression"));
        assert!(new("0 6 31 2 *", "UTC", 5, "10:00:00").unwrap_err().contains("never happens"));
        assert!(new("0 6 * * *", "Brasilia", 5, "10:00:00").unwrap_err().contains("America/Sao_Paulo"));
        assert!(new("0 6 * * *", "UTC", 5, "06:00:00").unwrap_err().contains("06:00:00"));
        assert!(new("0 6 * * *", "UTC", 0, "10:00:00").unwrap_err().contains("catch_up"));
    }

    #[test]
    fn an_occurrence_reconciles_the_last_business_day_before_its_local_date() {
        let daily = timetable("0 6 * * *", "America/Sao_Paulo");
        let friday = daily.occurrence(day("2026-10-16")).unwrap();
        assert_eq!(friday.local_date, day("2026-10-17"), "a daily schedule reconciles Friday on Saturday");
        assert_eq!(friday.due, at("2026-10-17T09:00:00Z"));
        assert_eq!(friday.deadline, at("2026-10-18T02:59:59Z"), "on the local date, not on the date in UTC");

        let working = timetable("0 6 * * 1-5", "America/Sao_Paulo");
        assert_eq!(working.occurrence(day("2026-10-16")).unwrap().local_date, day("2026-10-19"));
        // New year's Friday and the weekend after it: Thursday is reconciled on the first date that is named.
        assert_eq!(working.occurrence(day("2026-12-31")).unwrap().local_date, day("2027-01-01"));
        assert_eq!(working.next(at("2026-12-31T12:00:00Z")).unwrap().business_date, day("2026-12-31"));
        assert_eq!(working.next(at("2027-01-01T09:00:00Z")).unwrap().business_date, day("2027-01-04"));
    }

    #[test]
    fn a_weekly_schedule_leaves_the_other_days_to_the_next_run() {
        let weekly = timetable("0 6 * * 1", "UTC");
        let plan = weekly.plan(&ledger("2026-10-09"), None, at("2026-10-19T06:00:00Z"));
        assert_eq!(due(&plan), ["2026-10-16"]);
        assert!(plan.skipped.is_empty(), "a date that is never named is not missed");
    }

    #[test]
    fn both_fields_of_a_day_are_alternatives_as_in_crontab() {
        let either = timetable("0 6 1 * MON", "UTC");
        assert_eq!(
            either.occurrence(day("2026-09-30")).unwrap().local_date,
            day("2026-10-01"),
            "the first, a Thursday"
        );
        assert_eq!(either.occurrence(day("2026-10-02")).unwrap().local_date, day("2026-10-05"), "a Monday");
        assert_eq!(either.occurrence(day("2026-10-06")), None);
    }

    #[test]
    fn s35_dublin_has_one_run_a_date_across_both_clock_changes() {
        // 2026-03-29 01:00 → 02:00, 2026-10-25 02:00 → 01:00.
        let early = timetable("5 2 * * *", "Europe/Dublin");
        let instants = |timetable: &Timetable, dates: &[&str]| -> Vec<String> {
            let occurrence = |date: &&str| timetable.at(day(date), day(date)).due.to_rfc3339();
            dates.iter().map(occurrence).collect()
        };
        assert_eq!(
            instants(&early, &["2026-03-28", "2026-03-29", "2026-10-24", "2026-10-25"]),
            [
                "2026-03-28T02:05:00+00:00",
                "2026-03-29T01:05:00+00:00",
                "2026-10-24T01:05:00+00:00",
                "2026-10-25T02:05:00+00:00"
            ]
        );
        let in_the_gap = timetable("30 1 * * *", "Europe/Dublin");
        assert_eq!(instants(&in_the_gap, &["2026-03-29"]), ["2026-03-29T01:00:00+00:00"], "at the end of the gap");
        assert_eq!(instants(&in_the_gap, &["2026-10-25"]), ["2026-10-25T00:30:00+00:00"], "the first of the two");
    }

    #[test]
    fn sao_paulo_has_one_run_a_date_across_both_clock_changes() {
        // 2018-11-04 00:00 → 01:00, 2019-02-17 00:00 → 2019-02-16 23:00.
        let midnight = timetable("15 0 * * *", "America/Sao_Paulo");
        assert_eq!(midnight.at(day("2018-11-02"), day("2018-11-04")).due, at("2018-11-04T03:00:00Z"));
        let late = timetable("30 23 * * *", "America/Sao_Paulo");
        assert_eq!(late.at(day("2019-02-15"), day("2019-02-16")).due, at("2019-02-17T01:30:00Z"));
        assert_eq!(late.at(day("2019-02-18"), day("2019-02-19")).due, at("2019-02-20T02:30:00Z"));
    }

    #[test]
    fn without_openings_only_the_latest_date_is_due_at_first() {
        let daily = timetable("0 6 * * *", "America/Sao_Paulo");
        let before = daily.plan(&Ledger::default(), None, at("2026-10-15T08:59:59Z"));
        assert_eq!(due(&before), ["2026-10-13"]);
        let after = daily.plan(&Ledger::default(), None, at("2026-10-15T09:00:00Z"));
        assert_eq!(due(&after), ["2026-10-14"]);
        assert!(after.skipped.is_empty());
    }

    #[test]
    fn with_openings_every_date_after_the_earliest_is_due_or_skipped() {
        let daily = timetable("0 6 * * *", "America/Sao_Paulo");
        let now = at("2026-10-15T09:00:00Z");
        let plan = daily.plan(&Ledger::default(), Some(day("2026-10-08")), now);
        assert_eq!(skipped(&plan), ["2026-10-09"]);
        assert_eq!(due(&plan), ["2026-10-12", "2026-10-13", "2026-10-14"]);
        assert_eq!(daily.plan(&Ledger::default(), Some(day("2026-10-14")), now), Plan::default());
    }

    #[test]
    fn the_ledger_begins_at_the_start_that_the_settings_name() {
        let mut daily = timetable("0 6 * * *", "America/Sao_Paulo");
        daily.start = Some(day("2026-10-13"));
        let now = at("2026-10-15T09:00:00Z");
        assert_eq!(due(&daily.plan(&Ledger::default(), None, now)), ["2026-10-13", "2026-10-14"]);
        assert_eq!(due(&daily.plan(&Ledger::default(), Some(day("2026-10-13")), now)), ["2026-10-14"]);
        assert_eq!(due(&daily.plan(&ledger("2026-10-06"), None, now)), ["2026-10-13", "2026-10-14"]);
        daily.start = Some(day("2026-10-20"));
        assert_eq!(daily.plan(&Ledger::default(), None, now), Plan::default());
    }

    #[test]
    fn s33_a_fleet_that_was_down_four_days_runs_three_and_records_the_fourth_as_skipped() {
        let daily = timetable("0 6 * * *", "America/Sao_Paulo");
        let plan = daily.plan(&ledger("2026-10-09"), None, at("2026-10-16T12:00:00Z"));
        assert_eq!(due(&plan), ["2026-10-13", "2026-10-14", "2026-10-15"], "oldest first");
        assert_eq!(skipped(&plan), ["2026-10-12"]);
        assert_eq!(
            plan.skipped[0].reason,
            "3 business days behind 2026-10-15, and schedule.catch_up is 3; its lines enter the next run"
        );
    }

    #[test]
    fn s32_two_leaders_that_plan_at_a_hand_over_give_the_same_rows() {
        let daily = timetable("0 6 * * *", "America/Sao_Paulo");
        let seen = ledger("2026-10-12");
        let first = daily.plan(&seen, None, at("2026-10-15T09:00:00.100Z"));
        let second = daily.plan(&seen, None, at("2026-10-15T09:00:02Z"));
        assert_eq!(first, second);
        let mut recorded = seen;
        record(&mut recorded, &first);
        assert_eq!(daily.plan(&recorded, None, at("2026-10-15T09:00:02Z")), Plan::default());
    }

    #[test]
    fn s34_a_run_longer_than_the_interval_delays_the_next_date_and_loses_none() {
        // While one date runs for two days, each later one is planned once, and stays in the ledger until its turn.
        let daily = timetable("0 6 * * *", "UTC");
        let mut known = ledger("2026-10-12");
        let mut turns = Vec::new();
        for hours in 0..72 {
            let plan = daily.plan(&known, None, at("2026-10-14T00:00:00Z") + Duration::hours(hours));
            record(&mut known, &plan);
            turns.extend(due(&plan));
        }
        assert_eq!(turns, ["2026-10-13", "2026-10-14", "2026-10-15"]);
    }

    #[test]
    fn a_date_that_was_asked_for_is_not_planned_again() {
        let daily = timetable("0 6 * * *", "UTC");
        let mut known = ledger("2026-10-12");
        known.asked.insert(day("2026-10-14"));
        let plan = daily.plan(&known, None, at("2026-10-16T06:00:00Z"));
        assert_eq!(due(&plan), ["2026-10-13", "2026-10-15"]);
    }

    #[test]
    fn a_date_asked_for_by_hand_is_judged_with_a_reason() {
        let daily = timetable("0 6 * * *", "America/Sao_Paulo");
        let now = at("2026-10-15T02:00:00Z"); // still the 14th there
        let asked = |date: &str, opening: Option<&str>| daily.asked(day(date), opening.map(day), now);
        assert_eq!(asked("2026-10-13", None).unwrap().due, at("2026-10-14T09:00:00Z"));
        assert_eq!(
            asked("2026-10-14", None).unwrap().business_date,
            day("2026-10-14"),
            "today is for who asks to judge"
        );
        assert!(asked("2026-10-15", None).unwrap_err().to_string().contains("it is 2026-10-14 in America/Sao_Paulo"));
        assert!(asked("2026-10-11", None).unwrap_err().to_string().contains("enter the run of 2026-10-12"));
        assert!(asked("2026-10-13", Some("2026-10-13")).unwrap_err().to_string().contains("earliest opening"));
        // A date that a weekly schedule never names can still be asked for.
        let weekly = timetable("0 6 * * 1", "UTC");
        assert_eq!(weekly.asked(day("2026-10-13"), None, now).unwrap().local_date, day("2026-10-14"));
    }

    /// Asks every minute for two years, and counts the dates.
    fn minutely(timetable: &Timetable, from: DateTime<Utc>) {
        let mut known =
            Ledger { planned_through: Some(timetable.calendar.previous(from.date_naive())), ..<_>::default() };
        let mut planned = Vec::new();
        let minutes = 2 * 365 * 24 * 60;
        for minute in 0..minutes {
            let now = from + Duration::minutes(minute);
            let plan = timetable.plan(&known, None, now);
            assert!(plan.skipped.is_empty(), "{now}: nothing is skipped by a fleet that is up");
            for occurrence in &plan.due {
                assert!(occurrence.due <= now, "{occurrence} is not due at {now}");
                planned.push(occurrence.business_date);
            }
            record(&mut known, &plan);
        }
        let last = *planned.last().unwrap();
        let expected: Vec<_> = from
            .date_naive()
            .iter_days()
            .take_while(|date| *date <= last)
            .filter(|date| timetable.calendar.is_business_day(*date))
            .filter(|date| timetable.occurrence(*date).is_some())
            .collect();
        assert_eq!(planned, expected, "each business date exactly once, in order");
        assert!(planned.len() > 490);
    }

    #[test]
    fn asking_every_minute_for_two_years_in_dublin_yields_each_business_date_exactly_once() {
        minutely(&timetable("30 1 * * *", "Europe/Dublin"), at("2026-01-05T00:00:00Z"));
    }

    #[test]
    fn asking_every_minute_for_two_years_in_sao_paulo_yields_each_business_date_exactly_once() {
        minutely(&timetable("0 6 * * 1-5", "America/Sao_Paulo"), at("2017-06-01T00:00:00Z"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Whenever the fleet was up, and however long it slept in between.
        #[test]
        fn however_often_and_late_it_is_asked_each_date_is_recorded_once(
            naps in proptest::collection::vec(1_i64..20_000, 1..60),
            minute in 0_u32..60,
            hour in 0_u32..24,
            zone in proptest::sample::select(vec!["Europe/Dublin", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kathmandu"]),
        ) {
            let timetable = timetable(&format!("{minute} {hour} * * *"), zone);
            let mut now = at("2026-02-02T00:00:00Z");
            let mut known = ledger("2026-01-30");
            let mut recorded = Vec::new();
            for nap in naps {
                now += Duration::minutes(nap);
                let plan = timetable.plan(&known, None, now);
                prop_assert!(plan.due.len() <= 3, "catch_up bounds what is due at once");
                recorded.extend(plan.skipped.iter().map(|skip| skip.occurrence.business_date));
                recorded.extend(plan.due.iter().map(|occurrence| occurrence.business_date));
                record(&mut known, &plan);
            }
            let expected: Vec<_> = day("2026-01-30")
                .iter_days()
                .skip(1)
                .filter(|date| timetable.calendar.is_business_day(*date))
                .take_while(|date| timetable.occurrence(*date).unwrap().due <= now)
                .collect();
            prop_assert_eq!(recorded, expected);
        }
    }
}
