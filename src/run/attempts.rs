//! One step, tried until it is committed or was tried often enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::Executor;
use sqlx::postgres::PgConnection;
use tokio_util::sync::CancellationToken;

use super::plan::Step;
use super::{Reins, RunError, StepError};
use crate::clock::Clock;
use crate::db::DbError;
use crate::db::attempts;
use crate::db::checkpoint::{Checkpoint, Key};
use crate::db::connect::{Connector, Purpose};
use crate::db::fence::{Failure, Fence, FencedTransaction, Outcome};
use crate::db::pulse::Pulse;
use crate::election::LeaseName;
use crate::election::tenure::{AtWork, OpenStep};
use crate::telemetry::{StepOutcome, WriteOperation, event, metrics};

/// A read that takes longer is given up; the server's own limit is shorter, where it lives.
const READ_LIMIT: Duration = Duration::from_secs(150);

/// One hand at work: a session to read with, and one to write with under the term. Several hands work side by side.
pub(super) struct Hand {
    fence: Fence,
    connector: Connector,
    reading: Option<Reading>,
    /// The step that is at work.
    open: Option<OpenStep>,
    /// A fenced transaction is under way: it ends by itself when the term is told to, and commits where it was about to.
    writing: Arc<AtomicBool>,
    tools: Tools,
}

/// A session to read with, and the server process behind it.
struct Reading {
    session: PgConnection,
    backend: i32,
}

/// What all hands of a term share.
#[derive(Clone)]
pub(super) struct Tools {
    pub(super) reins: Reins,
    pub(super) connector: Connector,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) attempts: u32,
    pub(super) backoff: Duration,
    pub(super) pulse: Duration,
}

/// How trying a step ended, where the term stands.
#[derive(Debug)]
pub(super) enum Tried<T> {
    /// Committed by this attempt.
    Done(T),
    /// Committed before: by an attempt whose answer was lost, or by a predecessor.
    AlreadyDone,
    /// Tried as often as may be; why the last attempt failed.
    GivenUp(String),
}

// === impl Tools ===

impl Tools {
    /// May the next step begin?
    pub(super) fn check(&self) -> Result<(), RunError> {
        if self.reins.stop.is_cancelled() || !(self.reins.leads)() { Err(RunError::Stopped) } else { Ok(()) }
    }

    /// Waits, unless the term ends first.
    pub(super) async fn pause(&self, span: Duration) -> Result<(), RunError> {
        tokio::select! {
            () = self.reins.stop.cancelled() => Err(RunError::Stopped),
            () = tokio::time::sleep(span) => self.check(),
        }
    }

    fn pulse(&self, backend: i32) -> Pulse {
        Pulse::new(backend, self.connector.clone(), self.pulse)
    }

    pub(super) fn hand(&self) -> Hand {
        let fence = Fence::new(Arc::clone(&self.reins.term), self.connector.clone(), self.reins.stop.clone());
        Hand {
            fence,
            connector: self.connector.clone(),
            reading: None,
            open: None,
            writing: Arc::default(),
            tools: self.clone(),
        }
    }
}

// === impl Reading ===

impl Reading {
    async fn open(connector: &Connector) -> Result<Self, DbError> {
        let opened = connector.connect(Purpose::Read).await;
        let mut session = opened.map_err(|error| DbError::Reach(error.to_string()))?;
        let backend = sqlx::query_scalar!(r#"SELECT pg_backend_pid() AS "pid!""#).fetch_one(&mut session).await?;
        Ok(Self { session, backend })
    }
}

// === impl Hand ===

impl Hand {
    pub(super) fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The lease whose term it works under.
    pub(super) fn lease(&self) -> LeaseName {
        self.tools.reins.term.lease().clone()
    }

    /// The step at work shows that it gets on.
    pub(super) fn beat(&self) {
        beat(self.open.as_ref());
    }

