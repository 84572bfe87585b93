//! `counterfoil check` says before the first run what a worker would find out the hard way.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot build its input has failed")]

use assert_cmd::Command;
use counterfoil::scratch::postgres::{self, Database};
use counterfoil::scratch::redis::Redis;
use serde_json::Value;
use tempfile::TempDir;

/// A deployment in a folder: settings with one account, an inbox and an outbox.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["inbox", "outbox"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let settings = "[[accounts]]\nid = \"main\"\nbank = \"001\"\nnumber = \"1234-5\"\ncurrency = \"BRL\"\n\
                    opening = { date = 2026-11-09, bank = \"10.00\", book = \"10.00\" }\n";
    std::fs::write(folder.path().join("counterfoil.toml"), settings).unwrap();
    folder
}

/// Runs the check; what it found and its exit code.
fn check(folder: &TempDir, postgres: &str, redis: &str) -> (Value, Option<i32>) {
    let output = Command::cargo_bin("counterfoil")
        .unwrap()
        .args(["check", "--json"])
        .current_dir(folder.path())
        .env_clear()
        .env("COUNTERFOIL__POSTGRES__URL", postgres)
        .env("COUNTERFOIL__REDIS__URL", redis)
        .output()
        .unwrap();
    let found = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&output.stderr)));
    (found, output.status.code())
}

fn problems(found: &Value) -> Vec<&str> {
    let findings = found["findings"].as_array().unwrap().iter();
    findings.filter(|one| one["severity"] == "problem").map(|one| one["says"].as_str().unwrap()).collect()
}

async fn servers() -> (Database, Redis) {
    (postgres::migrated().await.unwrap(), Redis::start().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_deployment_has_no_problem_and_ends_with_0() {
    let (database, redis) = servers().await;
    let (found, code) = check(&folder(), &database.url(), &redis.url());
    assert_eq!(problems(&found), Vec::<&str>::new());
    assert_eq!((found["sound"].as_bool(), code), (Some(true), Some(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_could_bypass_the_fence_is_named() {
    let (database, redis) = servers().await;
    for login in [database.owner_url(), database.superuser_url()] {
        let (found, code) = check(&folder(), &login, &redis.url());
        assert_eq!(code, Some(1));
        assert!(!problems(&found).is_empty(), "{login}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_may_evict_the_lease_is_named() {
    let (database, redis) = servers().await;
    let client = redis::Client::open(redis.url()).unwrap();
    let mut session = client.get_multiplexed_async_connection().await.unwrap();
    for (name, value) in [("maxmemory", "100mb"), ("maxmemory-policy", "allkeys-lru")] {
        let mut set = redis::cmd("CONFIG");
        set.arg("SET").arg(name).arg(value);
        set.query_async::<()>(&mut session).await.unwrap();
    }
    let (found, code) = check(&folder(), &database.url(), &redis.url());
    assert_eq!(code, Some(1));
    assert!(problems(&found)[0].contains("allkeys-lru"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_key_of_another_type_is_named_with_the_command_that_mends_it() {
    let (database, redis) = servers().await;
    let client = redis::Client::open(redis.url()).unwrap();
    let mut session = client.get_multiplexed_async_connection().await.unwrap();
    let mut push = redis::cmd("RPUSH");
    push.arg("{counterfoil:reconciliation}:holder").arg("x");
    push.query_async::<()>(&mut session).await.unwrap();
    let (found, code) = check(&folder(), &database.url(), &redis.url());
    assert_eq!(code, Some(1));
    assert!(problems(&found)[0].contains("DEL {counterfoil:reconciliation}:holder"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_do_not_answer_and_folders_that_are_not_there_are_problems_all_told_at_once() {
    let folder = folder();
    std::fs::remove_dir(folder.path().join("inbox")).unwrap();
    let nobody = counterfoil::scratch::free_port().unwrap();
    let (found, code) = check(
        &folder,
        &format!("postgres://nobody@127.0.0.1:{nobody}/nothing"),
        &format!("redis://127.0.0.1:{nobody}/"),
    );
    assert_eq!((problems(&found).len(), code), (3, Some(1)), "{found}");
}
