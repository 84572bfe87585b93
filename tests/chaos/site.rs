//! Servers, folders and replicas. Every replica has a wire of its own to each server.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use counterfoil::clock::{Clock, SystemClock};
use counterfoil::db::schema;
use counterfoil::scratch::postgres::{Database, OWNER, Postgres, WORKER};
use counterfoil::scratch::redis::Redis;
use counterfoil::scratch::{Ending, Folder, Server, free_port};
use rustix::process::{Pid, Signal, kill_process};

use crate::days::{Day, SETTINGS};
use crate::link::{Link, Wire};

/// How many replicas.
pub(crate) const REPLICAS: usize = 3;
/// The lease's ttl; the other timings are in the proportion to it that the defaults have, or a little shorter.
pub(crate) const TTL_MS: u64 = 2000;

/// How long the system may take to make a process.
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// How long an operator's command may take, also one that a frozen server keeps.
const COMMAND_WITHIN: Duration = Duration::from_secs(30);

/// What does not change while the storm lasts: shared by whoever drives, watches and judges.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) folder: Folder,
    pub(crate) database: Database,
    /// Where each replica answers over HTTP.
    pub(crate) http: Vec<String>,
}

/// What the storm falls upon. Replicas first: they are ended before what they talk to.
pub(crate) struct Site {
    pub(crate) replicas: Vec<Replica>,
    pub(crate) redis: Redis,
    /// An asynchronous copy of [`Self::redis`].
    pub(crate) standby: Redis,
    pub(crate) postgres: Postgres,
    clock_library: Option<PathBuf>,
}

pub(crate) struct Replica {
    pub(crate) name: String,
    pub(crate) to_redis: Link,
    pub(crate) to_postgres: Link,
    process: Option<Server>,
}

// === impl Place ===

impl Place {
    pub(crate) fn settings(&self) -> PathBuf {
        self.folder.path().join("counterfoil.toml")
    }

    /// Puts a day's files into the inbox, each whole at once.
    pub(crate) fn deliver(&self, day: &Day) {
        for (name, text) in &day.files {
            let path = self.folder.path().join("inbox").join(name);
            let part = path.with_extension("part");
            std::fs::write(&part, text).expect("written");
            std::fs::rename(part, path).expect("renamed");
        }
    }

    /// Runs a command as an operator would; whether it did what was asked.
    pub(crate) async fn operator(&self, arguments: &[&str]) -> Result<(), String> {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_counterfoil"));
        command.args(arguments).arg("--config").arg(self.settings());
        command.env("COUNTERFOIL__POSTGRES__URL", self.database.url()).kill_on_drop(true);
        let done = tokio::time::timeout(COMMAND_WITHIN, command.output())
            .await
            .map_err(|_| format!("no answer within {} s", COMMAND_WITHIN.as_secs()))?
            .expect("a process");
        if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()) }
    }
}

pub(crate) fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("below it").display().to_string();
            files.insert(name, std::fs::read(&path).expect("read"));
        }
    }
}

/// The folders of a site, and its settings.
pub(crate) fn lay_out(folder: &Path) {
    for inner in ["inbox/bank", "inbox/book", "outbox"] {
        std::fs::create_dir_all(folder.join(inner)).expect("a folder");
    }
    std::fs::write(folder.join("counterfoil.toml"), SETTINGS).expect("written");
}

// === impl Site ===

impl Site {
    pub(crate) async fn raise() -> (Self, Place) {
        // What was committed survives a crash, as in a deployment.
        let lasting = ["synchronous_commit=on".to_owned()];
        let (postgres, redis, standby) =
            tokio::try_join!(Postgres::start_with(&lasting), Redis::start(), Redis::start()).expect("servers");
        follow(&standby, redis.port()).await;
        let database = postgres.database().await.expect("a database");
        schema::migrate(&database.connector(OWNER).expect("a way in"), Some(WORKER)).await.expect("the schema");
        let folder = Folder::new("chaos", None).expect("a folder");
        lay_out(folder.path());
        let http = (0..REPLICAS).map(|_| format!("127.0.0.1:{}", free_port().expect("a port"))).collect();
        let place = Place { folder, database, http };
        let replicas = (0..REPLICAS)
            .map(|at| Replica {
                name: format!("replica-{}", at + 1),
                to_redis: Link::to(redis.port()),
                to_postgres: Link::to(postgres.port()),
                process: None,
            })
            .collect();
        let mut site = Self { replicas, redis, standby, postgres, clock_library: clock_library() };
        for at in 0..REPLICAS {
            site.start(at, &place).await;
        }
        (site, place)
    }

