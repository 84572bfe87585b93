//! Books that say A, then B, then A again: a place's newest word counts, and what is not taken is said.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

mod support;

use counterfoil::run::runner::Runner;
use support::day::Site;

const LEDGER: &str = "inbox/book/ledger-brl-2026-11-27.csv";
const BALANCES: &str = "inbox/book/balances-2026-11-27.csv";
const ENTRY: &str = "SELECT b.minor FROM counterfoil.book_line b WHERE id = 'OP-41001' ORDER BY revision";
const BATCHES: &str = "SELECT count(*) FROM counterfoil.book_batch";

/// A day on which no books are complete, so that nothing is closed meanwhile.
async fn site() -> (Site, String, String) {
    let site = Site::of_the_example().await;
    for name in ["inbox/bank/extrato-2026-11-27.ofx", "inbox/bank/europe/statement-2026-11-27.xml"] {
        std::fs::remove_file(site.path(name)).expect("removed");
    }
    let right = std::fs::read_to_string(site.path(LEDGER)).expect("the books");
    let wrong = right.replacen("-4218.45", "-4218.54", 1);
    assert_ne!(right, wrong);
    (site, right, wrong)
}

async fn deliver(site: &Site, runner: &mut Runner, place: &str, books: &str) {
    std::fs::write(site.path(place), books).expect("written");
    site.day(runner).await;
}

async fn revisions(site: &Site) -> Vec<i64> {
    site.rows::<(i64,)>(ENTRY).await.into_iter().map(|(minor,)| minor).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_book_file_that_comes_back_to_what_it_said_before_is_taken_again() {
    let (site, right, wrong) = site().await;
    let stated = std::fs::read_to_string(site.path(BALANCES)).expect("the balances");
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    deliver(&site, &mut runner, LEDGER, &wrong).await;
    deliver(&site, &mut runner, BALANCES, &stated.replace("330249.09", "330249.00")).await;
    deliver(&site, &mut runner, LEDGER, &right).await;
    deliver(&site, &mut runner, BALANCES, &stated).await;
    assert_eq!(revisions(&site).await, [-421_845, -421_854, -421_845]);
    let closing = "SELECT closing FROM counterfoil.book_balance WHERE account = 'operating' ORDER BY seq DESC LIMIT 1";
    assert_eq!(site.count(closing).await, 33_024_909);

    // It lies there untouched: neither another look nor another leader takes it again. And a second return is another one.
    let before = site.count(BATCHES).await;
    let mut runner = site.lead(2, "b").await;
    site.day(&mut runner).await;
    assert_eq!(site.count(BATCHES).await, before);
    deliver(&site, &mut runner, LEDGER, &wrong).await;
    deliver(&site, &mut runner, LEDGER, &right).await;
    assert_eq!(revisions(&site).await, [-421_845, -421_854, -421_845, -421_854, -421_845]);
}

#[tokio::test(flavor = "multi_thread")]
async fn books_that_come_again_under_another_name_are_not_taken_and_it_is_said_where_they_would_undo_something() {
    let (site, right, wrong) = site().await;
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    let left = "SELECT name, why, told FROM counterfoil.file_left ORDER BY name";
    // A copy of what stands is nothing to tell.
    deliver(&site, &mut runner, "inbox/book/copy.csv", &right).await;
    assert_eq!(site.rows::<(String, String, String)>(left).await, []);
    deliver(&site, &mut runner, LEDGER, &wrong).await;
    let before = site.count(BATCHES).await;
    deliver(&site, &mut runner, "inbox/book/mailed.csv", &right).await;
    // The copy lies where it lay: whether it is old or meant is known to no new leader, and it says so too.
    let mut runner = site.lead(2, "b").await;
    site.day(&mut runner).await;
    let told: Vec<(String, String, String)> = site.rows(left).await;
    assert_eq!(site.count(BATCHES).await, before);
    assert_eq!(revisions(&site).await, [-421_845, -421_854]);
    let names: Vec<(&str, &str)> = told.iter().map(|(name, why, _)| (name.as_str(), why.as_str())).collect();
    assert_eq!(names, [("book/copy.csv", "taken_before"), ("book/mailed.csv", "taken_before")]);
    let of = "taken before, as book/ledger-brl-2026-11-27.csv; of it 1 entry came with other content since.";
    assert!(told.iter().all(|(.., told)| told.starts_with(of)), "{told:?}");
    std::fs::remove_file(site.path("inbox/book/mailed.csv")).expect("removed");
    std::fs::remove_file(site.path("inbox/book/copy.csv")).expect("removed");
    runner.pass().await.expect("a look");
    assert_eq!(site.rows::<(String, String, String)>(left).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_read_is_written_down_once_and_stands_in_the_summary_until_it_is_gone() {
    let site = Site::of_the_example().await;
    let large = std::fs::File::create(site.path("inbox/bank/large.ofx")).expect("made");
    large.set_len(counterfoil::inbox::MAX_BYTES + 1).expect("a hole");
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    let left = "SELECT id, name, why, told FROM counterfoil.file_left";
    let told: Vec<(i64, String, String, String)> = site.rows(left).await;
    assert_eq!((told[0].1.as_str(), told[0].2.as_str()), ("bank/large.ofx", "too_large"));
    let summary = std::fs::read_to_string(site.path("outbox/2026-11-27/summary.txt")).expect("a summary");
    let line = "1 file too large to be read: bank/large.ofx (1073741825 bytes; the most is 1073741824)";
    assert!(summary.lines().any(|told| told == line), "{summary}");
    runner.pass().await.expect("a look");
    site.lead(2, "b").await;
    let mut runner = site.lead(3, "b").await;
    site.day(&mut runner).await;
    assert_eq!(site.rows::<(i64, String, String, String)>(left).await, told, "the same row");
    std::fs::remove_file(site.path("inbox/bank/large.ofx")).expect("removed");
    runner.pass().await.expect("a look");
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.file_left").await, 0);
}
