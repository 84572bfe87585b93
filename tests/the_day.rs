//! No day missed: the leader's work over the example's files, on a real Postgres.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

mod support;

use support::day::{DATE, Site};

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_closes_the_day_with_the_digest_of_the_reconciliation_in_memory() {
    let site = Site::of_the_example().await;
    let mut runner = site.lead(1, "a").await;
    let pass = site.day(&mut runner).await;
    assert_eq!(
        site.states().await.iter().filter(|(_, _, status, _)| status == "closed").count(),
        3,
        "{:?}",
        site.states().await
    );
    assert_eq!(pass.unfinished, 0);
    assert_eq!(site.digests().await, site.digests_in_memory());
    let run: Vec<(String, String, String)> =
        site.rows("SELECT business_date::text, status, digest FROM counterfoil.run").await;
    assert_eq!(run, [(DATE.to_owned(), "complete".to_owned(), site.in_memory().digest.to_string())]);
}
