//! The fence: the only way to open a writing transaction.
//!
//! ```text
//! enter_term ─→ the step's work ─→ checkpoint ─→ COMMIT ─→ read the checkpoint back
//!     │               │                │           │                │
//!   refused      session lost      duplicate     lost or           none: it was
//!     ↓               ↓                ↓         no answer          rolled back
//!  Fenced     enter again: Fenced  AlreadyDone     └── look what became of the transaction
//!             or Transient
//! ```
//!
//! Postgres decides; nothing here believes a flag, nor a commit's answer. A session belongs to one term and to one
//! [`Fence`]. Whatever is dropped in the middle closes its socket, and the server rolls back: so a caller may stop
//! waiting at any instant.

use std::error::Error;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor, Row};
use tokio_util::sync::CancellationToken;

use super::checkpoint::{Checkpoint, Done};
use super::connect::{ConnectError, Connector, Purpose};
use super::verdict::{Fenced, Meaning, fenced, meaning, told};
use crate::election::term::{Term, stored};
use crate::election::{FencingToken, LeaseName};
use crate::telemetry::event;

/// One writing session of one term. Several may write side by side, each its own.
#[derive(Debug)]
pub struct Fence {
    term: Arc<Term>,
    connector: Connector,
    stop: CancellationToken,
    session: Option<Session>,
}

/// A session, and whether its database is marked throw-away.
#[derive(Debug)]
struct Session {
    sql: PgConnection,
    throwaway: bool,
    /// Are the statements with which a transaction begins and ends prepared?
    prepared: bool,
}

/// A transaction that entered its term. Had from [`Fence::write`] and [`Fence::record`] alone, which end it.
#[derive(Debug)]
pub struct FencedTransaction {
    session: Session,
    term: Arc<Term>,
    id: String,
    backend: i32,
}

/// How a step's transaction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Outcome<T> {
    /// This transaction did the step; what the work returned.
    Committed(T),
    /// The step was done before, by an attempt whose answer was lost or by a predecessor. Nothing of this one was kept.
    AlreadyDone {
        /// The term that did it.
        by: FencingToken,
    },
}

/// What a step's work ends in, where it does not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Postgres or the wire.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    /// The step itself: input that it refuses, a proof that fails.
    #[error(transparent)]
    Step(Box<dyn Error + Send + Sync>),
}

/// Why a transaction did not commit, by what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Lost: another term is installed. Terminal for this term: step down.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// The term was told to end before the work was done. Nothing was kept.
    #[error("stopped: the term is ending")]
    Stopped,
    /// Transient: nothing was kept, the term still stands or could not be asked about. Try again.
    #[error("nothing was kept, to be tried again: {0}")]
    Transient(String),
    /// The commit got no answer, and Postgres cannot be asked what became of it. Look before trying again; a step with a
    /// checkpoint may simply be tried again.
    #[error("it is not known whether the transaction was committed: {0}")]
    Unknown(String),
    /// The step refused its input. Nothing was kept; again would end the same.
    #[error(transparent)]
    Step(Box<dyn Error + Send + Sync>),
    /// Postgres refused the data: a constraint. Nothing was kept; again would end the same.
    #[error("refused by the schema: {0}")]
    Refused(sqlx::Error),
    /// A fault of ours: a step out of order, a statement outside its transaction.
    #[error("a fault of this program: {0}")]
    Bug(String),
}

/// What became of a transaction whose commit was not answered.
enum Fate {
    Committed,
    NotCommitted {
        /// The step, done by another transaction.
        done: Option<Done>,
        /// How we lost the answer.
        lost: String,
    },
}

// === impl Fence ===

impl Fence {
    /// How long each of our own few statements may take before the session counts as lost. The server's own limits are
    /// shorter, where it lives.
    const PATIENCE: Duration = Duration::from_secs(45);
    /// How often the fate of an unanswered commit is asked for, in all and once the term is to end; and how long apart.
    const FATE_ASKED: u32 = 100;
    const FATE_ASKED_AT_THE_END: u32 = 10;
    const FATE_EVERY: Duration = Duration::from_millis(100);
    /// How long the end of a closed session may take on the way out.
    const HURRY: Duration = Duration::from_millis(500);

    /// A way to write under a term, until `stop` is cancelled. Nothing is opened yet.
    pub fn new(term: Arc<Term>, connector: Connector, stop: CancellationToken) -> Self {
        Self { term, connector, stop, session: None }
    }

