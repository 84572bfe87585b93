//! The schema: the migrations that this binary carries, and whether a database has exactly those.
//!
//! The owner migrates (`counterfoil migrate`); replicas only check. A replica that meets a schema it does not know stays
//! out of the election: it could neither read what a newer one wrote nor know what it must write.

use std::borrow::Cow;
use std::sync::LazyLock;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};

use super::connect::{ConnectError, Connector, Purpose};
use super::said;

/// The schema that everything of ours lives in.
pub const SCHEMA: &str = "counterfoil";
/// The role that replicas are members of.
pub const WORKER_ROLE: &str = "counterfoil_worker";
/// Where the applied migrations are listed.
const TABLE: &str = "counterfoil.schema_migration";

static MIGRATOR: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!();
    migrator.dangerous_set_table_name(TABLE);
    migrator.create_schema(SCHEMA);
    migrator
});

/// Why a database's schema is not this binary's.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Nothing of ours is there.
    #[error("this database has no schema of Counterfoil: run `counterfoil migrate` first")]
    Missing,
    /// Migrations of ours are missing.
    #[error("the schema is at version {found} and this binary needs {known}: run `counterfoil migrate`")]
    TooOld {
        /// The database's version.
        found: i64,
        /// This binary's.
        known: i64,
    },
    /// A newer binary migrated it.
    #[error(
        "the schema is at version {found} and this binary knows only up to {known}: replace this replica by the newer version"
    )]
    TooNew {
        /// The database's version.
        found: i64,
        /// This binary's.
        known: i64,
    },
    /// The same version with another content: two builds that share no history.
    #[error(
        "migration {0} of this database is not the one that this binary carries: they are of different builds, and one of the two must go"
    )]
    Differs(i64),
    /// The login may not even look.
    #[error(
        "the login may not read the schema: run `counterfoil migrate` with postgres.url set, it makes the login a member of {WORKER_ROLE}"
    )]
    NotGranted,
    /// The worker's login is the owner, or no role at all.
    #[error("{0}")]
    Login(String),
    /// The owner may not make the role that workers are members of.
    #[error(
        "{0} may not create roles, and the schema needs the role {WORKER_ROLE}: as a superuser, ALTER ROLE \"{0}\" CREATEROLE, then run `counterfoil migrate` again"
    )]
    NoCreateRole(String),
    /// A migration failed. All of them before it stand, nothing of it does.
    #[error("migration failed: {0}")]
    Migrate(MigrateError),
    /// The database could not be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Another refusal of Postgres.
    #[error("the schema could not be read: {}", said(.0))]
    Sql(sqlx::Error),
}

// === impl SchemaError ===

impl SchemaError {
    /// Did Postgres refuse a statement because the login may not?
    fn is_a_lack_of_privilege(&self) -> bool {
        use MigrateError::{Execute, ExecuteMigration};
        let (Self::Migrate(Execute(error) | ExecuteMigration(error, _)) | Self::Sql(error)) = self else {
            return false;
        };
        error.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref() == Some("42501")
    }
}

