//! What Redis' own settings mean for a lease.

use std::collections::HashMap;
use std::time::Duration;

use chrono::DateTime;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ProtocolVersion, RedisResult};

use super::postgres::Known;
use super::{Findings, of_clock};
use crate::clock::{Clock, SystemClock};
use crate::election::StoreId;
use crate::election::lease::{self, LeaseKeys};
use crate::settings::Settings;

const LIMIT: Duration = Duration::from_secs(3);

/// Asks Redis what a lease depends on.
pub(super) async fn look(settings: &Settings, known: Option<&Known>, findings: &mut Findings) {
    // `redis.url` is needed, so it is there.
    let Ok(address) = settings.redis() else { return };
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(LIMIT));
    let dialled = tokio::time::timeout(LIMIT * 2, address.dial(None, ProtocolVersion::RESP2, LIMIT, config));
    let mut redis = match dialled.await {
        Ok(Ok(redis)) => redis,
        failed => {
            let why = failed.map_or_else(
                |_| "no answer in time".to_owned(),
                |answer| answer.err().map_or_else(String::new, |error| error.to_string()),
            );
            findings.problem("redis", format!("does not answer: {why}. No replica can lead without it"));
            return;
        }
    };
    let info: String = match redis::cmd("INFO").query_async(&mut redis).await {
        Ok(info) => info,
        Err(error) => {
            findings.warn("redis", format!("INFO is refused ({error}): its role and persistence are not known"));
            String::new()
        }
    };
    let info = fields(&info);
    of_info(&info, findings);
    of_replication(&info, settings.lease.wait_replicas, findings);
    let policy = setting(&mut redis, "maxmemory-policy").await;
    let limit = setting(&mut redis, "maxmemory").await;
    of_policy(policy.as_deref(), limit.as_deref(), findings);
    of_keys(&mut redis, settings, known, findings).await;
    let asked: RedisResult<(i64, u32)> = redis::cmd("TIME").query_async(&mut redis).await;
    if let Ok((seconds, micros)) = asked
        && let Some(theirs) = DateTime::from_timestamp(seconds, micros.saturating_mul(1_000))
    {
        of_clock("redis", theirs - SystemClock.wall(), findings);
    }
}

fn of_info(info: &HashMap<&str, &str>, findings: &mut Findings) {
    let said = |key: &str| info.get(key).copied();
    if let Some(version) = said("redis_version") {
        findings.good("redis", format!("version {version} answers"));
    }
    if said("role") == Some("slave") {
        findings
            .problem("redis", "it is a replica: a lease can only be won on the primary. Correct redis.url".to_owned());
    }
    match said("aof_enabled") {
        Some("1") => findings.good("redis", "the append-only file is on: the token's counter outlives a restart".to_owned()),
        Some(_) => findings.warn(
            "redis",
            "the append-only file is off: after a restart the lease is gone and the counter may go back. The counter is \
             raised to the installed term again; the price is a hand-over"
                .to_owned(),
        ),
        None => {}
    }
}

/// What copies of it mean for the lease.
fn of_replication(info: &HashMap<&str, &str>, wanted: u32, findings: &mut Findings) {
    if info.get("redis_mode") == Some(&"sentinel") {
        findings.problem(
            "redis",
            "this is a Sentinel, which holds no lease: write redis+sentinel://host:port/PRIMARY, and it will name the primary"
                .to_owned(),
        );
        return;
    }
    let Some(replicas) = info.get("connected_slaves").and_then(|count| count.parse::<u32>().ok()) else { return };
    if wanted > replicas {
        findings.problem(
            "redis",
            format!(
                "lease.wait_replicas is {wanted}, and {replicas} replicas of Redis are connected: no lease can be won. \
                 Connect more, or ask for fewer"
            ),
        );
    } else if replicas == 0 {
        findings.good(
            "redis",
            "it has no replicas: if it is lost, so is the lease, and a new one is won elsewhere".to_owned(),
        );
    } else if wanted == 0 {
        findings.good(
            "redis",
            format!(
                "{replicas} replicas copy it, a little later: a failover may lose the lease, which costs a hand-over \
                 (lease.wait_replicas = 1 makes that rare)"
            ),
        );
    } else {
        findings.good("redis", format!("a lease counts as won once {wanted} of {replicas} replicas have it"));
    }
}