    /// The term.
    pub fn term(&self) -> &Term {
        &self.term
    }

    /// Does a step: its work and its checkpoint in one transaction, committed under the term or not at all.
    ///
    /// Once the work is done the step is within one statement of its commit, and is no longer stopped.
    pub async fn write<T>(
        &mut self,
        checkpoint: &Checkpoint,
        work: impl AsyncFnOnce(&mut FencedTransaction) -> Result<T, Failure>,
    ) -> Result<Outcome<T>, WriteError> {
        let mut transaction = self.enter(&checkpoint.key.account, None).await?;
        let value = self.work(&mut transaction, work).await;
        let value = match value {
            Ok(value) => value,
            Err(failure) => return Err(self.failed(transaction, failure).await),
        };
        match patient(checkpoint.insert(&mut transaction)).await {
            Ok(true) => {}
            Ok(false) => {
                return Err(WriteError::Bug(format!("{:?} before the steps that it comes after", checkpoint.key)));
            }
            Err(error) if meaning(&error) == Meaning::Duplicate => {
                return self.already_done(transaction, checkpoint).await;
            }
            Err(error) => return Err(self.failed(transaction, error.into()).await),
        }
        if let Err(error) = transaction.hold(checkpoint.key.step).await {
            return Err(self.failed(transaction, error.into()).await);
        }
        match self.commit(transaction, Some(checkpoint)).await? {
            Fate::Committed => Ok(Outcome::Committed(value)),
            // A successor did the step while we were away: our term is over, and Postgres shall say so.
            Fate::NotCommitted { done: Some(done), lost } if done.token > self.term.token() => {
                Err(self.ask_again(lost).await)
            }
            Fate::NotCommitted { done: Some(done), .. } => Ok(Outcome::AlreadyDone { by: done.token }),
            Fate::NotCommitted { done: None, lost } => Err(self.ask_again(lost).await),
        }
    }