/// The version that this binary carries: that of its last migration.
pub fn version() -> i64 {
    MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// Brings the schema up to [`version`], and gives a login what a replica needs. Safe to repeat, and to run from several
/// places at once: they queue.
///
/// `worker_login`: the role that `postgres.url` logs in as, made a member of [`WORKER_ROLE`].
pub async fn migrate(owner: &Connector, worker_login: Option<&str>) -> Result<i64, SchemaError> {
    let mut session = owner.connect(Purpose::Migrate).await?;
    match bring_up(&mut session, worker_login).await {
        Err(error) if error.is_a_lack_of_privilege() => {
            Err(why_not(&mut session, owner.login()).await.unwrap_or(error))
        }
        Err(error) => Err(error),
        Ok(()) => {
            session.close().await.map_err(SchemaError::Sql)?;
            Ok(version())
        }
    }
}

async fn bring_up(session: &mut PgConnection, worker_login: Option<&str>) -> Result<(), SchemaError> {
    match MIGRATOR.run_direct(None, &mut *session, false).await {
        Ok(()) => {}
        Err(MigrateError::VersionMismatch(version)) => return Err(SchemaError::Differs(version)),
        Err(MigrateError::VersionMissing(found)) => return Err(SchemaError::TooNew { found, known: version() }),
        Err(error) => return Err(SchemaError::Migrate(error)),
    }
    secure(session, worker_login).await
}

/// What an owner lacks whom Postgres refused something: the right to make roles is the one that is forgotten.
async fn why_not(session: &mut PgConnection, owner: &str) -> Option<SchemaError> {
    let may =
        sqlx::query_scalar!(r#"SELECT rolcreaterole OR rolsuper AS "may!" FROM pg_roles WHERE rolname = current_user"#);
    let may = may.fetch_one(session).await.ok()?;
    (!may).then(|| SchemaError::NoCreateRole(owner.to_owned()))
}

/// What belongs to the database and the server rather than to the schema, and so is not in a migration: a database that
/// was restored or copied under another name lost it. Called by [`migrate`] each time.
pub(crate) async fn secure(session: &mut PgConnection, worker_login: Option<&str>) -> Result<(), SchemaError> {
    let database = sqlx::query_scalar!(r#"SELECT quote_ident(current_database()) AS "name!""#)
        .fetch_one(&mut *session)
        .await
        .map_err(SchemaError::Sql)?;
    // Temporary tables are how a session could put its own leader_term before ours, were search_path ever forgotten.
    let statements = format!(
        "REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC; \
         GRANT CONNECT ON DATABASE {database} TO {WORKER_ROLE}; \
         GRANT SELECT ON {TABLE} TO {WORKER_ROLE}"
    );
    run(session, statements).await?;
    let Some(login) = worker_login else { return Ok(()) };
    let known = sqlx::query!(
        r#"SELECT quote_ident(rolname) AS "quoted!", pg_has_role(oid, current_user, 'MEMBER') AS "owns!",
                  pg_has_role(oid, $2, 'MEMBER') AS "member!"
           FROM pg_roles WHERE rolname = $1"#,
        login,
        WORKER_ROLE
    )
    .fetch_optional(&mut *session)
    .await
    .map_err(SchemaError::Sql)?;
    match known.map(|login| (login.quoted, login.owns, login.member)) {
        None => Err(SchemaError::Login(format!(
            "postgres.url logs in as {login:?}, which is no role of this server: create it (CREATE ROLE … LOGIN PASSWORD …), then run `counterfoil migrate` again"
        ))),
        Some((_, true, _)) => Err(SchemaError::Login(format!(
            "postgres.url logs in as {login:?}, which has the owner's rights and could bypass the fence: give the worker a login of its own"
        ))),
        Some((_, _, true)) => Ok(()),
        Some((quoted, false, false)) => run(session, format!("GRANT {WORKER_ROLE} TO {quoted}")).await,
    }
}

/// Statements on objects of the whole server meet those of other databases' migrations: "tuple concurrently updated".
async fn run(session: &mut PgConnection, statements: String) -> Result<(), SchemaError> {
    let mut last = None;
    for _ in 0..5 {
        match sqlx::raw_sql(AssertSqlSafe(statements.clone())).execute(&mut *session).await {
            Ok(_) => return Ok(()),
            Err(sqlx::Error::Database(error)) if matches!(error.code().as_deref(), Some("XX000" | "23505")) => {
                last = Some(sqlx::Error::Database(error));
            }
            Err(error) => return Err(SchemaError::Sql(error)),
        }
    }
    Err(last.map_or(SchemaError::Missing, SchemaError::Sql))
}

/// Whether the database has exactly this binary's migrations.
pub async fn check(session: &mut PgConnection) -> Result<(), SchemaError> {
    // The migrator makes this table, and no migration: so no macro can know it.
    let applied: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT version, checksum FROM counterfoil.schema_migration WHERE success ORDER BY version")
            .fetch_all(session)
            .await
            .map_err(|error| match error.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref() {
                Some("42P01" | "3F000") => SchemaError::Missing,
                Some("42501") => SchemaError::NotGranted,
                _ => SchemaError::Sql(error),
            })?;
    let known = version();
    let found = applied.last().map_or(0, |(version, _)| *version);
    if found == 0 {
        return Err(SchemaError::Missing);
    }
    if found > known {
        return Err(SchemaError::TooNew { found, known });
    }
    for migration in MIGRATOR.iter() {
        match applied.iter().find(|(version, _)| *version == migration.version) {
            None => return Err(SchemaError::TooOld { found, known }),
            Some((_, checksum)) if Cow::Borrowed(checksum.as_slice()) != migration.checksum => {
                return Err(SchemaError::Differs(migration.version));
            }
            Some(_) => {}
        }
    }
    Ok(())
}
