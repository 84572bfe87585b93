//! Postgres as people run it: TLS with an authority of one's own, password files, a pooler in between, a server that
//! crashes in mid-step. Each the real thing.

#![expect(clippy::expect_used, clippy::panic, reason = "a test says what it could not go on without")]

#[path = "common/authority.rs"]
mod authority;
mod support;

use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use counterfoil::db::connect::{ConnectError, Connector, Purpose};
use counterfoil::db::schema;
use counterfoil::election::term::TermStore;
use counterfoil::scratch::postgres::{Database, OWNER, Postgres, WORKER};
use counterfoil::scratch::{Ending, Folder, Server, User, find_program, free_port};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use support::day::{Site, example};

const LOOKS: u32 = 600;
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A folder that the server's user may read, and whatever is put there.
struct Shared {
    folder: Folder,
    user: Option<User>,
}

impl Shared {
    fn new() -> Self {
        let user = User::unprivileged("postgres").expect("a user");
        Self { folder: Folder::new("kinds", user).expect("a folder"), user }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).expect("written");
        self.own(name)
    }

    fn own(&self, name: &str) -> String {
        if let Some(user) = self.user {
            user.own(Path::new(&self.path(name))).expect("given");
        }
        self.path(name)
    }
}

async fn migrated(server: &Postgres) -> Database {
    let database = server.database().await.expect("a database");
    schema::migrate(&database.connector(OWNER).expect("a way in"), Some(WORKER)).await.expect("the schema");
    database
}

