//! Is this replica's login one that the fence holds, and one that can evict? Asked of Postgres at the start, by doing it
//! where that is the only proof: a session is opened and ended, as an eviction would.

use sqlx::postgres::PgConnection;
use sqlx::{Connection, Row};

use super::term::{TermError, TermStore};
use crate::db::connect::{Limits, Purpose};

/// A way in which this login could bypass the fence, or could not do a leader's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit(pub String);

// === impl TermStore ===

impl TermStore {
    /// Whether this login is one that the fence holds, and one that can evict: asked at the start, by doing it. An empty
    /// list is what a deployment wants; a replica with any entry does not campaign.
    pub async fn self_test(&mut self) -> Result<Vec<Unfit>, TermError> {
        // First, and by unprepared statements: what is prepared does not outlive a transaction there.
        if let Some(pooled) = self.pooled().await? {
            return Ok(vec![pooled]);
        }
        if let Some(bypass) = self.bypass().await? {
            return Ok(vec![bypass]);
        }
        let mut unfit = self.privileges().await?;
        if let Some(cannot) = self.evicts_its_own().await? {
            unfit.push(cannot);
        }
        Ok(unfit)
    }

    /// Whether a pooler stands between that hands a session's server to others: an advisory lock, a limit or a prepared
    /// statement would be somebody else's. While one session has a transaction open, the other must keep its own server,
    /// with the limits that it asked for.
    async fn pooled(&mut self) -> Result<Option<Unfit>, TermError> {
        let limits = Limits { connect: self.limit, ..Purpose::Election.limits() };
        let mut other = self.connector.connect_within(Purpose::Election, limits).await?;
        let mut own = self.connector.connect_within(Purpose::Election, limits).await?;
        let limit = self.limit;
        let told = |source| TermError::Sql { call: "self-test", source };
        let servers = async {
            let before = server(&mut own).await?;
            sqlx::raw_sql("BEGIN").execute(&mut other).await?;
            let others = server(&mut other).await?;
            let after = server(&mut own).await?;
            sqlx::raw_sql("ROLLBACK").execute(&mut other).await?;
            Ok((before, others, after))
        };
        let pooled = match tokio::time::timeout(limit, servers).await {
            Ok(Ok((before, others, after))) => (before.pid != after.pid || before.pid == others.pid)
                .then_some("gives a session's server to others")
                .or_else(|| {
                    (before.idle_limit_ms != limits.idle_in_transaction.as_millis())
                        .then_some("does not pass on a session's limits")
                }),
            Ok(Err(source)) => return Err(told(source)),
            Err(_) => return Err(TermError::Late { call: "self-test", limit }),
        };
        Ok(pooled.map(|does| {
            Unfit(format!(
                "a pooler in front of Postgres {does}: point postgres.url at Postgres itself. Few sessions are opened, so \
                 nothing is gained by one; locks and limits of a session are lost by one"
            ))
        }))
    }

    /// The one sentence about a login that nothing binds. Every right that it has besides follows from that, and is not
    /// worth thirty sentences more.
    async fn bypass(&mut self) -> Result<Option<Unfit>, TermError> {
        let login = self
            .call("self-test", self.limit, async |session| {
                sqlx::query!(
                    r#"
                    SELECT r.rolname::text AS "name!", r.rolsuper AS "superuser!",
                           (SELECT pg_get_userbyid(owned.by)::text FROM (
                                SELECT n.nspowner AS by FROM pg_namespace n WHERE n.nspname = 'counterfoil'
                                UNION SELECT c.relowner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                                      WHERE n.nspname = 'counterfoil' AND c.relkind IN ('r', 'p')) owned
                            WHERE pg_has_role(owned.by, 'MEMBER') ORDER BY 1 LIMIT 1) AS owner
                    FROM pg_roles r WHERE r.rolname = current_user
                    "#
                )
                .fetch_one(session)
                .await
            })
            .await?;
        let how = match (login.superuser, login.owner) {
            (true, _) => "is a superuser, whom no fence binds".to_owned(),
            (false, Some(owner)) => {
                format!("has the rights of {owner}, which owns the schema, and could bypass the fence")
            }
            (false, None) => return Ok(None),
        };
        Ok(Some(Unfit(format!(
            "{} {how}: give the worker a login of its own, and run `counterfoil migrate` with postgres.url set to it",
            login.name
        ))))
    }

