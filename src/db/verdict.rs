//! What an error of Postgres means to whoever writes: lost, again, refused, or a fault of ours.

use sqlx::error::DatabaseError;
use sqlx::postgres::{PgDatabaseError, PgSeverity};

use crate::election::{FencingToken, Owner};

/// SQLSTATE: the term is not the installed one.
pub const TERM_OVER: &str = "TF001";
/// SQLSTATE: the transaction did not enter its term.
pub const NOT_ENTERED: &str = "TF002";
/// SQLSTATE: the account, or the row, belongs to another lease.
pub const NOT_ITS_OWN: &str = "TF007";

/// What to do about an error of sqlx.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Postgres says that another term is installed.
    TermOver,
    /// The session is gone, or may be: only a new one can tell what holds.
    SessionLost,
    /// Another transaction was in the way: enter again, then believe the answer.
    Conflict,
    /// Passing: a limit, a lack of memory, connections or disk.
    Passing,
    /// The same row is there already.
    Duplicate,
    /// Statement or data are not as the schema wants them: again would end the same.
    Refused,
    /// A statement that no transaction of a term could have sent: our own fault.
    Bug,
}

/// Postgres' refusal of a term, as it worded it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} [{}]{}", TERM_OVER, after.as_ref().map_or(String::new(), |lost| format!(" (asked again after: {lost})")))]
pub struct Fenced {
    /// The token that was refused.
    pub own: FencingToken,
    /// The installed term's token; none where the table is empty.
    pub installed: Option<FencingToken>,
    /// The installed term's owner.
    pub installed_owner: Option<Owner>,
    /// The sentence, with both tokens.
    pub message: String,
    /// How the session ended that made us ask: an eviction's 57P01, say.
    pub after: Option<String>,
}

/// Reads an error.
pub(crate) fn meaning(error: &sqlx::Error) -> Meaning {
    let database = match error {
        sqlx::Error::Database(database) => database,
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => return Meaning::SessionLost,
        _ => return Meaning::Bug,
    };
    let code = database.code().unwrap_or_default();
    match &*code {
        TERM_OVER => Meaning::TermOver,
        NOT_ENTERED | "25P01" | "25P02" => Meaning::Bug,
        "40001" | "40P01" => Meaning::Conflict,
        "23505" => Meaning::Duplicate,
        NOT_ITS_OWN => Meaning::Refused,
        "57014" | "55P03" => Meaning::Passing,
        _ if is_fatal(database.as_ref()) || code.starts_with("57P") || code.starts_with("08") || code == "25P03" => {
            Meaning::SessionLost
        }
        // Insufficient resources, system error, operator intervention; read-only, while a primary is being demoted.
        _ if ["53", "58", "57"].iter().any(|class| code.starts_with(class)) || code == "25006" => Meaning::Passing,
        _ if ["22", "23"].iter().any(|class| code.starts_with(class)) => Meaning::Refused,
        _ => Meaning::Bug,
    }
}

fn is_fatal(error: &dyn DatabaseError) -> bool {
    error
        .try_downcast_ref::<PgDatabaseError>()
        .is_some_and(|error| matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic))
}

/// The error in one line: code and sentence.
pub(crate) fn told(error: &sqlx::Error) -> String {
    match error.as_database_error() {
        Some(database) => format!("{} {}", database.code().unwrap_or_default(), database.message()),
        None => error.to_string(),
    }
}

/// Reads the refusal of a term. Its DETAIL is `own token 1, owner a:…; installed token 2, owner b:…`, or ends with
/// `installed token none`.
pub(crate) fn fenced(error: &sqlx::Error, own: FencingToken, after: Option<String>) -> Fenced {
    let database = error.as_database_error();
    let detail = database
        .and_then(|error| error.try_downcast_ref::<PgDatabaseError>())
        .and_then(PgDatabaseError::detail)
        .unwrap_or_default();
    // The last one: an owner of our own could hold these very words.
    let installed = detail.rsplit_once("installed token ").and_then(|(_, installed)| installed.split_once(", owner "));
    Fenced {
        own,
        installed: installed.and_then(|(token, _)| token.parse().ok()).and_then(FencingToken::new),
        installed_owner: installed.map(|(_, owner)| Owner::from_stored(owner)),
        message: database.map_or_else(|| error.to_string(), |error| error.message().to_owned()),
        after,
    }
}