    /// Reads in one read-only transaction: all of it is of one moment. After an error the session is dropped.
    pub(super) async fn read<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        let stop = self.tools.reins.stop.clone();
        let read = tokio::time::timeout(READ_LIMIT, self.read_to_end(work));
        tokio::select! {
            biased;
            // A server that does not answer any more keeps nobody from stepping down.
            () = stop.cancelled() => Err(DbError::Reach("the term ended".to_owned())),
            read = read => read.unwrap_or_else(|_| {
                Err(DbError::Reach(format!("Postgres did not answer a read within {} s", READ_LIMIT.as_secs())))
            }),
        }
    }

    async fn read_to_end<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, DbError>,
    ) -> Result<T, DbError> {
        let Reading { mut session, backend } = match self.reading.take() {
            Some(reading) => reading,
            None => Reading::open(&self.connector).await?,
        };
        session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let open = self.open.as_ref();
        let value = self.tools.pulse(backend).during(|| beat(open), Box::pin(work(&mut session))).await?;
        session.execute("COMMIT").await?;
        self.reading = Some(Reading { session, backend });
        Ok(value)
    }

    /// Counts a refusal of the term where it was met, and tells of it.
    fn counted(&self, error: RunError, operation: WriteOperation) -> RunError {
        if let RunError::Fenced(fenced) = &error {
            metrics::fencing_rejection(operation);
            tracing::error!(
                event = event::WRITE_REFUSED,
                operation = crate::telemetry::Label::value(operation),
                token = %fenced.own,
                installed = fenced.installed.map(crate::election::FencingToken::get),
                error = %fenced,
                "Postgres refused this term's write"
            );
            (self.tools.reins.refused)(fenced);
        }
        error
    }

    /// Writes something that is no step, and that may be repeated.
    pub(super) async fn record<T>(
        &mut self,
        operation: WriteOperation,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, DbError>,
    ) -> Result<T, RunError> {
        self.writing.store(true, Ordering::SeqCst);
        let (tools, open) = (&self.tools, self.open.as_ref());
        let written = self.fence.record(async |transaction| Ok(felt(tools, open, transaction, work).await?)).await;
        self.writing.store(false, Ordering::SeqCst);
        written.map_err(|error| self.counted(error.into(), operation))
    }

    /// Commits a step's writes with its checkpoint.
    pub(super) async fn commit<T>(
        &mut self,
        checkpoint: &Checkpoint,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, DbError>,
    ) -> Result<Outcome<T>, StepError> {
        let operation = operation(checkpoint.key.step);
        self.writing.store(true, Ordering::SeqCst);
        let (tools, open) = (&self.tools, self.open.as_ref());
        let written =
            self.fence.write(checkpoint, async |transaction| Ok(felt(tools, open, transaction, work).await?)).await;
        self.writing.store(false, Ordering::SeqCst);
        written.map_err(|error| match StepError::from(error) {
            StepError::Run(error) => StepError::Run(self.counted(error, operation)),
            attempt @ StepError::Attempt(_) => attempt,
        })
    }

    /// Tries a step until it is committed, at most so often. `allowed` is how many attempts are allowed in all, those
    /// made before included.
    pub(super) async fn try_step<T>(
        &mut self,
        step: Step,
        key: &Key,
        allowed: Option<u32>,
        mut attempt: impl AsyncFnMut(&mut Self) -> Result<Outcome<T>, StepError>,
    ) -> Result<Tried<T>, RunError> {
        let allowed = allowed.unwrap_or(self.tools.attempts);
        let mut failures = 0_u32;
        loop {
            self.tools.check()?;
            let lease = self.lease();
            let known = self.read(async |session| attempts::of(session, &lease, key).await).await;
            let known = match known {
                Ok(known) => known,
                Err(error) => {
                    // Nothing was tried: Postgres could not be asked. That is the pass' affair, and not the step's.
                    return Err(error.into());
                }
            };
            if known.made >= allowed {
                let why = known.failure.unwrap_or_else(|| "its process died in it".to_owned());
                metrics::step(step, StepOutcome::Failed, Duration::ZERO);
                return Ok(Tried::GivenUp(format!("step {step} was tried {} times; the last time: {why}", known.made)));
            }
            let number = self.record(WriteOperation::Attempt, async |sql| attempts::begin(sql, key).await).await?;
            metrics::attempt(step);
            let began = self.tools.clock.now();
            let at_work = AtWork { step: step.name(), account: key.account.clone(), key: key.key.clone() };
            self.open = Some(self.tools.reins.progress.open_as(at_work));
            let (stop, writing) = (self.tools.reins.stop.clone(), Arc::clone(&self.writing));
            let ended = tokio::select! {
                biased;
                ended = attempt(self) => ended,
                () = told_to_end(&stop, &writing) => Err(StepError::Run(RunError::Stopped)),
            };
            self.open = None;
            let took = self.tools.clock.now().since(began);
            match ended {
                Ok(Outcome::Committed(value)) => {
                    metrics::step(step, StepOutcome::Completed, took);
                    tracing::info!(event = event::STEP_COMMITTED, step = %step, account = %key.account, key = %key.key, took_ms = took.as_millis(), "step committed");
                    return Ok(Tried::Done(value));
                }
                Ok(Outcome::AlreadyDone { by }) => {
                    metrics::step(step, StepOutcome::AlreadyDone, took);
                    tracing::info!(event = event::STEP_ALREADY_DONE, step = %step, account = %key.account, key = %key.key, token = %by, "step was committed before");
                    return Ok(Tried::AlreadyDone);
                }
                Err(StepError::Run(error)) => {
                    metrics::step(step, StepOutcome::Aborted, took);
                    return Err(error);
                }
                Err(StepError::Attempt(why)) => {
                    metrics::step(step, StepOutcome::Retried, took);
                    tracing::warn!(event = event::STEP_FAILED, step = %step, account = %key.account, key = %key.key, attempt = number, error = %why, "step failed");
                    self.record(WriteOperation::Attempt, async |sql| attempts::failed(sql, key, number, &why).await)
                        .await?;
                    if number < allowed {
                        let wait = self.tools.backoff * (1 << failures.min(7)).min(100);
                        failures += 1;
                        self.tools.pause(wait).await?;
                    }
                }
            }
        }
    }
}