    /// One row, one sentence for each right too many or too few.
    async fn privileges(&mut self) -> Result<Vec<Unfit>, TermError> {
        let found = self
            .call("self-test", self.limit, async |session| {
                sqlx::query_scalar!(
                    r#"
                    WITH me AS (SELECT r.* FROM pg_roles r WHERE r.rolname = current_user),
                         ours AS (SELECT n.oid FROM pg_namespace n WHERE n.nspname = 'counterfoil'),
                         tables AS (SELECT c.* FROM pg_class c JOIN ours ON c.relnamespace = ours.oid
                                    WHERE c.relkind IN ('r', 'p'))
                    SELECT fault AS "fault!" FROM (
                        SELECT 2, format('%s may create roles: before Postgres 16 it could make itself the owner', current_user) AS fault
                            FROM me WHERE rolcreaterole
                        UNION ALL
                        SELECT 4, format('%s may create objects in the schema counterfoil', current_user)
                            FROM ours WHERE has_schema_privilege(oid, 'CREATE')
                        UNION ALL
                        SELECT 5, format('%s may create temporary tables: run `counterfoil migrate`, or REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC',
                                         current_user, current_database())
                            FROM me WHERE has_database_privilege(current_database(), 'TEMPORARY')
                        UNION ALL
                        SELECT 6, format('%s may write leader_term past install_term', current_user)
                            FROM tables WHERE relname = 'leader_term' AND has_table_privilege(oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
                        UNION ALL
                        SELECT 7, format('%s may put triggers on %I', current_user, relname)
                            FROM tables WHERE has_table_privilege(oid, 'TRIGGER')
                        UNION ALL
                        SELECT 8, format('%s may set session_replication_role, which silences triggers', current_user)
                            WHERE has_parameter_privilege('session_replication_role', 'SET')
                        UNION ALL
                        SELECT 9, format('%s may write the partition %I past its parent''s fence', current_user, relname)
                            FROM tables WHERE relispartition AND has_table_privilege(oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
                        UNION ALL
                        SELECT 10, format('%s is not a member of counterfoil_worker: run `counterfoil migrate` with postgres.url set', current_user)
                            WHERE NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = 'counterfoil_worker' AND pg_has_role(r.oid, 'USAGE'))
                    ) faults (rank, fault)
                    ORDER BY rank, fault
                    "#
                )
                .fetch_all(session)
                .await
            })
            .await?;
        Ok(found.into_iter().map(Unfit).collect())
    }

    /// Opens a second session and ends it, as an eviction would.
    async fn evicts_its_own(&mut self) -> Result<Option<Unfit>, TermError> {
        let limits = Limits { connect: self.limit, ..Purpose::Election.limits() };
        let mut victim = self.connector.connect_within(Purpose::Election, limits).await?;
        let limit = self.limit;
        let told = |source| TermError::Sql { call: "self-test", source };
        let late = |_| TermError::Late { call: "self-test", limit };
        let pid = tokio::time::timeout(
            limit,
            sqlx::query_scalar!(r#"SELECT pg_backend_pid() AS "pid!""#).fetch_one(&mut victim),
        )
        .await
        .map_err(late)?
        .map_err(told)?;
        let told_to_end = self
            .call("self-test", self.limit, async |session| {
                sqlx::query_scalar!(r#"SELECT pg_terminate_backend($1) AS "ended!""#, pid).fetch_one(session).await
            })
            .await;
        match told_to_end {
            Ok(true) => {}
            Ok(false) => return Ok(Some(Unfit("a session of this login could not be found to be ended".to_owned()))),
            Err(TermError::Sql { source: sqlx::Error::Database(error), .. }) => {
                return Ok(Some(Unfit(format!(
                    "this login may not end its own sessions, so it could not evict: {}",
                    error.message()
                ))));
            }
            Err(error) => return Err(error),
        }
        // An ended session answers 57P01, or nothing at all any more.
        match tokio::time::timeout(limit, victim.ping()).await.map_err(late)? {
            Err(_) => Ok(None),
            Ok(()) => Ok(Some(Unfit("a session of this login was told to end, and answers still".to_owned()))),
        }
    }
}

/// Who serves a session.
struct Server {
    pid: i32,
    idle_limit_ms: u128,
}

/// Asked by the simple protocol: nothing is prepared.
async fn server(session: &mut PgConnection) -> Result<Server, sqlx::Error> {
    let row = sqlx::raw_sql(
        "SELECT pg_backend_pid(), (SELECT setting::bigint FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout')",
    )
    .fetch_one(session)
    .await?;
    Ok(Server { pid: row.try_get(0)?, idle_limit_ms: u128::try_from(row.try_get::<i64, _>(1)?).unwrap_or_default() })
}
