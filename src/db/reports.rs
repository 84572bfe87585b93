//! Reports: their bytes, stored under the fence and published from here.

use chrono::NaiveDate;
use sqlx::postgres::PgConnection;

use super::{DayKey, DbError};
use crate::election::LeaseName;

/// Stores a report of an account-day.
pub async fn store(session: &mut PgConnection, day: &DayKey<'_>, extension: &str, bytes: &[u8]) -> Result<(), DbError> {
    sqlx::query!(
        "INSERT INTO counterfoil.report (account, business_date, revision, extension, bytes)
         VALUES ($1, $2, $3, $4, $5)",
        day.account.as_str(),
        day.date,
        day.revision(),
        extension,
        bytes
    )
    .execute(session)
    .await?;
    Ok(())
}

/// Stores a run's summary, or replaces it by a newer one. Says whether its bytes changed.
pub async fn store_summary(
    session: &mut PgConnection,
    date: NaiveDate,
    extension: &str,
    bytes: &[u8],
) -> Result<bool, DbError> {
    let stored = sqlx::query!(
        "INSERT INTO counterfoil.summary AS s (business_date, extension, bytes) VALUES ($1, $2, $3)
         ON CONFLICT (lease, business_date, extension) DO UPDATE SET bytes = excluded.bytes, changed_at = clock_timestamp()
         WHERE s.bytes <> excluded.bytes",
        date,
        extension,
        bytes
    )
    .execute(session)
    .await?;
    Ok(stored.rows_affected() > 0)
}

/// Everything of a book's date that belongs into its outbox: name below it, and bytes.
pub async fn of_date(
    session: &mut PgConnection,
    lease: &LeaseName,
    date: NaiveDate,
) -> Result<Vec<(String, Vec<u8>)>, DbError> {
    let files = sqlx::query!(
        r#"SELECT format('%s/%s/r%s.%s', business_date, account, revision, extension) AS "name!", bytes AS "bytes!"
           FROM counterfoil.report JOIN counterfoil.account_day d USING (account, business_date, revision)
           WHERE d.lease = $2 AND business_date = $1
           UNION ALL SELECT format('%s/summary.%s', business_date, extension), bytes FROM counterfoil.summary
           WHERE lease = $2 AND business_date = $1 ORDER BY 1"#,
        date,
        lease.as_str()
    )
    .fetch_all(session)
    .await?;
    Ok(files.into_iter().map(|file| (file.name, file.bytes)).collect())
}

/// A report of an account's date: of its newest revision, or of the one named.
pub async fn find(
    session: &mut PgConnection,
    account: &str,
    date: NaiveDate,
    revision: Option<u32>,
    extension: &str,
) -> Result<Option<Vec<u8>>, DbError> {
    let bytes = sqlx::query_scalar!(
        "SELECT bytes FROM counterfoil.report WHERE account = $1 AND business_date = $2 AND extension = $3
         AND ($4::integer IS NULL OR revision = $4) ORDER BY revision DESC LIMIT 1",
        account,
        date,
        extension,
        revision.and_then(|revision| i32::try_from(revision).ok())
    )
    .fetch_optional(session)
    .await?;
    Ok(bytes)
}

/// A run's summary.
pub async fn summary(
    session: &mut PgConnection,
    lease: &LeaseName,
    date: NaiveDate,
    extension: &str,
) -> Result<Option<Vec<u8>>, DbError> {
    let bytes = sqlx::query_scalar!(
        "SELECT bytes FROM counterfoil.summary WHERE lease = $3 AND business_date = $1 AND extension = $2",
        date,
        extension,
        lease.as_str()
    )
    .fetch_optional(session)
    .await?;
    Ok(bytes)
}

/// The newest date of which an account, or the run as a whole, has a report.
pub async fn newest(
    session: &mut PgConnection,
    lease: &LeaseName,
    account: Option<&str>,
) -> Result<Option<NaiveDate>, DbError> {
    let date = sqlx::query_scalar!(
        "SELECT CASE WHEN $1::text IS NULL THEN (SELECT max(business_date) FROM counterfoil.summary WHERE lease = $2)
                     ELSE (SELECT max(business_date) FROM counterfoil.report WHERE account = $1) END",
        account,
        lease.as_str()
    )
    .fetch_one(session)
    .await?;
    Ok(date)
}
