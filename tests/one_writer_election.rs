//! Promise 1, one writer: keepers that contend for a real lease and install real terms, judged by Postgres' history.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what it could not go on without")]

#[expect(dead_code, reason = "each suite uses its own part")]
mod common;

use std::time::Duration;

use common::proxy::{Network, Proxy};
use common::replica::{Manners, Replica, TIMINGS, leader_of};
use common::{connect, keys, lease_name, signal};
use counterfoil::clock::{Clock, SystemClock};
use counterfoil::election::address::RedisAddress;
use counterfoil::election::keeper::Snapshot;
use counterfoil::election::lease::Lease;
use counterfoil::election::reason::{Ineligible, Reason, Role};
use counterfoil::election::timing::Timings;
use counterfoil::election::{FencingToken, Owner};
use counterfoil::scratch::postgres::{self, Database, OWNER};
use counterfoil::scratch::redis::Redis;
use redis::AsyncTypedCommands;
use rustix::process::Signal;
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Row};

/// One term, as the history has it.
#[derive(Debug)]
struct Past {
    token: i64,
    owner: String,
    reason: Option<String>,
    ended: bool,
}

async fn history(database: &Database) -> Vec<Past> {
    let mut session = PgConnection::connect(&database.url()).await.unwrap();
    let rows = sqlx::query(
        "SELECT t.token, t.owner, t.ended_at IS NOT NULL AS ended, coalesce(s.reason, t.reason) AS reason
         FROM counterfoil.leadership_event t
         LEFT JOIN LATERAL (
             SELECT s.reason FROM counterfoil.leadership_event s
             WHERE s.lease = t.lease AND s.token = t.token AND s.kind = 'step_down' ORDER BY s.id LIMIT 1) s ON true
         WHERE t.kind = 'term' ORDER BY t.id",
    )
    .fetch_all(&mut session)
    .await
    .unwrap();
    rows.iter()
        .map(|row| Past {
            token: row.get("token"),
            owner: row.get("owner"),
            reason: row.get("reason"),
            ended: row.get("ended"),
        })
        .collect()
}

/// Tokens rise strictly, each has its own owner, and no two terms overlap.
async fn judge(database: &Database) -> Vec<Past> {
    let past = history(database).await;
    for pair in past.windows(2) {
        assert!(pair[0].token < pair[1].token && pair[0].owner != pair[1].owner, "{pair:?}");
        assert!(pair[0].ended, "{pair:?}");
    }
    let mut session = PgConnection::connect(&database.url()).await.unwrap();
    let overlaps: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM counterfoil.leadership_event a JOIN counterfoil.leadership_event b ON a.id < b.id
         WHERE a.kind = 'term' AND b.kind = 'term' AND a.ended_at > b.started_at",
    )
    .fetch_one(&mut session)
    .await
    .unwrap();
    assert_eq!(overlaps, 0);
    past
}

async fn servers() -> (Redis, Database) {
    (Redis::start().await.unwrap(), postgres::migrated().await.unwrap())
}

#[tokio::test]
async fn of_three_replicas_one_leads_and_a_clean_release_hands_over_at_once() {
    let (redis, database) = servers().await;
    let names = ["a", "b", "c"];
    // A long lease: who was not woken would sleep for most of it.
    let timings = Timings::default();
    let start = |name: &&str| Replica::with(name, &redis.url(), &database.url(), timings, Manners::Stops);
    let mut replicas: Vec<Replica> = names.iter().map(start).collect();
    let first = leader_of(&replicas.iter().collect::<Vec<_>>()).await;
    for replica in &replicas {
        replica.until("it knows who leads", |now| now.installed.is_some() && now.listening_fault.is_none()).await;
    }
    let leader = replicas.remove(first);
    let clock = SystemClock;
    let begin = clock.now();
    assert!(leader.stop().await.is_clean());
    leader_of(&replicas.iter().collect::<Vec<_>>()).await;
    let took = clock.now().since(begin);
    println!("S24: from the order to stop to the next leader: {took:?}");
    assert!(took < timings.ttl / 3, "S24: nobody was woken: {took:?}");
    let past = judge(&database).await;
    assert_eq!(past.len(), 2, "{past:?}");
    assert_eq!(past[0].reason.as_deref(), Some("shutdown"));
}

