//! Hold points: a transaction stopped at a named place, as long as a test or the demo wants it there.
//!
//! They exist only in a database that was marked throw-away, by the function `counterfoil.hold`, which no migration
//! makes. The fence asks for it when a session begins, and calls it before each commit (`<step>`) and after it
//! (`<step>:committed`). Whoever holds a point keeps an advisory lock exclusively; whoever comes to it waits for it shared.

use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};

use super::postgres::Database;
use super::{ScratchError, Server};

/// The class of the points' advisory locks: not the lease's.
const CLASS: i32 = 1_128_679_496;

/// A point that is held. Let go when dropped.
#[derive(Debug)]
pub struct Hold {
    session: PgConnection,
    point: String,
}

/// A session that waits at a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The server process.
    pub pid: i32,
    /// `counterfoil/<node>/write`.
    pub application: String,
}

// === impl Database ===

impl Database {
    /// Marks the database throw-away: from now on its hold points exist.
    pub async fn mark_throwaway(&self) -> Result<(), ScratchError> {
        let mut owner = connect(self).await?;
        let function = format!(
            "CREATE OR REPLACE FUNCTION counterfoil.hold(point text) RETURNS void LANGUAGE plpgsql \
             SET search_path = pg_catalog, pg_temp AS $$ BEGIN \
             PERFORM pg_advisory_lock_shared({CLASS}, counterfoil.lease_key(point)); \
             PERFORM pg_advisory_unlock_shared({CLASS}, counterfoil.lease_key(point)); END $$; \
             REVOKE ALL ON FUNCTION counterfoil.hold(text) FROM PUBLIC; \
             GRANT EXECUTE ON FUNCTION counterfoil.hold(text) TO counterfoil_worker"
        );
        sqlx::raw_sql(AssertSqlSafe(function)).execute(&mut owner).await.map_err(told)?;
        owner.close().await.map_err(told)
    }

    /// Holds a point: whoever comes to it from now on waits there.
    pub async fn hold(&self, point: &str) -> Result<Hold, ScratchError> {
        let mut session = connect(self).await?;
        sqlx::query!("SELECT pg_advisory_lock($1, counterfoil.lease_key($2))", CLASS, point)
            .execute(&mut session)
            .await
            .map_err(told)?;
        Ok(Hold { session, point: point.to_owned() })
    }
}

// === impl Hold ===

impl Hold {
    /// Waits until a session has come to the point, and says which; `None` if none came within the limit.
    pub async fn reached(&mut self, limit: Duration) -> Result<Option<Waiting>, ScratchError> {
        let look = async {
            loop {
                let waiting = sqlx::query_as!(
                    Waiting,
                    r#"SELECT l.pid AS "pid!", a.application_name AS "application!"
                       FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                       WHERE l.locktype = 'advisory' AND NOT l.granted AND l.classid = $1::int8::oid
                         AND l.objid = (counterfoil.lease_key($2)::int8 & 4294967295)::oid
                         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1"#,
                    i64::from(CLASS),
                    self.point
                )
                .fetch_optional(&mut self.session)
                .await
                .map_err(told)?;
                if let Some(waiting) = waiting {
                    return Ok(waiting);
                }
                tokio::time::sleep(Server::LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(limit, look).await.ok().transpose()
    }

    /// Lets go of the point.
    pub async fn release(self) -> Result<(), ScratchError> {
        self.session.close().await.map_err(told)
    }
}

/// As the superuser: only it sees other sessions' names.
async fn connect(database: &Database) -> Result<PgConnection, ScratchError> {
    PgConnection::connect(&database.superuser_url()).await.map_err(told)
}

fn told(source: sqlx::Error) -> ScratchError {
    ScratchError::Sql { what: "the hold point".to_owned(), source }
}
