//! The ledger of runs: one row a book and business date. Readers name the lease; what is written is the entered one's.

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::postgres::PgConnection;

use super::DbError;
use crate::election::LeaseName;
use crate::schedule::planner::{Ledger, Occurrence, Plan};

/// A run, as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// The business date.
    pub business_date: NaiveDate,
    /// `planned` or `asked`.
    pub origin: String,
    /// `due`, `complete`, `incomplete`, `failed` or `skipped`.
    pub status: String,
    /// Why it was skipped.
    pub reason: Option<String>,
    /// When it was due.
    pub due: DateTime<Utc>,
    /// When what still waits is named.
    pub deadline: DateTime<Utc>,
    /// The digest over its closed accounts, once all are.
    pub digest: Option<String>,
    /// When it was recorded.
    pub recorded_at: DateTime<Utc>,
    /// When it was complete.
    pub finished_at: Option<DateTime<Utc>>,
}

/// What recording a plan wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Dates to run.
    pub due: u64,
    /// Dates left out, with a reason.
    pub skipped: u64,
    /// Dates that were in the ledger already: another leader planned them, a moment ago.
    pub already: u64,
}

/// A query for whole rows of the ledger: what stands behind the table's name, and its arguments.
macro_rules! runs {
    ($clauses:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            RunRow,
            "SELECT business_date, origin, status, reason, due, deadline, digest, recorded_at, finished_at \
             FROM counterfoil.run " + $clauses
            $(, $argument)*
        )
    };
}

/// What the planner must know.
pub async fn ledger(session: &mut PgConnection, lease: &LeaseName) -> Result<Ledger, DbError> {
    let planned_through = sqlx::query_scalar!(
        "SELECT max(business_date) FROM counterfoil.run WHERE lease = $1 AND origin = 'planned'",
        lease.as_str()
    )
    .fetch_one(&mut *session)
    .await?;
    let asked = sqlx::query_scalar!(
        "SELECT business_date FROM counterfoil.run
         WHERE lease = $1 AND origin = 'asked' AND business_date > coalesce($2::date, '-infinity')",
        lease.as_str(),
        planned_through
    )
    .fetch_all(session)
    .await?;
    Ok(Ledger { planned_through, asked: asked.into_iter().collect() })
}

/// Records a plan, oldest first. A date that is there already stays as it is.
pub async fn record(session: &mut PgConnection, plan: &Plan) -> Result<Recorded, DbError> {
    let mut recorded = Recorded::default();
    for skip in &plan.skipped {
        let new = insert(&mut *session, &skip.occurrence, "planned", "skipped", Some(&skip.reason)).await?;
        *(if new { &mut recorded.skipped } else { &mut recorded.already }) += 1;
    }
    for occurrence in &plan.due {
        let new = insert(&mut *session, occurrence, "planned", "due", None).await?;
        *(if new { &mut recorded.due } else { &mut recorded.already }) += 1;
    }
    Ok(recorded)
}

/// Records a date that somebody asked for. One that was skipped is due after all; any other stays as it is.
pub async fn record_asked(session: &mut PgConnection, occurrence: &Occurrence) -> Result<bool, DbError> {
    if insert(&mut *session, occurrence, "asked", "due", None).await? {
        return Ok(true);
    }
    let revived = sqlx::query!(
        "UPDATE counterfoil.run SET status = 'due', reason = NULL, progress_at = clock_timestamp()
         WHERE lease = counterfoil.entered_lease() AND business_date = $1 AND status = 'skipped'",
        occurrence.business_date
    )
    .execute(session)
    .await?;
    Ok(revived.rows_affected() > 0)
}

async fn insert(
    session: &mut PgConnection,
    occurrence: &Occurrence,
    origin: &str,
    status: &str,
    reason: Option<&str>,
) -> Result<bool, DbError> {
    let inserted = sqlx::query!(
        "INSERT INTO counterfoil.run (business_date, origin, status, reason, due, deadline)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (lease, business_date) DO NOTHING",
        occurrence.business_date,
        origin,
        status,
        reason,
        occurrence.due,
        occurrence.deadline
    )
    .execute(session)
    .await?;
    Ok(inserted.rows_affected() > 0)
}

/// Runs that are not done: oldest first.
pub async fn unfinished(session: &mut PgConnection, lease: &LeaseName) -> Result<Vec<RunRow>, DbError> {
    let runs =
        runs!("WHERE lease = $1 AND status IN ('due', 'incomplete', 'failed') ORDER BY business_date", lease.as_str());
    Ok(runs.fetch_all(session).await?)
}

/// The newest runs, newest first.
pub async fn newest(session: &mut PgConnection, lease: &LeaseName, limit: i64) -> Result<Vec<RunRow>, DbError> {
    let runs = runs!("WHERE lease = $1 ORDER BY business_date DESC LIMIT $2", lease.as_str(), limit);
    Ok(runs.fetch_all(session).await?)
}

/// One run.
pub async fn find(session: &mut PgConnection, lease: &LeaseName, date: NaiveDate) -> Result<Option<RunRow>, DbError> {
    Ok(runs!("WHERE lease = $1 AND business_date = $2", lease.as_str(), date).fetch_optional(session).await?)
}

/// Sets how a run stands. What stands so already is left alone.
pub async fn set_status(
    session: &mut PgConnection,
    date: NaiveDate,
    status: &str,
    digest: Option<&str>,
) -> Result<bool, DbError> {
    let set = sqlx::query!(
        "UPDATE counterfoil.run SET status = $2, digest = $3, progress_at = clock_timestamp(),
             finished_at = CASE WHEN $2 = 'complete' THEN clock_timestamp() END
         WHERE lease = counterfoil.entered_lease() AND business_date = $1 AND (status, digest) IS DISTINCT FROM ($2, $3)",
        date,
        status,
        digest
    )
    .execute(session)
    .await?;
    Ok(set.rows_affected() > 0)
}