fn of_policy(policy: Option<&str>, limit: Option<&str>, findings: &mut Findings) {
    match (policy, limit) {
        (Some("noeviction"), _) => findings.good("redis", "maxmemory-policy is noeviction".to_owned()),
        (Some(policy), Some("0")) => findings.warn(
            "redis",
            format!("maxmemory-policy is {policy}: without a maxmemory nothing is evicted, but set it to noeviction"),
        ),
        (Some(policy), _) => findings.problem(
            "redis",
            format!("maxmemory-policy is {policy}: an evicted key is a lost lease. Set it to noeviction"),
        ),
        (None, _) => findings
            .warn("redis", "CONFIG GET is refused: look yourself that maxmemory-policy is noeviction".to_owned()),
    }
}

/// What the lease's keys hold, by the very rules that an election goes by.
async fn of_keys(
    redis: &mut MultiplexedConnection,
    settings: &Settings,
    known: Option<&Known>,
    findings: &mut Findings,
) {
    let keys = LeaseKeys::of(&settings.lease.name);
    let term = known.and_then(|known| known.term.as_ref());
    let floor = known.map(|known| known.term.as_ref().map_or(0, |term| term.token.get()));
    if let Some(incumbent) = known.and_then(|known| known.incumbent) {
        let store = value(redis, &keys.store, findings).await.and_then(|id| StoreId::from_stored(&id));
        if store == Some(incumbent) {
            findings.good("redis", format!("it is the leader's ({})", incumbent.short()));
        } else {
            findings.problem("redis", lease::elsewhere(store, incumbent));
        }
    }
    if let Some(holder) = value(redis, &keys.holder, findings).await {
        if let Some(fault) = keys.fault_of_holder(&holder) {
            findings.problem("redis", fault);
        } else {
            let left: RedisResult<i64> = redis::cmd("PTTL").arg(&keys.holder).query_async(redis).await;
            let leads = term.is_some_and(|term| holder == format!("{} {}", term.owner, term.token));
            of_holder(&holder, left.ok(), leads, settings.lease.timings.ttl, &keys, findings);
        }
    }
    if let Some(counter) = value(redis, &keys.token, findings).await {
        match keys.fault_of_counter(&counter, floor) {
            Some(fault) => findings.problem("redis", fault),
            None => findings.good("redis", format!("the counter of tokens is at {counter}")),
        }
    }
}

/// A key's text; nothing where it is not there, or no string.
async fn value(redis: &mut MultiplexedConnection, key: &str, findings: &mut Findings) -> Option<String> {
    let kind: RedisResult<String> = redis::cmd("TYPE").arg(key).query_async(redis).await;
    match kind.as_deref() {
        Ok("string") => {}
        Ok("none") => return None,
        Ok(kind) => {
            findings.problem(
                "redis",
                format!(
                    "{key} is a {kind}, and should be a string: something else uses this key. redis-cli DEL '{key}'"
                ),
            );
            return None;
        }
        Err(error) => {
            findings.problem("redis", format!("{key} may not be read: {error}"));
            return None;
        }
    }
    let read: RedisResult<Option<Vec<u8>>> = redis::cmd("GET").arg(key).query_async(redis).await;
    match read {
        Ok(found) => found.map(|bytes| String::from_utf8_lossy(&bytes).chars().take(200).collect()),
        Err(error) => {
            findings.problem("redis", format!("{key} may not be read: {error}"));
            None
        }
    }
}

/// Who holds the lease, and for how long nobody else can.
fn of_holder(holder: &str, left: Option<i64>, leads: bool, ttl: Duration, keys: &LeaseKeys, findings: &mut Findings) {
    let left = match left {
        Some(-1) => {
            return findings.warn(
                "redis",
                format!(
                    "the lease is held by {holder:?} without an end: somebody wrote it by hand. The next replica that asks \
                     gives it one ttl"
                ),
            );
        }
        // Gone between the two questions, or not told.
        Some(..-1) | None => return,
        Some(left) => Duration::from_millis(left.unsigned_abs()),
    };
    let span = humantime::format_duration(Duration::from_secs(left.as_secs()));
    if !lease::is_long(left, ttl) {
        return findings.good("redis", format!("the lease is held by {holder:?} for another {span}"));
    }
    let says = lease::long_hold(holder, left, ttl, keys);
    // The installed leader may go by longer timings, in the middle of an update; anybody else's lease leads nowhere.
    if leads { findings.warn("redis", says) } else { findings.problem("redis", says) }
}

/// One of Redis' settings; `None` where it may not be asked.
async fn setting(redis: &mut MultiplexedConnection, name: &str) -> Option<String> {
    let answer: RedisResult<HashMap<String, String>> =
        redis::cmd("CONFIG").arg("GET").arg(name).query_async(redis).await;
    answer.ok()?.remove(name)
}

fn fields(info: &str) -> HashMap<&str, &str> {
    info.lines().filter_map(|line| line.trim_end().split_once(':')).collect()
}
