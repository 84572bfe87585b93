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
use redis::{
    AsyncConnectionConfig, ErrorKind, FromRedisValue, ProtocolVersion, RedisError, RedisResult, Script,
    ServerErrorKind, Value,
};

use super::address::RedisAddress;
use super::{FencingToken, LeaseName, Owner, StoreId};

/// The keys of a lease: one hash slot, and used for nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseKeys {
    /// `"<owner> <token>"`, expiring.
    pub holder: String,
    /// The counter of tokens.
    pub token: String,
    /// The id of this Redis.
    pub store: String,
    /// Where a release is published.
    pub released: String,
}

/// Speaks to Redis about one lease.
#[derive(Debug)]
pub struct Lease {
    wire: Wire,
    keys: LeaseKeys,
    scripts: Scripts,
    /// A lease that is won counts only once so many replicas of Redis have it.
    wait_replicas: u32,
}

/// The one connection, and the way to the next.
#[derive(Debug)]
struct Wire {
    address: RedisAddress,
    limit: Duration,
    connection: Option<MultiplexedConnection>,
    /// The node of a Cluster that serves the lease's slot, as another node said.
    moved: Option<String>,
    /// Calls in a row that timed out on this connection.
    late: u32,
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
        /// The Redis that it was won in.
        store: StoreId,
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
    /// Nobody's here; but the installed leader is alive, and won in another Redis. Nothing was granted.
    Elsewhere {
        /// The Redis that was asked.
        store: StoreId,
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

/// What is seen of a lease by who only looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// `"<owner> <token>"`; none where nobody holds it.
    pub holder: Option<String>,
    /// For how much longer, unless renewed; none for a key without an end.
    pub left: Option<Duration>,
    /// How many replicas listen for its release.
    pub listeners: u64,
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
    /// Won, but not on as many replicas of Redis as asked for (`lease.wait_replicas`); so it was given back.
    #[error("only {had} of {wanted} replicas of Redis had the lease in time (lease.wait_replicas)")]
    NotReplicated {
        /// How many must have it.
        wanted: u32,
        /// How many had it.
        had: u32,
    },
    /// An answer that none of our scripts gives.
    #[error("Redis answered what no script of ours answers: {0}")]
    Strange(String),
}

// === impl LeaseKeys ===

impl LeaseKeys {
    /// The keys of the lease of this name.
    pub fn of(lease: &LeaseName) -> Self {
        let key = |last: &str| format!("{{counterfoil:{lease}}}:{last}");
        Self { holder: key("holder"), token: key("token"), store: key("store"), released: key("released") }
    }
}

// === impl Lease ===

impl Lease {
    /// A client that has not dialled yet. `limit` bounds each call.
    pub fn new(address: RedisAddress, lease: &LeaseName, limit: Duration) -> Self {
        Self {
            wire: Wire { address, limit, connection: None, moved: None, late: 0 },
            keys: LeaseKeys::of(lease),
            scripts: Scripts {
                acquire: Script::new(include_str!("lua/acquire.lua")),
                renew: Script::new(include_str!("lua/renew.lua")),
                release: Script::new(include_str!("lua/release.lua")),
            },
            wait_replicas: 0,
        }
    }

    /// Counts a lease as won only once so many replicas of Redis have it (`WAIT`): a failover then rarely loses it. It
    /// makes hand-overs rarer, and never more than that: who may write is decided elsewhere.
    #[must_use]
    pub fn waiting_for(mut self, replicas: u32) -> Self {
        self.wait_replicas = replicas;
        self
    }

    /// Tries to win. `floor` is the token that Postgres holds: the next one is above it, whatever Redis remembers.
    /// Safe to repeat with the same owner, and necessary after an error: a lost answer may have been "won".
    pub async fn acquire(&mut self, owner: &Owner, ttl: Duration, floor: u64) -> Result<Acquisition, LeaseError> {
        self.acquire_beside(owner, ttl, floor, None).await
    }

    /// The same while a leader is alive that won in the Redis `incumbent`: granted in that one alone.
    pub async fn acquire_beside(
        &mut self,
        owner: &Owner,
        ttl: Duration,
        floor: u64,
        incumbent: Option<StoreId>,
    ) -> Result<Acquisition, LeaseError> {
        let mut call = self.scripts.acquire.key(&self.keys.holder);
        call.key(&self.keys.token).key(&self.keys.store).arg(owner.as_str()).arg(millis(ttl)).arg(floor);
        call.arg(FencingToken::MAX.get()).arg(floor.saturating_add(FencingToken::LEAP - 1));
        call.arg(StoreId::new(uuid::Uuid::new_v4()).to_string());
        call.arg(incumbent.map_or_else(String::new, |store| store.to_string()));
        let answer = self.wire.run(&call).await?;
        let strange = || LeaseError::Strange(format!("{answer:?}"));
        match &parts(&answer)[..] {
            [word, token, again, raised, store] if *word == "won" => {
                let token = token_of(token).ok_or_else(strange)?;
                let store = StoreId::from_stored(store).ok_or_else(strange)?;
                self.replicated(owner, token).await?;
                Ok(Acquisition::Won { token, again: again == "1", raised: raised == "1", store })
            }
            [word, store] if *word == "elsewhere" => {
                Ok(Acquisition::Elsewhere { store: StoreId::from_stored(store).ok_or_else(strange)? })
            }
            [word, holder, left, mended] if *word == "held" => Ok(Acquisition::Held {
                holder: holder.clone(),
                left: Duration::from_millis(left.parse().unwrap_or(0)),
                mended: mended == "1",
            }),
            [word, key, fault, found] if *word == "broken" => {
                Err(LeaseError::Broken(self.keys.broken(key, fault, found)))
            }
            _ => Err(strange()),
        }
    }

