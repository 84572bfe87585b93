//! Promise 1, one writer, and promise 3, no work lost: a step is committed once with its checkpoint or not at all, and
//! whatever becomes of its session, what is reported is Postgres' verdict.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use counterfoil::db::checkpoint::{Checkpoint, Key};
use counterfoil::db::connect::{Connector, Purpose};
use counterfoil::db::fence::{Failure, Fence, FencedTransaction, Outcome, WriteError};
use counterfoil::election::term::{Installation, Term};
use counterfoil::scratch::postgres::{Database, WORKER};
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use support::proxy::{Cut, Proxy};
use support::{BOUND, database, fence, kept, lead, lease, owner, run, session, store, token};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

fn step(key: &str) -> Checkpoint {
    Checkpoint::first(Key::new("acme", "match", key))
}

async fn say(transaction: &mut FencedTransaction, word: &str) -> Result<(), Failure> {
    sqlx::query("INSERT INTO counterfoil.probe VALUES ($1)").bind(word).execute(transaction.sql()).await?;
    Ok(())
}

/// A fence whose sessions go through a proxy.
fn through(proxy: &Proxy, database: &Database, term: &Arc<Term>) -> Fence {
    let connector = Connector::new(&database.url_through(WORKER, proxy.port()), "a").expect("a url");
    Fence::new(Arc::clone(term), connector, CancellationToken::new())
}

#[tokio::test]
async fn a_step_and_its_checkpoint_are_one_commit() {
    let database = database().await;
    let term = lead(&database, 1, "a").await;
    let mut fence = fence(&database, &term);
    let done = fence.write(&step("one"), async |transaction| say(transaction, "one").await.map(|()| 42)).await;
    assert_eq!(done.expect("written"), Outcome::Committed(42));
    let found = step("one").key.find(&mut session(&database).await, &lease()).await.expect("an answer").expect("a row");
    assert_eq!((found.token, found.owner), (token(1), owner("a")));
    let refused = fence
        .write(&step("two"), async |transaction| {
            say(transaction, "two").await?;
            Err::<(), _>(Failure::Step("the input contradicts itself".into()))
        })
        .await;
    assert!(matches!(refused, Err(WriteError::Step(_))), "{refused:?}");
    assert_eq!(step("two").key.find(&mut session(&database).await, &lease()).await.expect("an answer"), None);
    assert_eq!(kept(&database).await, ["one"]);
}

#[tokio::test]
async fn a_step_that_was_done_before_is_told_so_and_keeps_nothing() {
    let database = database().await;
    let first = lead(&database, 1, "a").await;
    let done = fence(&database, &first).write(&step("one"), async |transaction| say(transaction, "first").await).await;
    assert_eq!(done.expect("written"), Outcome::Committed(()));
    let second = lead(&database, 2, "b").await;
    let mut fence = fence(&database, &second);
    let again = fence.write(&step("one"), async |transaction| say(transaction, "second").await).await;
    assert_eq!(again.expect("told"), Outcome::AlreadyDone { by: token(1) });
    // And the session goes on.
    let next = fence.write(&step("two"), async |transaction| say(transaction, "third").await).await;
    assert_eq!(next.expect("written"), Outcome::Committed(()));
    assert_eq!(kept(&database).await, ["first", "third"]);
}

#[tokio::test]
async fn a_database_set_read_only_is_not_written_past_its_default_and_the_step_waits() {
    let database = database().await;
    let term = lead(&database, 1, "a").await;
    let mut admin = PgConnection::connect(&database.superuser_url()).await.expect("the administrator logs in");
    let set = |to: &str| format!("ALTER DATABASE {} {to}", database.name());
    run(&mut admin, &set("SET default_transaction_read_only = on")).await.expect("read-only");
    let mut fence = fence(&database, &term);
    let waits = fence.write(&step("one"), async |transaction| say(transaction, "one").await).await;
    assert!(matches!(&waits, Err(WriteError::Transient(why)) if why.contains("25006")), "{waits:?}");
    run(&mut admin, &set("RESET default_transaction_read_only")).await.expect("writable");
    let done = fence.write(&step("one"), async |transaction| say(transaction, "one").await).await;
    assert_eq!(done.expect("written"), Outcome::Committed(()));
    assert_eq!(kept(&database).await, ["one"]);
}