#[tokio::test]
async fn s24_where_nobody_can_be_woken_the_next_leads_within_a_ttl_all_the_same() {
    let (redis, database) = servers().await;
    let mut outside = connect(&redis).await;
    let rules = ["SETUSER", "worker", "on", ">secret", "+@all", "~*", "resetchannels"];
    redis::cmd("ACL").arg(&rules).exec_async(&mut outside).await.unwrap();
    let url = format!("redis://worker:secret@127.0.0.1:{}/", redis.port());
    let a = Replica::start("a", &url, &database.url());
    a.leads().await;
    let b = Replica::start("b", &url, &database.url());
    b.until("it knows that it is deaf", |now| {
        now.listening_fault.as_ref().is_some_and(|fault| fault.contains("permission"))
    })
    .await;
    b.until("it knows who leads", |now| now.installed.is_some()).await;
    assert!(a.stop().await.is_clean());
    b.leads().await;
    judge(&database).await;
}

#[tokio::test]
async fn s2_a_renewal_whose_answer_does_not_come_back_extends_no_trust() {
    let (redis, database) = servers().await;
    let proxy = Proxy::to(redis.port());
    let a = Replica::start("a", &proxy.redis_url(), &database.url());
    a.leads().await;
    proxy.set(Network::Mute);
    a.lost(Reason::Expired).await;
    let left: i64 = redis::cmd("PTTL").arg(keys().holder).query_async(&mut connect(&redis).await).await.unwrap();
    assert!(left > 0, "Redis took the renewals, which this replica cannot know: {left}");
}

