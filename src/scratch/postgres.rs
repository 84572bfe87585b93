//! A throw-away Postgres, whichever of 15 to 18 is found, with the roles of a real deployment: an owner that is no
//! superuser and makes the schema, and a login of the worker that may only do what the migrations grant it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use tokio::sync::OnceCell;

use crate::db::connect::{Connector, Purpose};
use crate::db::schema::{self, SchemaError};

use super::{Ending, Folder, ScratchError, Server, User, find_program, free_port};

/// What to say where no server is found.
const INSTALL: &str = "Install PostgreSQL 15, 16, 17 or 18 (Debian, Ubuntu: apt-get install postgresql; Fedora: \
                       dnf install postgresql-server; macOS: brew install postgresql@17), or put its bin folder in PATH.";

/// Makes the data folder, then becomes the server: both under the guardian, so that neither outlives us.
/// $1 the programs' folder, $2 the data folder, then the server's settings.
const MAKE_AND_RUN: &str = r#"
bin=$1 data=$2; shift 2
"$bin/initdb" --username=postgres --auth=trust --encoding=UTF8 --locale=C --no-sync -D "$data" || exit
exec "$bin/postgres" -D "$data" "$@"
"#;

/// Copies another server's data folder, then becomes its standby. $3 the other's port. Where the programs are links, not
/// all of them may be there: the copier is beside what the link leads to.
const COPY_AND_RUN: &str = r#"
bin=$1 data=$2 source=$3; shift 3
copier=$bin/pg_basebackup
[ -x "$copier" ] || copier=$(dirname "$(readlink -f "$bin/postgres")")/pg_basebackup
"$copier" --host=127.0.0.1 --port="$source" --username=postgres --checkpoint=fast --no-sync \
    --write-recovery-conf -D "$data" || exit
exec "$bin/postgres" -D "$data" "$@"
"#;

/// The majors that are looked for, best first.
const MAJORS: [u32; 4] = [18, 17, 16, 15];

/// The role that owns databases and schema. No superuser, as on a managed Postgres.
pub const OWNER: &str = "counterfoil_owner";
/// The role that all replicas log in as.
pub const WORKER: &str = "counterfoil_login";

/// A running throw-away Postgres: fsync off, trusts whoever connects from this machine, 200 connections.
#[derive(Debug)]
pub struct Postgres {
    server: Server,
    port: u16,
}

/// One database of it, empty at first, and the ways in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    port: u16,
    name: String,
}

static SHARED: OnceCell<Postgres> = OnceCell::const_new();
static TEMPLATE: OnceCell<Database> = OnceCell::const_new();

/// The server that all tests of one process share. It ends with the process.
pub async fn shared() -> Result<&'static Postgres, ScratchError> {
    SHARED.get_or_try_init(Postgres::start).await
}

/// A new, empty database on the shared server.
pub async fn database() -> Result<Database, ScratchError> {
    shared().await?.database().await
}

/// A new database on the shared server, with our schema, and the worker's login granted what a replica needs.
///
/// Migrated once in this process and copied since: the copy is what takes a deployment's migration some tenths of a second.
pub async fn migrated() -> Result<Database, ScratchError> {
    let server = shared().await?;
    let template = TEMPLATE
        .get_or_try_init(async || {
            let template = server.database().await?;
            schema::migrate(&template.connector(OWNER)?, Some(WORKER)).await?;
            Ok::<_, ScratchError>(template)
        })
        .await?;
    let copy = server.copy_of(&template.name).await?;
    // What belongs to the database itself is not copied with it.
    let mut owner = copy.connector(OWNER)?.connect(Purpose::Migrate).await.map_err(SchemaError::from)?;
    schema::secure(&mut owner, Some(WORKER)).await?;
    Ok(copy)
}

// === impl Postgres ===

impl Postgres {
    /// Makes and starts a server: one to two seconds, none of them blocking.
    pub async fn start() -> Result<Self, ScratchError> {
        Self::start_with(&[]).await
    }

    /// Makes and starts a server with more of Postgres' own settings, `name=value`.
    pub async fn start_with(more: &[String]) -> Result<Self, ScratchError> {
        let bin = bin_folder()?;
        let mut last = None;
        // A port that another process took in between is the one failure that a second try mends.
        for _ in 0..3 {
            match Self::start_once(&bin, more).await {
                Ok(started) => return Ok(started),
                Err(error @ ScratchError::NotUp { .. }) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| ScratchError::NotUp { what: "Postgres".to_owned(), log: String::new() }))
    }

