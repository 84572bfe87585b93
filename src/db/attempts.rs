//! Attempts at steps: recorded before they begin, so that a step that kills its process is not tried for ever.

use sqlx::postgres::PgConnection;

use super::DbError;
use super::checkpoint::Key;
use crate::election::LeaseName;

/// What is known of earlier attempts at a step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attempts {
    /// How many there were.
    pub made: u32,
    /// Why the last one failed; none where its process died in it.
    pub failure: Option<String>,
}

/// The attempts at a step so far: of an account's in whichever book, of a file's in this one.
pub async fn of(session: &mut PgConnection, lease: &LeaseName, key: &Key) -> Result<Attempts, DbError> {
    let last = sqlx::query!(
        "SELECT attempt, failure FROM counterfoil.step_attempt WHERE account = $1 AND step = $2 AND key = $3
         AND (account <> '' OR lease = $4) ORDER BY attempt DESC LIMIT 1",
        &key.account,
        key.step,
        &key.key,
        lease.as_str()
    )
    .fetch_optional(session)
    .await?;
    Ok(last.map_or_else(Attempts::default, |last| Attempts {
        made: u32::try_from(last.attempt).unwrap_or(0),
        failure: last.failure,
    }))
}

/// Records that an attempt begins, and says which one it is, from 1.
pub async fn begin(session: &mut PgConnection, key: &Key) -> Result<u32, DbError> {
    let attempt = sqlx::query_scalar!(
        "INSERT INTO counterfoil.step_attempt (account, step, key, attempt)
         SELECT $1, $2, $3, coalesce(max(attempt), 0) + 1 FROM counterfoil.step_attempt
         WHERE account = $1 AND step = $2 AND key = $3 AND (account <> '' OR lease = counterfoil.entered_lease())
         RETURNING attempt",
        &key.account,
        key.step,
        &key.key
    )
    .fetch_one(session)
    .await?;
    Ok(u32::try_from(attempt).unwrap_or(0))
}

/// Records why an attempt failed.
pub async fn failed(session: &mut PgConnection, key: &Key, attempt: u32, failure: &str) -> Result<(), DbError> {
    sqlx::query!(
        "UPDATE counterfoil.step_attempt SET failure = $5
         WHERE account = $1 AND step = $2 AND key = $3 AND attempt = $4 AND lease = counterfoil.entered_lease()",
        &key.account,
        key.step,
        &key.key,
        i32::try_from(attempt).unwrap_or(i32::MAX),
        failure
    )
    .execute(session)
    .await?;
    Ok(())
}

/// The steps of an account that are committed under a key, and the term that committed the last of them.
pub async fn committed(
    session: &mut PgConnection,
    account: &str,
    key: &str,
) -> Result<(Vec<String>, Option<i64>), DbError> {
    let rows = sqlx::query!(
        "SELECT step, token FROM counterfoil.checkpoint WHERE account = $1 AND key = $2 ORDER BY committed_at",
        account,
        key
    )
    .fetch_all(session)
    .await?;
    let last = rows.last().map(|row| row.token);
    Ok((rows.into_iter().map(|row| row.step).collect(), last))
}