    /// Extends the lease by another ttl, if it is still exactly ours.
    pub async fn renew(&mut self, owner: &Owner, token: FencingToken, ttl: Duration) -> Result<Renewal, LeaseError> {
        let mut call = self.scripts.renew.key(&self.keys.holder);
        call.arg(owner.as_str()).arg(token.get()).arg(millis(ttl));
        let answer = self.wire.run(&call).await?;
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
        let answer = self.wire.run(&call).await?;
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
        let (_, listeners): (String, u64) = self.wire.command(&command).await?;
        Ok(listeners)
    }

    /// Looks, and changes nothing.
    pub async fn look(&mut self) -> Result<Sight, LeaseError> {
        let key = self.keys.holder.clone();
        let holder: Option<String> = self.wire.command(redis::cmd("GET").arg(&key)).await?;
        let left: i64 = self.wire.command(redis::cmd("PTTL").arg(&key)).await?;
        let left = u64::try_from(left).ok().map(Duration::from_millis);
        Ok(Sight { holder, left, listeners: self.listeners().await? })
    }

    /// Waits until enough replicas have what this connection wrote, and gives the lease back if they have not in time.
    async fn replicated(&mut self, owner: &Owner, token: FencingToken) -> Result<(), LeaseError> {
        let wanted = self.wait_replicas;
        if wanted == 0 {
            return Ok(());
        }
        let mut command = redis::cmd("WAIT");
        command.arg(wanted).arg(millis(self.wire.limit / 2));
        let had: u32 = self.wire.command(&command).await?;
        if had >= wanted {
            return Ok(());
        }
        self.release(owner, token, false).await?;
        Err(LeaseError::NotReplicated { wanted, had })
    }

    /// The keys that it uses.
    pub fn keys(&self) -> &LeaseKeys {
        &self.keys
    }
}

// === impl Wire ===

impl Wire {
    /// Sends a script's hash, and the whole script once where Redis does not know it: all within the one limit.
    async fn run(&mut self, call: &redis::ScriptInvocation<'_>) -> Result<Value, LeaseError> {
        self.exchange(|mut connection| async move { call.invoke_async::<Value>(&mut connection).await }).await
    }

    async fn command<T: FromRedisValue>(&mut self, command: &redis::Cmd) -> Result<T, LeaseError> {
        self.exchange(|mut connection| async move { command.query_async::<T>(&mut connection).await }).await
    }

    /// One exchange within the limit, and the decision whether the connection is still worth having.
    async fn exchange<T, F>(&mut self, ask: impl Fn(MultiplexedConnection) -> F) -> Result<T, LeaseError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let limit = self.limit;
        match tokio::time::timeout(limit, self.ask(ask)).await {
            Ok(Ok(answer)) => {
                self.late = 0;
                Ok(answer)
            }
            Ok(Err(error)) if error.is_timeout() => Err(self.timed_out()),
            Ok(Err(error)) => {
                self.late = 0;
                if error.is_io_error() || error.is_unrecoverable_error() {
                    self.hang_up();
                    return Err(LeaseError::Connection(error));
                }
                if is_read_only(&error) {
                    self.hang_up();
                }
                Err(LeaseError::Server(error))
            }
            Err(_) => Err(self.timed_out()),
        }
    }

    /// Asks; once more where a Cluster's node sends us on.
    async fn ask<T, F>(&mut self, ask: impl Fn(MultiplexedConnection) -> F) -> RedisResult<T>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let answer = ask(self.dialled().await?).await;
        let Err(error) = &answer else { return answer };
        match (error.kind(), error.redirect_node()) {
            (ErrorKind::Server(ServerErrorKind::Moved), Some((to, _))) => {
                self.moved = Some(to.to_owned());
                self.connection = None;
                ask(self.dialled().await?).await
            }
            _ => answer,
        }
    }

    /// The connection, which is one however many hold it.
    async fn dialled(&mut self) -> RedisResult<MultiplexedConnection> {
        if let Some(connection) = &self.connection {
            return Ok(connection.clone());
        }
        // The limit is around the whole call; none inside it.
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let dialled = self.address.dial(self.moved.as_deref(), ProtocolVersion::RESP2, self.limit, config).await?;
        Ok(self.connection.insert(dialled).clone())
    }

    /// One time-out may be a slow moment; two in a row are a connection that leads nowhere.
    fn timed_out(&mut self) -> LeaseError {
        self.late += 1;
        if self.late >= 2 {
            self.late = 0;
            self.hang_up();
        }
        LeaseError::Late { limit: self.limit }
    }

    /// The next exchange dials anew, and finds the way anew.
    fn hang_up(&mut self) {
        self.connection = None;
        self.moved = None;
    }
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

