//! The facts of the cluster, for every replica's `/metrics`: what is installed, what is due, what is open.
//!
//! One read-only look, a few index scans and one count over the breaks that are open now; asked every few seconds by
//! each replica.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use sqlx::postgres::PgConnection;

use super::DbError;
use crate::election::{FencingToken, LeaseName};
use crate::matching::BreakClass;
use crate::report::left::WhyLeft;
use crate::run::plan::Step;
use crate::telemetry::{AccountDayState, ClusterFacts, RunFacts};

struct RunRow {
    business_date: NaiveDate,
    deadline: DateTime<Utc>,
    recorded_at: DateTime<Utc>,
    last_progress: DateTime<Utc>,
    steps_done: i64,
    open: i64,
}

/// Reads them. `accounts` is how many the settings declare. Also gives the database's clock, as it stood meanwhile.
pub async fn read(
    session: &mut PgConnection,
    lease: &LeaseName,
    accounts: u64,
) -> Result<(ClusterFacts, DateTime<Utc>), DbError> {
    let row = sqlx::query!(
        r#"SELECT clock_timestamp() AS "asked_at!",
               (SELECT token FROM counterfoil.leader_term WHERE lease = $1) AS token,
               (SELECT max(finished_at) FROM counterfoil.run WHERE lease = $1 AND status = 'complete') AS last_success,
               (SELECT max(progress_at) FROM counterfoil.run WHERE lease = $1 AND status = 'failed') AS last_failure,
               (SELECT max(business_date) FROM counterfoil.run WHERE lease = $1 AND status = 'complete') AS last_complete_date,
               (SELECT (1000 * extract(epoch FROM finished_at - recorded_at))::bigint FROM counterfoil.run
                WHERE lease = $1 AND status = 'complete' ORDER BY finished_at DESC LIMIT 1) AS last_duration_ms,
               (SELECT min(b.first_seen) FROM counterfoil.break b JOIN (
                    SELECT DISTINCT ON (account) account, business_date, revision FROM counterfoil.account_day
                    WHERE status = 'closed' AND account IN (SELECT a.id FROM counterfoil.account a WHERE a.lease = $1)
                    ORDER BY account, business_date DESC, revision DESC
                ) d USING (account, business_date, revision)) AS oldest_break"#,
        lease.as_str()
    )
    .fetch_one(&mut *session)
    .await?;
    let run = oldest_unfinished(&mut *session, lease).await?;
    let pending_deadline = run.as_ref().map(|run| run.deadline.timestamp());
    let run = match run {
        Some(run) => Some(progress(session, lease, &run, accounts).await?),
        None => None,
    };
    let breaks = sqlx::query!(
        r#"SELECT b.class, count(*) AS "count!" FROM counterfoil.break b JOIN (
            SELECT DISTINCT ON (account) account, business_date, revision FROM counterfoil.account_day
            WHERE status = 'closed' AND account IN (SELECT a.id FROM counterfoil.account a WHERE a.lease = $1)
            ORDER BY account, business_date DESC, revision DESC
        ) d USING (account, business_date, revision) GROUP BY b.class"#,
        lease.as_str()
    )
    .fetch_all(&mut *session)
    .await?;
    let mut breaks_open = BTreeMap::new();
    for open in breaks {
        let class: BreakClass = serde_json::from_value(serde_json::Value::String(open.class))?;
        breaks_open.insert(class, counted(open.count));
    }
    let left = sqlx::query!(
        r#"SELECT why, count(*) AS "count!" FROM counterfoil.file_left WHERE lease = $1 GROUP BY why"#,
        lease.as_str()
    );
    let left = left.fetch_all(session).await?;
    let left = left.into_iter().filter_map(|row| Some((WhyLeft::named(&row.why)?, counted(row.count))));
    let facts = ClusterFacts {
        token: row.token.and_then(|token| FencingToken::new(counted(token))),
        next_due: None,
        pending_deadline,
        last_success: row.last_success.map(|at| at.timestamp()),
        last_failure: row.last_failure.map(|at| at.timestamp()),
        last_complete_date: row.last_complete_date.map(midnight),
        last_duration: row.last_duration_ms.map(|ms| Duration::from_millis(counted(ms))),
        run,
        files_left: left.collect(),
        breaks_open,
        oldest_break: row.oldest_break.map(midnight),
        no_account: None,
        clock_skew_ms: None,
    };
    Ok((facts, row.asked_at))
}

