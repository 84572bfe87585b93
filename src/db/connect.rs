//! How a session with Postgres begins: who we say we are, and the limits that the server keeps for us.
//!
//! A session is a plain [`PgConnection`] owned by whoever asked for it, never one of a pool: dropping it at any instant
//! closes the socket, and the server rolls back. A pool would hand a poisoned session to the next (sqlx #4393).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection};

use super::said;

/// What a session is for: part of its `application_name`, so that an operator reads `counterfoil/<node>/<purpose>` in
/// `pg_stat_activity`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Installing terms, evicting, history.
    Election,
    /// Fenced transactions of a term.
    Write,
    /// Reads: what is due, what is loaded before matching, status and metrics.
    Read,
    /// Migrations, by the owner.
    Migrate,
    /// Requests and decisions of people at the command line.
    Ask,
}

/// The server's own limits on a session. Backstops: against a client frozen inside COPY they do not help, and an
/// eviction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// To connect and log in.
    pub connect: Duration,
    /// One statement. Zero: none.
    pub statement: Duration,
    /// One wait for a lock. Zero: none.
    pub lock: Duration,
    /// A transaction that waits for its client.
    pub idle_in_transaction: Duration,
}

/// Where Postgres is and how sessions with it are opened. Cheap to clone; its `Debug` shows no password.
#[derive(Clone)]
pub struct Connector {
    options: PgConnectOptions,
    node: String,
}

/// A session could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The address is no Postgres URL. The URL itself is not repeated: it may hold a password.
    #[error("postgres.url is no address of Postgres (postgres://user:password@host:port/database): {0}")]
    Url(sqlx::Error),
    /// Not within the limit.
    #[error("Postgres at {place} did not answer within {} ms", limit.as_millis())]
    Late {
        /// host:port/database.
        place: String,
        /// The limit.
        limit: Duration,
    },
    /// A pooler stands there, which takes no session with limits.
    #[error(
        "{place} is a pooler, which refuses a session's own limits; point postgres.url at Postgres itself: {}",
        said(source)
    )]
    Pooler {
        /// host:port/database.
        place: String,
        /// What was said.
        source: sqlx::Error,
    },
    /// Refused or unreachable.
    #[error("Postgres at {place} cannot be reached: {}", said(source))]
    Refused {
        /// host:port/database.
        place: String,
        /// What was said.
        source: sqlx::Error,
    },
}

// === impl Purpose ===

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Election => "election",
            Self::Write => "write",
            Self::Read => "read",
            Self::Migrate => "migrate",
            Self::Ask => "ask",
        }
    }

    /// The limits that suit it.
    pub fn limits(self) -> Limits {
        let seconds = Duration::from_secs;
        match self {
            // The keeper bounds each call itself, and an install sets its own statement limit.
            Self::Election => Limits {
                connect: seconds(3),
                statement: seconds(5),
                lock: Duration::ZERO,
                idle_in_transaction: seconds(5),
            },
            // A step's one long statement may be long; a step that waits for its client is ended.
            Self::Write => Limits {
                connect: seconds(5),
                statement: seconds(600),
                lock: seconds(30),
                idle_in_transaction: seconds(60),
            },
            Self::Read | Self::Ask => Limits {
                connect: seconds(5),
                statement: seconds(120),
                lock: seconds(10),
                idle_in_transaction: seconds(60),
            },
            // A migration rewrites tables; how long is its own business, and the operator watches.
            Self::Migrate => Limits {
                connect: seconds(10),
                statement: Duration::ZERO,
                lock: Duration::ZERO,
                idle_in_transaction: seconds(60),
            },
        }
    }
}

// === impl Connector ===

impl Connector {
    /// From `postgres.url` or `postgres.owner_url`. A pooler in transaction mode will not do: it drops what a session
    /// holds.
    pub fn new(url: &str, node: &str) -> Result<Self, ConnectError> {
        let options = PgConnectOptions::from_str(url).map_err(ConnectError::Url)?;
        Ok(Self { options, node: node.to_owned() })
    }

    /// host:port/database, for messages.
    pub fn place(&self) -> String {
        let database = self.options.get_database().unwrap_or_else(|| self.options.get_username());
        format!("{}:{}/{database}", self.options.get_host(), self.options.get_port())
    }

    /// The login's name.
    pub fn login(&self) -> &str {
        self.options.get_username()
    }

    /// The node that `application_name` tells of.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Opens a session with the purpose's own limits.
    pub async fn connect(&self, purpose: Purpose) -> Result<PgConnection, ConnectError> {
        self.connect_within(purpose, purpose.limits()).await
    }

    /// Opens a session with other limits.
    pub async fn connect_within(&self, purpose: Purpose, limits: Limits) -> Result<PgConnection, ConnectError> {
        let options = self.options.clone().application_name(&self.application_name(purpose)).options(limits.options());
        match tokio::time::timeout(limits.connect, options.connect()).await {
            Ok(Ok(session)) => Ok(session),
            Ok(Err(source)) if is_a_poolers(&source) => Err(ConnectError::Pooler { place: self.place(), source }),
            Ok(Err(source)) => Err(ConnectError::Refused { place: self.place(), source }),
            Err(_) => Err(ConnectError::Late { place: self.place(), limit: limits.connect }),
        }
    }

    /// `counterfoil/<node>/<purpose>`, within the 63 bytes that Postgres keeps: it is the node that is cut.
    fn application_name(&self, purpose: Purpose) -> String {
        let room = 63 - "counterfoil//".len() - purpose.as_str().len();
        let end = (0..=room.min(self.node.len())).rev().find(|end| self.node.is_char_boundary(*end)).unwrap_or(0);
        format!("counterfoil/{}/{}", &self.node[..end], purpose.as_str())
    }
}

impl fmt::Debug for Connector {
    /// sqlx would show the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("place", &self.place()).field("node", &self.node).finish_non_exhaustive()
    }
}

/// PgBouncer's own words; Postgres has none like them.
fn is_a_poolers(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().starts_with("unsupported startup parameter"))
}

// === impl Limits ===

impl Limits {
    /// As settings of the session. The server looks for its client every 2 s even while it computes, and gives up a
    /// client whose host is gone after about 15 s: without that a dead leader's locks would live for hours.
    fn options(&self) -> [(&'static str, String); 8] {
        let ms = |limit: Duration| limit.as_millis().to_string();
        [
            ("statement_timeout", ms(self.statement)),
            ("lock_timeout", ms(self.lock)),
            ("idle_in_transaction_session_timeout", ms(self.idle_in_transaction)),
            ("client_connection_check_interval", "2000".to_owned()),
            ("tcp_keepalives_idle", "5".to_owned()),
            ("tcp_keepalives_interval", "3".to_owned()),
            ("tcp_keepalives_count", "3".to_owned()),
            ("tcp_user_timeout", "15000".to_owned()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_shows_a_connector_shows_its_password() {
        let connector = Connector::new("postgres://worker:hunter2@db/counterfoil", "a").unwrap();
        assert!(!format!("{connector:?}").contains("hunter2"));
    }
}
