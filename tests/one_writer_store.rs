//! Which Redis a term was won in: while its leader is alive, no lease of another Redis replaces it, on real servers.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it could not go on without"
)]

#[expect(dead_code, reason = "each suite uses its own part")]
mod common;
mod support;

use std::time::Duration;

use common::connect;
use common::replica::{PATIENCE, Replica, TIMINGS, leader_of};
use counterfoil::clock::{Clock, SystemClock};
use counterfoil::election::StoreId;
use counterfoil::election::reason::Ineligible;
use counterfoil::election::term::{Installation, TermStore};
use counterfoil::scratch::postgres::{self, Database};
use counterfoil::scratch::redis::Redis;
use redis::AsyncTypedCommands;
use sqlx::postgres::PgConnection;
use support::{BOUND, lease, owner, session, store, token};
use uuid::Uuid;

const HOME: StoreId = StoreId::new(Uuid::from_u128(0x1111_1111 << 96));
const AWAY: StoreId = StoreId::new(Uuid::from_u128(0x2222_2222 << 96));

async fn install(store: &mut TermStore, number: u64, node: &str, redis: Option<StoreId>) -> Installation {
    store.install_won_in(&lease(), token(number), &owner(node), redis, BOUND).await.expect("an answer")
}

/// Waits until Postgres says so, or not so, of the leader of the installed term.
async fn until_alive(database: &Database, alive: bool) {
    let mut session = session(database).await;
    let clock = SystemClock;
    let begin = clock.now();
    loop {
        let now: Option<bool> = sqlx::query_scalar("SELECT counterfoil.is_alive(owner) FROM counterfoil.leader_term")
            .fetch_optional(&mut session)
            .await
            .unwrap();
        if now == Some(alive) {
            return;
        }
        assert!(clock.now().since(begin) < PATIENCE, "alive: {now:?}, and not {alive}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn installed_store(session: &mut PgConnection) -> Option<Uuid> {
    sqlx::query_scalar("SELECT store FROM counterfoil.leader_term").fetch_one(session).await.unwrap()
}

#[tokio::test]
async fn while_its_leader_is_alive_a_term_is_replaced_out_of_its_own_redis_alone() {
    let database = postgres::migrated().await.expect("a migrated database");
    let mut leader = store(&database);
    let first = install(&mut leader, 1, "a", Some(HOME)).await;
    assert!(matches!(first, Installation::Installed(_)), "{first:?}");
    assert_eq!(store(&database).incumbent(&lease()).await.unwrap(), Some(HOME));

    let mut other = store(&database);
    let Installation::Elsewhere(sentence) = install(&mut other, 2, "b", Some(AWAY)).await else {
        panic!("another Redis took the term of a leader that is alive");
    };
    for part in ["22222222", "11111111", "a:1", "redis.url"] {
        assert!(sentence.contains(part), "{part}: {sentence}");
    }
    // Out of the same Redis it is replaced as ever: the leader may be frozen, or cut off, and its session stand.
    let mut next = store(&database);
    assert!(matches!(install(&mut next, 2, "c", Some(HOME)).await, Installation::Installed(_)));
    drop(next);
    until_alive(&database, false).await;
    assert_eq!(store(&database).incumbent(&lease()).await.unwrap(), None);
    assert!(matches!(install(&mut other, 3, "b", Some(AWAY)).await, Installation::Installed(_)));
    other.stand_down().await;
    until_alive(&database, false).await;
    assert!(matches!(install(&mut leader, 4, "a", Some(HOME)).await, Installation::Installed(_)));
}

#[tokio::test]
async fn a_leader_that_says_nothing_any_more_is_not_waited_for() {
    let database = postgres::migrated().await.expect("a migrated database");
    let mut frozen = store(&database);
    assert!(matches!(install(&mut frozen, 1, "a", Some(HOME)).await, Installation::Installed(_)));
    // As every heartbeat does, and then none comes: its session stays open, and Postgres ends it.
    frozen.stand(&owner("a"), Duration::from_millis(300)).await.unwrap();
    until_alive(&database, false).await;
    // It wakes: its next heartbeat says that it is there again, on a new session.
    let _ = frozen.stand(&owner("a"), Duration::from_mins(1)).await;
    frozen.stand(&owner("a"), Duration::from_mins(1)).await.unwrap();
    until_alive(&database, true).await;
}

#[tokio::test]
async fn a_leader_whose_session_is_ended_says_with_its_next_heartbeat_that_it_is_there() {
    let (redis, database) = (Redis::start().await.unwrap(), postgres::migrated().await.unwrap());
    let replica = Replica::start("a", &redis.url(), &database.url());
    let token = replica.leads().await;
    until_alive(&database, true).await;
    let mut outside = session(&database).await;
    let ended: i64 = sqlx::query_scalar(
        "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_locks
         WHERE locktype = 'advisory' AND classid = 1128682561::oid AND granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    )
    .fetch_one(&mut outside)
    .await
    .unwrap();
    assert_eq!(ended, 1);
    until_alive(&database, true).await;
    assert_eq!(replica.leads().await, token, "and nothing else came of it");
    replica.stop().await;
    until_alive(&database, false).await;
}

#[tokio::test]
async fn a_redis_that_lost_its_data_is_another_one_and_costs_one_quick_hand_over_and_no_sentence() {
    let (redis, database) = (Redis::start().await.unwrap(), postgres::migrated().await.unwrap());
    let nodes = ["a", "b", "c"];
    let replicas = nodes.map(|node| Replica::start(node, &redis.url(), &database.url()));
    let first = leader_of(&replicas.iter().collect::<Vec<_>>()).await;
    let token = replicas[first].leads().await;
    let mut session = session(&database).await;
    let before = installed_store(&mut session).await;
    let mut views: Vec<_> = replicas.iter().map(|replica| replica.handle.watch()).collect();
    connect(&redis).await.flushall().await.unwrap();
    let clock = SystemClock;
    let flushed = clock.now();
    let mut led = false;
    while !led {
        assert!(clock.now().since(flushed) < PATIENCE, "nobody leads");
        for view in &mut views {
            let standing = view.borrow_and_update().standing.clone();
            assert_ne!(standing.held_back, Some(Ineligible::OtherRedis), "it was told as a wrong one");
            led |= standing.trusted_until.is_some() && standing.token.is_some_and(|found| found.get() > token);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = clock.now().since(flushed);
    println!("led again {took:?} after Redis had lost everything");
    // Nobody is told of it: followers look when the lease would have ended, as ever.
    assert!(took <= TIMINGS.ttl * 2, "{took:?}");
    assert_ne!(installed_store(&mut session).await, before);
    for replica in replicas {
        replica.stop().await;
    }
}
