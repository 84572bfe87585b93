//! The term, as Postgres has it: what makes a candidate a leader.
//!
//! [`TermStore`] is the election's own way to Postgres: one session of its own, each call within a limit, so that work
//! that has taken all of the database's patience cannot delay an election. It asks nothing on its own: the keeper calls.
//!
//! Every call may be dropped at any instant, and repeated: an install whose reply was lost finds itself installed.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::Executor;
use sqlx::postgres::{PgConnection, PgDatabaseError};

use super::reason::Reason;
use super::share::Picture;
use super::{FencingToken, LeaseName, Owner, StoreId};
use crate::db::connect::{ConnectError, Connector, Limits, Purpose};
use crate::db::leadership;
use crate::db::said;
use crate::db::schema::{self, SchemaError};

/// The right to write: one installed term. Had from [`TermStore::install`], held by value from a step's first read to its
/// commit, and never cloned: work of an old term cannot slip under a new one, since nothing ever hands it the new one.
#[derive(Debug, PartialEq, Eq)]
pub struct Term {
    lease: LeaseName,
    token: FencingToken,
    owner: Owner,
}

/// The term that Postgres has installed, whoever it is. Knowing it gives no right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledTerm {
    /// The fencing token.
    pub token: FencingToken,
    /// The candidacy that it belongs to.
    pub owner: Owner,
    /// When, by Postgres' clock.
    pub at: DateTime<Utc>,
}

/// What became of an install.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Installation {
    /// This candidate leads: the term was installed now, or by an earlier try whose reply was lost.
    Installed(Term),
    /// The token is not higher than the installed one: terminal for this candidacy.
    Refused {
        /// Who leads, or led last.
        installed: InstalledTerm,
    },
    /// Writers in flight held the lock until the bound: [`TermStore::evict`], then try again.
    Blocked,
    /// The lease was won in another Redis than the installed term's, whose leader is alive: terminal for this candidacy.
    Elsewhere(String),
    /// It cannot be installed until somebody changes something: a token out of range, a leap.
    Impossible(String),
}

/// What an eviction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Eviction {
    /// Sessions told to end.
    pub evicted: u64,
    /// Holders that this login may not end: a session of another role, a prepared transaction, a migration.
    pub out_of_reach: u64,
}

/// A session that holds the lease's lock, and that this login may not end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The server process; none for a prepared transaction.
    pub pid: Option<i32>,
    /// Its role, where it can be told.
    pub role: Option<String>,
}

/// Why a replica must not campaign now. Its text is for `/readyz` and the log.
#[derive(Debug)]
pub enum Obstacle {
    /// Postgres does not answer, or refuses the login.
    Unreachable(TermError),
    /// A standby: a term installed here would not be.
    InRecovery,
    /// Read-only: somebody set `default_transaction_read_only`, and that is obeyed.
    ReadOnly,
    /// The schema is not this binary's.
    Schema(SchemaError),
}

/// What an entry of the history is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A candidacy that ended without a term, or that could not begin.
    Candidacy,
    /// A leader stepped down; the successor's install copies the reason to the term's entry.
    StepDown,
    /// Sessions of a predecessor were ended.
    Eviction,
    /// Postgres refused a write of this replica's.
    Refusal,
    /// An operator's request was served.
    Request,
}

/// One entry of the history, written down at Postgres' clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Of which lease.
    pub lease: LeaseName,
    /// What happened.
    pub kind: EventKind,
    /// The token, where there was one.
    pub token: Option<FencingToken>,
    /// The candidacy, where there was one.
    pub owner: Option<Owner>,
    /// The replica that tells.
    pub node: String,
    /// Why, of the closed list.
    pub reason: Option<Reason>,
    /// More, for a person.
    pub detail: Option<String>,
    /// What was left of the trust.
    pub trust_left: Option<Duration>,
}