    /// Writes something that is no step: an attempt that begins, a run that is due, a request that was served. There is
    /// no checkpoint to tell a repetition, so the work must be one that may be repeated.
    pub async fn record<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut FencedTransaction) -> Result<T, Failure>,
    ) -> Result<T, WriteError> {
        let mut transaction = self.enter("", None).await?;
        let value = self.work(&mut transaction, work).await;
        let value = match value {
            Ok(value) => value,
            Err(failure) => return Err(self.failed(transaction, failure).await),
        };
        match self.commit(transaction, None).await? {
            Fate::Committed => Ok(value),
            Fate::NotCommitted { lost, .. } => Err(self.ask_again(lost).await),
        }
    }

    /// Runs the work until it ends or the term is told to.
    async fn work<T>(
        &self,
        transaction: &mut FencedTransaction,
        work: impl AsyncFnOnce(&mut FencedTransaction) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(Failure::Step(Box::new(WriteError::Stopped))),
            done = work(transaction) => done,
        }
    }

    /// Begins a transaction and enters the term, and the account where one is named, on a new session where the old one is
    /// gone.
    async fn enter(&mut self, account: &str, after: Option<String>) -> Result<FencedTransaction, WriteError> {
        let mut last = String::new();
        // Once for the session that we have, once for a new one, and once more for a conflict on it.
        for _ in 0..3 {
            if self.stop.is_cancelled() && after.is_none() {
                return Err(WriteError::Stopped);
            }
            let mut session = match self.session.take() {
                Some(session) => session,
                None => {
                    Session::open(&self.connector).await.map_err(|error| WriteError::Transient(error.to_string()))?
                }
            };
            let error = match patient(session.begin(&self.term, account)).await {
                Ok((id, backend)) => {
                    return Ok(FencedTransaction { session, term: Arc::clone(&self.term), id, backend });
                }
                Err(error) => error,
            };
            match meaning(&error) {
                Meaning::TermOver => return Err(fenced(&error, self.term.token(), after).into()),
                Meaning::SessionLost | Meaning::Conflict | Meaning::Passing => last = told(&error),
                Meaning::Refused => return Err(WriteError::Refused(error)),
                Meaning::Duplicate | Meaning::Bug => return Err(WriteError::Bug(told(&error))),
            }
        }
        Err(WriteError::Transient(last))
    }

    /// What a failure in the middle of a transaction means. A step's own refusal leaves the session whole; after anything
    /// else it goes, and the transaction with it.
    async fn failed(&mut self, mut transaction: FencedTransaction, failure: Failure) -> WriteError {
        let error = match failure {
            Failure::Sql(error) => error,
            Failure::Step(step) => {
                return match step.downcast::<WriteError>() {
                    Ok(ours) => {
                        let backend = transaction.backend;
                        drop(transaction);
                        self.end_backend(backend).await;
                        *ours
                    }
                    Err(step) => {
                        let whole = patient(transaction.session.sql.execute("ROLLBACK")).await.is_ok();
                        self.session = whole.then_some(transaction.session);
                        WriteError::Step(step)
                    }
                };
            }
        };
        drop(transaction);
        match meaning(&error) {
            Meaning::TermOver => fenced(&error, self.term.token(), None).into(),
            Meaning::SessionLost | Meaning::Conflict => self.ask_again(told(&error)).await,
            Meaning::Passing => WriteError::Transient(told(&error)),
            Meaning::Duplicate | Meaning::Refused => WriteError::Refused(error),
            Meaning::Bug => WriteError::Bug(told(&error)),
        }
    }

    /// Ends the server's side of a session that was closed in the middle of a statement. By itself the server notices
    /// within two seconds, and as long the lease's lock would keep a successor waiting. A hurry, and no promise: whoever
    /// installs a term evicts what is in its way.
    async fn end_backend(&self, backend: i32) {
        let end = async {
            let mut session = Session::open(&self.connector).await.map_err(|error| error.to_string())?;
            let asked = sqlx::query!("SELECT pg_terminate_backend($1)", backend).fetch_one(&mut session.sql).await;
            asked.map_err(|error| told(&error))
        };
        match tokio::time::timeout(Self::HURRY, end).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(error, "the closed session is left for the server to notice"),
            Err(_) => tracing::debug!("the closed session is left for the server to notice"),
        }
    }

    /// Enters once more, on a new session, only to hear whether the term still stands.
    async fn ask_again(&mut self, lost: String) -> WriteError {
        match self.enter("", Some(lost.clone())).await {
            Ok(_rolled_back) => WriteError::Transient(lost),
            Err(WriteError::Transient(now)) => WriteError::Transient(format!("{lost}; and then: {now}")),
            Err(verdict) => verdict,
        }
    }

    /// A duplicate key: somebody was faster, in this term or in one before.
    async fn already_done<T>(
        &mut self,
        mut transaction: FencedTransaction,
        checkpoint: &Checkpoint,
    ) -> Result<Outcome<T>, WriteError> {
        let looked = patient(async {
            transaction.session.sql.execute("ROLLBACK").await?;
            checkpoint.key.find(&mut transaction.session.sql, self.term.lease()).await
        })
        .await;
        match looked {
            Ok(Some(done)) => {
                self.session = Some(transaction.session);
                Ok(Outcome::AlreadyDone { by: done.token })
            }
            Ok(None) => Err(WriteError::Transient("a checkpoint that was in the way is gone".to_owned())),
            Err(error) => Err(self.failed(transaction, error.into()).await),
        }
    }

    /// Commits, and does not believe the answer: an aborted transaction's COMMIT is answered without an error (by the tag
    /// ROLLBACK, which sqlx does not show), and a lost answer says nothing.
    async fn commit(
        &mut self,
        mut transaction: FencedTransaction,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<Fate, WriteError> {
        let id = transaction.id.clone();
        let lost = match patient(end(&mut transaction.session.sql, self.term.lease(), &id, checkpoint)).await {
            Ok(Ok(Some(Fate::Committed))) => {
                let held = match checkpoint {
                    Some(checkpoint) => transaction.hold(&format!("{}:committed", checkpoint.key.step)).await,
                    None => Ok(()),
                };
                self.session = held.is_ok().then_some(transaction.session);
                return Ok(Fate::Committed);
            }
            Ok(Ok(_)) => {
                return Err(WriteError::Bug(
                    "the work swallowed an error: its transaction was aborted, and its commit rolled back".to_owned(),
                ));
            }
            // The commit was answered, the question after it was not.
            Ok(Err(error)) => told(&error),
            // A commit without an answer. With one it is a refusal, of a deferred constraint say, and nothing was kept.
            Err(error) if meaning(&error) == Meaning::SessionLost => told(&error),
            Err(error) => return Err(self.failed(transaction, error.into()).await),
        };
        let backend = transaction.backend;
        drop(transaction);
        self.fate(&id, backend, checkpoint, lost).await
    }

    /// Asks on new sessions what became of a transaction. One that is still under way is ended, so that the answer cannot
    /// change after it was given.
    async fn fate(
        &mut self,
        id: &str,
        backend: i32,
        checkpoint: Option<&Checkpoint>,
        lost: String,
    ) -> Result<Fate, WriteError> {
        tracing::warn!(event = event::COMMIT_UNKNOWN, transaction = %id, error = %lost, "the commit was not answered; asking what became of it");
        let mut last = lost.clone();
        for asked in 0..Self::FATE_ASKED {
            if asked >= Self::FATE_ASKED_AT_THE_END && self.stop.is_cancelled() {
                break;
            }
            match self.fate_now(id, backend, checkpoint, &lost).await {
                Ok(Some(fate)) => return Ok(fate),
                Ok(None) => "it is still under way".clone_into(&mut last),
                Err(error) => last = error,
            }
            tokio::time::sleep(Self::FATE_EVERY).await;
        }
        Err(WriteError::Unknown(last))
    }

    async fn fate_now(
        &mut self,
        id: &str,
        backend: i32,
        checkpoint: Option<&Checkpoint>,
        lost: &str,
    ) -> Result<Option<Fate>, String> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => Session::open(&self.connector).await.map_err(|error| error.to_string())?,
        };
        let looked = patient(async {
            let looked = look(&mut session.sql, self.term.lease(), id, checkpoint, lost).await?;
            if looked.is_none() {
                sqlx::query!("SELECT pg_terminate_backend($1)", backend).fetch_one(&mut session.sql).await?;
            }
            Ok(looked)
        })
        .await
        .map_err(|error| told(&error))?;
        self.session = Some(session);
        Ok(looked)
    }
}

