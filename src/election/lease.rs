//! The lease, in Redis: three verbs, each one script, so that none can be half done.
//!
//! One client, one connection, and nothing else on it: a slow command of somebody else's would delay a heartbeat. Every
//! call is bounded; connecting counts. The connection is dialled anew after any I/O error, after READONLY (a primary
//! that was demoted keeps the socket open), and after two time-outs in a row (a peer that was frozen or cut off does so
//! too), since redis-rs takes none of the last two for a reason to reconnect.
//!
//! Only the scripts' own words decide: *lost* is a refusal. Every [`LeaseError`] is passing, whatever it says.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{
    AsyncConnectionConfig, Client, ErrorKind, IntoConnectionInfo, ProtocolVersion, RedisError, Script, ServerErrorKind,
    Value,
};

use super::{FencingToken, LeaseName, Owner};

/// The keys of a lease: one hash slot, and used for nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseKeys {
    /// `"<owner> <token>"`, expiring.
    pub holder: String,
    /// The counter of tokens.
    pub token: String,
    /// Where a release is published.
    pub released: String,
}

/// Speaks to Redis about one lease.
#[derive(Debug)]
pub struct Lease {
    client: Client,
    keys: LeaseKeys,
    limit: Duration,
    connection: Option<MultiplexedConnection>,
    /// Calls in a row that timed out on this connection.
    late: u32,
    scripts: Scripts,
}

#[derive(Debug)]
struct Scripts {
    acquire: Script,
    renew: Script,
    release: Script,
}

/// The answer to `acquire`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquisition {
    /// The lease is ours.
    Won {
        /// Its fencing token.
        token: FencingToken,
        /// It was ours already: an earlier answer had been lost.
        again: bool,
        /// Postgres' floor was above Redis' counter: Redis has lost data.
        raised: bool,
    },
    /// Somebody else's.
    Held {
        /// `"<owner> <token>"`.
        holder: String,
        /// For how much longer, unless renewed.
        left: Duration,
        /// It had no ttl, and was given one: somebody wrote it by hand.
        mended: bool,
    },
}

/// The answer to `renew`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Renewal {
    /// Ours, for another ttl.
    Kept,
    /// Not ours any more.
    Lost {
        /// What is there instead; empty if nothing is.
        holder: String,
    },
}

/// The answer to `release`. Either way it is not ours any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// It was ours.
    Released {
        /// The others were woken.
        published: bool,
    },
    /// It was not.
    Gone,
}

/// No answer of worth. Nothing in here ends a term.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Not within the limit. Whatever was asked may yet be done.
    #[error("Redis did not answer within {} ms", limit.as_millis())]
    Late {
        /// The limit.
        limit: Duration,
    },
    /// The connection could not be made, or broke. Whatever was asked may have been done.
    #[error("Redis cannot be reached: {0}")]
    Connection(RedisError),
    /// Redis answered, with an error: READONLY, NOPERM, OOM, LOADING, …
    #[error("Redis refused: {0}")]
    Server(RedisError),
    /// The lease's keys hold what cannot be. The sentence says what to do.
    #[error("{0}")]
    Broken(String),
    /// An answer that none of our scripts gives.
    #[error("Redis answered what no script of ours answers: {0}")]
    Strange(String),
}

/// An address that is no Redis URL. It is not repeated: it may hold a password.
#[derive(Debug, thiserror::Error)]
#[error("redis.url is no address of Redis (redis://[user:password@]host:port/[database], or rediss://…): {0}")]
pub struct BadRedisUrl(RedisError);

// === impl LeaseKeys ===

impl LeaseKeys {
    /// The keys of the lease of this name.
    pub fn of(lease: &LeaseName) -> Self {
        let key = |last: &str| format!("{{counterfoil:{lease}}}:{last}");
        Self { holder: key("holder"), token: key("token"), released: key("released") }
    }
}

// === impl Lease ===

impl Lease {
    /// A client that has not dialled yet. `limit` bounds each call.
    pub fn new(url: &str, lease: &LeaseName, limit: Duration) -> Result<Self, BadRedisUrl> {
        Ok(Self {
            client: client(url, limit, ProtocolVersion::RESP2)?,
            keys: LeaseKeys::of(lease),
            limit,
            connection: None,
            late: 0,
            scripts: Scripts {
                acquire: Script::new(include_str!("lua/acquire.lua")),
                renew: Script::new(include_str!("lua/renew.lua")),
                release: Script::new(include_str!("lua/release.lua")),
            },
        })
    }