    async fn start_once(bin: &Path, more: &[String]) -> Result<Self, ScratchError> {
        let port = free_port()?;
        let user = User::unprivileged("postgres")?;
        let server = launch(bin, user, MAKE_AND_RUN, &[], settings(port).iter().chain(more))?;
        let postgres = Self { server, port };
        postgres.make_roles().await?;
        Ok(postgres)
    }

    /// What a server must be started with to have a [`Self::standby`].
    pub fn with_standbys() -> Vec<String> {
        ["wal_level=replica", "max_wal_senders=4"].map(str::to_owned).to_vec()
    }

    /// Makes and starts a streaming standby of this server: all its databases, read-only until `pg_promote()`.
    pub async fn standby(&self) -> Result<Self, ScratchError> {
        let port = free_port()?;
        let user = User::unprivileged("postgres")?;
        let more = Self::with_standbys();
        let settings = settings(port);
        let server =
            launch(&bin_folder()?, user, COPY_AND_RUN, &[self.port.to_string()], settings.iter().chain(&more))?;
        let standby = Self { server, port };
        standby.first_answer().await?;
        Ok(standby)
    }

    /// Waits until the server answers, and makes the owner and the worker's login.
    async fn make_roles(&self) -> Result<(), ScratchError> {
        let mut superuser = self.first_answer().await?;
        let roles = format!(
            "CREATE ROLE {OWNER} LOGIN CREATEDB CREATEROLE; CREATE ROLE {WORKER} LOGIN; \
             REVOKE CONNECT ON DATABASE postgres FROM PUBLIC"
        );
        sqlx::raw_sql(AssertSqlSafe(roles))
            .execute(&mut superuser)
            .await
            .map_err(|source| ScratchError::Sql { what: "cannot make the roles".to_owned(), source })?;
        Ok(())
    }

    async fn first_answer(&self) -> Result<PgConnection, ScratchError> {
        for _ in 0..Server::LOOKS {
            if self.server.has_ended() {
                break;
            }
            if let Ok(connection) = self.superuser_options("postgres").connect().await {
                return Ok(connection);
            }
            tokio::time::sleep(Server::LOOK_EVERY).await;
        }
        Err(ScratchError::NotUp { what: "Postgres".to_owned(), log: self.server.last_words() })
    }

    fn superuser_options(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(self.port)
            .username("postgres")
            .database(database)
            .ssl_mode(sqlx::postgres::PgSslMode::Disable)
    }

    /// The server, to ask for its process or its log.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A new, empty database, owned by [`OWNER`].
    pub async fn database(&self) -> Result<Database, ScratchError> {
        self.copy_of("template0").await
    }

    async fn copy_of(&self, template: &str) -> Result<Database, ScratchError> {
        let database = Database { port: self.port, name: format!("scratch_{}", uuid::Uuid::new_v4().simple()) };
        let told = |source| ScratchError::Sql { what: format!("cannot make the database {}", database.name), source };
        let mut superuser = self.superuser_options("postgres").connect().await.map_err(told)?;
        let create = format!("CREATE DATABASE {} OWNER {OWNER} TEMPLATE {template}", database.name);
        sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut superuser).await.map_err(told)?;
        superuser.close().await.map_err(told)?;
        Ok(database)
    }

    /// Ends the server and waits until it is gone. Dropping it does the same, and blocks.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}

// === impl Database ===

impl Database {
    /// Its name: `scratch_…`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same database, as a standby of its server has it.
    #[must_use]
    pub fn on(&self, standby: &Postgres) -> Self {
        Self { port: standby.port, name: self.name.clone() }
    }

    /// As the worker's login: what `postgres.url` is in a deployment.
    pub fn url(&self) -> String {
        self.url_as(WORKER)
    }

    /// As the schema's owner: what `postgres.owner_url` is.
    pub fn owner_url(&self) -> String {
        self.url_as(OWNER)
    }

    /// As the superuser, which no part of a deployment should be.
    pub fn superuser_url(&self) -> String {
        self.url_as("postgres")
    }

    /// As any role of the server.
    pub fn url_as(&self, role: &str) -> String {
        self.url_through(role, self.port)
    }

    /// As any role, through another port of this machine: a proxy's, say.
    pub fn url_through(&self, role: &str, port: u16) -> String {
        format!("postgres://{role}@127.0.0.1:{port}/{}?sslmode=disable", self.name)
    }