#[tokio::test]
async fn s3_renewals_that_fail_for_a_moment_change_nothing() {
    let (redis, database) = servers().await;
    let proxy = Proxy::to(redis.port());
    let a = Replica::start("a", &proxy.redis_url(), &database.url());
    let token = a.leads().await;
    a.until("Redis answers", |now| now.redis_fault.is_none()).await;
    proxy.set(Network::Hole);
    a.until("a renewal failed", |now| now.redis_fault.is_some()).await;
    proxy.set(Network::Open);
    a.until("renewals go on", |now| now.redis_fault.is_none()).await;
    assert_eq!(a.leads().await, token);
    assert_eq!(a.given.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn s4_a_leader_cut_off_from_redis_stops_before_the_next_one_begins() {
    let (redis, database) = servers().await;
    let proxy = Proxy::to(redis.port());
    let a = Replica::start("a", &proxy.redis_url(), &database.url());
    a.leads().await;
    let b = Replica::start("b", &redis.url(), &database.url());
    b.until("it knows who leads", |now| now.installed.is_some()).await;
    proxy.set(Network::Cut);
    a.lost(Reason::Expired).await;
    assert!(!b.is_leader(), "the other still waits when trust ends");
    b.leads().await;
    let past = judge(&database).await;
    assert_eq!(past[0].reason.as_deref(), Some("expired"));
}

#[tokio::test]
async fn s5_a_leader_whose_lease_is_another_s_steps_down_and_leaves_it_alone() {
    let (redis, database) = servers().await;
    let a = Replica::start("a", &redis.url(), &database.url());
    a.leads().await;
    let mut outside = connect(&redis).await;
    redis::cmd("SET")
        .arg(keys().holder)
        .arg("other:1 99")
        .arg("PX")
        .arg(60_000)
        .exec_async(&mut outside)
        .await
        .unwrap();
    a.lost(Reason::Lost).await;
    assert_eq!(outside.get(keys().holder).await.unwrap().as_deref(), Some("other:1 99"));
}

#[tokio::test]
async fn s6_s7_s16_a_redis_that_lost_everything_costs_one_hand_over_and_the_tokens_go_on() {
    let (redis, database) = servers().await;
    let a = Replica::start("a", &redis.url(), &database.url());
    let first = a.leads().await;
    connect(&redis).await.flushall().await.unwrap();
    assert_eq!(a.leads_above(first).await, first + 1);
    let past = judge(&database).await;
    assert_eq!(past[0].reason.as_deref(), Some("lost"));
    assert_eq!(past.len(), 2);
}

#[tokio::test]
async fn s8_a_candidate_that_cannot_install_its_term_never_leads_and_gives_the_lease_back() {
    let (redis, database) = servers().await;
    // A writer of another role, which a replica cannot evict.
    let mut blocker = PgConnection::connect(&database.url_as(OWNER)).await.unwrap();
    let lock =
        format!("BEGIN; SELECT pg_advisory_xact_lock_shared(1128682572, counterfoil.lease_key('{}'))", lease_name());
    sqlx::raw_sql(sqlx::AssertSqlSafe(lock)).execute(&mut blocker).await.unwrap();
    let a = Replica::start("a", &redis.url(), &database.url());
    a.lost(Reason::InstallFailed).await;
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut blocker).await.unwrap();
    obstacle(&a, &format!("session {pid} of role {OWNER}")).await;
    let mut outside = connect(&redis).await;
    let counted = outside.get(keys().token).await.unwrap();
    assert_eq!(counted.as_deref(), Some("1"), "one lease was won in vain, and no more");
    let clock = SystemClock;
    let begin = clock.now();
    while clock.now().since(begin) < TIMINGS.ttl * 2 {
        assert_eq!(outside.get(keys().token).await.unwrap(), counted);
    }
    assert_eq!(*a.given.lock().unwrap(), []);
    assert_eq!(history(&database).await.len(), 0);
    blocker.close().await.unwrap();
    a.leads().await;
}

#[tokio::test]
async fn s10_replicas_of_one_name_are_kept_apart() {
    let (redis, database) = servers().await;
    let twins =
        [Replica::start("twin", &redis.url(), &database.url()), Replica::start("twin", &redis.url(), &database.url())];
    let first = leader_of(&[&twins[0], &twins[1]]).await;
    let other = &twins[1 - first];
    other.until("it knows who leads", |now| now.installed.is_some()).await;
    assert_eq!(other.handle.snapshot().standing.role, Role::Follower);
    assert_eq!(judge(&database).await.len(), 1);
}

#[tokio::test]
async fn s11_a_replica_that_was_restarted_does_not_take_up_its_former_lease() {
    let (redis, database) = servers().await;
    let mut before = Lease::new(RedisAddress::new(&redis.url(), None).unwrap(), &lease_name(), Duration::from_secs(2));
    before.acquire(&Owner::from_stored("a:former"), TIMINGS.ttl, 0).await.unwrap();
    let a = Replica::start("a", &redis.url(), &database.url());
    assert_eq!(a.leads().await, 2);
    assert_ne!(judge(&database).await[0].owner, "a:former");
}

#[tokio::test]
async fn s17_a_leader_that_sees_a_newer_term_is_fenced_and_campaigns_again() {
    let (redis, database) = servers().await;
    let a = Replica::start("a", &redis.url(), &database.url());
    let first = a.leads().await;
    let mut session = PgConnection::connect(&database.url()).await.unwrap();
    sqlx::query("SELECT counterfoil.install_term($1, 7, 'other:1')")
        .bind(lease_name().as_str())
        .execute(&mut session)
        .await
        .unwrap();
    a.lost(Reason::Fenced).await;
    assert_eq!(a.leads_above(first).await, 8, "the floor is the term that fenced it");
    judge(&database).await;
}

#[tokio::test]
async fn s23_work_that_does_not_stop_keeps_the_lease_and_fails_the_process() {
    let (redis, database) = servers().await;
    let a = Replica::with("a", &redis.url(), &database.url(), TIMINGS, Manners::Stays);
    a.leads().await;
    let holder = connect(&redis).await.get(keys().holder).await.unwrap();
    let end = a.stop().await;
    assert!(end.to_string().contains("the lease was not released"), "{end}");
    assert_eq!(connect(&redis).await.get(keys().holder).await.unwrap(), holder);
}

/// The runtime of everything but the keepers is this test's thread, which computes: the work that nobody should write.
#[tokio::test]
async fn s26_heartbeats_go_on_while_every_core_and_the_works_runtime_compute() {
    let (redis, database) = servers().await;
    let a = Replica::start("a", &redis.url(), &database.url());
    let token = a.leads().await;
    let mut outside = connect(&redis).await;
    let holder = outside.get(keys().holder).await.unwrap();
    let (clock, span) = (SystemClock, TIMINGS.ttl * 3);
    let begin = clock.now();
    let compute = || {
        let mut sum = 0_u64;
        while clock.now().since(begin) < span {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(1));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(compute);
        }
        compute();
    });
    assert_eq!(outside.get(keys().holder).await.unwrap(), holder, "without a renewal it would have ended twice");
    assert_eq!(a.leads().await, token);
    assert_eq!(judge(&database).await.len(), 1);
}

