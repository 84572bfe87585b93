//! `counterfoil check` says before the first run what a worker would find out the hard way.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot build its input has failed")]

use assert_cmd::Command;
use counterfoil::scratch::postgres::{self, Database};
use counterfoil::scratch::redis::Redis;
use serde_json::Value;
use sqlx::Connection;
use sqlx::postgres::PgConnection;
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
    check_with(folder, postgres, redis, &[])
}

/// As [`check`], with more variables.
fn check_with(folder: &TempDir, postgres: &str, redis: &str, more: &[(&str, &str)]) -> (Value, Option<i32>) {
    let output = Command::cargo_bin("counterfoil")
        .unwrap()
        .args(["check", "--json"])
        .current_dir(folder.path())
        .env_clear()
        .env("COUNTERFOIL__POSTGRES__URL", postgres)
        .env("COUNTERFOIL__REDIS__URL", redis)
        .envs(more.iter().copied())
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
        let problems = problems(&found);
        assert!(problems.len() == 1 && problems[0].contains("a login of its own"), "{login}: {problems:?}");
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
    assert!(problems(&found)[0].contains("DEL '{counterfoil:reconciliation}:holder'"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_lease_s_keys_hold_is_read_and_what_no_election_can_follow_from_is_named() {
    let (database, redis) = servers().await;
    let mut session = redis::Client::open(redis.url()).unwrap().get_multiplexed_async_connection().await.unwrap();
    let (holder, token) = ("{counterfoil:reconciliation}:holder", "{counterfoil:reconciliation}:token");
    let hour = "3600000";
    let cases: [(&[&str], &str); 6] = [
        (&[token, "abc"], "\"abc\""),
        (&[token, "9007199254740991"], "tokens end at"),
        (&[token, "1000000"], "more than a million"),
        (&[holder, "rubbish", "PX", hour], "\"rubbish\""),
        (&[holder, "stranger:1 7", "PX", hour], "\"stranger:1 7\" for another 59m"),
        (&[holder, "stranger:1 99999999999999999", "PX", hour], "no worker writes"),
    ];
    for (set, words) in cases {
        redis::cmd("SET").arg(set).exec_async(&mut session).await.unwrap();
        let (found, code) = check(&folder(), &database.url(), &redis.url());
        let problems = problems(&found);
        assert_eq!((problems.len(), code), (1, Some(1)), "{set:?}: {found}");
        assert!(problems[0].contains(words) && problems[0].contains("redis-cli DEL"), "{set:?}: {found}");
        redis::cmd("DEL").arg(set[0]).exec_async(&mut session).await.unwrap();
    }
    for (set, sound) in [(&[token, "999999"], true), (&[holder, "stranger:1 7"], true)] {
        redis::cmd("SET").arg(set).exec_async(&mut session).await.unwrap();
        let (found, _) = check(&folder(), &database.url(), &redis.url());
        assert_eq!(found["sound"], sound, "{set:?}: {found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_of_another_lease_and_a_lock_held_out_of_reach_are_named() {
    let (database, redis) = servers().await;
    let mut worker = PgConnection::connect(&database.url()).await.unwrap();
    sqlx::query("SELECT counterfoil.install_term('payroll', 1, 'other:1')").execute(&mut worker).await.unwrap();
    let claim = "BEGIN; SELECT counterfoil.enter_term('payroll', 1, 'other:1');
                 INSERT INTO counterfoil.account (id) VALUES ('main'); COMMIT";
    sqlx::raw_sql(claim).execute(&mut worker).await.unwrap();
    let mut owner = PgConnection::connect(&database.owner_url()).await.unwrap();
    let hold = "BEGIN; SELECT pg_advisory_xact_lock_shared(1128682572, counterfoil.lease_key('reconciliation'))";
    sqlx::raw_sql(hold).execute(&mut owner).await.unwrap();
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut owner).await.unwrap();
    let (found, code) = check(&folder(), &database.url(), &redis.url());
    assert_eq!(code, Some(1));
    for words in [
        "main is not worked on: it belongs to lease payroll, not to reconciliation".to_owned(),
        format!("session {pid} of role "),
    ] {
        assert!(problems(&found).iter().any(|says| says.contains(&words)), "{words}: {found}");
    }
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

#[tokio::test(flavor = "multi_thread")]
async fn what_copies_of_redis_mean_for_the_lease_is_said() {
    let (database, redis) = servers().await;
    let (found, code) =
        check_with(&folder(), &database.url(), &redis.url(), &[("COUNTERFOIL__LEASE__WAIT_REPLICAS", "1")]);
    assert_eq!(code, Some(1));
    let problems = problems(&found);
    assert!(problems.len() == 1 && problems[0].contains("no lease can be won"), "{problems:?}");
    let (found, _) = check(&folder(), &database.url(), &redis.url());
    assert!(found.to_string().contains("it has no replicas"), "{found}");
}
