//! No day missed: what the schedule records over days, on a real Postgres: fleets that were down, clocks that change.
//! No statement comes: what is asked here is which dates are recorded, when, and how often.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

mod support;

use std::time::Duration;

use chrono::{DateTime, Timelike, Utc};
use counterfoil::clock::Clock;
use support::day::Site;

async fn site(schedule: &str, now: &str) -> Site {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["inbox/bank", "inbox/book"] {
        std::fs::create_dir_all(folder.path().join(name)).expect("made");
    }
    let account = "[[accounts]]\nid = \"main\"\nbank = \"001\"\nnumber = \"1234-5\"\ncurrency = \"EUR\"\n";
    let settings = format!("[schedule]\n{schedule}\n{account}");
    std::fs::write(folder.path().join("counterfoil.toml"), settings).expect("written");
    let database = counterfoil::scratch::postgres::migrated().await.expect("a migrated database");
    Site::over(folder, database, now)
}

/// Dates, how they stand, and why.
async fn runs(site: &Site) -> Vec<(String, String, Option<String>)> {
    site.rows("SELECT business_date::text, status, reason FROM counterfoil.run ORDER BY recorded_at, business_date")
        .await
}

/// One leader, asked now and then so often in every small hour until an instant: when it recorded what.
async fn asked(site: &Site, every: Duration, until: &str) -> Vec<String> {
    let until: DateTime<Utc> = until.parse().expect("an instant");
    let mut runner = site.lead(1, "a").await;
    let mut recorded = Vec::new();
    let mut first = true;
    while site.clock.wall() < until {
        let now = site.clock.wall();
        if std::mem::take(&mut first) || now.hour() < 4 {
            let planned = runner.pass().await.expect("a pass").planned;
            recorded.extend((0..planned).map(|_| now.format("%m-%dT%H:%MZ").to_string()));
        }
        site.clock.advance(every);
    }
    recorded
}

#[tokio::test(flavor = "multi_thread")]
async fn s33_a_fleet_that_was_down_catches_up_so_far_oldest_first_and_records_the_older_date_as_skipped() {
    let schedule = "cron = \"0 6 * * *\"\ntimezone = \"UTC\"\ncatch_up = \"3 business days\"";
    let site = site(schedule, "2026-11-10T06:00:00Z").await;
    site.lead(1, "a").await.pass().await.expect("Monday's date");
    // Down from Tuesday to Saturday.
    site.clock.set_wall("2026-11-14T08:00:00Z".parse().expect("an instant"));
    let pass = site.lead(2, "b").await.pass().await.expect("the first pass");
    assert_eq!(pass.planned, 4);
    let found = runs(&site).await;
    let standing: Vec<(&str, &str)> = found.iter().map(|(date, status, _)| (date.as_str(), status.as_str())).collect();
    let expected = [
        ("2026-11-09", "due"),
        ("2026-11-10", "skipped"),
        ("2026-11-11", "due"),
        ("2026-11-12", "due"),
        ("2026-11-13", "due"),
    ];
    let mut sorted = standing.clone();
    sorted.sort_unstable();
    assert_eq!(sorted.iter().map(|(date, _)| *date).collect::<Vec<_>>(), expected.map(|(date, _)| date));
    for (date, status) in expected {
        let (_, found) = sorted.iter().find(|(found, _)| *found == date).expect("recorded");
        assert_eq!(*found == "skipped", status == "skipped", "{date}: {found}");
    }
    let reason = found.iter().find(|(date, ..)| date == "2026-11-10").and_then(|(_, _, reason)| reason.clone());
    assert!(reason.is_some_and(|reason| reason.contains("schedule.catch_up is 3")), "{found:?}");
    // And it stays so.
    site.clock.advance(Duration::from_mins(1));
    assert_eq!(site.lead(3, "c").await.pass().await.expect("a pass").planned, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn s35_a_leader_that_runs_through_both_clock_changes_of_dublin_records_each_date_once_at_its_instant() {
    let schedule = "cron = \"5 2 * * *\"\ntimezone = \"Europe/Dublin\"";
    // 2026-03-29 01:00 → 02:00. Monday's occurrence is Friday's date, on each of the three mornings after it.
    let spring = site(schedule, "2026-03-26T12:05:00Z").await;
    let recorded = asked(&spring, Duration::from_hours(1), "2026-04-01T12:05:00Z").await;
    assert_eq!(recorded, ["03-26T12:05Z", "03-27T02:05Z", "03-28T02:05Z", "03-31T01:05Z", "04-01T01:05Z"]);
    // 2026-10-25 02:00 → 01:00.
    let autumn = site(schedule, "2026-10-22T12:05:00Z").await;
    let recorded = asked(&autumn, Duration::from_hours(1), "2026-10-28T12:05:00Z").await;
    assert_eq!(recorded, ["10-22T12:05Z", "10-23T01:05Z", "10-24T01:05Z", "10-27T02:05Z", "10-28T02:05Z"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn s35_a_time_inside_the_gap_runs_at_its_end_and_one_inside_the_repeated_hour_once() {
    // Every day of the week is a business day here, so the Sundays themselves count.
    let schedule =
        "cron = \"30 1 * * *\"\ntimezone = \"Europe/Dublin\"\ncalendar = \"all\"\n\n[calendars.all]\nweekend = []\n";
    let spring = site(schedule, "2026-03-28T12:00:00Z").await;
    assert_eq!(
        asked(&spring, Duration::from_mins(30), "2026-03-30T12:00:00Z").await,
        ["03-28T12:00Z", "03-29T01:00Z", "03-30T00:30Z"]
    );
    let autumn = site(schedule, "2026-10-24T12:00:00Z").await;
    assert_eq!(
        asked(&autumn, Duration::from_mins(30), "2026-10-26T12:00:00Z").await,
        ["10-24T12:00Z", "10-25T00:30Z", "10-26T01:30Z"]
    );
}