    /// Tries to win. `floor` is the token that Postgres holds: the next one is above it, whatever Redis remembers.
    /// Safe to repeat with the same owner, and necessary after an error: a lost answer may have been "won".
    pub async fn acquire(&mut self, owner: &Owner, ttl: Duration, floor: u64) -> Result<Acquisition, LeaseError> {
        let mut call = self.scripts.acquire.key(&self.keys.holder);
        call.key(&self.keys.token).arg(owner.as_str()).arg(millis(ttl)).arg(floor).arg(FencingToken::MAX.get());
        let answer = run(&self.client, &mut self.connection, &mut self.late, self.limit, &call).await?;
        match &parts(&answer)[..] {
            [word, token, again, raised] if *word == "won" => Ok(Acquisition::Won {
                token: token_of(token).ok_or_else(|| LeaseError::Strange(format!("{answer:?}")))?,
                again: again == "1",
                raised: raised == "1",
            }),
            [word, holder, left, mended] if *word == "held" => Ok(Acquisition::Held {
                holder: holder.clone(),
                left: Duration::from_millis(left.parse().unwrap_or(0)),
                mended: mended == "1",
            }),
            [word, key, fault, found] if *word == "broken" => {
                Err(LeaseError::Broken(self.keys.broken(key, fault, found)))
            }
            _ => Err(LeaseError::Strange(format!("{answer:?}"))),
        }
    }

    /// Extends the lease by another ttl, if it is still exactly ours.
    pub async fn renew(&mut self, owner: &Owner, token: FencingToken, ttl: Duration) -> Result<Renewal, LeaseError> {
        let mut call = self.scripts.renew.key(&self.keys.holder);
        call.arg(owner.as_str()).arg(token.get()).arg(millis(ttl));
        let answer = run(&self.client, &mut self.connection, &mut self.late, self.limit, &call).await?;
        match &parts(&answer)[..] {
            [word] if *word == "kept" => Ok(Renewal::Kept),
            [word, holder] if *word == "lost" => Ok(Renewal::Lost { holder: holder.clone() }),
            _ => Err(LeaseError::Strange(format!("{answer:?}"))),
        }
    }

    /// Gives the lease back, if it is still exactly ours, and wakes the others if `publish` is set.
    pub async fn release(&mut self, owner: &Owner, token: FencingToken, publish: bool) -> Result<Release, LeaseError> {
        let channel = if publish { self.keys.released.as_str() } else { "" };
        let mut call = self.scripts.release.key(&self.keys.holder);
        call.arg(owner.as_str()).arg(token.get()).arg(channel);
        let answer = run(&self.client, &mut self.connection, &mut self.late, self.limit, &call).await?;
        match &parts(&answer)[..] {
            [word, published] if *word == "released" => Ok(Release::Released { published: published == "1" }),
            [word, _] if *word == "gone" => Ok(Release::Gone),
            _ => Err(LeaseError::Strange(format!("{answer:?}"))),
        }
    }

    /// How many replicas listen for a release, this one included. Asked only by one that waits because it lost its term.
    pub async fn listeners(&mut self) -> Result<u64, LeaseError> {
        let mut command = redis::cmd("PUBSUB");
        command.arg("NUMSUB").arg(&self.keys.released);
        let client = &self.client;
        let slot = &mut self.connection;
        let answer = bounded(slot, &mut self.late, self.limit, async |slot| {
            let connection = dialled(client, slot).await?;
            command.query_async::<(String, u64)>(connection).await
        })
        .await?;
        Ok(answer.1)
    }

    /// The keys that it uses.
    pub fn keys(&self) -> &LeaseKeys {
        &self.keys
    }
}

/// A client whose sockets notice a dead peer: no delay, keepalive, and a limit on unacknowledged data. redis-rs sets
/// none of them by itself.
pub(super) fn client(url: &str, limit: Duration, protocol: ProtocolVersion) -> Result<Client, BadRedisUrl> {
    let keepalive =
        TcpKeepalive::new().with_time(Duration::from_secs(5)).with_interval(Duration::from_secs(1)).with_retries(3);
    let tcp = TcpSettings::default()
        .set_nodelay(true)
        .set_keepalive(keepalive)
        .set_user_timeout(limit.max(Duration::from_secs(1)) * 2);
    let info = url.into_connection_info().map_err(BadRedisUrl)?.set_tcp_settings(tcp);
    let settings = info.redis_settings().clone().set_protocol(protocol);
    let info = info.set_redis_settings(settings);
    Client::open(info).map_err(BadRedisUrl)
}

