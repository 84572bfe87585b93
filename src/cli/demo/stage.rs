//! What the demo plays on: throw-away servers, an inbox with the example files, and three replicas.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};

use super::example;
use crate::scratch::postgres::{Database, OWNER, Postgres, WORKER};
use crate::scratch::redis::Redis;
use crate::scratch::{Ending, Folder, Server, free_port};

/// The lease's ttl in the demo.
pub(super) const TTL: Duration = Duration::from_secs(2);
/// How many replicas.
const REPLICAS: usize = 3;

/// Servers, folders and replicas. All of it ends when this is dropped, or with this process.
pub(super) struct Stage {
    // Replicas first: they are ended before the servers that they talk to.
    replicas: Vec<Replica>,
    redis: Redis,
    database: Database,
    postgres: Postgres,
    folder: Folder,
    program: PathBuf,
}

/// One worker process.
pub(super) struct Replica {
    /// Its `node.id`.
    pub(super) name: String,
    /// Where it listens.
    pub(super) http: String,
    process: Server,
}

// === impl Stage ===

impl Stage {
    /// Starts the servers, makes the schema, lays out the files. No replica yet.
    pub(super) async fn raise() -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("where is this program?")?;
        let (postgres, redis) = tokio::try_join!(Postgres::start(), Redis::start())?;
        let database = postgres.database().await?;
        crate::db::schema::migrate(&database.connector(OWNER)?, Some(WORKER)).await?;
        // Only in a database that is marked so do hold points exist.
        database.mark_throwaway().await?;
        let folder = Folder::new("demo", None)?;
        example::lay_out(folder.path())?;
        std::fs::create_dir_all(folder.path().join("outbox")).context("cannot make the outbox")?;
        Ok(Self { replicas: Vec::new(), redis, database, postgres, folder, program })
    }

    /// Starts the replicas.
    pub(super) fn start_replicas(&mut self) -> anyhow::Result<()> {
        for number in 1..=REPLICAS {
            let name = format!("replica-{number}");
            let http = format!("127.0.0.1:{}", free_port()?);
            let mut arguments = self.environment();
            arguments.push(variable("NODE__ID", &name));
            arguments.push(variable("HTTP__LISTEN", &http));
            arguments.push(self.program.clone().into_os_string());
            arguments.extend(["worker", "--config"].map(OsString::from));
            arguments.push(self.config().into_os_string());
            // `env` becomes the worker: its process id is the worker's.
            let folder = Folder::new(&name, None)?;
            let process = Server::start(folder, None, Ending::Term, Path::new("/usr/bin/env"), arguments)?;
            self.replicas.push(Replica { name, http, process });
        }
        Ok(())
    }

    /// What a replica, or a command of an operator, is told beside the settings file.
    fn environment(&self) -> Vec<OsString> {
        let at = |path: &str| format!("file://{}", self.folder.path().join(path).display());
        [
            ("REDIS__URL", self.redis.url()),
            ("POSTGRES__URL", self.database.url()),
            ("LEASE__TTL", format!("{}ms", TTL.as_millis())),
            ("LEASE__HEARTBEAT", "400ms".to_owned()),
            ("LEASE__ATTEMPT_TIMEOUT", "300ms".to_owned()),
            ("LEASE__MARGIN", "300ms".to_owned()),
            ("LEASE__DRAIN", "2s".to_owned()),
            // Nothing is due by itself: the day is asked for, whenever the demo is run.
            ("SCHEDULE__START", "9999-01-01".to_owned()),
            ("INBOX__URL", at("inbox")),
            ("INBOX__SETTLE", "200ms".to_owned()),
            ("OUTBOX__URL", at("outbox")),
        ]
        .map(|(key, value)| variable(key, &value))
        .to_vec()
    }

    /// Runs a command of this binary as an operator would, and returns what it printed.
    pub(super) async fn operator(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let what = arguments.join(" ");
        let output = tokio::process::Command::new("/usr/bin/env")
            .args(self.environment())
            .arg(&self.program)
            .args(arguments)
            .arg("--config")
            .arg(self.config())
            .kill_on_drop(true)
            .output()
            .await
            .with_context(|| format!("cannot run counterfoil {what}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        anyhow::ensure!(
            output.status.success(),
            "counterfoil {what} ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(said)
    }

    /// The replica of this name.
    pub(super) fn replica(&self, name: &str) -> anyhow::Result<&Replica> {
        self.replicas.iter().find(|replica| replica.name == name).with_context(|| format!("no replica {name:?}"))
    }

    /// All replicas.
    pub(super) fn replicas(&self) -> &[Replica] {
        &self.replicas
    }

    /// The database.
    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// The servers' addresses, for people.
    pub(super) fn addresses(&self) -> Vec<String> {
        let mut addresses = vec![
            format!("Postgres  {}", self.database.url()),
            format!("Redis     {}", self.redis.url()),
            format!("files     {}", self.folder.path().display()),
        ];
        let replicas = self.replicas.iter().filter(|replica| !replica.process.has_ended());
        addresses.extend(replicas.map(|replica| format!("{} http://{}/status", replica.name, replica.http)));
        addresses
    }

    /// The settings file.
    fn config(&self) -> PathBuf {
        self.folder.path().join("counterfoil.toml")
    }

    /// Where files lie.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends everything, and waits until it is gone.
    pub(super) async fn strike(self) {
        for replica in self.replicas {
            replica.process.stop().await;
        }
        self.redis.stop().await;
        self.postgres.stop().await;
    }
}

// === impl Replica ===

impl Replica {
    /// Sends its process a signal.
    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid =
            self.process.pid().and_then(Pid::from_raw).with_context(|| format!("{} has not started", self.name))?;
        kill_process(pid, signal).with_context(|| format!("cannot signal {}", self.name))
    }

    /// Has it ended?
    pub(super) fn has_ended(&self) -> bool {
        self.process.has_ended()
    }

    /// What it said last.
    pub(super) fn last_words(&self) -> String {
        self.process.last_words()
    }
}

fn variable(key: &str, value: &str) -> OsString {
    format!("COUNTERFOIL__{key}={value}").into()
}
