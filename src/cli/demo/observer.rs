//! An eye on the play from outside: what Postgres says of terms, steps and runs.

use std::time::Duration;

use anyhow::Context;
use chrono::{DateTime, NaiveDate, Utc};
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::scratch::postgres::Database;

/// How often an outside condition is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A connection that only reads.
pub(super) struct Observer {
    sql: PgConnection,
}

/// The installed term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InstalledTerm {
    pub(super) token: i64,
    pub(super) node: String,
    pub(super) installed_at: DateTime<Utc>,
}

/// A committed step.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) account: String,
    pub(super) name: String,
    pub(super) key: String,
    pub(super) token: i64,
    pub(super) committed_at: DateTime<Utc>,
}

/// The run's row.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) status: String,
    pub(super) digest: Option<String>,
}

// === impl Observer ===

impl Observer {
    /// Connects.
    pub(super) async fn connect(database: &Database) -> anyhow::Result<Self> {
        let sql = PgConnection::connect(&database.superuser_url()).await.context("the demo's own look at Postgres")?;
        Ok(Self { sql })
    }

    /// Waits until `look` finds something, up to `limit`.
    async fn until<T>(
        &mut self,
        what: &str,
        limit: Duration,
        look: impl AsyncFn(&mut PgConnection) -> Result<Option<T>, sqlx::Error>,
    ) -> anyhow::Result<T> {
        let sql = &mut self.sql;
        let found = async {
            loop {
                if let Some(found) = look(sql).await? {
                    return Ok(found);
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        match tokio::time::timeout(limit, found).await {
            Ok(found) => found.map_err(|error: sqlx::Error| error.into()),
            Err(_) => anyhow::bail!("{what}: not within {} s", limit.as_secs()),
        }
    }

    /// Waits for a term with a higher token than `after`.
    pub(super) async fn term_after(&mut self, after: i64, limit: Duration) -> anyhow::Result<InstalledTerm> {
        self.until(&format!("a term after {after}"), limit, async |sql| {
            let term =
                sqlx::query!("SELECT token, owner, installed_at FROM counterfoil.leader_term WHERE token > $1", after)
                    .fetch_optional(sql)
                    .await?;
            Ok(term.map(|term| InstalledTerm {
                token: term.token,
                node: term.owner.rsplit_once(':').map_or(term.owner.clone(), |(node, _)| node.to_owned()),
                installed_at: term.installed_at,
            }))
        })
        .await
    }

    /// Waits until `node` has written down that Postgres refused a write of its term, and says in which words.
    pub(super) async fn refusal(&mut self, node: &str, token: i64, limit: Duration) -> anyhow::Result<String> {
        self.until(&format!("a refusal of {node}"), limit, async |sql| {
            sqlx::query_scalar!(
                r#"SELECT coalesce(detail, '') AS "detail!" FROM counterfoil.leadership_event
                   WHERE kind = 'refusal' AND node = $1 AND token = $2 ORDER BY id LIMIT 1"#,
                node,
                token
            )
            .fetch_optional(sql)
            .await
        })
        .await
    }

    /// Waits until the run of `date` has ended.
    pub(super) async fn run_ended(&mut self, date: NaiveDate, limit: Duration) -> anyhow::Result<Run> {
        self.until("the end of the run", limit, async |sql| {
            sqlx::query_as!(
                Run,
                "SELECT status, digest FROM counterfoil.run WHERE business_date = $1 AND status <> 'due'",
                date
            )
            .fetch_optional(sql)
            .await
        })
        .await
    }

    /// The committed steps, in the order of their commits.
    pub(super) async fn steps(&mut self) -> anyhow::Result<Vec<Step>> {
        let steps = sqlx::query_as!(
            Step,
            "SELECT account, step AS name, key, token, committed_at FROM counterfoil.checkpoint \
             ORDER BY committed_at, account"
        )
        .fetch_all(&mut self.sql)
        .await?;
        Ok(steps)
    }

    /// Postgres' own time.
    pub(super) async fn now(&mut self) -> anyhow::Result<DateTime<Utc>> {
        Ok(sqlx::query_scalar!(r#"SELECT clock_timestamp() AS "now!""#).fetch_one(&mut self.sql).await?)
    }
}