#[tokio::test]
async fn a_step_before_the_steps_that_it_comes_after_is_a_fault_of_ours() {
    let database = database().await;
    let term = lead(&database, 1, "a").await;
    let mut fence = fence(&database, &term);
    let close = Checkpoint::after(Key::new("acme", "close", "day"), [step("day").key, Key::new("", "book", "day")]);
    let early = fence.write(&close, async |transaction| say(transaction, "early").await).await;
    assert!(matches!(early, Err(WriteError::Bug(_))), "{early:?}");
    for first in [step("day"), Checkpoint::first(Key::new("", "book", "day"))] {
        let done = fence.write(&first, async |_| Ok(())).await;
        assert_eq!(done.expect("written"), Outcome::Committed(()));
    }
    let now = fence.write(&close, async |transaction| say(transaction, "in order").await).await;
    assert_eq!(now.expect("written"), Outcome::Committed(()));
    assert_eq!(kept(&database).await, ["in order"]);
}

#[tokio::test]
async fn a_stale_leader_hears_the_private_code_and_both_tokens() {
    let database = database().await;
    let stale = lead(&database, 1, "a").await;
    let mut fence = fence(&database, &stale);
    let before = fence.write(&step("one"), async |transaction| say(transaction, "one").await).await;
    assert_eq!(before.expect("written"), Outcome::Committed(()));
    lead(&database, 2, "b").await;
    let refused = fence.write(&step("two"), async |transaction| say(transaction, "two").await).await;
    let Err(WriteError::Fenced(fenced)) = refused else { unreachable!("{refused:?}") };
    assert_eq!(
        (fenced.own, fenced.installed, fenced.installed_owner.clone()),
        (token(1), Some(token(2)), Some(owner("b")))
    );
    assert!(fenced.to_string().contains("TF001"), "{fenced}");
    let recorded = fence.record(async |transaction| say(transaction, "three").await).await;
    assert!(matches!(recorded, Err(WriteError::Fenced(_))), "{recorded:?}");
    assert_eq!(kept(&database).await, ["one"]);
}

/// The scenario of the mission: frozen inside the step's transaction, evicted, superseded, woken.
#[tokio::test]
async fn s1_a_leader_frozen_before_its_commit_is_evicted_and_reports_the_verdict_and_not_a_broken_connection() {
    let database = database().await;
    database.mark_throwaway().await.expect("marked");
    let stale = lead(&database, 1, "a").await;
    let mut held = database.hold("match").await.expect("held");
    let proxy = Proxy::before(database.port()).await;
    let mut frozen = JoinSet::new();
    let mut writer = through(&proxy, &database, &stale);
    frozen.spawn(async move { writer.write(&step("day"), async |transaction| say(transaction, "stale").await).await });
    let waiting = held.reached(Duration::from_secs(20)).await.expect("an answer").expect("it came to the point");
    assert_eq!(waiting.application, "counterfoil/a/write");
    proxy.freeze();
    let mut candidate = store(&database);
    let blocked = candidate.install(&lease(), token(2), &owner("b"), BOUND).await.expect("an answer");
    assert_eq!(blocked, Installation::Blocked);
    assert_eq!(candidate.evict(&lease()).await.expect("an answer").evicted, 1);
    let next = lead(&database, 2, "b").await;
    held.release().await.expect("released");
    proxy.thaw();
    let woken = frozen.join_next().await.expect("it ended").expect("no panic");
    let Err(WriteError::Fenced(fenced)) = woken else { unreachable!("{woken:?}") };
    assert_eq!((fenced.own, fenced.installed), (token(1), Some(token(2))));
    assert!(fenced.after.as_ref().is_some_and(|lost| lost.starts_with("57P01")), "{fenced}");
    let done = fence(&database, &next).write(&step("day"), async |transaction| say(transaction, "new").await).await;
    assert_eq!(done.expect("written"), Outcome::Committed(()));
    assert_eq!(kept(&database).await, ["new"]);
}

/// As above, but the one that woke finds its step done: by then its successor had gone on.
#[tokio::test]
async fn s1_a_leader_woken_after_its_successor_did_the_step_is_refused_and_not_told_that_all_is_done() {
    let database = database().await;
    database.mark_throwaway().await.expect("marked");
    let stale = lead(&database, 1, "a").await;
    let mut held = database.hold("match").await.expect("held");
    let proxy = Proxy::before(database.port()).await;
    let mut frozen = JoinSet::new();
    let mut writer = through(&proxy, &database, &stale);
    frozen.spawn(async move { writer.write(&step("day"), async |transaction| say(transaction, "stale").await).await });
    held.reached(Duration::from_secs(20)).await.expect("an answer").expect("it came to the point");
    proxy.freeze();
    // The hold is answered, into the void: what the woken one sends next is its COMMIT.
    held.release().await.expect("released");
    let mut candidate = store(&database);
    let blocked = candidate.install(&lease(), token(2), &owner("b"), BOUND).await.expect("an answer");
    assert_eq!(blocked, Installation::Blocked);
    assert_eq!(candidate.evict(&lease()).await.expect("an answer").evicted, 1);
    let next = lead(&database, 2, "b").await;
    let done = fence(&database, &next).write(&step("day"), async |transaction| say(transaction, "new").await).await;
    assert_eq!(done.expect("written"), Outcome::Committed(()));
    proxy.thaw();
    let woken = frozen.join_next().await.expect("it ended").expect("no panic");
    let Err(WriteError::Fenced(fenced)) = woken else { unreachable!("{woken:?}") };
    assert_eq!((fenced.own, fenced.installed), (token(1), Some(token(2))));
    assert_eq!(kept(&database).await, ["new"]);
}

