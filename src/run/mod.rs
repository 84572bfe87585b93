//! What: a run and its steps.
//!
//! A run is one business date; its unit of work is the account-day. [`plan`] says, as data, which steps there are, what
//! each is keyed by, and what must have been committed before it. [`runner`] asks what is due and does it, a file a step:
//! each loads in a read-only transaction, computes with none open, and writes its results and its own checkpoint in one
//! fenced transaction. So a run has no state but the ledger's: whoever leads next goes on at the first step without a
//! checkpoint.

mod account_day;
mod attempts;
mod book;
mod by_query;
mod close;
mod day;
pub mod desk;
mod failing;
mod ingest;
mod join;
mod left;
mod manifest;
mod match_lines;
pub mod plan;
mod publish;
mod report;
pub mod runner;
mod summary;
mod whose;
pub mod work;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::db::connect::ConnectError;
use crate::db::fence::WriteError;
use crate::db::verdict::Fenced;
use crate::db::{DbError, said};
use crate::election::tenure::{Progress, Tenure};
use crate::election::term::Term;
use crate::inbox::InboxError;

/// What holds the work of one term: the right to write, and the ways to be told to end.
#[derive(Clone)]
pub struct Reins {
    /// The term.
    pub term: Arc<Term>,
    /// Cancelled when the work must stop.
    pub stop: CancellationToken,
    /// May a step begin now? Asked before every step; compares the clock with the end of trust.
    pub leads: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Where open steps show that they get on.
    pub progress: Progress,
    /// Told where Postgres refuses a write of the term, whether or not the term was told to end already.
    pub refused: Arc<dyn Fn(&Fenced) + Send + Sync>,
    /// Told, and why, where pass after pass fails: the term is to be ended, so that another replica tries.
    pub failing: Arc<dyn Fn(String) + Send + Sync>,
}

/// Why the work of a term ended before there was nothing left to do.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Postgres refused the term: another one is installed. Step down.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// The term was told to end, or its trust ended. What was under way was rolled back.
    #[error("the term ended")]
    Stopped,
    /// Whether something was committed is not known, and nobody can be asked. Look again later.
    #[error("it is not known whether a transaction was committed: {0}")]
    Unknown(String),
    /// Passing: a server cannot be reached, a limit was met. The next pass tries again.
    #[error("to be tried again: {0}")]
    Transient(String),
    /// The inbox as a whole cannot be read.
    #[error(transparent)]
    Inbox(#[from] InboxError),
    /// What is stored cannot be true, or a statement is wrong.
    #[error(transparent)]
    Db(DbError),
    /// A fault of ours.
    #[error("a fault of this program: {0}")]
    Bug(String),
}

/// Why one step did not succeed, though the term stands.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The whole term's work ends.
    #[error(transparent)]
    Run(#[from] RunError),
    /// This attempt failed; another one may be made.
    #[error("{0}")]
    Attempt(String),
}

// === impl Reins ===

impl Reins {
    /// Of a tenure. It lives as long as these do: the lease is not released while somebody holds them.
    pub fn of(tenure: &Arc<Tenure>) -> Self {
        let asked = Arc::clone(tenure);
        let told = Arc::clone(tenure);
        let failing = Arc::clone(tenure);
        Self {
            term: Arc::clone(tenure.term()),
            stop: tenure.stop().clone(),
            leads: Arc::new(move || asked.leads()),
            progress: tenure.progress().clone(),
            refused: Arc::new(move |verdict| told.was_refused(verdict.to_string())),
            failing: Arc::new(move |why| failing.is_failing(why)),
        }
    }
}

// === impl RunError ===

impl RunError {
    /// Does the term end with it?
    pub fn ends_the_term(&self) -> bool {
        matches!(self, Self::Fenced(_) | Self::Stopped)
    }
}

impl From<ConnectError> for RunError {
    fn from(error: ConnectError) -> Self {
        Self::Transient(error.to_string())
    }
}

impl From<DbError> for RunError {
    fn from(error: DbError) -> Self {
        match &error {
            // A statement that is wrong stays wrong; all else of Postgres may pass.
            DbError::Sql(sqlx::Error::Database(database))
                if database.code().is_some_and(|code| code.starts_with("42")) =>
            {
                Self::Db(error)
            }
            DbError::Sql(sql) => Self::Transient(said(sql)),
            DbError::Reach(what) => Self::Transient(what.clone()),
            DbError::Value(_) | DbError::Json(_) => Self::Db(error),
        }
    }
}

impl From<sqlx::Error> for RunError {
    fn from(error: sqlx::Error) -> Self {
        DbError::from(error).into()
    }
}

impl From<WriteError> for RunError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Fenced(fenced) => Self::Fenced(fenced),
            WriteError::Stopped => Self::Stopped,
            WriteError::Transient(what) => Self::Transient(what),
            WriteError::Unknown(what) => Self::Unknown(what),
            WriteError::Step(step) => Self::Bug(step.to_string()),
            WriteError::Refused(sql) => Self::Bug(format!("refused by the schema: {sql}")),
            WriteError::Bug(what) => Self::Bug(what),
        }
    }
}

// === impl StepError ===

impl From<WriteError> for StepError {
    fn from(error: WriteError) -> Self {
        match error {
            // These are about the term, and not about the step.
            WriteError::Fenced(_) | WriteError::Stopped | WriteError::Unknown(_) => Self::Run(error.into()),
            other => Self::Attempt(other.to_string()),
        }
    }
}

impl From<DbError> for StepError {
    fn from(error: DbError) -> Self {
        Self::Attempt(error.to_string())
    }
}

impl From<sqlx::Error> for StepError {
    fn from(error: sqlx::Error) -> Self {
        Self::Attempt(said(&error))
    }
}

impl From<ConnectError> for StepError {
    fn from(error: ConnectError) -> Self {
        Self::Attempt(error.to_string())
    }
}
