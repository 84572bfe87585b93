//! What people ask for: rows that anybody may insert, and that the leader answers once each.

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::DbError;
use super::leadership::EventRow;
use crate::election::LeaseName;

/// Somebody asks for a date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRequest {
    /// Its id, made by who asks.
    pub id: Uuid,
    /// Whose leader is asked.
    pub lease: LeaseName,
    /// The date.
    pub business_date: NaiveDate,
    /// Run a closed date again, as a new revision.
    pub reopen: bool,
    /// Let this account pass by the date.
    pub skip_account: Option<String>,
    /// Why; needed for the two above.
    pub reason: Option<String>,
    /// Who.
    pub actor: String,
    /// When.
    pub asked_at: DateTime<Utc>,
}

/// The leader's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAnswer {
    /// Will it be done?
    pub accepted: bool,
    /// What will be done, or why not.
    pub message: String,
    /// The term that answered.
    pub token: i64,
    /// When.
    pub answered_at: DateTime<Utc>,
}

/// The planner rests, or works again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// Does it rest?
    pub paused: bool,
    /// Why.
    pub reason: Option<String>,
    /// Who said so.
    pub actor: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// Asks.
pub async fn ask(session: &mut PgConnection, request: &RunRequest) -> Result<(), DbError> {
    sqlx::query!(
        "INSERT INTO counterfoil.run_request (id, lease, business_date, reopen, skip_account, reason, actor)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        request.id,
        request.lease.as_str(),
        request.business_date,
        request.reopen,
        request.skip_account.as_deref(),
        request.reason.as_deref(),
        request.actor.as_str()
    )
    .execute(session)
    .await?;
    Ok(())
}

/// What a lease's leader was asked and has not answered, oldest first.
pub async fn unanswered(session: &mut PgConnection, lease: &LeaseName) -> Result<Vec<RunRequest>, DbError> {
    let requests = sqlx::query!(
        "SELECT id, business_date, reopen, skip_account, reason, actor, asked_at FROM counterfoil.run_request r
         WHERE r.lease = $1 AND NOT EXISTS (SELECT FROM counterfoil.run_answer a WHERE a.request = r.id)
         ORDER BY asked_at, id",
        lease.as_str()
    )
    .fetch_all(session)
    .await?;
    let request = requests.into_iter().map(|row| RunRequest {
        id: row.id,
        lease: lease.clone(),
        business_date: row.business_date,
        reopen: row.reopen,
        skip_account: row.skip_account,
        reason: row.reason,
        actor: row.actor,
        asked_at: row.asked_at,
    });
    Ok(request.collect())
}

/// Answers. A request that has an answer keeps it.
pub async fn answer(session: &mut PgConnection, request: Uuid, accepted: bool, message: &str) -> Result<bool, DbError> {
    let answered = sqlx::query!(
        "INSERT INTO counterfoil.run_answer (request, accepted, message) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        request,
        accepted,
        message
    )
    .execute(session)
    .await?;
    Ok(answered.rows_affected() > 0)
}

/// The answer to a request, once there is one.
pub async fn answer_to(session: &mut PgConnection, request: Uuid) -> Result<Option<RunAnswer>, DbError> {
    let answer = sqlx::query_as!(
        RunAnswer,
        "SELECT accepted, message, token, answered_at FROM counterfoil.run_answer WHERE request = $1",
        request
    )
    .fetch_optional(session)
    .await?;
    Ok(answer)
}

/// When a date of a book was last asked for with success.
pub async fn last_accepted(
    session: &mut PgConnection,
    lease: &LeaseName,
    date: NaiveDate,
) -> Result<Option<DateTime<Utc>>, DbError> {
    let at = sqlx::query_scalar!(
        "SELECT max(a.answered_at) FROM counterfoil.run_request r JOIN counterfoil.run_answer a ON a.request = r.id
         WHERE r.lease = $2 AND r.business_date = $1 AND a.accepted",
        date,
        lease.as_str()
    )
    .fetch_one(session)
    .await?;
    Ok(at)
}

/// Whether a lease's planner rests: the newest word counts.
pub async fn pause(session: &mut PgConnection, lease: &LeaseName) -> Result<Option<Pause>, DbError> {
    let pause = sqlx::query_as!(
        Pause,
        "SELECT paused, reason, actor, at FROM counterfoil.planner_pause WHERE lease = $1 ORDER BY id DESC LIMIT 1",
        lease.as_str()
    )
    .fetch_optional(session)
    .await?;
    Ok(pause)
}

/// Says that the planner shall rest, or work again.
pub async fn set_pause(
    session: &mut PgConnection,
    lease: &LeaseName,
    paused: bool,
    reason: Option<&str>,
    actor: &str,
) -> Result<(), DbError> {
    sqlx::query!(
        "INSERT INTO counterfoil.planner_pause (lease, paused, reason, actor) VALUES ($1, $2, $3, $4)",
        lease.as_str(),
        paused,
        reason,
        actor
    )
    .execute(session)
    .await?;
    Ok(())
}

/// The newest things that people asked of a book, oldest first, as entries of the history: `pause` and `resume`, `run` with
/// the leader's answer, and `move` of an account to it or from it. Requests to resign are entries of the election's own.
pub async fn history(session: &mut PgConnection, lease: &LeaseName, limit: i64) -> Result<Vec<EventRow>, DbError> {
    let mut events = sqlx::query_as!(
        EventRow,
        r#"SELECT * FROM (
             SELECT CASE WHEN paused THEN 'pause' ELSE 'resume' END AS "kind!", NULL::bigint AS token, NULL::text AS owner,
                    actor AS "node!", reason, NULL::text AS detail, NULL::bigint AS trust_left_ms, at AS "started_at!",
                    NULL::timestamptz AS ended_at
             FROM counterfoil.planner_pause WHERE lease = $2
             UNION ALL
             SELECT 'run', a.token, NULL, r.actor,
                    r.business_date || CASE WHEN r.reopen THEN ' again' ELSE '' END
                                    || coalesce(' without ' || r.skip_account, '') || coalesce(': ' || r.reason, ''),
                    CASE WHEN a.accepted THEN a.message WHEN a.accepted IS NULL THEN 'not answered yet'
                         ELSE 'refused: ' || a.message END,
                    NULL, r.asked_at, NULL
             FROM counterfoil.run_request r LEFT JOIN counterfoil.run_answer a ON a.request = r.id
             WHERE r.lease = $2
             UNION ALL
             SELECT 'move', NULL, NULL, q.actor,
                    format('account %s from %s to %s: %s', q.account, q.from_lease, q.to_lease, q.reason),
                    CASE WHEN q.id < (SELECT max(n.id) FROM counterfoil.account_request n WHERE n.account = q.account) THEN NULL
                         WHEN a.lease = q.to_lease THEN 'done' WHEN a.moving_to = q.to_lease THEN 'given up, and not yet taken'
                         ELSE 'not done yet' END,
                    NULL, q.asked_at, NULL
             FROM counterfoil.account_request q JOIN counterfoil.account a ON a.id = q.account
             WHERE $2 IN (q.from_lease, q.to_lease)) asked
           ORDER BY "started_at!" DESC LIMIT $1"#,
        limit,
        lease.as_str()
    )
    .fetch_all(session)
    .await?;
    events.reverse();
    Ok(events)
}
