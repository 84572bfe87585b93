//! What Redis' own settings mean for a lease.

use std::collections::HashMap;
use std::time::Duration;

use chrono::DateTime;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ProtocolVersion, RedisResult};

use super::{Findings, of_clock};
use crate::clock::{Clock, SystemClock};
use crate::election::lease::LeaseKeys;
use crate::settings::Settings;

const LIMIT: Duration = Duration::from_secs(3);

/// Asks Redis what a lease depends on.
pub(super) async fn look(settings: &Settings, findings: &mut Findings) {
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
    of_info(&fields(&info), findings);
    let policy = setting(&mut redis, "maxmemory-policy").await;
    let limit = setting(&mut redis, "maxmemory").await;
    of_policy(policy.as_deref(), limit.as_deref(), findings);
    of_keys(&mut redis, &LeaseKeys::of(&settings.lease.name), findings).await;
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

async fn of_keys(redis: &mut MultiplexedConnection, keys: &LeaseKeys, findings: &mut Findings) {
    for key in [&keys.holder, &keys.token] {
        let kind: RedisResult<String> = redis::cmd("TYPE").arg(key).query_async(redis).await;
        match kind.as_deref() {
            Ok("string" | "none") => {}
            Ok(kind) => findings.problem(
                "redis",
                format!("{key} is a {kind}, and should be a string: something else uses this key. DEL {key}"),
            ),
            Err(error) => findings.problem("redis", format!("{key} may not be read: {error}")),
        }
    }
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