/// The limit is the database's: work of this replica, of another, or of a stranger that took every session there is.
#[tokio::test]
async fn s27_work_that_has_taken_every_session_of_postgres_leaves_the_lease_alone() {
    let (redis, database) = servers().await;
    let a = Replica::start("a", &redis.url(), &database.url());
    let token = a.leads().await;
    let mut admin = PgConnection::connect(&database.superuser_url()).await.unwrap();
    // Its lines of Postgres both stand: the one that elects, and the one that looks.
    let own =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'counterfoil/a/election'";
    let clock = SystemClock;
    let begin = clock.now();
    while sqlx::query_scalar::<_, i64>(own).bind(database.name()).fetch_one(&mut admin).await.unwrap() < 2 {
        assert!(clock.now().since(begin) < TIMINGS.ttl * 4, "it has not two sessions");
    }
    let limit = format!("ALTER DATABASE {} CONNECTION LIMIT 8", database.name());
    sqlx::raw_sql(sqlx::AssertSqlSafe(limit)).execute(&mut admin).await.unwrap();
    let mut taken = Vec::new();
    let refused = loop {
        match PgConnection::connect(&database.url()).await {
            Ok(session) => taken.push(session),
            Err(error) => break error,
        }
    };
    let code = refused.as_database_error().and_then(sqlx::error::DatabaseError::code);
    assert_eq!(code.as_deref(), Some("53300"), "{refused}");
    let mut view = a.handle.watch();
    let begin = clock.now();
    while clock.now().since(begin) < TIMINGS.ttl * 2 {
        let now = view.borrow_and_update().clone();
        assert_eq!((now.standing.role, now.postgres_fault), (Role::Leader, None));
        tokio::select! {
            _ = view.changed() => {}
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
    }
    assert_eq!(a.leads().await, token);
    drop(taken);
    assert_eq!(judge(&database).await.len(), 1);
}

#[tokio::test]
async fn s28_a_step_without_progress_gives_the_lead_to_another() {
    let (redis, database) = servers().await;
    let timings = Timings { stall_limit: TIMINGS.ttl, ..TIMINGS };
    let a = Replica::with("a", &redis.url(), &database.url(), timings, Manners::Stalls);
    a.leads().await;
    let b = Replica::start("b", &redis.url(), &database.url());
    a.lost(Reason::Stalled).await;
    b.leads().await;
    assert_eq!(judge(&database).await[0].reason.as_deref(), Some("stalled"));
}

#[tokio::test]
async fn r4_a_term_that_begins_before_the_work_is_ready_waits_for_it_and_is_not_dropped() {
    let (redis, database) = servers().await;
    let a = Replica::with("a", &redis.url(), &database.url(), TIMINGS, Manners::ComesLate);
    let token = FencingToken::new(a.leads().await).unwrap();
    let clock = SystemClock;
    let begin = clock.now();
    while a.given.lock().unwrap().is_empty() {
        assert!(clock.now().since(begin) < TIMINGS.ttl * 4, "the term was dropped");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(*a.given.lock().unwrap(), [token]);
    assert_eq!(judge(&database).await.len(), 1);
    // And it is told to stop like any other.
    assert!(a.stop().await.is_clean());
    assert_eq!(judge(&database).await[0].reason.as_deref(), Some("shutdown"));
}

#[tokio::test]
async fn one_that_resigns_lets_another_lead_and_a_late_request_fells_nobody() {
    let (redis, database) = servers().await;
    let a = Replica::start("a", &redis.url(), &database.url());
    let first = a.leads().await;
    let b = Replica::start("b", &redis.url(), &database.url());
    b.until("it listens", |now| now.listening_fault.is_none() && now.installed.is_some()).await;
    let token = FencingToken::new(first).unwrap();
    a.handle.resign(token);
    let second = b.leads().await;
    b.handle.resign(token);
    a.until("it pauses", |now| now.standing.held_back == Some(Ineligible::Resigned)).await;
    assert_eq!(b.leads().await, second);
    assert_eq!(judge(&database).await[0].reason.as_deref(), Some("resigned"));
}

#[tokio::test]
async fn a_redis_that_is_down_is_waited_for_without_a_storm_and_led_again_when_it_is_back() {
    let (redis, database) = servers().await;
    let port = redis.port();
    let replicas = ["a", "b"].map(|name| Replica::start(name, &redis.url(), &database.url()));
    let first = leader_of(&[&replicas[0], &replicas[1]]).await;
    let token = replicas[first].leads().await;
    redis.stop().await;
    replicas[first].lost(Reason::Expired).await;
    for replica in &replicas {
        replica
            .until("it says so", |now| now.redis_fault.as_ref().is_some_and(|fault| fault.contains("refused")))
            .await;
    }
    let _redis = Redis::start_on(port).await.unwrap();
    let next = leader_of(&[&replicas[0], &replicas[1]]).await;
    assert!(replicas[next].leads().await > token);
    judge(&database).await;
}

#[tokio::test]
async fn a_frozen_redis_ends_the_term_and_its_thaw_begins_another() {
    let (redis, database) = servers().await;
    let replicas = ["a", "b", "c"].map(|name| Replica::start(name, &redis.url(), &database.url()));
    let all: Vec<&Replica> = replicas.iter().collect();
    let first = leader_of(&all).await;
    let token = replicas[first].leads().await;
    let pid = redis.server().pid().unwrap();
    signal(pid, Signal::STOP);
    replicas[first].lost(Reason::Expired).await;
    signal(pid, Signal::CONT);
    let next = leader_of(&all).await;
    replicas[next].leads_above(token).await;
    judge(&database).await;
}

/// What stands in the way of any term, as this replica tells it.
async fn obstacle(replica: &Replica, words: &str) -> String {
    let told = |now: &Snapshot| {
        now.standing.held_back == Some(Ineligible::Obstructed)
            && now.held_back_detail.as_ref().is_some_and(|detail| detail.contains(words))
    };
    replica.until(words, told).await.held_back_detail.unwrap()
}

#[tokio::test]
async fn keys_that_hold_something_else_are_told_and_nobody_leads_until_they_are_gone() {
    let (redis, database) = servers().await;
    let mut outside = connect(&redis).await;
    redis::cmd("LPUSH").arg(keys().holder).arg("x").exec_async(&mut outside).await.unwrap();
    let a = Replica::start("a", &redis.url(), &database.url());
    obstacle(&a, "redis-cli DEL '{counterfoil:test}:holder'").await;
    assert_eq!(a.handle.snapshot().redis_fault, None, "Redis itself is well");
    outside.del(keys().holder).await.unwrap();
    a.leads().await;
}

#[tokio::test]
async fn a_counter_that_leaps_wins_nobody_a_lease_and_is_told_until_it_is_gone() {
    let (redis, database) = servers().await;
    let mut outside = connect(&redis).await;
    let replicas = ["a", "b"].map(|name| Replica::start(name, &redis.url(), &database.url()));
    let first = leader_of(&[&replicas[0], &replicas[1]]).await;
    let token = replicas[first].leads().await;
    outside.set(keys().token, "5000000").await.unwrap();
    outside.del(keys().holder).await.unwrap();
    replicas[first].lost(Reason::Lost).await;
    for replica in &replicas {
        obstacle(replica, "DEL '{counterfoil:test}:token'").await;
    }
    // Looked at again in the meantime, and never by winning.
    let mut views = replicas.each_ref().map(|replica| replica.handle.watch());
    let clock = SystemClock;
    let begin = clock.now();
    while clock.now().since(begin) < TIMINGS.ttl * 2 {
        for view in &mut views {
            assert_eq!(view.borrow_and_update().standing.held_back, Some(Ineligible::Obstructed), "it forgot");
        }
        assert_eq!(outside.get(keys().token).await.unwrap().as_deref(), Some("5000000"));
    }
    outside.del(keys().token).await.unwrap();
    let next = leader_of(&[&replicas[0], &replicas[1]]).await;
    assert_eq!(replicas[next].leads().await, token + 1);
    judge(&database).await;
}

#[tokio::test]
async fn a_lease_that_lives_far_longer_than_its_own_is_waited_for_and_said() {
    let (redis, database) = servers().await;
    let mut outside = connect(&redis).await;
    redis::cmd("SET")
        .arg(keys().holder)
        .arg("stranger:1 7")
        .arg("EX")
        .arg(3600)
        .exec_async(&mut outside)
        .await
        .unwrap();
    let a = Replica::start("a", &redis.url(), &database.url());
    let told = a.until("it says whom it waits for", |now| now.waits.is_some()).await;
    let waits = told.waits.unwrap();
    assert_eq!(waits.holder, "stranger:1 7");
    assert!(waits.says.contains("for another 59m") && waits.says.contains("redis-cli DEL"), "{}", waits.says);
    assert_eq!(told.standing.held_back, None, "it may be a leader of longer timings");
    outside.del(keys().holder).await.unwrap();
    a.leads().await;
    assert_eq!(a.handle.snapshot().waits, None);
}

#[tokio::test]
async fn a_postgres_that_is_away_keeps_replicas_from_campaigning_and_they_say_why() {
    let (redis, database) = servers().await;
    let proxy = Proxy::to(database.port());
    proxy.set(Network::Cut);
    let url = database.url_through(postgres::WORKER, proxy.port());
    let a = Replica::start("a", &redis.url(), &url);
    let held = |now: &Snapshot| {
        now.standing.held_back == Some(Ineligible::PostgresUnreachable) && now.held_back_detail.is_some()
    };
    let told = a.until("it says why", held).await;
    assert!(told.postgres_fault.is_some());
    assert_eq!(connect(&redis).await.get(keys().token).await.unwrap(), None, "nothing was asked of Redis");
    proxy.set(Network::Open);
    a.leads().await;
}

#[tokio::test]
async fn a_database_set_read_only_ends_the_term_is_one_verdict_to_all_and_is_led_again_when_it_takes_writes() {
    let (redis, database) = servers().await;
    let replicas = ["a", "b"].map(|name| Replica::start(name, &redis.url(), &database.url()));
    let all = [&replicas[0], &replicas[1]];
    let first = leader_of(&all).await;
    let token = replicas[first].leads().await;
    let mut admin = PgConnection::connect(&database.superuser_url()).await.unwrap();
    let set = |to: &str| sqlx::AssertSqlSafe(format!("ALTER DATABASE {} {to}", database.name()));
    sqlx::raw_sql(set("SET default_transaction_read_only = on")).execute(&mut admin).await.unwrap();
    replicas[first].lost(Reason::Ineligible).await;
    for replica in all {
        let told =
            replica.until("it says why", |now| now.standing.held_back == Some(Ineligible::PostgresReadOnly)).await;
        assert!(told.postgres_fault.unwrap().contains("default_transaction_read_only"));
    }
    // Several looks of each line of both, and no other opinion among them.
    let mut outside = connect(&redis).await;
    let counted = outside.get(keys().token).await.unwrap();
    let mut views = all.map(|replica| replica.handle.watch());
    let clock = SystemClock;
    let begin = clock.now();
    while clock.now().since(begin) < TIMINGS.ttl * 2 {
        for view in &mut views {
            assert!(view.borrow_and_update().postgres_fault.is_some(), "it flapped");
        }
        tokio::select! {
            _ = views[0].changed() => {}
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
    }
    assert_eq!(outside.get(keys().token).await.unwrap(), counted, "nobody won a lease meanwhile");
    sqlx::raw_sql(set("RESET default_transaction_read_only")).execute(&mut admin).await.unwrap();
    let next = leader_of(&all).await;
    assert!(replicas[next].leads().await > token);
    for replica in all {
        replica.until("it is well", |now| now.postgres_fault.is_none()).await;
    }
    judge(&database).await;
}

#[tokio::test]
async fn a_login_that_could_bypass_the_fence_does_not_campaign() {
    let (redis, database) = servers().await;
    let a = Replica::start("a", &redis.url(), &database.owner_url());
    let told = a
        .until("it says why", |now| {
            now.standing.held_back == Some(Ineligible::PrivilegesUnsound) && now.held_back_detail.is_some()
        })
        .await;
    assert!(told.held_back_detail.unwrap().contains(OWNER));
}

#[tokio::test]
async fn an_idle_follower_sends_at_most_two_commands_a_ttl() {
    let (redis, database) = servers().await;
    let a = Replica::start("a", &redis.url(), &database.url());
    a.leads().await;
    let proxy = Proxy::to(redis.port());
    let b = Replica::start("b", &proxy.redis_url(), &database.url());
    b.until("it follows", |now| now.redis_fault.is_none() && now.listening_fault.is_none() && now.installed.is_some())
        .await;
    let before = proxy.requests();
    let ttls = 4;
    tokio::time::sleep(TIMINGS.ttl * ttls).await; // the span that is measured
    let sent = proxy.requests() - before;
    assert!(!b.is_leader());
    assert!(sent <= u64::from(2 * ttls), "{sent} commands in {ttls} ttl");
}
