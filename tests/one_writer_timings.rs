//! Promise 1, one writer: networks that are slow, and replicas whose timings differ, as in a rolling deployment.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what it could not go on without")]

#[expect(dead_code, reason = "each suite uses its own part")]
mod common;

use std::time::Duration;

use common::proxy::{Network, Proxy, SLOW};
use common::replica::{Manners, PATIENCE, Replica, TIMINGS};
use common::{connect, keys};
use counterfoil::clock::{Clock, SystemClock};
use counterfoil::election::reason::Reason;
use counterfoil::election::timing::Timings;
use counterfoil::scratch::postgres::{self, Database};
use counterfoil::scratch::redis::Redis;

/// Three times the ttl of the others.
const LONG: Timings = Timings { ttl: Duration::from_millis(7500), ..TIMINGS };

async fn servers() -> (Redis, Database) {
    (Redis::start().await.unwrap(), postgres::migrated().await.unwrap())
}

/// How long the holder's lease has to live, by Redis' own clock.
async fn left(redis: &Redis) -> Duration {
    let left: i64 = redis::cmd("PTTL").arg(keys().holder).query_async(&mut connect(redis).await).await.unwrap();
    Duration::from_millis(u64::try_from(left).unwrap_or(0))
}

/// S2: the answer is there in the end, when trust is over: the attempt was sent too long ago for it to mean anything.
#[tokio::test]
async fn s2_an_answer_that_comes_after_the_end_of_trust_brings_no_term_back() {
    let (redis, database) = servers().await;
    let proxy = Proxy::to(redis.port());
    let a = Replica::start("a", &proxy.redis_url(), &database.url());
    let first = a.leads().await;
    // Requests wait on the wire, and are carried out and answered when nobody waits for them any more.
    proxy.set(Network::Late);
    a.lost(Reason::Expired).await;
    let before = proxy.late();
    proxy.set(Network::Open);
    let begin = SystemClock.now();
    while proxy.late() == before {
        assert!(SystemClock.now().since(begin) < PATIENCE, "nothing was under way");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    a.leads_above(first).await;
    let given: Vec<u64> = a.given.lock().unwrap().iter().map(|token| token.get()).collect();
    assert_eq!(given[0], first);
    assert!(given.windows(2).all(|pair| pair[0] < pair[1]), "{given:?}");
}

/// R3: an answer takes longer than a heartbeat. The next question waits for it, and they do not pile up.
#[tokio::test]
async fn r3_where_an_answer_takes_longer_than_the_heartbeat_no_question_overtakes_another() {
    let (redis, database) = servers().await;
    let proxy = Proxy::to(redis.port());
    // An answer may be late by more than twice what the network adds before it is given up.
    let timings = Timings { heartbeat: SLOW / 3, attempt_timeout: Duration::from_secs(1), ..TIMINGS };
    let a = Replica::with("a", &proxy.redis_url(), &database.url(), timings, Manners::Stops);
    let token = a.leads().await;
    a.until("all is quiet", |now| now.redis_fault.is_none() && now.listening_fault.is_none()).await;
    proxy.set(Network::Slow);
    proxy.most_unanswered();
    let (before, begin, rounds) = (proxy.requests(), SystemClock.now(), 8);
    while proxy.requests() < before + rounds {
        assert!(SystemClock.now().since(begin) < PATIENCE, "no renewals");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = SystemClock.now().since(begin);
    assert_eq!(proxy.most_unanswered(), 1, "one question at a time");
    assert!(took > SLOW * 6, "answers were slow: {rounds} in {took:?}");
    assert_eq!(a.leads().await, token, "slow is not lost");
    assert_eq!(a.given.lock().unwrap().len(), 1);
}

/// R1: when a lease ends is Redis' to say: who has a short ttl waits for the end of a long one.
#[tokio::test]
async fn r1_a_replica_with_a_shorter_ttl_waits_until_the_longer_lease_has_ended_in_redis() {
    let (redis, database) = servers().await;
    let proxy = Proxy::to(redis.port());
    let long = Replica::with("long", &proxy.redis_url(), &database.url(), LONG, Manners::Stops);
    long.leads().await;
    let short = Replica::start("short", &redis.url(), &database.url());
    short.until("it knows who leads", |now| now.installed.is_some()).await;
    proxy.set(Network::Cut);
    let cut = SystemClock.now();
    let lives = left(&redis).await;
    assert!(lives > TIMINGS.ttl * 2, "a lease of the longer kind: {lives:?}");
    long.lost(Reason::Expired).await;
    assert!(!short.is_leader(), "the longer trust had ended first");
    short.leads().await;
    let waited = SystemClock.now().since(cut);
    assert!(waited >= lives, "it led after {waited:?}, and the lease had {lives:?} to live");
}

/// R1: and who has a long ttl need not wait for it when a short lease has ended.
#[tokio::test]
async fn r1_a_replica_with_a_longer_ttl_takes_a_shorter_lease_when_that_has_ended_in_redis() {
    let (redis, database) = servers().await;
    let proxy = Proxy::to(redis.port());
    let short = Replica::start("short", &proxy.redis_url(), &database.url());
    short.leads().await;
    let long = Replica::with("long", &redis.url(), &database.url(), LONG, Manners::Stops);
    long.until("it knows who leads", |now| now.installed.is_some()).await;
    proxy.set(Network::Cut);
    let cut = SystemClock.now();
    short.lost(Reason::Expired).await;
    assert!(!long.is_leader(), "the shorter trust had ended first");
    long.leads().await;
    let waited = SystemClock.now().since(cut);
    assert!(waited + Duration::from_secs(1) < LONG.ttl, "it waited {waited:?} for a lease of {:?}", TIMINGS.ttl);
}