async fn run(
    client: &Client,
    connection: &mut Option<MultiplexedConnection>,
    late: &mut u32,
    limit: Duration,
    call: &redis::ScriptInvocation<'_>,
) -> Result<Value, LeaseError> {
    bounded(connection, late, limit, async |slot| {
        let connection = dialled(client, slot).await?;
        // Sends the hash, and the whole script once where Redis does not know it: all within the one limit.
        call.invoke_async::<Value>(connection).await
    })
    .await
}

/// One exchange within `limit`, and the decision whether the connection is still worth having.
async fn bounded<T>(
    slot: &mut Option<MultiplexedConnection>,
    late: &mut u32,
    limit: Duration,
    exchange: impl AsyncFnOnce(&mut Option<MultiplexedConnection>) -> Result<T, RedisError>,
) -> Result<T, LeaseError> {
    match tokio::time::timeout(limit, exchange(slot)).await {
        Ok(Ok(answer)) => {
            *late = 0;
            Ok(answer)
        }
        Ok(Err(error)) if error.is_timeout() => Err(timed_out(slot, late, limit)),
        Ok(Err(error)) => {
            *late = 0;
            if error.is_io_error() || error.is_unrecoverable_error() {
                *slot = None;
                return Err(LeaseError::Connection(error));
            }
            if is_read_only(&error) {
                *slot = None;
            }
            Err(LeaseError::Server(error))
        }
        Err(_) => Err(timed_out(slot, late, limit)),
    }
}

/// One time-out may be a slow moment; two in a row are a connection that leads nowhere.
fn timed_out(slot: &mut Option<MultiplexedConnection>, late: &mut u32, limit: Duration) -> LeaseError {
    *late += 1;
    if *late >= 2 {
        *slot = None;
        *late = 0;
    }
    LeaseError::Late { limit }
}

async fn dialled<'slot>(
    client: &Client,
    slot: &'slot mut Option<MultiplexedConnection>,
) -> Result<&'slot mut MultiplexedConnection, RedisError> {
    if slot.is_none() {
        // The limit is around the whole call; none inside it.
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        *slot = Some(client.get_multiplexed_async_connection_with_config(&config).await?);
    }
    slot.as_mut().ok_or_else(|| RedisError::from((ErrorKind::Io, "no connection")))
}

/// Redis 7 gives the code; before, a script's READONLY came wrapped in a general error.
fn is_read_only(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
        || error.detail().is_some_and(|detail| detail.contains("READONLY"))
}

/// A script's answer as words; nothing for an answer of another shape.
fn parts(answer: &Value) -> Vec<String> {
    let word = |value: &Value| match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        _ => String::new(),
    };
    match answer {
        Value::Array(items) => items.iter().map(word).collect(),
        _ => Vec::new(),
    }
}

fn token_of(text: &str) -> Option<FencingToken> {
    text.parse().ok().and_then(FencingToken::new)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1)
}

// === impl LeaseKeys: what is wrong, and what to do ===

impl LeaseKeys {
    fn broken(&self, key: &str, fault: &str, found: &str) -> String {
        let (key, mend) = match key {
            "holder" => (&self.holder, "no worker can hold what is not a lease"),
            _ => (&self.token, "the next token then follows from Postgres"),
        };
        let wrong = match fault {
            "type" => format!("is a Redis {found}, where a string was expected; somebody else uses this key"),
            "range" => format!("holds {found}, and tokens end at {}", FencingToken::MAX),
            _ => format!("holds {found:?}, which no worker writes"),
        };
        format!(
            "the key {key} {wrong}. No election is possible until it is gone: `redis-cli DEL '{key}'` ({mend}), or \
             choose another lease.name"
        )
    }
}

// === impl LeaseError ===

impl LeaseError {
    /// Whether the call may have been carried out, now or later.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Late { .. } | Self::Connection(_))
    }

    /// Whether Redis was there to answer.
    pub fn was_answered(&self) -> bool {
        matches!(self, Self::Server(_) | Self::Broken(_) | Self::Strange(_))
    }
}