/// A call of the election that got no answer of worth. Nothing is known of what it did; each may be repeated.
#[derive(Debug, thiserror::Error)]
pub enum TermError {
    /// No session.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Not within the limit.
    #[error("Postgres did not answer {call} within {} ms", limit.as_millis())]
    Late {
        /// Which call.
        call: &'static str,
        /// Its limit.
        limit: Duration,
    },
    /// Postgres or the wire refused.
    #[error("{call}: {}", said(source))]
    Sql {
        /// Which call.
        call: &'static str,
        /// What was said.
        source: sqlx::Error,
    },
    /// The table holds what cannot be: somebody wrote it by hand.
    #[error("leader_term holds token {0}, which is out of range: correct it by hand")]
    BadToken(i64),
}

/// The election's session with Postgres. Lost sessions are replaced at the next call.
#[derive(Debug)]
pub struct TermStore {
    pub(super) connector: Connector,
    pub(super) limit: Duration,
    session: Option<PgConnection>,
}

// === impl Term ===

impl Term {
    /// A claim to a term. It is worth what Postgres says of it: the fence compares it at every statement.
    pub fn claim(lease: LeaseName, token: FencingToken, owner: Owner) -> Self {
        Self { lease, token, owner }
    }

    /// Which lease is led.
    pub fn lease(&self) -> &LeaseName {
        &self.lease
    }

    /// The fencing token.
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// The candidacy that won it.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }
}

// === impl Obstacle ===

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(error) => error.fmt(f),
            Self::InRecovery => f.write_str("Postgres is in recovery: postgres.url must lead to the primary"),
            Self::ReadOnly => f.write_str(
                "Postgres is read-only by default_transaction_read_only, for this server, database or login: nothing is \
                 written until it is off",
            ),
            Self::Schema(error) => error.fmt(f),
        }
    }
}

// === impl Holder ===

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &self.role) {
            (Some(pid), Some(role)) => write!(f, "session {pid} of role {role}"),
            (Some(pid), None) => write!(f, "session {pid}"),
            (None, _) => f.write_str("a prepared transaction (pg_prepared_xacts)"),
        }
    }
}

/// What to do about holders out of reach.
pub fn blocked_by(lease: &LeaseName, holders: &[Holder]) -> String {
    let who: Vec<String> = holders.iter().map(ToString::to_string).collect();
    format!(
        "the lock of lease {lease} is held by {}, which this login may not end. No term can be installed before it has \
         gone: let it finish, or end it (pg_terminate_backend, ROLLBACK PREPARED) as its own role or a superuser",
        who.join(", ")
    )
}

// === impl EventKind ===

impl EventKind {
    /// As stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Candidacy => "candidacy",
            Self::StepDown => "step_down",
            Self::Eviction => "eviction",
            Self::Refusal => "refusal",
            Self::Request => "request",
        }
    }
}

// === impl TermStore ===

impl TermStore {
    /// `limit` bounds each call, connecting included; an install has its own bound besides.
    pub fn new(connector: Connector, limit: Duration) -> Self {
        Self { connector, limit, session: None }
    }

    /// The replica that this session's history tells of.
    pub fn node(&self) -> &str {
        self.connector.node()
    }

    /// The installed term, if there is one.
    pub async fn installed(&mut self, lease: &LeaseName) -> Result<Option<InstalledTerm>, TermError> {
        let row = self
            .call("installed", self.limit, async |session| {
                sqlx::query!(
                    "SELECT token, owner, installed_at FROM counterfoil.leader_term WHERE lease = $1",
                    lease.as_str()
                )
                .fetch_optional(session)
                .await
            })
            .await?;
        row.map(|row| InstalledTerm::of(row.token, row.owner, row.installed_at)).transpose()
    }

