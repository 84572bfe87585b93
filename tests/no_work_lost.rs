//! No work lost: a leader is killed before and after the commit of every step, and the next one comes to the same digest.
//!
//! The leader that is killed is a process of its own: this very test binary, started again to run [`a_leader_at_work`]
//! alone, with the site in its environment.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use counterfoil::clock::{Clock, ManualClock, SystemClock};
use counterfoil::db::connect::Connector;
use counterfoil::election::term::{Installation, TermStore};
use counterfoil::run::plan::Step;
use counterfoil::run::runner::Runner;
use support::day::{Site, bench, reins, settings};
use support::{BOUND, lease, owner, token};

const SITE: &str = "NO_WORK_LOST_SITE";
const POSTGRES: &str = "NO_WORK_LOST_POSTGRES";
const NOW: &str = "2026-11-28T09:00:00Z";
const PATIENCE: Duration = Duration::from_mins(2);

/// The process that is killed; where no site is given, there is nothing to do.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_at_work() {
    let (Ok(folder), Ok(url)) = (std::env::var(SITE), std::env::var(POSTGRES)) else { return };
    let connector = Connector::new(&url, "killed").expect("a url");
    let mut store = TermStore::new(connector.clone(), Duration::from_secs(10));
    let installed = store.install(&lease(), token(1), &owner("killed"), BOUND).await.expect("an answer");
    let Installation::Installed(term) = installed else { unreachable!("{installed:?}") };
    let clock = ManualClock::at(NOW.parse().expect("an instant"));
    let folder = Path::new(&folder);
    let bench = bench(&settings(folder), folder, connector, clock.clone());
    let mut runner = Runner::new(bench, reins(&Arc::new(term), &clock));
    runner.pass().await.expect("a look");
    clock.advance(Duration::from_secs(11));
    runner.pass().await.expect("the day");
    // Its run is complete, and the next pass, which would plan, never begins.
    std::future::pending::<()>().await;
}

/// Starts it; it is killed with the guard, whatever becomes of the test.
struct Leader(Child);

impl Leader {
    fn start(site: &Site) -> Self {
        let child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "a_leader_at_work", "--nocapture"])
            .env(SITE, site.folder.path())
            .env(POSTGRES, site.database.url())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        Self(child)
    }

    /// SIGKILL, and nothing is left of it.
    fn kill(mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("gone");
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kills a leader at a point, lets another one finish, and says which steps the first one had committed.
async fn killed_at(point: &str) -> Vec<String> {
    let site = Site::of_the_example().await;
    site.database.mark_throwaway().await.expect("marked");
    let mut hold = site.database.hold(point).await.expect("held");
    let leader = Leader::start(&site);
    let reached = hold.reached(PATIENCE).await.expect("looked");
    assert!(
        reached.is_some_and(|waiting| waiting.application == "counterfoil/killed/write"),
        "{point} was not reached"
    );
    leader.kill();
    hold.release().await.expect("released");

    let mut runner = site.lead(2, "b").await;
    let pass = site.day(&mut runner).await;
    assert_eq!(pass.unfinished, 0, "{point}: {:?}", site.states().await);
    assert_eq!(site.digests().await, site.digests_in_memory(), "{point}");
    let run: Vec<(String, String)> = site.rows("SELECT status, digest FROM counterfoil.run").await;
    assert_eq!(run, [("complete".to_owned(), site.in_memory().digest.to_string())], "{point}");
    let steps: Vec<(String, i64)> =
        site.rows("SELECT step, token FROM counterfoil.checkpoint ORDER BY transaction::text::bigint").await;
    assert_eq!(steps.len(), 17, "{point}: each step is committed once: {steps:?}");
    steps.into_iter().filter(|(_, token)| *token == 1).map(|(step, _)| step).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_commit_of_any_step_the_day_comes_to_the_same_digest() {
    for step in Step::ALL {
        let committed = killed_at(step.name()).await;
        assert!(!committed.contains(&step.name().to_owned()), "{step} was not committed: {committed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_commit_of_any_step_the_day_comes_to_the_same_digest() {
    for step in Step::ALL {
        let committed = killed_at(&format!("{}:committed", step.name())).await;
        assert!(committed.contains(&step.name().to_owned()), "{step} was committed: {committed:?}");
    }
}

/// R5: the run is complete, and its leader dies before it looks at what is due next.
#[tokio::test(flavor = "multi_thread")]
async fn r5_a_leader_killed_when_its_run_is_complete_leaves_nothing_to_be_run_again() {
    let site = Site::of_the_example().await;
    let leader = Leader::start(&site);
    let run = "SELECT business_date::text || ' ' || status || ' ' || digest || ' ' || finished_at::text || ' ' || token \
               FROM counterfoil.run WHERE status = 'complete'";
    let mut done: Vec<(String,)> = Vec::new();
    let begin = SystemClock.now();
    while done.is_empty() {
        assert!(SystemClock.now().since(begin) < PATIENCE, "the run was never complete");
        tokio::time::sleep(Duration::from_millis(5)).await;
        done = site.rows(run).await;
    }
    leader.kill();
    let written = "SELECT coalesce(max(transaction::text::bigint), 0) + count(*) FROM counterfoil.checkpoint";
    let before = site.count(written).await;

    let mut runner = site.lead(2, "b").await;
    assert_eq!(runner.pass().await.expect("the first pass").planned, 0);
    assert_eq!(site.day(&mut runner).await.unfinished, 0);
    assert_eq!(site.rows::<(String,)>(run).await, done, "as its leader left it");
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.run").await, 1);
    assert_eq!(site.count(written).await, before, "no step is committed again");
    let summary = site.path("outbox/2026-11-27/summary.txt");
    assert!(summary.exists(), "what was not published yet is");
}
