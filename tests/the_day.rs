//! No day missed: the leader's work over the example's files, on a real Postgres.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

mod support;

use std::time::Duration;

use counterfoil::db::requests::{self, RunRequest};
use counterfoil::run::RunError;
use sqlx::{Connection, PgConnection};
use support::day::{DATE, Site, copy_whole, example};
use support::session;

/// `receivables` and `operating` are in one file, `europe` in another.
const EUROPE: &str = "inbox/bank/europe/statement-2026-11-27.xml";

fn closed(account: &str) -> (String, String, String, Option<String>) {
    (account.to_owned(), DATE.to_owned(), "closed".to_owned(), None)
}

async fn runs(site: &Site) -> Vec<(String, String)> {
    site.rows("SELECT business_date::text, status FROM counterfoil.run ORDER BY business_date").await
}

async fn ask(site: &Site, date: &str, skip_account: Option<&str>) -> uuid::Uuid {
    let request = RunRequest {
        id: uuid::Uuid::new_v4(),
        lease: support::lease(),
        business_date: date.parse().expect("a date"),
        reopen: false,
        skip_account: skip_account.map(str::to_owned),
        reason: Some("the bank is closed for good".to_owned()),
        actor: "somebody".to_owned(),
        asked_at: chrono::DateTime::UNIX_EPOCH,
    };
    requests::ask(&mut session(&site.database).await, &request).await.expect("asked");
    request.id
}