#[tokio::test]
async fn over_tls_only_a_server_that_the_named_authority_signed_is_believed() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let shared = Shared::new();
    authority::certify(shared.folder.path());
    authority::found(shared.folder.path(), "other");
    let settings = [
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", shared.own("server.pem")),
        format!("ssl_key_file={}", shared.own("server.key")),
    ];
    let server = Postgres::start_with(&settings).await.expect("a server");
    let database = migrated(&server).await;
    let url = |authority: &str| {
        let plain = database.url();
        let (address, _) = plain.split_once('?').expect("a query");
        format!("{address}?sslmode=verify-full&sslrootcert={}", shared.path(authority))
    };
    let connect = async |url: &str| Connector::new(url, "a").expect("a url").connect(Purpose::Election).await;

    let mut session = connect(&url("ca.pem")).await.expect("the server is the one that the authority signed");
    let secure: bool = sqlx::query_scalar("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        .fetch_one(&mut session)
        .await
        .expect("a row");
    assert!(secure);
    let store =
        TermStore::new(Connector::new(&url("ca.pem"), "a").expect("a url"), Duration::from_secs(10)).self_test().await;
    assert_eq!(store.expect("an answer"), [], "a replica over TLS is as sound as any");
    let refused = connect(&url("other.pem")).await.expect_err("another authority");
    assert!(refused.to_string().contains("certificate"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_comes_from_the_url_from_a_file_with_the_url_or_from_a_password_file() {
    let shared = Shared::new();
    let hba = shared
        .write("hba", &format!("host all {WORKER} 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"));
    let server = Postgres::start_with(&[format!("hba_file={hba}")]).await.expect("a server");
    let database = migrated(&server).await;
    let mut superuser = PgConnection::connect(&database.superuser_url()).await.expect("the superuser logs in");
    sqlx::query("ALTER ROLE counterfoil_login PASSWORD 'p@ss word'").execute(&mut superuser).await.expect("altered");

    let folder = tempfile::tempdir().expect("a folder");
    let status = |variables: &[(&str, String)]| {
        let mut command = Command::cargo_bin("counterfoil").expect("built");
        command.arg("status").current_dir(folder.path()).env_clear().envs(variables.iter().cloned());
        command.output().expect("run")
    };
    let url =
        |login: &str| format!("postgres://{login}@127.0.0.1:{}/{}?sslmode=disable", server.port(), database.name());
    let with_password = url(&format!("{WORKER}:p%40ss%20word"));
    let url_file = shared.write("url", &with_password);
    let pass_file = shared.path("pass");
    std::fs::write(&pass_file, format!("127.0.0.1:*:*:{WORKER}:p@ss word\n")).expect("written");
    std::fs::set_permissions(&pass_file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("private");

    for variables in [
        vec![("COUNTERFOIL__POSTGRES__URL", with_password)],
        vec![("COUNTERFOIL__POSTGRES__URL_FILE", url_file)],
        vec![("COUNTERFOIL__POSTGRES__URL", url(WORKER)), ("PGPASSFILE", pass_file)],
    ] {
        let done = status(&variables);
        assert!(done.status.success(), "{variables:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
    let refused = status(&[("COUNTERFOIL__POSTGRES__URL", url(&format!("{WORKER}:hunter2")))]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && said.contains("password") && !said.contains("hunter2"), "{said}");
}

/// A `PgBouncer` before this server, with these settings of its own.
async fn pooler(server: &Postgres, settings: &str) -> (Server, u16) {
    let shared = Shared::new();
    let port = free_port().expect("a port");
    let ini = format!(
        "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
         unix_socket_dir =\nauth_type = any\n{settings}\n",
        server.port()
    );
    // `auth_type = any` logs in as the one user that the database names.
    let ini = ini.replace("port=", &format!("user={WORKER} port="));
    let ini = shared.write("pgbouncer.ini", &ini);
    let program = find_program("pgbouncer", &["/usr/sbin".into()]).expect("pgbouncer is installed");
    let user = shared.user;
    let process = Server::start(shared.folder, user, Ending::Kill, &program, [ini]).expect("started");
    for _ in 0..LOOKS {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return (process, port);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    panic!("the pooler did not come up: {}", process.last_words());
}

#[tokio::test]
async fn a_pooler_in_between_is_found_and_refused_with_the_reason() {
    let server = Postgres::start().await.expect("a server");
    let database = migrated(&server).await;
    let self_test = async |port| {
        let connector = Connector::new(&database.url_through(WORKER, port), "a").expect("a url");
        TermStore::new(connector, Duration::from_secs(10)).self_test().await
    };
    assert_eq!(self_test(server.port()).await.expect("an answer"), [], "Postgres itself is sound");

    let dropped = "ignore_startup_parameters = extra_float_digits,options";
    for (settings, does) in [
        (format!("pool_mode = transaction\n{dropped}"), "gives a session's server to others"),
        (format!("pool_mode = session\n{dropped}"), "does not pass on a session's limits"),
    ] {
        let (_pooler, port) = pooler(&server, &settings).await;
        let unfit = self_test(port).await.expect("an answer");
        assert!(unfit.len() == 1 && unfit[0].0.contains(does), "{settings}: {unfit:?}");
    }
    let (_pooler, port) = pooler(&server, "pool_mode = transaction").await;
    let connector = Connector::new(&database.url_through(WORKER, port), "a").expect("a url");
    let refused = connector.connect(Purpose::Election).await.expect_err("it takes no limits");
    assert!(matches!(refused, ConnectError::Pooler { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_in_mid_step_costs_a_try_and_no_account_day() {
    let server = Postgres::start_with(&["synchronous_commit=on".to_owned()]).await.expect("a server");
    let database = migrated(&server).await;
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["counterfoil.toml", "inbox", "openings"] {
        support::day::copy_whole(&example().join(name), &folder.path().join(name));
    }
    let site = Site::over(folder, database, "2026-11-28T09:00:00Z");
    site.database.mark_throwaway().await.expect("marked");
    let mut hold = site.database.hold("match").await.expect("held");
    let mut superuser = PgConnection::connect(&site.database.superuser_url()).await.expect("the superuser logs in");
    let victim: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut superuser).await.expect("a pid");

    let mut runner = site.lead(1, "a").await;
    let crash = async {
        hold.reached(Duration::from_mins(2)).await.expect("looked").expect("the step came to its commit");
        // One killed backend, and the server ends every session, recovers and goes on.
        kill_process(Pid::from_raw(victim).expect("a pid"), Signal::KILL).expect("killed");
    };
    let day = async {
        let _ = runner.pass().await;
        site.clock.advance(Duration::from_secs(11));
        let mut unfinished = 1;
        for _ in 0..LOOKS {
            // A pass may end early while the server recovers; the next one tries again, as the worker does.
            if let Ok(pass) = runner.pass().await {
                unfinished = pass.unfinished;
            }
            if unfinished == 0 {
                break;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        unfinished
    };
    let (unfinished, ()) = tokio::join!(day, crash);
    assert_eq!(unfinished, 0, "{:?}", site.states().await);
    assert_eq!(site.digests().await, site.digests_in_memory());
    let tries: i64 = site.count("SELECT max(attempt)::bigint FROM counterfoil.step_attempt WHERE step = 'match'").await;
    assert_eq!(tries, 2, "the step was tried again");
}