/// The oldest run that is not done. An account-day with a manifest that is neither closed, failed nor skipped is at work.
/// Steps are keyed by the date, with the revision and the pass behind it.
async fn oldest_unfinished(session: &mut PgConnection, lease: &LeaseName) -> Result<Option<RunRow>, DbError> {
    let steps: Vec<&str> = Step::OF_ACCOUNT_DAY.iter().map(|step| step.name()).collect();
    let run = sqlx::query_as!(
        RunRow,
        r#"SELECT r.business_date, r.deadline, r.recorded_at,
               greatest(r.progress_at, (SELECT max(c.committed_at) FROM counterfoil.checkpoint c
                                        WHERE c.lease = r.lease AND c.committed_at >= r.recorded_at))
                   AS "last_progress!",
               (SELECT count(DISTINCT (c.account, c.step)) FROM counterfoil.checkpoint c
                WHERE c.lease = r.lease AND c.step = ANY($1) AND c.key LIKE r.business_date::text || '/%') AS "steps_done!",
               (SELECT count(DISTINCT m.account) FROM counterfoil.manifest m
                WHERE m.lease = r.lease AND m.business_date = r.business_date AND NOT EXISTS (
                    SELECT FROM counterfoil.account_day d
                    WHERE (d.account, d.business_date, d.revision) = (m.account, m.business_date, m.revision)
                      AND d.status IN ('closed', 'failed', 'skipped'))) AS "open!"
        FROM counterfoil.run r WHERE r.lease = $2 AND r.status IN ('due', 'incomplete', 'failed')
        ORDER BY r.business_date LIMIT 1"#,
        &steps as &[&str],
        lease.as_str()
    )
    .fetch_optional(session)
    .await?;
    Ok(run)
}

async fn progress(
    session: &mut PgConnection,
    lease: &LeaseName,
    run: &RunRow,
    accounts: u64,
) -> Result<RunFacts, DbError> {
    let states = sqlx::query!(
        r#"SELECT status, count(*) AS "count!" FROM (
            SELECT DISTINCT ON (account) status FROM counterfoil.account_day
            WHERE lease = $2 AND business_date = $1 ORDER BY account, revision DESC
        ) newest GROUP BY status"#,
        run.business_date,
        lease.as_str()
    )
    .fetch_all(session)
    .await?;
    let mut by_state = BTreeMap::new();
    for standing in states {
        let state = match standing.status.as_str() {
            "waiting" => AccountDayState::Waiting,
            "closed" => AccountDayState::Closed,
            "failed" => AccountDayState::Failed,
            "skipped" => AccountDayState::Skipped,
            other => return Err(DbError::Value(format!("an account-day stands {other:?}"))),
        };
        by_state.insert(state, counted(standing.count));
    }
    let settled: u64 = by_state.values().sum();
    by_state.insert(AccountDayState::Open, accounts.saturating_sub(settled));
    let steps = u64::try_from(Step::OF_ACCOUNT_DAY.len()).unwrap_or(u64::MAX);
    Ok(RunFacts {
        in_progress: run.open > 0,
        started: run.recorded_at.timestamp(),
        last_progress: run.last_progress.timestamp(),
        steps_done: counted(run.steps_done),
        steps_planned: accounts.saturating_mul(steps),
        accounts: by_state,
    })
}

/// A count, which Postgres gives signed.
fn counted(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn midnight(date: NaiveDate) -> i64 {
    date.and_time(NaiveTime::MIN).and_utc().timestamp()
}