async fn answer(site: &Site, request: uuid::Uuid) -> (bool, String) {
    let answer = requests::answer_to(&mut session(&site.database).await, request).await.expect("an answer");
    let answer = answer.expect("answered");
    (answer.accepted, answer.message)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_closes_the_day_with_the_digest_of_the_reconciliation_in_memory() {
    let site = Site::of_the_example().await;
    let mut runner = site.lead(1, "a").await;
    let pass = site.day(&mut runner).await;
    assert_eq!(site.states().await, ["europe", "operating", "receivables"].map(closed));
    assert_eq!(pass.unfinished, 0);
    assert_eq!(site.digests().await, site.digests_in_memory());
    let run: Vec<(String, String, String)> =
        site.rows("SELECT business_date::text, status, digest FROM counterfoil.run").await;
    assert_eq!(run, [(DATE.to_owned(), "complete".to_owned(), site.in_memory().digest.to_string())]);

    // Everything is committed once, and nothing more is written by asking again.
    let steps = site.count("SELECT count(*) FROM counterfoil.checkpoint").await;
    assert_eq!(steps, 2 + 3 + 3 * 4, "files of statements, files of books, and four steps for each account");
    let before = site.count("SELECT max(transaction::text::bigint) FROM counterfoil.checkpoint").await;
    site.clock.advance(Duration::from_mins(1));
    runner.pass().await.expect("a pass with nothing to do");
    assert_eq!(site.count("SELECT max(transaction::text::bigint) FROM counterfoil.checkpoint").await, before);

    // The outbox holds what was committed, and a new leader puts back what is missing or was changed.
    let report = site.path(&format!("outbox/{DATE}/europe/r0.json"));
    let text = std::fs::read(&report).expect("a report");
    let summary = std::fs::read_to_string(site.path(&format!("outbox/{DATE}/summary.txt"))).expect("a summary");
    assert!(summary.starts_with(&format!("{DATE} · 3 of 3 accounts closed")), "{summary}");
    std::fs::write(&report, "edited").expect("written");
    std::fs::remove_file(site.path(&format!("outbox/{DATE}/summary.txt"))).expect("removed");
    site.lead(2, "b").await.pass().await.expect("the first pass of another leader");
    assert_eq!(std::fs::read(&report).expect("a report"), text);
    assert!(site.path(&format!("outbox/{DATE}/summary.txt")).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_whose_statement_has_not_come_waits_is_named_at_the_deadline_and_closes_when_it_comes() {
    let site = Site::of_the_example().await;
    let kept = std::fs::read(site.path(EUROPE)).expect("the statement");
    std::fs::remove_file(site.path(EUROPE)).expect("removed");
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    let states = site.states().await;
    assert_eq!(states[1..], ["operating", "receivables"].map(closed));
    assert_eq!(states[0].2, "waiting");
    assert_eq!(states[0].3.as_deref(), Some("a statement that covers 2026-11-27 (none has come)"));
    assert_eq!(runs(&site).await, [(DATE.to_owned(), "due".to_owned())]);

    // 10:00 in São Paulo.
    site.clock.set_wall("2026-11-28T13:00:01Z".parse().expect("an instant"));
    runner.pass().await.expect("a pass past the deadline");
    assert_eq!(runs(&site).await, [(DATE.to_owned(), "incomplete".to_owned())]);
    let summary = std::fs::read_to_string(site.path(&format!("outbox/{DATE}/summary.txt"))).expect("a summary");
    assert!(summary.contains("europe · EUR: waiting for a statement that covers 2026-11-27"), "{summary}");

    // Two days late, under another leader. Sunday's runs are Friday's.
    site.clock.set_wall("2026-11-29T13:00:00Z".parse().expect("an instant"));
    std::fs::write(site.path(EUROPE), kept).expect("written");
    let mut runner = site.lead(2, "b").await;
    site.day(&mut runner).await;
    assert_eq!(site.states().await, ["europe", "operating", "receivables"].map(closed));
    assert_eq!(runs(&site).await, [(DATE.to_owned(), "complete".to_owned())]);
    assert_eq!(site.digests().await, site.digests_in_memory());
}

/// The OFX statement again: the bank made up new ids for the same movements, and its time stamp is another one.
fn regenerate(site: &Site) {
    let bytes = std::fs::read(site.path("inbox/bank/extrato-2026-11-27.ofx")).expect("the statement");
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    let again = text.replace("<FITID>2026", "<FITID>9926").replace("20261130060112", "20261130070000");
    assert_ne!(text, again);
    let again: Vec<u8> = again.chars().map(|c| u8::try_from(u32::from(c)).expect("latin")).collect();
    std::fs::write(site.path("inbox/bank/regenerated.ofx"), again).expect("written");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_come_again_overlap_or_were_regenerated_add_nothing() {
    let site = Site::of_the_example().await;
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    let lines = "SELECT (SELECT count(*) FROM counterfoil.bank_line) + (SELECT count(*) FROM counterfoil.book_line)";
    let before = site.count(lines).await;
    assert!(before > 200, "{before}");
    copy_whole(&example().join("inbox"), &site.path("inbox/bank/again"));
    regenerate(&site);
    // The same entries, delivered by another file.
    let book = std::fs::read_to_string(site.path("inbox/book/ledger-brl-2026-11-27.csv")).expect("the books");
    std::fs::write(site.path("inbox/book/later.csv"), book + "\n\n").expect("written");
    site.day(&mut runner).await;
    assert_eq!(site.count(lines).await, before);
    assert_eq!(
        site.count("SELECT count(*) FROM counterfoil.statement WHERE new_lines = 0 AND status = 'accepted'").await,
        2
    );
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.book_batch WHERE lines = 0 AND known > 0").await, 2);
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.account_day").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_came_twice_before_its_day_was_closed_leaves_the_digest_as_it_was() {
    let site = Site::of_the_example().await;
    let once = site.digests_in_memory();
    regenerate(&site);
    let camt = std::fs::read_to_string(site.path(EUROPE)).expect("the statement");
    std::fs::write(site.path("inbox/bank/europe/mailed.xml"), camt.replace('\n', "\r\n")).expect("written");
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.statement WHERE status = 'accepted'").await, 6);
    assert_eq!(site.digests().await, once);
    assert_eq!(site.digests_in_memory(), once);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_written_file_is_not_touched_and_a_broken_one_stops_no_other() {
    let site = Site::of_the_example().await;
    let whole = std::fs::read(site.path(EUROPE)).expect("the statement");
    std::fs::write(site.path(EUROPE), &whole[..whole.len() / 2]).expect("written");
    let mut runner = site.lead(1, "a").await;
    assert!(runner.pass().await.expect("a look").settling);
    site.clock.advance(Duration::from_secs(9));
    std::fs::write(site.path(EUROPE), &whole[..whole.len() - 10]).expect("written");
    runner.pass().await.expect("a look");
    site.clock.advance(Duration::from_secs(9));
    std::fs::write(site.path(EUROPE), &whole).expect("written");
    std::fs::write(site.path("inbox/bank/broken.xml"), &whole[..whole.len() / 2]).expect("written");
    site.day(&mut runner).await;
    assert_eq!(site.states().await, ["europe", "operating", "receivables"].map(closed));
    let refused: Vec<(String, i64)> = site
        .rows(
            "SELECT f.name, (SELECT count(*) FROM counterfoil.statement s WHERE s.sha256 = f.sha256) \
             FROM counterfoil.source_file f WHERE f.status <> 'accepted'",
        )
        .await;
    assert_eq!(refused, [("bank/broken.xml".to_owned(), 0)], "nothing of it is stored, and no half of the other one");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_whose_statement_is_quarantined_waits_and_says_so_and_a_bad_book_file_names_its_line() {
    let site = Site::of_the_example().await;
    let whole = std::fs::read_to_string(site.path(EUROPE)).expect("the statement");
    std::fs::write(site.path(EUROPE), whole.replacen("174603.19", "174603.18", 1)).expect("written");
    let comma = "id,account,date,amount,currency\nx,europe,2026-11-27,1.00,EUR\ny,europe,2026-11-27,\"1,5\",EUR\n";
    std::fs::write(site.path("inbox/book/comma.csv"), comma).expect("written");
    site.day(&mut site.lead(1, "a").await).await;
    let waits = "a statement that covers 2026-11-27 (the one that has come is quarantined)";
    assert_eq!(site.states().await[0].3.as_deref(), Some(waits));
    let (_, missing) = &site.in_memory().waiting[0];
    assert_eq!(missing[0].to_string(), waits);
    let files = counterfoil::db::files::not_taken(&mut session(&site.database).await, &support::lease(), 10)
        .await
        .expect("files");
    let book = files.iter().find(|file| file.name == "book/comma.csv").expect("the book file");
    assert!(book.why.as_deref().is_some_and(|why| why.starts_with("line 3: amount: \"1,5\"")), "{book:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn s31_a_leader_that_dies_before_at_or_after_the_tick_leaves_one_run() {
    for (dies, planned) in [("2026-11-28T08:59:59Z", 0), ("2026-11-28T09:00:00Z", 1), ("2026-11-28T09:00:01Z", 1)] {
        let site = Site::of_the_example().await;
        site.clock.set_wall(dies.parse().expect("an instant"));
        let mut runner = site.lead(1, "a").await;
        assert_eq!(runner.pass().await.expect("a pass").planned, planned, "{dies}");
        drop(runner);
        site.clock.set_wall("2026-11-28T09:00:15Z".parse().expect("an instant"));
        let mut runner = site.lead(2, "b").await;
        assert_eq!(runner.pass().await.expect("the first pass").planned, 1 - planned, "{dies}");
        assert_eq!(runs(&site).await, [(DATE.to_owned(), "due".to_owned())], "{dies}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s32_two_leaders_that_tick_at_a_hand_over_make_one_row() {
    let site = Site::of_the_example().await;
    let mut old = site.lead(1, "a").await;
    site.clock.set_wall("2026-11-28T08:00:00Z".parse().expect("an instant"));
    old.pass().await.expect("nothing is due yet");
    let mut new = site.lead(2, "b").await;
    site.clock.set_wall("2026-11-28T09:00:00Z".parse().expect("an instant"));
    assert_eq!(new.pass().await.expect("it leads").planned, 1);
    match old.pass().await {
        Err(RunError::Fenced(fenced)) => {
            assert_eq!(fenced.installed.map(counterfoil::election::FencingToken::get), Some(2));
        }
        other => unreachable!("the old leader could write: {other:?}"),
    }
    assert_eq!(runs(&site).await, [(DATE.to_owned(), "due".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_date_that_was_asked_for_is_run_ahead_of_the_schedule_and_each_request_is_answered_once() {
    let site = Site::of_the_example().await;
    site.clock.set_wall("2026-11-27T22:00:00Z".parse().expect("an instant")); // the evening before it is due
    let asked = ask(&site, DATE, None).await;
    let weekend = ask(&site, "2026-11-22", None).await;
    let ahead = ask(&site, "2026-11-30", None).await;
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    assert_eq!(answer(&site, asked).await, (true, "2026-11-27 is run now".to_owned()));
    assert!(answer(&site, weekend).await.1.contains("no business day"));
    assert!(answer(&site, ahead).await.1.contains("lies ahead"));
    assert_eq!(site.states().await, ["europe", "operating", "receivables"].map(closed));
    let again = ask(&site, DATE, None).await;
    runner.pass().await.expect("a pass");
    let (accepted, said) = answer(&site, again).await;
    assert!(accepted && said.starts_with("2026-11-27 is complete: "), "what is done is no failure: {said}");
    // The schedule comes to the same date, and finds it there.
    site.clock.set_wall("2026-11-28T09:00:00Z".parse().expect("an instant"));
    assert_eq!(runner.pass().await.expect("a pass").planned, 0);
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.run_answer").await, 4);
    assert_eq!(runs(&site).await, [(DATE.to_owned(), "complete".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_planner_rests_and_an_account_can_be_skipped_with_a_reason() {
    let site = Site::of_the_example().await;
    std::fs::remove_file(site.path(EUROPE)).expect("removed");
    requests::set_pause(&mut session(&site.database).await, &support::lease(), true, Some("audit"), "somebody")
        .await
        .expect("paused");
    let mut runner = site.lead(1, "a").await;
    assert!(site.day(&mut runner).await.paused);
    assert!(runs(&site).await.is_empty());
    requests::set_pause(&mut session(&site.database).await, &support::lease(), false, None, "somebody")
        .await
        .expect("resumed");
    runner.pass().await.expect("a pass");
    let skip = ask(&site, DATE, Some("europe")).await;
    let pass = runner.pass().await.expect("a pass");
    assert_eq!(pass.unfinished, 0);
    assert!(answer(&site, skip).await.0);
    let europe = &site.states().await[0];
    assert_eq!((europe.2.as_str(), europe.3.as_deref()), ("skipped", Some("the bank is closed for good (somebody)")));
    assert_eq!(runs(&site).await, [(DATE.to_owned(), "complete".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_fails_is_tried_so_often_then_fails_its_account_day_and_the_others_go_on() {
    let site = Site::of_the_example().await;
    let mut runner = site.lead(1, "a").await;
    runner.pass().await.expect("a look");
    // Something that the constraint refuses: a line that a match of another day consumes already.
    let mut superuser = PgConnection::connect(&site.database.superuser_url()).await.expect("a session");
    let conflict = "SET session_replication_role = replica; \
         INSERT INTO counterfoil.match_leg (account, business_date, revision, match, side, place, line, consumes) \
         VALUES ('europe', '2026-11-26', 0, 'stray', 'book', 0, 'EU-40950', true)";
    support::run(&mut superuser, conflict).await.expect("a stray row");
    site.clock.advance(Duration::from_secs(11));
    runner.pass().await.expect("the day");
    let europe = &site.states().await[0];
    assert_eq!(europe.2, "failed", "{europe:?}");
    let why = europe.3.as_deref().unwrap_or_default();
    assert!(why.contains("step match was tried 5 times") && why.contains("a_line_is_consumed_once"), "{why}");
    assert_eq!(site.states().await[1..], ["operating", "receivables"].map(closed));
    assert_eq!(runs(&site).await, [(DATE.to_owned(), "failed".to_owned())]);
    runner.pass().await.expect("a pass");
    assert_eq!(
        site.count("SELECT count(*) FROM counterfoil.step_attempt WHERE step = 'match' AND account = 'europe'").await,
        5
    );

    support::run(&mut superuser, "DELETE FROM counterfoil.match_leg WHERE match = 'stray'").await.expect("removed");
    ask(&site, DATE, None).await;
    runner.pass().await.expect("a pass");
    assert_eq!(site.states().await, ["europe", "operating", "receivables"].map(closed));
    assert_eq!(site.digests().await, site.digests_in_memory());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_day_that_another_engine_had_begun_is_begun_again_from_its_manifest() {
    let site = Site::of_the_example().await;
    site.database.mark_throwaway().await.expect("marked");
    let mut hold = site.database.hold("match:committed").await.expect("held");
    let mut runner = site.lead(1, "a").await;
    let day = async {
        runner.pass().await.expect("a look");
        site.clock.advance(Duration::from_secs(11));
        runner.pass().await
    };
    tokio::select! {
        ended = day => unreachable!("nothing was held: {ended:?}"),
        reached = hold.reached(Duration::from_mins(1)) => assert!(reached.expect("looked").is_some()),
    }
    drop(runner);
    hold.release().await.expect("released");
    let mut superuser = PgConnection::connect(&site.database.superuser_url()).await.expect("a session");
    let older = "SET session_replication_role = replica; UPDATE counterfoil.manifest SET engine = '0.0.1'";
    support::run(&mut superuser, older).await.expect("an older engine");
    site.day(&mut site.lead(2, "b").await).await;
    assert_eq!(site.states().await, ["europe", "operating", "receivables"].map(closed));
    assert_eq!(site.digests().await, site.digests_in_memory());
    assert!(site.count("SELECT count(*) FROM counterfoil.manifest WHERE pass = 1").await >= 1);
}
