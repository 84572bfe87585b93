//! Everything seen: what every replica tells of the cluster is what Postgres holds.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

mod support;

use std::sync::Arc;

use counterfoil::db::connect::Purpose;
use counterfoil::db::facts;
use counterfoil::election::FencingToken;
use counterfoil::telemetry::{AccountDayState, ClusterFacts};
use support::day::{DATE, Site};
use support::{connector, lease};

async fn read(site: &Site) -> ClusterFacts {
    let mut session = connector(&site.database, "reader").connect(Purpose::Read).await.expect("a session");
    facts::read(&mut session, &lease(), 3).await.expect("the facts").0
}

fn midnight_of(date: &str) -> i64 {
    format!("{date}T00:00:00Z").parse::<chrono::DateTime<chrono::Utc>>().expect("an instant").timestamp()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_deployment_has_no_token_and_nothing_pending() {
    let site = Site::of_the_example().await;
    assert_eq!(read(&site).await, ClusterFacts::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_under_way_and_a_day_done_are_told_as_they_are() {
    let site = Site::of_the_example().await;
    let mut runner = site.lead(7, "a").await;
    // The first look: files have not settled, so that the day is planned and every account waits.
    runner.pass().await.expect("the first look");
    let facts = read(&site).await;
    assert_eq!(facts.token, FencingToken::new(7));
    let deadline: Vec<(i64,)> = site.rows("SELECT extract(epoch FROM deadline)::bigint FROM counterfoil.run").await;
    assert_eq!(facts.pending_deadline, Some(deadline[0].0));
    let run = facts.run.expect("a run that is not finished");
    assert_eq!((run.in_progress, run.steps_done, run.steps_planned), (false, 0, 12));
    assert_eq!(run.accounts[&AccountDayState::Waiting], 3, "{run:?}");
    assert_eq!(facts.last_success, None);

    site.day(&mut runner).await;
    let facts = read(&site).await;
    assert_eq!((facts.pending_deadline, &facts.run), (None, &None), "nothing is pending");
    assert!(facts.last_success.is_some() && facts.last_duration.is_some());
    assert_eq!(facts.last_complete_date, Some(midnight_of(DATE)));
    let open: i64 = site.count("SELECT count(*) FROM counterfoil.break").await;
    assert_eq!(facts.breaks_open.values().sum::<u64>(), u64::try_from(open).expect("a count"));
    assert!(open > 0 && facts.oldest_break.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_measures_the_skew_of_the_clocks() {
    use counterfoil::clock::SystemClock;
    use counterfoil::mirror::Mirror;
    use counterfoil::telemetry::{BuildInfo, install};

    let site = Site::of_the_example().await;
    let telemetry = install(&lease(), "a", BuildInfo::THIS).expect("a recorder");
    let mirror = |clock| Mirror {
        postgres: connector(&site.database, "a"),
        lease: lease(),
        timetable: site.settings.schedule.timetable.clone(),
        accounts: site.settings.accounts().iter().map(|account| account.id.clone()).collect(),
        clock,
        telemetry: telemetry.clone(),
    };
    let mut session = None;
    let (facts, _) = mirror(Arc::new(SystemClock)).look(&mut session).await.expect("a look");
    assert!(facts.clock_skew_ms.is_some_and(|skew| skew.abs() < 1000), "one machine has one clock: {facts:?}");
    assert!(facts.next_due.is_some());
    // The site's own clock stands at a morning of 2026-11-28.
    let (facts, _) = mirror(Arc::new(site.clock.clone())).look(&mut session).await.expect("a look");
    let now = counterfoil::clock::Clock::wall(&SystemClock);
    let behind = (counterfoil::clock::Clock::wall(&site.clock) - now).num_milliseconds();
    assert!(facts.clock_skew_ms.is_some_and(|skew| (skew - behind).abs() < 5000), "{facts:?}, {behind}");
}