/// The work of a transaction, with a finger on its backend's pulse; and a beat when it is done, since what follows (the
/// checkpoint, the commit) has limits of its own.
async fn felt<T>(
    tools: &Tools,
    open: Option<&OpenStep>,
    transaction: &mut FencedTransaction,
    work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, DbError>,
) -> Result<T, DbError> {
    let pulse = tools.pulse(transaction.backend());
    let done = pulse.during(|| beat(open), Box::pin(work(transaction.sql()))).await;
    beat(open);
    done
}

fn beat(open: Option<&OpenStep>) {
    if let Some(open) = open {
        open.beat();
    }
}

/// Waits until the term was told to end and no fenced transaction is under way: then whatever else goes on, a load or a
/// computation, is given up.
async fn told_to_end(stop: &CancellationToken, writing: &AtomicBool) {
    stop.cancelled().await;
    while writing.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn operation(step: &str) -> WriteOperation {
    match Step::named(step) {
        Some(Step::Ingest) => WriteOperation::Ingest,
        Some(Step::Book) => WriteOperation::Book,
        Some(Step::Manifest) => WriteOperation::Manifest,
        Some(Step::Match) => WriteOperation::Match,
        Some(Step::Close) => WriteOperation::Close,
        Some(Step::Report) => WriteOperation::Report,
        None => WriteOperation::Other,
    }
}

impl From<DbError> for Failure {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Sql(error) => Self::Sql(error),
            other => Self::Step(Box::new(other)),
        }
    }
}