/// A whole number as a worker writes it.
fn counted(text: &str) -> Option<u64> {
    text.starts_with(|first: char| matches!(first, '1'..='9')).then(|| text.parse().ok()).flatten()
}

fn token_of(text: &str) -> Option<FencingToken> {
    text.parse().ok().and_then(FencingToken::new)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1)
}

// === impl LeaseKeys: what is wrong, and what to do ===

impl LeaseKeys {
    /// What is wrong with the holder's value, by the rules of `acquire`; nothing if a worker could have written it.
    pub fn fault_of_holder(&self, value: &str) -> Option<String> {
        let token = value.rsplit_once(' ').and_then(|(_, token)| counted(token));
        let sound = token.is_some_and(|token| (1..=FencingToken::MAX.get()).contains(&token));
        (!sound).then(|| self.broken("holder", "value", value))
    }

    /// What is wrong with the counter's value, by the rules of `acquire`; nothing if the next token can follow from it.
    /// `floor` is the token that Postgres holds, where it is known.
    pub fn fault_of_counter(&self, value: &str, floor: Option<u64>) -> Option<String> {
        // More digits than a number of ours has are still digits, and out of range.
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        if !digits || (value.len() > 1 && value.starts_with('0')) {
            return Some(self.broken("token", "value", value));
        }
        let last = value.parse().unwrap_or(u64::MAX);
        if last.max(floor.unwrap_or(0)) >= FencingToken::MAX.get() {
            return Some(self.broken("token", "range", value));
        }
        let leaps = floor.is_some_and(|floor| last >= floor.saturating_add(FencingToken::LEAP));
        leaps.then(|| self.broken("token", "leap", value))
    }

    fn broken(&self, key: &str, fault: &str, found: &str) -> String {
        let (key, mend) = match key {
            "holder" => (&self.holder, "no worker can hold what is not a lease"),
            "store" => (&self.store, "the next candidate gives this Redis a new id"),
            _ => (&self.token, "the next token then follows from Postgres"),
        };
        let wrong = match fault {
            "type" => format!("is a Redis {found}, where a string was expected; somebody else uses this key"),
            "leap" => format!(
                "holds {found}, more than a million above the token that Postgres holds, and such a leap is not installed; \
                 it counts for another database, or was set by hand"
            ),
            "range" => format!("holds {found}, and tokens end at {}", FencingToken::MAX),
            _ => format!("holds {found:?}, which no worker writes"),
        };
        format!(
            "the key {key} {wrong}. No election is possible until it is gone: `redis-cli DEL '{key}'` ({mend}), or \
             choose another lease.name"
        )
    }
}

/// What it means that the leader's Redis is another one than this replica's, and what to do.
pub fn elsewhere(store: Option<StoreId>, incumbent: StoreId) -> String {
    format!(
        "the Redis of this redis.url (store {}) is another one than the leader's (store {}). Two would take the lead from \
         each other for ever, so whoever is not of the leader's waits. Find out which replica has a wrong redis.url, or \
         which name leads to two servers; correct it, and restart that replica",
        store.map_or_else(|| "without an id".to_owned(), StoreId::short),
        incumbent.short()
    )
}

/// Would a replica of this ttl never have set a lease of so long a life? Twice is left to a replica that an update has
/// not yet given its shorter ttl.
pub fn is_long(left: Duration, ttl: Duration) -> bool {
    left > ttl * 2
}

/// What such a lease means, and what to do. The end is told to the second.
pub fn long_hold(holder: &str, left: Duration, ttl: Duration, keys: &LeaseKeys) -> String {
    format!(
        "the lease is held by {holder:?} for another {}, and lease.ttl is {} here: if it is not a replica with longer \
         timings that leads (counterfoil status), nobody can before it ends. Then `redis-cli DEL '{}'`",
        humantime::format_duration(Duration::from_secs(left.as_secs())),
        humantime::format_duration(ttl),
        keys.holder
    )
}

// === impl LeaseError ===

impl LeaseError {
    /// Whether the call may have been carried out, now or later.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Late { .. } | Self::Connection(_))
    }

    /// Whether Redis was there to answer.
    pub fn was_answered(&self) -> bool {
        !self.is_unknown()
    }
}