    /// Tries to make (token, owner) the installed term, waiting up to `bound` for writers in flight.
    ///
    /// Repeat it with the same values after an error or a dropped call: the answer is the same. A try whose caller has
    /// gone may still install later; that costs a hand-over and nothing more, since nobody leads under its owner.
    pub async fn install(
        &mut self,
        lease: &LeaseName,
        token: FencingToken,
        owner: &Owner,
        bound: Duration,
    ) -> Result<Installation, TermError> {
        self.install_won_in(lease, token, owner, None, bound).await
    }

    /// The same for a lease that was won in the Redis `store`: while the installed leader is alive, no lease of another
    /// Redis replaces its term. Who leads afterwards says with each heartbeat that he is there ([`Self::stand`]).
    pub async fn install_won_in(
        &mut self,
        lease: &LeaseName,
        token: FencingToken,
        owner: &Owner,
        store: Option<StoreId>,
        bound: Duration,
    ) -> Result<Installation, TermError> {
        let number = stored(token);
        let statement_limit = bound.as_millis().max(1).to_string();
        let answer = self
            .call("install", self.limit + bound, async |session| {
                sqlx::query!("SELECT set_config('statement_timeout', $1, false)", statement_limit)
                    .fetch_one(&mut *session)
                    .await?;
                let installed = sqlx::query!(
                    r#"SELECT token AS "token!", owner AS "owner!", installed_at AS "installed_at!"
                       FROM counterfoil.install_term($1, $2, $3, $4)"#,
                    lease.as_str(),
                    number,
                    owner.as_str(),
                    store.map(StoreId::get)
                )
                .fetch_one(&mut *session)
                .await;
                session.execute("RESET statement_timeout").await?;
                installed
            })
            .await;
        let row = match answer {
            Ok(row) => row,
            Err(TermError::Sql { source: sqlx::Error::Database(error), .. })
                if matches!(error.code().as_deref(), Some("57014" | "55P03")) =>
            {
                return Ok(Installation::Blocked);
            }
            Err(TermError::Sql { source: sqlx::Error::Database(error), .. })
                if matches!(error.code().as_deref(), Some("TF003" | "TF004" | "TF008")) =>
            {
                let hint =
                    error.try_downcast_ref::<PgDatabaseError>().and_then(PgDatabaseError::hint).unwrap_or_default();
                let sentence = format!("{}. {hint}", error.message());
                let elsewhere = error.code().as_deref() == Some("TF008");
                return Ok(if elsewhere {
                    Installation::Elsewhere(sentence)
                } else {
                    Installation::Impossible(sentence)
                });
            }
            Err(error) => return Err(error),
        };
        let standing = InstalledTerm::of(row.token, row.owner, row.installed_at)?;
        if standing.token == token && standing.owner == *owner {
            Ok(Installation::Installed(Term::claim(lease.clone(), token, owner.clone())))
        } else {
            Ok(Installation::Refused { installed: standing })
        }
    }

    /// Says that the leader of this owner's term is there, by a lock that this session holds: taken with the install, and
    /// again where the session is a new one. A session that is silent for `silence` is ended by Postgres, and the lock with
    /// it: the process was frozen, or is gone, and nobody need wait for it.
    pub async fn stand(&mut self, owner: &Owner, silence: Duration) -> Result<(), TermError> {
        let silence = silence.as_millis().max(1).to_string();
        self.call("stand", self.limit, async |session| {
            sqlx::query!(
                r#"SELECT set_config('idle_session_timeout', $1, false) AS "silence!", counterfoil.hold_term($2) AS "held!""#,
                silence,
                owner.as_str()
            )
            .fetch_one(session)
            .await
        })
        .await?;
        Ok(())
    }

    /// Says it no more. Where that cannot be said the session is closed, which says the same.
    pub async fn stand_down(&mut self) {
        let told = self
            .call("stand down", self.limit, async |session| {
                sqlx::query!(
                    r#"SELECT set_config('idle_session_timeout', '0', false) AS "silence!" FROM pg_advisory_unlock_all()"#
                )
                .fetch_one(session)
                .await
            })
            .await;
        if told.is_err() {
            self.session = None;
        }
    }

