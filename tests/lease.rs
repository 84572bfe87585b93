//! The lease against a real Redis.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what it could not go on without")]

#[expect(dead_code, reason = "each suite uses its own part")]
mod common;

use std::time::Duration;

use common::proxy::{Network, Proxy};
use common::{connect, keys, lease_name, signal};
use counterfoil::election::address::RedisAddress;
use counterfoil::election::lease::{Acquisition, Lease, LeaseError, Release, Renewal};
use counterfoil::election::{FencingToken, Owner, StoreId};
use counterfoil::scratch::redis::Redis;
use redis::AsyncTypedCommands;
use rustix::process::Signal;

const TTL: Duration = Duration::from_secs(30);
const LIMIT: Duration = Duration::from_secs(2);

fn at(url: &str) -> RedisAddress {
    RedisAddress::new(url, None).unwrap()
}

fn lease(redis: &Redis) -> Lease {
    Lease::new(at(&redis.url()), &lease_name(), LIMIT)
}

fn owner(name: &str) -> Owner {
    Owner::from_stored(name)
}

fn token(token: u64) -> FencingToken {
    FencingToken::new(token).unwrap()
}

/// A lease that was won: its token, whether it was ours already, whether the floor raised the counter.
type Won = (u64, bool, bool);

fn won(answer: Acquisition) -> Won {
    match answer {
        Acquisition::Won { token, again, raised, .. } => (token.get(), again, raised),
        other => panic!("{other:?}"),
    }
}

fn store(answer: &Acquisition) -> StoreId {
    match answer {
        Acquisition::Won { store, .. } | Acquisition::Elsewhere { store } => *store,
        Acquisition::Held { .. } => panic!("{answer:?}"),
    }
}

