//! One writer, no day missed, no work lost: under any mix of faults.
//!
//! Three real workers, a Redis with an asynchronous standby and a Postgres, each wire between them ours. While the storm
//! lasts, one business date after the other is delivered and asked for. Then the weather calms down, the last date is
//! waited for, and the history is judged: by what Postgres wrote down, and beside a site that nothing disturbed.
//!
//! `make chaos SECONDS=600 SEED=7`; without, `COUNTERFOIL_CHAOS_SECONDS` (20) and a seed of the moment. Loopback only;
//! every process ends with the test.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

mod days;
mod dice;
mod judge;
mod link;
mod site;
#[path = "../support/mod.rs"]
mod support;
mod watch;
mod weather;

use std::time::Duration;

use counterfoil::clock::{Boot, Clock, SystemClock};
use days::{Day, Days};
use judge::{BOUND, Outcome, Verdict};
use site::{Place, Site};
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use watch::Seen;
use weather::Weather;

/// How long a date may take once all is well again, and a leader to be found.
const CALM: Duration = Duration::from_secs(90);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// When a date is asked for again: whoever was asked may have died with the question.
const ASK_AGAIN: Duration = Duration::from_secs(4);

#[tokio::test]
async fn under_any_mix_of_faults_each_step_is_committed_once_by_the_term_that_held_and_digests_are_the_undisturbed_ones()
 {
    let seconds = number("COUNTERFOIL_CHAOS_SECONDS").unwrap_or(20);
    let seed = number("COUNTERFOIL_CHAOS_SEED").unwrap_or_else(|| SystemClock.wall().timestamp_millis().unsigned_abs());
    eprintln!("chaos: {seconds} s under seed {seed}");

    let (mut site, place) = Site::raise().await;
    if !site.steps_clocks() {
        eprintln!("chaos: libfaketime is not here: no replica's clock is stepped (apt-get install libfaketime)");
    }
    let seen = Seen::default();
    let mut weather = Weather::new(seed);
    let begun = SystemClock.now();
    let until = begun + Duration::from_secs(seconds);
    let mut days = Days::new(seed);
    let mut done = Vec::new();
    let ended = tokio::select! {
        () = seen.watch(&place) => unreachable!("it looks for ever"),
        () = tokio::time::sleep(Duration::from_secs(seconds) + CALM * 2) => {
            let lasting = weather.lasting();
            panic!("seed {seed}: no end {} s after the storm; lasting {lasting:?}\n{}", (CALM * 2).as_secs(), site.last_words())
        }
        ended = async {
            tokio::join!(
                weather.storm(&mut site, &place, &seen, until),
                reconcile(&place, &mut days, &mut done, until),
            ).1
        } => ended,
    };
    let over = SystemClock.now();
    let mut verdict = Verdict::of(&place.database).await;
    verdict.judge_takeovers(&seen.looks(), &weather.log, begun, over);
    verdict.judge_reigns(&seen.reigns(), &weather.log);
    match ended {
        Ok(()) => verdict.faults.extend(agrees(&place, &undisturbed(&done).await).await),
        Err(why) => verdict.faults.push(why),
    }
    let said = site.last_words();
    site.strike().await;

    eprintln!(
        "chaos: {} business dates, {} steps, {} terms, {} refused writes, {} evictions, {} replicas ended by themselves",
        done.len(),
        verdict.steps,
        verdict.terms,
        verdict.refusals,
        verdict.evictions,
        weather.ended_by_themselves,
    );
    eprintln!("chaos: terms ended by {:?}", verdict.reasons);
    eprintln!(
        "chaos: fair for {BOUND:?} or longer {} times, and nobody led for {:?} of one at most",
        verdict.fair, verdict.leaderless
    );
    eprintln!("chaos: faults {:?}", weather.counts());
    assert!(verdict.faults.is_empty(), "seed {seed}:\n{}\n\n{said}", verdict.faults.join("\n"));
    assert!(verdict.fair > 0, "seed {seed}: the weather was never fair for long enough to judge a takeover by");
    assert!(!done.is_empty(), "seed {seed}: nothing was reconciled:\n{said}");
}

/// What differs from the undisturbed outcome. Reports are published after the commit that completes a date: they are
/// waited for.
async fn agrees(place: &Place, undisturbed: &Outcome) -> Vec<String> {
    let outbox = place.folder.path().join("outbox");
    let until = SystemClock.now() + CALM;
    loop {
        let differences = Outcome::read(&place.database, &outbox).await.differences(undisturbed);
        if differences.is_empty() || SystemClock.now() > until {
            return differences;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Delivers and asks for one date after the other, until the time is over; then the last one is waited for.
async fn reconcile(place: &Place, days: &mut Days, done: &mut Vec<Day>, until: Boot) -> Result<(), String> {
    while SystemClock.now() < until {
        let day = days.next_day();
        place.deliver(&day);
        done.push(day.clone());
        let mut asked = Boot::ZERO;
        while status(place, &day).await.as_deref() != Some("complete") {
            if SystemClock.now() > until + CALM {
                return Err(format!("{} is not complete {} s after the storm", day.date, CALM.as_secs()));
            }
            if SystemClock.now().since(asked) > ASK_AGAIN {
                asked = SystemClock.now();
                // Refused while Postgres is away: asked again.
                let _ = place.operator(&["run", "--date", &day.date.to_string()]).await;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
    Ok(())
}

/// How a date's run stands; none while nobody can be asked.
async fn status(place: &Place, day: &Day) -> Option<String> {
    let ask = async {
        let mut sql = PgConnection::connect(&place.database.superuser_url()).await?;
        sqlx::query_scalar("SELECT status FROM counterfoil.run WHERE business_date = $1")
            .bind(day.date)
            .fetch_optional(&mut sql)
            .await
    };
    tokio::time::timeout(Duration::from_secs(2), ask).await.ok()?.ok()?
}

/// The same dates, one after the other, by one leader on a database of its own, that nothing disturbs.
async fn undisturbed(dates: &[Day]) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    site::lay_out(folder.path());
    let database = counterfoil::scratch::postgres::migrated().await.expect("a migrated database");
    let quiet = support::day::Site::over(folder, database, "2026-11-28T09:00:00Z");
    let mut runner = quiet.lead(1, "quiet").await;
    for day in dates {
        for (name, text) in &day.files {
            std::fs::write(quiet.path("inbox").join(name), text).expect("written");
        }
        let mut session = support::session(&quiet.database).await;
        sqlx::query(
            "INSERT INTO counterfoil.run_request (id, lease, business_date, actor) \
             VALUES (gen_random_uuid(), 'reconciliation', $1, 'test')",
        )
        .bind(day.date)
        .execute(&mut session)
        .await
        .expect("asked");
        let pass = quiet.day(&mut runner).await;
        assert_eq!(pass.unfinished, 0, "{}: {:?}", day.date, quiet.states().await);
    }
    Outcome::read(&quiet.database, &quiet.path("outbox")).await
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}
