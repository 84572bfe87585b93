//! Promise 1, one writer: real processes, frozen in the middle of a write and woken when another leads.
//!
//! The replicas are this very test program, started again as [`replica`]: a keeper, and work that does nothing but
//! fenced writes, and that does not listen when it is told to stop. What it believed, it prints; what was true is in
//! Postgres.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what it could not go on without")]

#[expect(dead_code, reason = "each suite uses its own part")]
mod common;

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use common::lease_name;
use common::replica::TIMINGS;
use counterfoil::clock::{Clock, SystemClock};
use counterfoil::db::checkpoint::{Checkpoint, Key};
use counterfoil::db::connect::Connector;
use counterfoil::db::fence::{Fence, Outcome, WriteError};
use counterfoil::election::address::RedisAddress;
use counterfoil::election::keeper::{KeeperSettings, keeper};
use counterfoil::election::reason::Role;
use counterfoil::scratch::postgres::{self, Database};
use counterfoil::scratch::redis::Redis;
use counterfoil::supervisor::Supervisor;
use rustix::process::{Pid, Signal, kill_process};
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tokio_util::sync::CancellationToken;

/// Longer than a transaction of the replica's takes to begin: it is nearly always inside one.
const INSIDE: Duration = Duration::from_millis(300);

// === The replica ===

/// No claim of its own: the process that the others start. Without its environment it has nothing to do.
#[test]
fn replica() {
    let Ok(node) = std::env::var("REPLICA_NODE") else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(be_a_replica(&node));
}

async fn be_a_replica(node: &str) {
    let variable = |name| std::env::var(name).unwrap();
    let postgres = Connector::new(&variable("REPLICA_POSTGRES"), node).unwrap();
    let settings = KeeperSettings {
        node: node.to_owned(),
        lease: lease_name(),
        timings: TIMINGS,
        eligible: true,
        redis: RedisAddress::new(&variable("REPLICA_REDIS"), None).unwrap(),
        wait_replicas: 0,
        postgres: postgres.clone(),
        clock: Arc::new(SystemClock),
        inbox: Arc::new(|| Ok(())),
    };
    let (keeper, handle, mut tenures) = keeper(settings);
    let mut supervisor = Supervisor::new();
    supervisor.thread("keeper", TIMINGS.ttl, move |stop| Ok(keeper.run(&stop)?)).unwrap();
    while let Some(tenure) = tenures.recv().await {
        let token = tenure.term().token().get();
        say(&format!("leads {token}"));
        let mut fence = Fence::new(Arc::clone(tenure.term()), postgres.clone(), CancellationToken::new());
        for number in 0_u32.. {
            let checkpoint = Checkpoint::first(Key::new("", "probe", format!("{token}/{number}")));
            let written = fence
                .write(&checkpoint, async |transaction| {
                    say(&format!("inside {token}"));
                    sqlx::query("SELECT 1").execute(transaction.sql()).await?;
                    tokio::time::sleep(INSIDE).await;
                    Ok(())
                })
                .await;
            match written {
                Ok(Outcome::Committed(()) | Outcome::AlreadyDone { .. }) => {}
                Err(WriteError::Fenced(fenced)) => {
                    say(&format!("refused {token}: {fenced}"));
                    tenure.was_refused(fenced.to_string());
                    break;
                }
                Err(other) => say(&format!("passing {token}: {other}")),
            }
        }
        drop(fence);
        drop(tenure);
        handle.wait_for(|now| now.standing.role == Role::Follower && !now.standing.draining).await.unwrap();
        say(&format!("follows after {token}"));
    }
}

#[expect(clippy::print_stdout, reason = "this process is the replica, and its parent reads this")]
fn say(line: &str) {
    println!("replica: {line}");
}

// === The others ===

struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(node: &str, redis: &Redis, database: &Database) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "replica", "--nocapture", "--test-threads=1"])
            .env("REPLICA_NODE", node)
            .env("REPLICA_REDIS", redis.url())
            .env("REPLICA_POSTGRES", database.url())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads on until it says something that begins so.
    fn until(&mut self, wanted: &str) -> String {
        for line in &mut self.lines {
            let line = line.unwrap();
            if let Some((_, said)) = line.split_once("replica: ")
                && said.starts_with(wanted)
            {
                return said.to_owned();
            }
        }
        panic!("it ended without saying {wanted:?}");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_s29_a_leader_frozen_inside_a_write_is_evicted_and_refused_when_it_wakes() {
    let (redis, database) = (Redis::start().await.unwrap(), postgres::migrated().await.unwrap());
    let mut first = Process::start("first", &redis, &database);
    first.until("leads 1");
    let mut second = Process::start("second", &redis, &database);
    first.until("inside 1");
    first.signal(Signal::STOP);
    let clock = SystemClock;
    let frozen = clock.now();
    second.until("leads 2");
    println!("from the freeze to the next leader, the frozen session evicted: {:?}", clock.now().since(frozen));
    let left = (TIMINGS.ttl * 3).saturating_sub(clock.now().since(frozen));
    tokio::time::sleep(left).await; // three ttl is what the scenario says
    first.signal(Signal::CONT);
    let refused = first.until("refused 1");
    assert!(refused.contains("the installed term is 2 [TF001]"), "{refused}");
    first.until("follows after 1");
    second.until("inside 2");

    let mut session = PgConnection::connect(&database.url()).await.unwrap();
    let stale: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM counterfoil.checkpoint c JOIN counterfoil.leader_term t ON c.token < t.token
         WHERE c.committed_at > t.installed_at",
    )
    .fetch_one(&mut session)
    .await
    .unwrap();
    assert_eq!(stale, 0, "a write of the older term was kept after the newer one was installed");
    let evictions: i64 =
        sqlx::query_scalar("SELECT count(*) FROM counterfoil.leadership_event WHERE kind = 'eviction'")
            .fetch_one(&mut session)
            .await
            .unwrap();
    assert!(evictions >= 1, "the frozen session was in a transaction, and had to be ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_leader_is_followed_within_a_ttl_and_a_little() {
    let (redis, database) = (Redis::start().await.unwrap(), postgres::migrated().await.unwrap());
    let mut first = Process::start("first", &redis, &database);
    first.until("leads 1");
    let mut second = Process::start("second", &redis, &database);
    first.until("inside 1");
    let clock = SystemClock;
    let killed = clock.now();
    first.signal(Signal::KILL);
    second.until("leads 2");
    let took = clock.now().since(killed);
    println!("takeover after SIGKILL: {took:?} (ttl {:?})", TIMINGS.ttl);
    assert!(took < TIMINGS.ttl * 4, "{took:?}");
}