/// Commits, and asks what became of the transaction: the inner result is the answer to that. A transaction without a
/// checkpoint is asked about in the same message.
async fn end(
    sql: &mut PgConnection,
    lease: &LeaseName,
    id: &str,
    checkpoint: Option<&Checkpoint>,
) -> Result<Result<Option<Fate>, sqlx::Error>, sqlx::Error> {
    if checkpoint.is_some() {
        sql.execute("COMMIT").await?;
        return Ok(look(sql, lease, id, checkpoint, "").await);
    }
    // The id is digits, as Postgres gave it.
    let message = format!("COMMIT; EXECUTE became('{id}')");
    match sqlx::raw_sql(AssertSqlSafe(message)).fetch_one(&mut *sql).await {
        Ok(row) => Ok(row.try_get::<Option<String>, _>(0).map(|status| fate_by(status.as_deref(), ""))),
        Err(error) if meaning(&error) == Meaning::SessionLost => Err(error),
        // The error of the commit, or of the question after it: the transaction itself tells which.
        Err(error) => match look(sql, lease, id, None, "").await {
            Ok(Some(Fate::NotCommitted { .. })) => Err(error),
            looked => Ok(looked),
        },
    }
}

/// What `pg_xact_status` says of a transaction without a checkpoint.
fn fate_by(status: Option<&str>, lost: &str) -> Option<Fate> {
    match status {
        Some("in progress") => None,
        Some("committed") => Some(Fate::Committed),
        _ => Some(Fate::NotCommitted { done: None, lost: lost.to_owned() }),
    }
}

/// What became of a transaction, as Postgres knows it now; `None` while it is under way.
async fn look(
    sql: &mut PgConnection,
    lease: &LeaseName,
    id: &str,
    checkpoint: Option<&Checkpoint>,
    lost: &str,
) -> Result<Option<Fate>, sqlx::Error> {
    // Its own checkpoint is proof enough, and the usual case.
    if let Some(checkpoint) = checkpoint
        && checkpoint.key.find(sql, lease).await?.is_some_and(|done| done.transaction == id)
    {
        return Ok(Some(Fate::Committed));
    }
    let status = sqlx::query_scalar!("SELECT pg_xact_status($1::text::xid8)", id).fetch_one(&mut *sql).await;
    let status = match status {
        Ok(status) => status.unwrap_or_default(),
        // An id of the future: this is another server, promoted without that transaction.
        Err(error) if error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("22023")) => {
            String::new()
        }
        Err(error) => return Err(error),
    };
    match (&*status, checkpoint) {
        (status, None) => Ok(fate_by(Some(status), lost)),
        ("in progress", _) => Ok(None),
        // Looked at again, now that it has ended: a checkpoint that is not there after that will never be.
        (_, Some(checkpoint)) => Ok(Some(match checkpoint.key.find(sql, lease).await? {
            Some(done) if done.transaction == id => Fate::Committed,
            done => Fate::NotCommitted { done, lost: lost.to_owned() },
        })),
    }
}

