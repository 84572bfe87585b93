//! Who leads and who led: what the election wrote, for people to read; and requests to resign.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::postgres::PgConnection;

use super::DbError;
use crate::election::term::stored;
use crate::election::{FencingToken, LeaseName};

/// The installed term.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TermRow {
    /// The lease.
    pub lease: String,
    /// Its fencing token.
    pub token: i64,
    /// The candidacy that won it.
    pub owner: String,
    /// The replica.
    pub node: String,
    /// Since when, by Postgres' clock.
    pub installed_at: DateTime<Utc>,
}

/// One entry of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventRow {
    /// `term` spans a term; `candidacy`, `step_down`, `eviction`, `refusal` and `request` are points; so are `pause`, `resume` and `run`,
    /// which people asked for.
    pub kind: String,
    /// Which term.
    pub token: Option<i64>,
    /// Whose.
    pub owner: Option<String>,
    /// Which replica tells; who, of what people asked for.
    pub node: String,
    /// Why it ended, or what was asked: a word of the closed list. `superseded` where the predecessor left none.
    pub reason: Option<String>,
    /// More, for a person.
    pub detail: Option<String>,
    /// What was left of the trust in the lease, in milliseconds.
    pub trust_left_ms: Option<i64>,
    /// When, by Postgres' clock.
    pub started_at: DateTime<Utc>,
    /// When a term ended: when its successor's was installed.
    pub ended_at: Option<DateTime<Utc>>,
}

/// What a replica last said of why it does not lead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastWord {
    /// Which replica.
    pub node: String,
    /// A word of the closed list.
    pub reason: String,
    /// The sentence behind it.
    pub detail: Option<String>,
}

/// The installed term of a lease.
pub async fn installed(session: &mut PgConnection, lease: &LeaseName) -> Result<Option<TermRow>, DbError> {
    let term = sqlx::query_as!(
        TermRow,
        r#"SELECT lease, token, owner, regexp_replace(owner, ':[^:]*$', '') AS "node!", installed_at
           FROM counterfoil.leader_term WHERE lease = $1"#,
        lease.as_str()
    )
    .fetch_optional(session)
    .await?;
    Ok(term)
}

/// Replicas that lead or would lead a lease that was led before: by name, each once. Sessions of another login are not
/// seen.
pub async fn replicas(session: &mut PgConnection, lease: &LeaseName) -> Result<Vec<String>, DbError> {
    let nodes = sqlx::query_scalar!(
        r#"SELECT DISTINCT node AS "node!" FROM counterfoil.attendance() WHERE lease = $1 AND NOT leads ORDER BY 1"#,
        lease.as_str()
    )
    .fetch_all(session)
    .await?;
    Ok(nodes)
}

/// The newest entries, oldest first; terms alone, or all.
///
/// Why a term ended is read from its own last word where it has one: a successor that was very fast may have closed the
/// term's entry before that word was written.
pub async fn history(
    session: &mut PgConnection,
    lease: &LeaseName,
    terms_alone: bool,
    limit: i64,
) -> Result<Vec<EventRow>, DbError> {
    let mut events = sqlx::query_as!(
        EventRow,
        "SELECT e.kind, e.token, e.owner, e.node, coalesce(last.reason, e.reason) AS reason, e.detail, e.trust_left_ms,
                e.started_at, e.ended_at
         FROM counterfoil.leadership_event e
         LEFT JOIN LATERAL (
             SELECT s.reason FROM counterfoil.leadership_event s
             WHERE e.kind = 'term' AND s.lease = e.lease AND s.token = e.token AND s.owner = e.owner
               AND s.kind = 'step_down' ORDER BY s.id LIMIT 1) last ON true
         WHERE e.lease = $1 AND (e.kind = 'term' OR NOT $2) ORDER BY e.id DESC LIMIT $3",
        lease.as_str(),
        terms_alone,
        limit
    )
    .fetch_all(session)
    .await?;
    events.reverse();
    Ok(events)
}

/// What each replica last wrote down of why it does not lead, since the installed term began. Empty while its leader has
/// not stepped down: whether it lives is not known here.
pub async fn last_words(session: &mut PgConnection, lease: &LeaseName) -> Result<Vec<LastWord>, DbError> {
    let words = sqlx::query_as!(
        LastWord,
        r#"SELECT DISTINCT ON (e.node) e.node, e.reason AS "reason!", e.detail
           FROM counterfoil.leadership_event e LEFT JOIN counterfoil.leader_term t ON t.lease = e.lease
           WHERE e.lease = $1 AND e.kind IN ('step_down', 'candidacy') AND e.reason IS NOT NULL
             AND (t.lease IS NULL OR e.started_at >= t.installed_at AND EXISTS (
                 SELECT FROM counterfoil.leadership_event s
                 WHERE s.lease = t.lease AND s.token = t.token AND s.owner = t.owner AND s.kind = 'step_down'))
           ORDER BY e.node, e.id DESC"#,
        lease.as_str()
    )
    .fetch_all(session)
    .await?;
    Ok(words)
}

/// How many terms in a row before this one ended since the work failed, in the last day.
pub async fn handed_on_before(
    session: &mut PgConnection,
    lease: &LeaseName,
    token: FencingToken,
) -> Result<i64, DbError> {
    let terms = sqlx::query_scalar!(
        r#"SELECT count(*) AS "terms!" FROM counterfoil.leadership_event e
           WHERE e.lease = $1 AND e.kind = 'term' AND e.token < $2 AND e.started_at > now() - interval '1 day'
             AND e.token > coalesce((SELECT max(o.token) FROM counterfoil.leadership_event o
                                     WHERE o.lease = $1 AND o.kind = 'term' AND o.token < $2
                                       AND o.reason IS DISTINCT FROM 'failing'), 0)"#,
        lease.as_str(),
        stored(token)
    )
    .fetch_one(session)
    .await?;
    Ok(terms)
}

/// Asks the leader of this term to resign. Served by that term's leader or by nobody: a row that is never answered
/// cannot fell a later one.
pub async fn ask_to_resign(
    session: &mut PgConnection,
    lease: &LeaseName,
    token: FencingToken,
    actor: &str,
    why: Option<&str>,
) -> Result<(), DbError> {
    sqlx::query!(
        "INSERT INTO counterfoil.leadership_event (lease, kind, token, node, reason, detail)
         VALUES ($1, 'request', $2, $3, 'resigned', $4)",
        lease.as_str(),
        stored(token),
        actor,
        why
    )
    .execute(session)
    .await?;
    Ok(())
}

/// Was the leader of this term asked to resign?
pub async fn is_asked_to_resign(
    session: &mut PgConnection,
    lease: &LeaseName,
    token: FencingToken,
) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM counterfoil.leadership_event
           WHERE lease = $1 AND kind = 'request' AND reason = 'resigned' AND token = $2) AS "asked!""#,
        lease.as_str(),
        stored(token)
    )
    .fetch_one(session)
    .await
}