    /// The Redis in which the installed leader won, while that leader is alive; none where it was not told.
    pub async fn incumbent(&mut self, lease: &LeaseName) -> Result<Option<StoreId>, TermError> {
        let store = self
            .call("incumbent", self.limit, async |session| {
                sqlx::query_scalar!(
                    r#"SELECT store AS "store!" FROM counterfoil.leader_term
                       WHERE lease = $1 AND store IS NOT NULL AND counterfoil.is_alive(owner)"#,
                    lease.as_str()
                )
                .fetch_optional(session)
                .await
            })
            .await?;
        Ok(store.map(StoreId::new))
    }

    /// Says that this replica would lead the lease, by a lock that this session holds as long as it lives.
    pub async fn attend(&mut self, lease: &LeaseName) -> Result<(), TermError> {
        self.call("attend", self.limit, async |session| {
            sqlx::query!(r#"SELECT counterfoil.attend($1) AS "attends!""#, lease.as_str()).fetch_one(session).await
        })
        .await?;
        Ok(())
    }

    /// Who leads what, and who would.
    pub async fn picture(&mut self) -> Result<Picture, TermError> {
        let rows = self
            .call("share", self.limit, async |session| {
                sqlx::query!(
                    r#"SELECT lease AS "lease!", node AS "node!", leads AS "leads!" FROM counterfoil.attendance()"#
                )
                .fetch_all(session)
                .await
            })
            .await?;
        let mut picture = Picture::default();
        for row in rows {
            // A name that the schema would not have let in is nobody's lease.
            let Ok(lease) = LeaseName::new(&row.lease) else { continue };
            let of = if row.leads { &mut picture.leads } else { &mut picture.attends };
            of.push((lease, row.node));
        }
        Ok(picture)
    }

    /// Ends the sessions that hold the lease's lock in this database, never its own.
    pub async fn evict(&mut self, lease: &LeaseName) -> Result<Eviction, TermError> {
        let row = self
            .call("evict", self.limit, async |session| {
                sqlx::query!(
                    r#"SELECT evicted AS "evicted!", out_of_reach AS "out_of_reach!" FROM counterfoil.evict_holders($1)"#,
                    lease.as_str()
                )
                .fetch_one(session)
                .await
            })
            .await?;
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        Ok(Eviction { evicted: count(row.evicted), out_of_reach: count(row.out_of_reach) })
    }

    /// Who holds the lease's lock in this database, and cannot be ended by this login.
    pub async fn out_of_reach(&mut self, lease: &LeaseName) -> Result<Vec<Holder>, TermError> {
        self.call("lock holders", self.limit, async |session| {
            sqlx::query_as!(
                Holder,
                r#"SELECT h.pid AS "pid?", a.usename::text AS "role?" FROM counterfoil.lock_holders($1) h
                   LEFT JOIN pg_stat_activity a ON a.pid = h.pid WHERE h.granted AND NOT h.within_reach"#,
                lease.as_str()
            )
            .fetch_all(session)
            .await
        })
        .await
    }

    /// Whether a term could be installed here at all: asked before each candidacy, and once a heartbeat by everybody, the
    /// leader included. There is no other opinion about it.
    ///
    /// A default that is read-only means: do not write, and nothing of ours writes past it. It is looked up, not only
    /// read from the session: one set for a database or a role reaches new sessions alone, and every replica's are of
    /// another age. For the same reason a session that was found read-only is not kept: the next look begins with a new
    /// one, and sees it end.
    pub async fn eligibility(&mut self) -> Result<(), Obstacle> {
        let row = self
            .call("eligibility", self.limit, async |session| {
                // Precedence as at login: role in database, role, database, all.
                sqlx::query!(
                    r#"SELECT pg_is_in_recovery() AS "in_recovery!",
                              current_setting('transaction_read_only')::boolean AS "session!",
                              (SELECT split_part(one, '=', 2)::boolean
                               FROM pg_db_role_setting s, unnest(s.setconfig) one
                               WHERE one LIKE 'default_transaction_read_only=%'
                                 AND s.setrole IN (0, session_user::regrole)
                                 AND s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
                               ORDER BY s.setrole <> 0 DESC, s.setdatabase <> 0 DESC LIMIT 1) AS stored"#
                )
                .fetch_one(session)
                .await
            })
            .await
            .map_err(Obstacle::Unreachable)?;
        if row.in_recovery {
            return Err(Obstacle::InRecovery);
        }
        if row.session || row.stored == Some(true) {
            self.session = None;
            return Err(Obstacle::ReadOnly);
        }
        let checked = self.call("schema version", self.limit, async |session| Ok(schema::check(session).await)).await;
        checked.map_err(Obstacle::Unreachable)?.map_err(Obstacle::Schema)
    }

    /// Whether an operator asked the leader of this term to resign.
    pub async fn is_asked_to_resign(&mut self, lease: &LeaseName, token: FencingToken) -> Result<bool, TermError> {
        self.call("resignation", self.limit, async |session| {
            leadership::is_asked_to_resign(session, lease, token).await
        })
        .await
    }

    /// Writes an entry of the history.
    pub async fn record(&mut self, event: &Event) -> Result<(), TermError> {
        let trust_left = event.trust_left.map(|left| i64::try_from(left.as_millis()).unwrap_or(i64::MAX));
        self.call("record", self.limit, async |session| {
            sqlx::query!(
                "INSERT INTO counterfoil.leadership_event (lease, kind, token, owner, node, reason, detail, trust_left_ms)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                event.lease.as_str(),
                event.kind.as_str(),
                event.token.map(stored),
                event.owner.as_ref().map(Owner::as_str),
                event.node,
                event.reason.map(Reason::name),
                event.detail,
                trust_left
            )
            .execute(session)
            .await
        })
        .await?;
        Ok(())
    }

    /// One call within its limit. The session is put back only after an answer: a call that was dropped, was late or broke
    /// takes its session with it.
    pub(super) async fn call<T>(
        &mut self,
        call: &'static str,
        limit: Duration,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, TermError> {
        let kept = self.session.take();
        let connector = &self.connector;
        let whole = async {
            let mut session = match kept {
                Some(session) => session,
                None => {
                    connector
                        .connect_within(Purpose::Election, Limits { connect: limit, ..Purpose::Election.limits() })
                        .await?
                }
            };
            let answer = work(&mut session).await;
            Ok::<_, TermError>((session, answer))
        };
        let (session, answer) = within(call, limit, whole).await??;
        match answer {
            Ok(value) => {
                self.session = Some(session);
                Ok(value)
            }
            Err(source) => {
                // What Postgres refuses leaves the session whole, unless it ended the session itself (class 57P).
                if source
                    .as_database_error()
                    .and_then(sqlx::error::DatabaseError::code)
                    .is_some_and(|code| !code.starts_with("57P"))
                {
                    self.session = Some(session);
                }
                Err(TermError::Sql { call, source })
            }
        }
    }
}

// === impl InstalledTerm ===

impl InstalledTerm {
    fn of(token: i64, owner: String, at: DateTime<Utc>) -> Result<Self, TermError> {
        let token = u64::try_from(token).ok().and_then(FencingToken::new).ok_or(TermError::BadToken(token))?;
        Ok(Self { token, owner: Owner::from_stored(owner), at })
    }
}

/// A token as Postgres stores it: below 2⁵³, so it always fits.
pub(crate) fn stored(token: FencingToken) -> i64 {
    i64::try_from(token.get()).unwrap_or(i64::MAX)
}

async fn within<T>(call: &'static str, limit: Duration, work: impl Future<Output = T>) -> Result<T, TermError> {
    tokio::time::timeout(limit, work).await.map_err(|_| TermError::Late { call, limit })
}