    /// Can a replica's wall clock be stepped here?
    pub(crate) fn steps_clocks(&self) -> bool {
        self.clock_library.is_some()
    }

    /// Starts a replica, under the name and the address that it always has. From then on signals reach it.
    pub(crate) async fn start(&mut self, at: usize, place: &Place) {
        let own = Folder::new("replica", None).expect("a folder");
        let clock = place.folder.path().join(format!("clock-{at}"));
        std::fs::write(&clock, "+0").expect("written");
        let replica = &mut self.replicas[at];
        let there = |inner: &str| format!("file://{}", place.folder.path().join(inner).display());
        let variables = [
            ("NODE__ID", replica.name.clone()),
            ("HTTP__LISTEN", place.http[at].clone()),
            ("REDIS__URL", format!("redis://127.0.0.1:{}/", replica.to_redis.port())),
            ("POSTGRES__URL", place.database.url_through(WORKER, replica.to_postgres.port())),
            ("LEASE__TTL", format!("{TTL_MS}ms")),
            ("LEASE__HEARTBEAT", "400ms".to_owned()),
            ("LEASE__ATTEMPT_TIMEOUT", "300ms".to_owned()),
            ("LEASE__MARGIN", "300ms".to_owned()),
            ("LEASE__DRAIN", "2s".to_owned()),
            ("LEASE__STALL_LIMIT", "8s".to_owned()),
            // Faults are not the step's own doing: they must not use up its attempts.
            ("RUN__STEP_ATTEMPTS", "1000".to_owned()),
            ("INBOX__URL", there("inbox")),
            ("OUTBOX__URL", there("outbox")),
        ];
        let mut arguments: Vec<OsString> =
            variables.into_iter().map(|(key, value)| format!("COUNTERFOIL__{key}={value}").into()).collect();
        if let Some(library) = &self.clock_library {
            arguments.push(format!("LD_PRELOAD={}", library.display()).into());
            arguments.push(format!("FAKETIME_TIMESTAMP_FILE={}", clock.display()).into());
            arguments.extend(["FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"].map(OsString::from));
        }
        arguments.extend([env!("CARGO_BIN_EXE_counterfoil"), "worker", "--config"].map(OsString::from));
        arguments.push(place.settings().into_os_string());
        // `env` becomes the worker: its process id is the worker's.
        let process = Server::start(own, None, Ending::Kill, Path::new("/usr/bin/env"), arguments).expect("a replica");
        let started = SystemClock.now();
        while process.pid().is_none() {
            assert!(SystemClock.now().since(started) < STARTS_WITHIN, "no process of {}", replica.name);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        replica.process = Some(process);
    }

    /// All wires to Redis lead to whoever is the primary now.
    pub(crate) fn redial(&self) {
        for replica in &self.replicas {
            replica.to_redis.lead_to(self.redis.port());
        }
    }

    /// Everything ends; what the replicas said last.
    pub(crate) async fn strike(self) {
        for replica in self.replicas {
            if let Some(process) = replica.process {
                process.stop().await;
            }
        }
        self.redis.stop().await;
        self.standby.stop().await;
        self.postgres.stop().await;
    }

    pub(crate) fn last_words(&self) -> String {
        let words = self.replicas.iter().map(|replica| {
            let said = replica.process.as_ref().map_or_else(String::new, Server::last_words);
            format!("{}:\n{said}", replica.name)
        });
        words.collect::<Vec<_>>().join("\n")
    }
}

// === impl Replica ===

impl Replica {
    pub(crate) fn signal(&self, signal: Signal) {
        // A process that has just ended cannot be signalled, and need not be.
        if let Some(pid) = self.process.as_ref().and_then(Server::pid).and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.process.as_ref().is_none_or(Server::has_ended)
    }

    pub(crate) fn wires(&self, wire: Wire) {
        self.to_redis.set(wire);
        self.to_postgres.set(wire);
    }
}

/// A command to a Redis, on a connection of its own.
pub(crate) async fn command(redis: &Redis, words: &[&str]) {
    let client = redis::Client::open(redis.url()).expect("an address");
    let mut link = client.get_multiplexed_async_connection().await.expect("a connection");
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(*word);
    }
    let _: redis::Value = command.query_async(&mut link).await.expect("an answer");
}

/// Makes one Redis the asynchronous copy of another.
pub(crate) async fn follow(redis: &Redis, port: u16) {
    command(redis, &["REPLICAOF", "127.0.0.1", &port.to_string()]).await;
}

/// libfaketime, where Debian or Ubuntu put it.
fn clock_library() -> Option<PathBuf> {
    let folders =
        std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path().join("faketime/libfaketime.so.1"));
    folders.into_iter().find(|library| library.is_file())
}