/// A call that is not answered in time counts as a lost session.
async fn patient<T>(call: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    match tokio::time::timeout(Fence::PATIENCE, call).await {
        Ok(answer) => answer,
        Err(late) => Err(sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, late))),
    }
}

// === impl Session ===

impl Session {
    async fn open(connector: &Connector) -> Result<Self, ConnectError> {
        let mut sql = connector.connect(Purpose::Write).await?;
        // Hold points exist only in a throw-away database; an error here will show again in the first statement.
        let throwaway = patient(
            sqlx::query_scalar!(r#"SELECT to_regproc('counterfoil.hold') IS NOT NULL AS "throwaway!""#)
                .fetch_one(&mut sql),
        )
        .await
        .unwrap_or(false);
        Ok(Self { sql, throwaway, prepared: false })
    }

    /// Begins and enters the term, and the account unless it is empty; the transaction's id and the server process that
    /// runs it. One exchange: the server runs both statements of the message, and gives up the second where the first fails.
    async fn begin(&mut self, term: &Term, account: &str) -> Result<(String, i32), sqlx::Error> {
        if !self.prepared {
            self.prepare(term).await?;
            self.prepared = true;
        }
        // Not READ WRITE: a database whose default was set to read-only by its administrator is not written.
        let begin = "BEGIN ISOLATION LEVEL READ COMMITTED; EXECUTE entering";
        let message = if account.is_empty() {
            begin.to_owned()
        } else {
            format!("{begin}_account('{}')", account.replace('\'', "''"))
        };
        let row = sqlx::raw_sql(AssertSqlSafe(message)).fetch_one(&mut self.sql).await?;
        Ok((row.try_get(0)?, row.try_get(1)?))
    }

    /// Prepares what is sent at each end of a transaction, once: messages of two statements can carry no parameters of
    /// their own. The session is the term's, so its names can stand in the statement; Postgres itself quotes them.
    async fn prepare(&mut self, term: &Term) -> Result<(), sqlx::Error> {
        let statements = sqlx::query_scalar!(
            r#"SELECT format(
                   'PREPARE entering AS SELECT counterfoil.enter_term(%L, %L, %L)::text, pg_backend_pid();
                    PREPARE entering_account (text) AS
                        SELECT counterfoil.enter_term(%L, %L, %L)::text, pg_backend_pid(), counterfoil.enter_account($1);
                    PREPARE became (xid8) AS SELECT pg_xact_status($1)',
                   $1::text, $2::bigint, $3::text, $1::text, $2::bigint, $3::text) AS "statements!""#,
            term.lease().as_str(),
            stored(term.token()),
            term.owner().as_str()
        )
        .fetch_one(&mut self.sql)
        .await?;
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut self.sql).await?;
        Ok(())
    }
}

// === impl FencedTransaction ===

impl FencedTransaction {
    /// The session, for statements. Ending the transaction by hand ends in a refusal: the next statement has not entered.
    pub fn sql(&mut self) -> &mut PgConnection {
        &mut self.session.sql
    }

    /// The server process that runs it.
    pub fn backend(&self) -> i32 {
        self.backend
    }

    /// The term that it entered.
    pub fn term(&self) -> &Term {
        &self.term
    }

    /// Waits at a named point as long as somebody holds it, where the database is marked throw-away; elsewhere nothing.
    async fn hold(&mut self, point: &str) -> Result<(), sqlx::Error> {
        if self.session.throwaway {
            // The function is no migration's, so no macro can know it.
            sqlx::query("SELECT counterfoil.hold($1)").bind(point).execute(&mut self.session.sql).await?;
        }
        Ok(())
    }
}