#[tokio::test]
async fn hold_points_do_not_exist_where_the_database_is_not_marked_throw_away() {
    let database = database().await;
    let term = lead(&database, 1, "a").await;
    let _held = database.hold("match").await.expect("held");
    let done = fence(&database, &term).write(&step("day"), async |transaction| say(transaction, "day").await).await;
    assert_eq!(done.expect("written"), Outcome::Committed(()));
}

#[tokio::test]
async fn a_session_lost_to_an_eviction_that_nobody_followed_is_tried_again_under_the_same_term() {
    let database = database().await;
    let term = lead(&database, 1, "a").await;
    let mut fence = fence(&database, &term);
    let lost = fence
        .write(&step("one"), async |transaction| {
            store(&database).evict(&lease()).await.expect("evicted");
            say(transaction, "one").await
        })
        .await;
    let Err(WriteError::Transient(said)) = lost else { unreachable!("{lost:?}") };
    assert!(said.contains("57P01"), "{said}");
    let again = fence.write(&step("one"), async |transaction| say(transaction, "one").await).await;
    assert_eq!(again.expect("written"), Outcome::Committed(()));
    // A session that died between two steps is replaced without a word.
    run(
        &mut session(&database).await,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'counterfoil/a/write'",
    )
    .await
    .expect("ended");
    let next = fence.write(&step("two"), async |transaction| say(transaction, "two").await).await;
    assert_eq!(next.expect("written"), Outcome::Committed(()));
    assert_eq!(kept(&database).await, ["one", "two"]);
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_found_to_be_done() {
    let database = database().await;
    let term = lead(&database, 1, "a").await;
    let proxy = Proxy::before(database.port()).await;
    let mut fence = through(&proxy, &database, &term);
    proxy.arm(Cut::AfterTheCommit);
    let done = fence.write(&step("one"), async |transaction| say(transaction, "one").await.map(|()| 7)).await;
    assert_eq!(done.expect("found"), Outcome::Committed(7));
    proxy.arm(Cut::AfterTheCommit);
    let recorded = fence.record(async |transaction| say(transaction, "two").await.map(|()| 8)).await;
    assert_eq!(recorded.expect("found"), 8);
    assert_eq!(kept(&database).await, ["one", "two"]);
}

#[tokio::test]
async fn a_commit_that_never_arrived_is_found_not_to_be_done_and_may_be_tried_again() {
    for cut in [Cut::BeforeTheCommit, Cut::Silently] {
        let database = database().await;
        let term = lead(&database, 1, "a").await;
        let proxy = Proxy::before(database.port()).await;
        let mut fence = through(&proxy, &database, &term);
        proxy.arm(cut);
        let lost = fence.write(&step("one"), async |transaction| say(transaction, "one").await).await;
        assert!(matches!(lost, Err(WriteError::Transient(_))), "{cut:?}: {lost:?}");
        assert_eq!(kept(&database).await, [""; 0], "and it cannot come later either");
        proxy.arm(cut);
        let lost = fence.record(async |transaction| say(transaction, "one").await).await;
        assert!(matches!(lost, Err(WriteError::Transient(_))), "{cut:?}: {lost:?}");
        let again = fence.write(&step("one"), async |transaction| say(transaction, "one").await).await;
        assert_eq!(again.expect("written"), Outcome::Committed(()));
        assert_eq!(kept(&database).await, ["one"]);
    }
}

#[tokio::test]
async fn a_commit_that_never_arrived_before_another_led_ends_in_the_verdict() {
    let database = database().await;
    let stale = lead(&database, 1, "a").await;
    let proxy = Proxy::before(database.port()).await;
    let mut fence = through(&proxy, &database, &stale);
    proxy.arm(Cut::BeforeTheCommit);
    let lost = fence
        .write(&step("one"), async |transaction| {
            say(transaction, "one").await?;
            // Between the work and the commit there is no moment for another; so the successor waits in the queue.
            let candidate = async |number| store(&database).install(&lease(), token(number), &owner("b"), BOUND).await;
            assert_eq!(candidate(2).await.expect("an answer"), Installation::Blocked);
            Ok(())
        })
        .await;
    assert!(matches!(lost, Err(WriteError::Transient(_))), "{lost:?}");
    lead(&database, 2, "b").await;
    let verdict = fence.write(&step("one"), async |transaction| say(transaction, "one").await).await;
    assert!(matches!(verdict, Err(WriteError::Fenced(_))), "{verdict:?}");
}

#[tokio::test]
async fn a_transaction_whose_error_was_swallowed_is_not_reported_as_committed() {
    let database = database().await;
    let term = lead(&database, 1, "a").await;
    let mut fence = fence(&database, &term);
    let swallow = async |transaction: &mut FencedTransaction| {
        say(transaction, "lost").await?;
        let _ = run(transaction.sql(), "SELECT 1 / 0").await;
        Ok(())
    };
    let step = fence.write(&step("one"), swallow).await;
    assert!(matches!(step, Err(WriteError::Bug(_))), "{step:?}");
    let recorded = fence.record(swallow).await;
    assert!(matches!(recorded, Err(WriteError::Bug(_))), "{recorded:?}");
    assert_eq!(kept(&database).await, [""; 0]);
}

#[tokio::test]
async fn a_commit_that_a_deferred_constraint_refuses_is_not_tried_for_ever() {
    let database = database().await;
    let term = lead(&database, 1, "a").await;
    let mut owner =
        Connector::new(&database.owner_url(), "test").expect("a url").connect(Purpose::Migrate).await.expect("in");
    let constraint = "ALTER TABLE counterfoil.probe ADD UNIQUE (word) DEFERRABLE INITIALLY DEFERRED";
    run(&mut owner, constraint).await.expect("a deferred constraint");
    let mut fence = fence(&database, &term);
    let twice = async |transaction: &mut FencedTransaction| {
        say(transaction, "same").await?;
        say(transaction, "same").await
    };
    let step = fence.write(&step("one"), twice).await;
    assert!(matches!(step, Err(WriteError::Refused(_))), "{step:?}");
    let recorded = fence.record(twice).await;
    assert!(matches!(recorded, Err(WriteError::Refused(_))), "{recorded:?}");
}

#[tokio::test]
async fn a_term_is_entered_whatever_its_owner_is_called() {
    let database = database().await;
    let term = lead(&database, 1, r"it's \ '); COMMIT; -- é").await;
    let written = fence(&database, &term).record(async |transaction| say(transaction, "one").await).await;
    written.expect("written");
    assert_eq!(kept(&database).await, ["one"]);
}

#[tokio::test]
async fn a_transaction_that_was_ended_by_hand_cannot_write_on() {
    let database = database().await;
    let term = lead(&database, 1, "a").await;
    let ended = fence(&database, &term)
        .write(&step("one"), async |transaction| {
            run(transaction.sql(), "COMMIT").await?;
            say(transaction, "past the fence").await
        })
        .await;
    assert!(matches!(&ended, Err(WriteError::Bug(said)) if said.contains("TF002")), "{ended:?}");
    assert_eq!(kept(&database).await, [""; 0]);
}

#[tokio::test]
async fn work_that_is_told_to_stop_closes_its_session_and_keeps_nothing() {
    let database = database().await;
    let term = lead(&database, 1, "a").await;
    let stop = CancellationToken::new();
    let mut fence = Fence::new(Arc::clone(&term), support::connector(&database, "a"), stop.clone());
    let stopped = fence
        .write(&step("one"), async |transaction| {
            say(transaction, "one").await?;
            stop.cancel();
            run(transaction.sql(), "SELECT pg_sleep(60)").await?;
            Ok(())
        })
        .await;
    assert!(matches!(stopped, Err(WriteError::Stopped)), "{stopped:?}");
    let later = fence.write(&step("one"), async |transaction| say(transaction, "one").await).await;
    assert!(matches!(later, Err(WriteError::Stopped)), "{later:?}");
    // The server's side ended with it, and not only at its next two-second look: nobody has to wait or evict.
    let next = store(&database).install(&lease(), token(2), &owner("b"), BOUND).await;
    assert!(matches!(next, Ok(Installation::Installed(_))), "{next:?}");
    assert_eq!(kept(&database).await, [""; 0]);
}