    /// The server's port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A way in as `role`.
    pub fn connector(&self, role: &str) -> Result<Connector, ScratchError> {
        Ok(Connector::new(&self.url_as(role), "scratch").map_err(SchemaError::from)?)
    }
}

/// The settings that all throw-away servers have; of two values of one, the later holds.
fn settings(port: u16) -> Vec<String> {
    let port = format!("port={port}");
    let settings = [
        port.as_str(),
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "max_connections=200",
        "shared_buffers=64MB",
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
        "wal_level=minimal",
        "max_wal_senders=0",
        "max_wal_size=4GB",
        "log_line_prefix=%m [%p] %u@%d %a ",
    ];
    settings.map(str::to_owned).to_vec()
}

/// Starts a script that makes a data folder and becomes the server: its programs' folder, the data folder, `own`, then
/// the server's settings.
fn launch<'a>(
    bin: &Path,
    user: Option<User>,
    script: &str,
    own: &[String],
    settings: impl Iterator<Item = &'a String>,
) -> Result<Server, ScratchError> {
    let folder = Folder::new("postgres", user)?;
    let data = folder.path().join("data");
    let mut arguments: Vec<OsString> = ["-c", script, "counterfoil-scratch"].map(OsString::from).to_vec();
    arguments.extend([bin.as_os_str().to_owned(), data.into_os_string()]);
    arguments.extend(own.iter().map(OsString::from));
    arguments.extend(settings.flat_map(|setting| ["-c".into(), OsString::from(setting)]));
    Server::start(folder, user, Ending::Quit, Path::new("/bin/sh"), arguments)
}

/// The folder that has `initdb` and `postgres` of a major that we know: from `PATH`, from where Debian puts them, or
/// where `pg_config` says.
fn bin_folder() -> Result<PathBuf, ScratchError> {
    let places: Vec<PathBuf> = MAJORS
        .iter()
        .flat_map(|major| {
            [
                format!("/usr/lib/postgresql/{major}/bin"),
                format!("/usr/pgsql-{major}/bin"),
                format!("/opt/homebrew/opt/postgresql@{major}/bin"),
                format!("/usr/local/opt/postgresql@{major}/bin"),
            ]
        })
        .map(PathBuf::from)
        .collect();
    let configured = find_program("pg_config", &[])
        .and_then(|program| std::process::Command::new(program).arg("--bindir").output().ok())
        .map(|said| PathBuf::from(String::from_utf8_lossy(&said.stdout).trim()));
    let in_path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&in_path)
        .chain(places)
        .chain(configured)
        .find(|folder| folder.join("initdb").is_file() && major_of(&folder.join("postgres")).is_some())
        .ok_or_else(|| ScratchError::NotInstalled {
            what: "A PostgreSQL server (initdb and postgres, in PATH, /usr/lib/postgresql/*/bin or pg_config --bindir)"
                .to_owned(),
            install: INSTALL,
        })
}

/// The major version of a `postgres` program, if it is one that we know.
fn major_of(program: &Path) -> Option<u32> {
    let said = std::process::Command::new(program).arg("--version").output().ok()?;
    // "postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)", or "18beta1" for one not yet released.
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = text.split(") ").nth(1)?;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|major| MAJORS.contains(major))
}

#[cfg(test)]
mod tests {
    use sqlx::Connection;
    use sqlx::postgres::PgConnection;

    use super::{Postgres, database};

    #[tokio::test]
    async fn each_database_is_fresh_and_the_worker_logs_in_as_no_superuser() {
        let one = database().await.expect("a database");
        let other = database().await.expect("a database");
        assert_ne!(one, other);
        let mut worker = PgConnection::connect(&one.url()).await.expect("the worker logs in");
        let superuser: bool = sqlx::query_scalar("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
            .fetch_one(&mut worker)
            .await
            .expect("a row");
        assert!(!superuser);
    }

    #[tokio::test]
    async fn a_stopped_server_leaves_neither_process_nor_folder() {
        let postgres = Postgres::start().await.expect("a server");
        let folder = postgres.server().folder().to_owned();
        let pid = postgres.server().pid().expect("its process");
        assert!(folder.exists());
        postgres.stop().await;
        assert!(!folder.exists());
        let pid = rustix::process::Pid::from_raw(pid).expect("a process id");
        assert!(rustix::process::test_kill_process(pid).is_err(), "the server is gone");
    }
}
