//! Promise 1, one writer, where Redis' answers are lost or a release comes late: whole keepers, a real Redis behind a
//! network that misbehaves, real terms in Postgres.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what it could not go on without")]

#[expect(dead_code, reason = "each suite uses its own part")]
mod common;

use std::time::Duration;

use common::proxy::{Network, Proxy};
use common::replica::{Replica, TIMINGS};
use common::{connect, keys, lease_name};
use counterfoil::clock::{Clock, SystemClock};
use counterfoil::scratch::postgres::{self, Database};
use counterfoil::scratch::redis::Redis;
use redis::AsyncTypedCommands;
use redis::aio::MultiplexedConnection;
use sqlx::Connection;
use sqlx::postgres::PgConnection;

async fn servers() -> (Redis, Database) {
    (Redis::start().await.unwrap(), postgres::migrated().await.unwrap())
}

/// Looks at Redis from outside until a replica of this name holds the lease: the holder's value.
async fn held_by(outside: &mut MultiplexedConnection, node: &str) -> String {
    for _ in 0..8000 {
        if let Some(holder) = outside.get(keys().holder).await.unwrap()
            && holder.starts_with(&format!("{node}:"))
        {
            return holder;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{node} never held the lease");
}

/// Looks at Redis from outside until so many replicas have called a script.
async fn has_asked(outside: &mut MultiplexedConnection, replicas: usize) {
    for _ in 0..8000 {
        let clients: String = redis::cmd("CLIENT").arg("LIST").query_async(outside).await.unwrap();
        if clients.lines().filter(|client| client.contains(" cmd=evalsha ")).count() >= replicas {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{replicas} replicas never asked");
}

async fn installed_owner(database: &Database) -> String {
    let mut session = PgConnection::connect(&database.url()).await.unwrap();
    sqlx::query_scalar("SELECT owner FROM counterfoil.leader_term WHERE lease = $1")
        .bind(lease_name().as_str())
        .fetch_one(&mut session)
        .await
        .unwrap()
}

/// S12: the acquire reaches Redis and its answer is lost. The next try, as the same owner, finds the lease its own, with
/// the same token, long before the ttl would have ended.
#[tokio::test]
async fn s12_a_lease_whose_granting_was_not_heard_is_taken_up_with_the_same_token_and_leaves_no_hole() {
    let (redis, database) = servers().await;
    let a = Replica::start("a", &redis.url(), &database.url());
    assert_eq!(a.leads().await, 1);
    let proxy = Proxy::to(redis.port());
    let b = Replica::start("b", &proxy.redis_url(), &database.url());
    let mut outside = connect(&redis).await;
    has_asked(&mut outside, 2).await;
    // Its answer has come by the time at which the leader has renewed once more; it will not ask again for a ttl.
    let before = a.handle.snapshot().standing.trusted_until;
    a.until("it renews", |now| now.standing.trusted_until > before).await;
    proxy.set(Network::Mute);
    assert!(a.stop().await.is_clean());
    let holder = held_by(&mut outside, "b").await;
    let clock = SystemClock;
    let granted = clock.now();
    assert!(!b.is_leader(), "it cannot know");
    proxy.set(Network::Cut);
    proxy.set(Network::Open);
    assert_eq!(b.leads().await, 2, "the token that was granted, and no second one");
    let hole = clock.now().since(granted);
    assert!(hole < TIMINGS.ttl, "S12: it waited its own lease out: {hole:?}");
    assert_eq!(format!("{} 2", installed_owner(&database).await), holder, "as the owner that was granted it");
    assert_eq!(outside.get(keys().token).await.unwrap().as_deref(), Some("2"));
}

/// S14: the release of a term that is over arrives when another's has begun. It names its own term, and finds nothing.
#[tokio::test]
async fn s14_a_release_that_arrives_in_the_next_term_leaves_its_lease_alone() {
    let (redis, database) = servers().await;
    // Redis has to know the script, or the late call would only be answered that it does not.
    let before = Replica::start("before", &redis.url(), &database.url());
    before.leads().await;
    assert!(before.stop().await.is_clean());
    let proxy = Proxy::to(redis.port());
    let a = Replica::start("a", &proxy.redis_url(), &database.url());
    assert_eq!(a.leads().await, 2);
    let b = Replica::start("b", &redis.url(), &database.url());
    b.until("it knows who leads", |now| now.installed.is_some()).await;
    proxy.set(Network::Late);
    assert!(a.stop().await.is_clean(), "it gave the release up, unanswered");
    assert_eq!(b.leads().await, 3);
    let mut outside = connect(&redis).await;
    let holder = held_by(&mut outside, "b").await;
    assert_eq!(proxy.late(), 0);
    proxy.set(Network::Open);
    for _ in 0..8000 {
        if proxy.late() > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(proxy.late() > 0, "the release was under way");
    let before = b.handle.snapshot().standing.trusted_until;
    b.until("it goes on renewing", |now| now.standing.trusted_until > before).await;
    assert_eq!(outside.get(keys().holder).await.unwrap(), Some(holder), "S14: another's lease was released");
    assert_eq!(b.leads().await, 3);
    assert_eq!(b.given.lock().unwrap().len(), 1, "its term was never interrupted");
}
