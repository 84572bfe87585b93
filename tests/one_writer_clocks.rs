//! Promise 1, one writer: machines that sleep, and clocks that are set (S30). A replica's own wall clock, which nothing
//! here asks, is set in the storm (`tests/chaos`).

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what it could not go on without")]

#[expect(dead_code, reason = "each suite uses its own part")]
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use common::replica::{Manners, Replica, TIMINGS, leader_of};
use common::{connect, keys, lease_name};
use counterfoil::clock::{Clock, Reading, SystemClock};
use counterfoil::election::reason::Reason;
use counterfoil::scratch::postgres::{self, Database};
use counterfoil::scratch::redis::Redis;
use sqlx::Connection;
use sqlx::postgres::PgConnection;

/// The clocks of a machine that can sleep: then boot time goes on, and awake time does not.
#[derive(Debug, Clone, Default)]
struct Sleeper(Arc<AtomicU64>);

impl Sleeper {
    fn sleep(&self, span: Duration) {
        self.0.fetch_add(u64::try_from(span.as_nanos()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Sleeper {
    fn reading(&self) -> Reading {
        let now = SystemClock.reading();
        Reading { boot: now.boot + Duration::from_nanos(self.0.load(Ordering::SeqCst)), ..now }
    }

    fn wall(&self) -> DateTime<Utc> {
        SystemClock.wall()
    }
}

/// Reasons of the terms that ended, in order; no two terms overlap.
async fn history(database: &Database) -> Vec<Option<String>> {
    let mut session = PgConnection::connect(&database.url()).await.unwrap();
    let overlaps: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM counterfoil.leadership_event a JOIN counterfoil.leadership_event b ON a.id < b.id
         WHERE a.kind = 'term' AND b.kind = 'term' AND (a.token >= b.token OR a.ended_at > b.started_at)",
    )
    .fetch_one(&mut session)
    .await
    .unwrap();
    assert_eq!(overlaps, 0);
    sqlx::query_scalar(
        "SELECT coalesce(s.reason, t.reason) FROM counterfoil.leadership_event t
         LEFT JOIN LATERAL (
             SELECT s.reason FROM counterfoil.leadership_event s
             WHERE s.lease = t.lease AND s.token = t.token AND s.kind = 'step_down' ORDER BY s.id LIMIT 1) s ON true
         WHERE t.lease = $1 AND t.kind = 'term' ORDER BY t.id",
    )
    .bind(lease_name().as_str())
    .fetch_all(&mut session)
    .await
    .unwrap()
}

/// The clock is ours, since a test cannot send its machine to sleep; servers, keeper and wires are real.
#[tokio::test]
async fn s30_a_leader_whose_machine_slept_steps_down_before_anything_else_and_campaigns_anew() {
    let redis = Redis::start().await.unwrap();
    let database = postgres::migrated().await.unwrap();
    let clock = Sleeper::default();
    let a = Replica::by(Arc::new(clock.clone()), "a", &redis.url(), &database.url(), TIMINGS, Manners::Stops);
    let first = a.leads().await;
    let b = Replica::start("b", &redis.url(), &database.url());
    b.until("it knows who leads", |now| now.installed.is_some() && now.listening_fault.is_none()).await;
    clock.sleep(Duration::from_mins(10));
    // The work sees to it that trust was gone before it was told to stop.
    a.lost(Reason::Suspended).await;
    tokio::select! {
        token = a.leads_above(first) => assert!(token > first),
        token = b.leads_above(first) => assert!(token > first),
    }
    assert_eq!(history(&database).await[0].as_deref(), Some("suspended"));
}

/// Redis keeps the end of a lease as an instant of its wall clock, so a clock that is set reaches the lease as an end that
/// comes sooner or later: here the end itself is moved, since libfaketime and Redis' allocator do not bear each other.
async fn set_clock_of(redis: &Redis, forward: Option<Duration>, back: Option<Duration>) {
    let mut outside = connect(redis).await;
    let left: i64 = redis::cmd("PTTL").arg(keys().holder).query_async(&mut outside).await.unwrap();
    let moved = left - millis(forward) + millis(back);
    redis::cmd("PEXPIRE").arg(keys().holder).arg(moved).exec_async(&mut outside).await.unwrap();
}

fn millis(span: Option<Duration>) -> i64 {
    i64::try_from(span.unwrap_or_default().as_millis()).unwrap()
}

/// Set forward, the lease is gone while its leader lives: one hand-over. Set back, it would live an hour too long, which
/// the next renewal mends.
#[tokio::test]
async fn s30_a_redis_whose_clock_is_set_an_hour_forward_costs_one_hand_over_and_set_back_nothing() {
    let redis = Redis::start().await.unwrap();
    let database = postgres::migrated().await.unwrap();
    let replicas = ["a", "b"].map(|name| Replica::start(name, &redis.url(), &database.url()));
    let all = [&replicas[0], &replicas[1]];
    let first = leader_of(&all).await;
    let token = all[first].leads().await;
    let hour = Duration::from_hours(1);
    set_clock_of(&redis, Some(hour), None).await;
    let (next, token) = tokio::select! {
        token = all[0].leads_above(token) => (0, token),
        token = all[1].leads_above(token) => (1, token),
    };

    set_clock_of(&redis, None, Some(hour)).await;
    let (begin, ttl) = (SystemClock.now(), millis(Some(TIMINGS.ttl)));
    let mut outside = connect(&redis).await;
    loop {
        let left: i64 = redis::cmd("PTTL").arg(keys().holder).query_async(&mut outside).await.unwrap();
        if (1..=ttl).contains(&left) {
            break;
        }
        assert!(SystemClock.now().since(begin) < TIMINGS.ttl * 4, "the lease lives for {left} ms");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(all[next].leads().await, token);
    // The other may install its term before the first one has asked again.
    let reasons = history(&database).await;
    assert!(reasons.len() == 2 && reasons[1].is_none(), "{reasons:?}");
    assert!(reasons[0].as_deref().is_some_and(|reason| ["lost", "fenced"].contains(&reason)), "{reasons:?}");
}