async fn broken(lease: &mut Lease) -> String {
    match lease.acquire(&owner("a"), TTL, 0).await {
        Err(LeaseError::Broken(sentence)) => sentence,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn s13_a_lease_has_a_token_and_an_end_from_its_first_instant() {
    let redis = Redis::start().await.unwrap();
    assert_eq!(won(lease(&redis).acquire(&owner("a:1"), TTL, 0).await.unwrap()), (1, false, false));
    let mut outside = connect(&redis).await;
    assert_eq!(outside.get(keys().holder).await.unwrap().as_deref(), Some("a:1 1"));
    let left: i64 = redis::cmd("PTTL").arg(keys().holder).query_async(&mut outside).await.unwrap();
    assert!((29_000..=30_000).contains(&left), "{left}");
}

#[tokio::test]
async fn one_of_two_wins_and_the_other_learns_who_and_for_how_long() {
    let redis = Redis::start().await.unwrap();
    let mut lease = lease(&redis);
    lease.acquire(&owner("a:1"), TTL, 0).await.unwrap();
    match lease.acquire(&owner("b:1"), TTL, 0).await.unwrap() {
        Acquisition::Held { holder, left, mended: false } => {
            assert_eq!(holder, "a:1 1");
            assert!(left > Duration::from_secs(29) && left <= TTL, "{left:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn s12_a_candidacy_whose_answer_was_lost_finds_the_lease_its_own_with_the_same_token() {
    let redis = Redis::start().await.unwrap();
    let proxy = Proxy::to(redis.port());
    let mut lease = Lease::new(at(&proxy.redis_url()), &lease_name(), Duration::from_millis(300));
    // The connection is open and the script known, so that what is lost is the answer and not the question.
    lease.renew(&owner("nobody"), token(1), TTL).await.unwrap();
    let _ = lease.acquire(&owner("other"), Duration::from_millis(1), 0).await.unwrap();
    let mut outside = connect(&redis).await;
    outside.del(keys().holder).await.unwrap();

    proxy.set(Network::Mute);
    let lost = lease.acquire(&owner("a:1"), TTL, 0).await;
    assert!(matches!(lost, Err(LeaseError::Late { .. })), "{lost:?}");
    assert_eq!(outside.get(keys().holder).await.unwrap().as_deref(), Some("a:1 2"));
    proxy.set(Network::Cut);
    proxy.set(Network::Open);
    // The connection was cut: one error, then a new one.
    let mut again = lease.acquire(&owner("a:1"), TTL, 0).await;
    if again.is_err() {
        again = lease.acquire(&owner("a:1"), TTL, 0).await;
    }
    assert_eq!(won(again.unwrap()), (2, true, false));
}

#[tokio::test]
async fn s5_a_renewal_is_refused_once_another_holds_the_lease() {
    let redis = Redis::start().await.unwrap();
    let mut lease = lease(&redis);
    lease.acquire(&owner("a:1"), TTL, 0).await.unwrap();
    assert_eq!(lease.renew(&owner("a:1"), token(1), TTL).await.unwrap(), Renewal::Kept);
    connect(&redis).await.set(keys().holder, "b:1 2").await.unwrap();
    let lost = lease.renew(&owner("a:1"), token(1), TTL).await.unwrap();
    assert_eq!(lost, Renewal::Lost { holder: "b:1 2".to_owned() });
}

#[tokio::test]
async fn s6_a_renewal_does_not_bring_back_a_lease_that_is_gone() {
    let redis = Redis::start().await.unwrap();
    let mut lease = lease(&redis);
    lease.acquire(&owner("a:1"), TTL, 0).await.unwrap();
    let mut outside = connect(&redis).await;
    outside.flushall().await.unwrap();
    assert_eq!(lease.renew(&owner("a:1"), token(1), TTL).await.unwrap(), Renewal::Lost { holder: String::new() });
    assert_eq!(outside.get(keys().holder).await.unwrap(), None);
}

#[tokio::test]
async fn s14_a_late_release_of_an_old_term_leaves_the_new_lease_alone() {
    let redis = Redis::start().await.unwrap();
    let mut lease = lease(&redis);
    lease.acquire(&owner("a:1"), TTL, 0).await.unwrap();
    assert_eq!(lease.release(&owner("a:1"), token(1), true).await.unwrap(), Release::Released { published: true });
    lease.acquire(&owner("a:2"), TTL, 0).await.unwrap();
    assert_eq!(lease.release(&owner("a:1"), token(1), true).await.unwrap(), Release::Gone);
    assert_eq!(lease.renew(&owner("a:2"), token(2), TTL).await.unwrap(), Renewal::Kept);
}

#[tokio::test]
async fn s16_a_redis_that_lost_its_counter_goes_on_from_the_term_that_postgres_holds() {
    let redis = Redis::start().await.unwrap();
    let mut lease = lease(&redis);
    let raised = lease.acquire(&owner("a:1"), TTL, 57).await.unwrap();
    assert_eq!(won(raised), (58, false, true));
    lease.release(&owner("a:1"), token(58), false).await.unwrap();
    assert_eq!(won(lease.acquire(&owner("b:1"), TTL, 58).await.unwrap()), (59, false, false));
}

#[tokio::test]
async fn a_redis_keeps_one_id_through_every_term_and_gets_another_when_it_has_lost_its_data() {
    let redis = Redis::start().await.unwrap();
    let mut lease = lease(&redis);
    let first = store(&lease.acquire(&owner("a:1"), TTL, 0).await.unwrap());
    assert_eq!(store(&lease.acquire(&owner("a:1"), TTL, 0).await.unwrap()), first, "ours already");
    lease.release(&owner("a:1"), token(1), false).await.unwrap();
    assert_eq!(store(&lease.acquire(&owner("b:1"), TTL, 1).await.unwrap()), first);
    let mut outside = connect(&redis).await;
    outside.flushall().await.unwrap();
    assert_ne!(store(&lease.acquire(&owner("c:1"), TTL, 2).await.unwrap()), first);
    outside.set(keys().store, "mine").await.unwrap();
    let sentence = broken(&mut lease).await;
    assert!(sentence.contains(":store holds \"mine\"") && sentence.contains("redis-cli DEL"), "{sentence}");
}

#[tokio::test]
async fn while_a_leader_is_alive_in_another_redis_nothing_is_granted_here() {
    let (one, two) = (Redis::start().await.unwrap(), Redis::start().await.unwrap());
    let home = store(&lease(&one).acquire(&owner("a:1"), TTL, 0).await.unwrap());
    let mut other = lease(&two);
    let refused = other.acquire_beside(&owner("b:1"), TTL, 1, Some(home)).await.unwrap();
    assert!(matches!(refused, Acquisition::Elsewhere { store } if store != home), "{refused:?}");
    let mut outside = connect(&two).await;
    assert_eq!(outside.get(keys().holder).await.unwrap(), None);
    assert_eq!(outside.get(keys().token).await.unwrap(), None, "not even a token was spent");
    // In the leader's own Redis it is as ever: held; and its own where an answer was lost.
    let held = lease(&one).acquire_beside(&owner("c:1"), TTL, 1, Some(home)).await.unwrap();
    assert!(matches!(held, Acquisition::Held { .. }), "{held:?}");
    // Once the leader has gone this Redis is as good as any, and says the id that it was refused by.
    assert_eq!(store(&other.acquire(&owner("b:2"), TTL, 1).await.unwrap()), store(&refused));
}

#[tokio::test]
async fn a_counter_ahead_of_postgres_is_not_turned_back() {
    let redis = Redis::start().await.unwrap();
    connect(&redis).await.set(keys().token, "100").await.unwrap();
    // 9 is below 100 as a number, and above it as text.
    assert_eq!(won(lease(&redis).acquire(&owner("a:1"), TTL, 9).await.unwrap()), (101, false, false));
}

#[tokio::test]
async fn tokens_are_exact_up_to_the_last_one() {
    let redis = Redis::start().await.unwrap();
    let mut lease = lease(&redis);
    let greatest = FencingToken::MAX.get();
    let last = lease.acquire(&owner("a:1"), TTL, greatest - 1).await.unwrap();
    assert_eq!(won(last), (greatest, false, true));
    lease.release(&owner("a:1"), FencingToken::MAX, false).await.unwrap();
    let sentence = broken(&mut lease).await;
    assert!(sentence.contains("{counterfoil:test}:token holds 9007199254740991"), "{sentence}");
}

#[tokio::test]
async fn a_holder_without_an_end_is_given_one_and_reported() {
    let redis = Redis::start().await.unwrap();
    let mut outside = connect(&redis).await;
    outside.set(keys().holder, "somebody 7").await.unwrap();
    let held = lease(&redis).acquire(&owner("a:1"), TTL, 0).await.unwrap();
    assert_eq!(held, Acquisition::Held { holder: "somebody 7".to_owned(), left: TTL, mended: true });
    let left: i64 = redis::cmd("PTTL").arg(keys().holder).query_async(&mut outside).await.unwrap();
    assert!(left > 0, "{left}");
}

#[tokio::test]
async fn keys_that_hold_what_no_worker_writes_are_named_with_what_to_do() {
    let redis = Redis::start().await.unwrap();
    let mut outside = connect(&redis).await;
    let mut lease = lease(&redis);
    let cases: [(&str, &[&str], &str); 7] = [
        (&keys().holder, &["LPUSH", "x"], "is a Redis list"),
        (&keys().holder, &["SET", "rubbish"], "holds \"rubbish\""),
        (&keys().holder, &["SET", "a:1 99999999999999999"], "holds \"a:1 99999999999999999\""),
        (&keys().token, &["SADD", "x"], "is a Redis set"),
        (&keys().token, &["SET", "1.5"], "holds \"1.5\""),
        (&keys().token, &["SET", "9007199254740991"], "tokens end at"),
        (&keys().token, &["SET", "1000000"], "more than a million"),
    ];
    for (key, command, expected) in cases {
        redis::cmd(command[0]).arg(key).arg(command[1]).exec_async(&mut outside).await.unwrap();
        let sentence = broken(&mut lease).await;
        assert!(sentence.contains(expected) && sentence.contains(&format!("DEL '{key}'")), "{sentence}");
        // `counterfoil check` only reads, and comes to the same.
        if command[0] == "SET" {
            let judged = if key == keys().holder {
                keys().fault_of_holder(command[1])
            } else {
                keys().fault_of_counter(command[1], Some(0))
            };
            assert_eq!(judged, Some(sentence));
        }
        // What the sentence says to do is what mends it.
        outside.del(key).await.unwrap();
        assert_eq!(won(lease.acquire(&owner("a"), TTL, 3).await.unwrap()), (4, false, true));
        outside.flushall().await.unwrap();
    }
}

#[tokio::test]
async fn a_key_of_another_type_is_a_lost_lease_to_whoever_renews_it() {
    let redis = Redis::start().await.unwrap();
    let mut outside = connect(&redis).await;
    redis::cmd("LPUSH").arg(keys().holder).arg("x").exec_async(&mut outside).await.unwrap();
    let mut lease = lease(&redis);
    assert!(matches!(lease.renew(&owner("a"), token(1), TTL).await.unwrap(), Renewal::Lost { .. }));
    assert_eq!(lease.release(&owner("a"), token(1), true).await.unwrap(), Release::Gone);
}

#[tokio::test]
async fn an_acl_that_forbids_publishing_does_not_undo_the_release() {
    let redis = Redis::start().await.unwrap();
    let mut outside = connect(&redis).await;
    let rules = ["ACL", "SETUSER", "worker", "on", ">secret", "+@all", "~*", "resetchannels"];
    redis::cmd(rules[0]).arg(&rules[1..]).exec_async(&mut outside).await.unwrap();
    let url = format!("redis://worker:secret@127.0.0.1:{}/", redis.port());
    let mut lease = Lease::new(at(&url), &lease_name(), LIMIT);
    lease.acquire(&owner("a:1"), TTL, 0).await.unwrap();
    assert_eq!(lease.release(&owner("a:1"), token(1), true).await.unwrap(), Release::Released { published: false });
    assert_eq!(outside.get(keys().holder).await.unwrap(), None);
}

#[tokio::test]
async fn a_redis_that_forgot_the_scripts_is_taught_them_again() {
    let redis = Redis::start().await.unwrap();
    let mut lease = lease(&redis);
    lease.acquire(&owner("a:1"), TTL, 0).await.unwrap();
    lease.renew(&owner("a:1"), token(1), TTL).await.unwrap();
    redis::cmd("SCRIPT").arg("FLUSH").exec_async(&mut connect(&redis).await).await.unwrap();
    assert_eq!(lease.renew(&owner("a:1"), token(1), TTL).await.unwrap(), Renewal::Kept);
}

#[tokio::test]
async fn s18_a_demoted_primary_is_dialled_anew_and_its_refusal_is_passing() {
    let redis = Redis::start().await.unwrap();
    let mut lease = lease(&redis);
    lease.acquire(&owner("a:1"), TTL, 0).await.unwrap();
    let mut outside = connect(&redis).await;
    let before = dialled(&mut outside).await;
    redis::cmd("REPLICAOF").arg("127.0.0.1").arg("1").exec_async(&mut outside).await.unwrap();
    let refused = lease.renew(&owner("a:1"), token(1), TTL).await;
    assert!(matches!(&refused, Err(error @ LeaseError::Server(_)) if !error.is_unknown()), "{refused:?}");
    redis::cmd("REPLICAOF").arg("NO").arg("ONE").exec_async(&mut outside).await.unwrap();
    assert_eq!(lease.renew(&owner("a:1"), token(1), TTL).await.unwrap(), Renewal::Kept);
    assert_eq!(dialled(&mut outside).await, before + 1, "READONLY means another address may answer: dial again");
}

#[tokio::test]
async fn s19_a_connection_that_leads_nowhere_is_given_up_after_two_time_outs() {
    let redis = Redis::start().await.unwrap();
    let proxy = Proxy::to(redis.port());
    let mut lease = Lease::new(at(&proxy.redis_url()), &lease_name(), Duration::from_millis(200));
    lease.acquire(&owner("a:1"), TTL, 0).await.unwrap();
    lease.renew(&owner("a:1"), token(1), TTL).await.unwrap();
    let mut outside = connect(&redis).await;
    let before = dialled(&mut outside).await;
    proxy.set(Network::Hole);
    for _ in 0..2 {
        let late = lease.renew(&owner("a:1"), token(1), TTL).await;
        assert!(matches!(late, Err(LeaseError::Late { .. })), "{late:?}");
    }
    proxy.set(Network::Open);
    assert_eq!(lease.renew(&owner("a:1"), token(1), TTL).await.unwrap(), Renewal::Kept);
    assert_eq!(dialled(&mut outside).await, before + 1);
}

#[tokio::test]
async fn a_frozen_redis_times_out_and_is_used_again_when_it_thaws() {
    let redis = Redis::start().await.unwrap();
    let mut lease = Lease::new(at(&redis.url()), &lease_name(), Duration::from_millis(200));
    lease.acquire(&owner("a:1"), TTL, 0).await.unwrap();
    let pid = redis.server().pid().unwrap();
    signal(pid, Signal::STOP);
    let late = lease.renew(&owner("a:1"), token(1), TTL).await;
    signal(pid, Signal::CONT);
    assert!(matches!(late, Err(LeaseError::Late { .. })), "{late:?}");
    assert_eq!(lease.renew(&owner("a:1"), token(1), TTL).await.unwrap(), Renewal::Kept);
}

#[tokio::test]
async fn a_redis_that_was_restarted_is_dialled_anew() {
    let redis = Redis::start().await.unwrap();
    let port = redis.port();
    let mut lease = lease(&redis);
    lease.acquire(&owner("a:1"), TTL, 0).await.unwrap();
    redis.stop().await;
    let down = lease.renew(&owner("a:1"), token(1), TTL).await;
    assert!(matches!(&down, Err(error @ LeaseError::Connection(_)) if error.is_unknown()), "{down:?}");
    let _redis = Redis::start_on(port).await.unwrap();
    assert_eq!(won(lease.acquire(&owner("a:2"), TTL, 1).await.unwrap()), (2, false, true));
}

/// How many connections Redis has taken in all.
async fn dialled(outside: &mut redis::aio::MultiplexedConnection) -> u64 {
    let info: String = redis::cmd("INFO").arg("stats").query_async(outside).await.unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix("total_connections_received:")).unwrap();
    line.trim().parse().unwrap()
}
