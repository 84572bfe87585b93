//! How long nobody leads: from the signal that ends a leader to its successor's `installed_at`, at Postgres' clock.
//!
//! `cargo bench --bench takeover`; `COUNTERFOIL_BENCH_TAKEOVERS` sets how many of each kind. Three `counterfoil worker`
//! processes, a real Redis and a real Postgres, all on this machine. Leaders are idle, but for the last kind: there a
//! lock on a table holds each of them in the middle of a step. A replica that ended is replaced, and the next signal is
//! sent only when all three are ready. Figures: `docs/performance.md`.

#![expect(clippy::print_stderr, reason = "progress, for whoever waits for it")]

mod figures;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use chrono::{DateTime, Utc};
use counterfoil::db::schema;
use counterfoil::election::LeaseName;
use counterfoil::election::lease::LeaseKeys;
use counterfoil::scratch::postgres::{Database, OWNER, Postgres, WORKER};
use counterfoil::scratch::redis::Redis;
use counterfoil::scratch::{Ending, Folder, Server, free_port};
use figures::{HEARTBEAT, Samples, TTL, Verdict, millis, ratio, repetitions, row};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer than anything that is waited for: a wait that reaches it has failed.
const PATIENCE: Duration = Duration::from_secs(40);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long an idle replica's commands are counted, in ttls.
const IDLE_TTLS: u32 = 10;

const SETTINGS: &str = r#"
[[accounts]]
id = "operating"
bank = "0999"
number = "12345-6"
currency = "BRL"
opening = { date = 2026-11-26, bank = "0.00", book = "0.00" }
"#;

/// Servers and replicas. Replicas first: they are ended before what they talk to.
struct Fleet {
    replicas: Vec<Replica>,
    started: usize,
    postgres_sql: PgConnection,
    /// Holds the lock at which steps wait, once it does.
    held: Option<PgConnection>,
    redis_link: redis::aio::MultiplexedConnection,
    redis: Redis,
    database: Database,
    _postgres: Postgres,
    folder: Folder,
}

struct Replica {
    node: String,
    http: String,
    process: Server,
}

/// How a term ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Kill,
    Term,
    /// By `counterfoil resign`: the replica stays, as a follower.
    Resign,
    /// By SIGTERM, while a step's transaction waits for a lock.
    TermAtWork,
}

struct Leader {
    token: i64,
    node: String,
    installed_at: DateTime<Utc>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    if !figures::wanted() {
        return Ok(());
    }
    let count = repetitions("COUNTERFOIL_BENCH_TAKEOVERS", 50);
    let mut fleet = Fleet::raise().await?;
    fleet.start_replica()?;
    let alone = fleet.commands_of_an_idle_fleet().await?;
    fleet.start_replica()?;
    fleet.start_replica()?;
    let three = fleet.commands_of_an_idle_fleet().await?;

    let killed = fleet.takeovers(End::Kill, count).await?;
    let asked = fleet.takeovers(End::Term, count).await?;
    let resigned = fleet.takeovers(End::Resign, count).await?;
    fleet.hold_the_work().await?;
    let at_work = fleet.takeovers(End::TermAtWork, count).await?;
    let limit = TTL + Duration::from_secs(1);
    row(
        "takeover after SIGKILL",
        &format!("ttl, {} s", TTL.as_secs()),
        &format!(
            "median {} × ttl, 99 of 100 up to {} × ttl, longest {} × ttl ({}) of {}",
            ratio(killed.median(), TTL),
            ratio(killed.percentile(99), TTL),
            ratio(killed.percentile(100), TTL),
            millis(killed.percentile(100)),
            killed.count()
        ),
        "≤ ttl + 1 s",
        (killed.percentile(100) <= limit).into(),
    );
    let spread = |samples: &Samples| {
        format!(
            "median {}, 99 of 100 up to {}, longest {} of {}",
            millis(samples.median()),
            millis(samples.percentile(99)),
            millis(samples.percentile(100)),
            samples.count()
        )
    };
    let prompt = |samples: &Samples| Verdict::from(samples.percentile(100) < Duration::from_millis(200));
    row("takeover after SIGTERM, idle", "—", &spread(&asked), "< 200 ms", prompt(&asked));
    row("takeover after SIGTERM, at an abortable step", "—", &spread(&at_work), "< 200 ms", prompt(&at_work));
    row(
        "takeover after `counterfoil resign`, the command's own start included",
        "—",
        &spread(&resigned),
        "—",
        Verdict::NoGoal,
    );
    // Two followers, and a ttl's share of the time that was counted; in hundredths.
    let hundredths = three.saturating_sub(alone) * 100 / u64::from(2 * IDLE_TTLS);
    let own = alone * 100 / u64::from(IDLE_TTLS);
    row(
        "an idle leader's Redis commands",
        &format!(
            "sent by a leader alone, in {IDLE_TTLS} ttls: {alone}; a ttl has {} heartbeats",
            ratio(TTL, HEARTBEAT)
        ),
        &format!("{}.{:02} a ttl", own / 100, own % 100),
        "—",
        Verdict::NoGoal,
    );
    row(
        "an idle follower's Redis commands",
        &format!("sent by a fleet of three, and by its leader alone, in {IDLE_TTLS} ttls: {three} and {alone}"),
        &format!("{}.{:02} a ttl", hundredths / 100, hundredths % 100),
        "≤ 2 a ttl",
        (hundredths <= 200).into(),
    );
    Ok(())
}

// === impl Fleet ===

impl Fleet {
    async fn raise() -> anyhow::Result<Self> {
        let (postgres, redis) = tokio::try_join!(Postgres::start(), Redis::start())?;
        let database = postgres.database().await?;
        schema::migrate(&database.connector(OWNER)?, Some(WORKER)).await?;
        let folder = Folder::new("bench", None)?;
        for inner in ["inbox/bank", "inbox/book", "outbox"] {
            std::fs::create_dir_all(folder.path().join(inner)).context("cannot make the inbox or the outbox")?;
        }
        std::fs::write(folder.path().join("counterfoil.toml"), SETTINGS).context("cannot write the settings")?;
        let postgres_sql = PgConnection::connect(&database.superuser_url()).await?;
        let redis_link = redis::Client::open(redis.url())?.get_multiplexed_async_connection().await?;
        Ok(Self {
            replicas: Vec::new(),
            started: 0,
            postgres_sql,
            held: None,
            redis_link,
            redis,
            database,
            _postgres: postgres,
            folder,
        })
    }

    /// Never under an old name: a replaced replica is a new one.
    fn start_replica(&mut self) -> anyhow::Result<()> {
        self.started += 1;
        let node = format!("replica-{}", self.started);
        let http = format!("127.0.0.1:{}", free_port()?);
        let mut variables = figures::worker(self.redis.url(), self.database.url(), http.clone(), self.folder.path());
        variables.extend([
            ("NODE__ID", node.clone()),
            ("INBOX__SETTLE", "10ms".to_owned()),
            ("RUN__STEP_ATTEMPTS", "100000".to_owned()),
        ]);
        let arguments = variables
            .into_iter()
            .map(|(key, value)| OsString::from(format!("COUNTERFOIL__{key}={value}")))
            .chain([env!("CARGO_BIN_EXE_counterfoil"), "worker", "--config"].map(OsString::from))
            .chain([self.folder.path().join("counterfoil.toml").into_os_string()]);
        // `env` becomes the worker: its process id is the worker's.
        let process =
            Server::start(Folder::new(&node, None)?, None, Ending::Term, Path::new("/usr/bin/env"), arguments)?;
        self.replicas.push(Replica { node, http, process });
        Ok(())
    }

    /// Ends the leader's term so many times, at every phase of its heartbeat.
    async fn takeovers(&mut self, end: End, count: usize) -> anyhow::Result<Samples> {
        let mut samples = Samples::default();
        for turn in 0..count {
            let leader = self.ready().await?;
            let share = u32::try_from(turn).unwrap_or(0);
            // Not a wait for something: where in the heartbeat the end falls.
            tokio::time::sleep(HEARTBEAT + HEARTBEAT * share / u32::try_from(count).unwrap_or(1)).await;
            if end == End::TermAtWork {
                self.at_work().await?;
            }
            let at = self.replicas.iter().position(|replica| replica.node == leader.node);
            let at = at.with_context(|| format!("{} is none of ours", leader.node))?;
            let sent: DateTime<Utc> =
                sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(&mut self.postgres_sql).await?;
            match end {
                End::Kill => self.replicas[at].signal(Signal::KILL)?,
                End::Term | End::TermAtWork => self.replicas[at].signal(Signal::TERM)?,
                End::Resign => self.resign(leader.token).await?,
            }
            let next = self.leader_after(leader.token).await?;
            let took = (next.installed_at - sent).to_std().context("a successor before the end")?;
            eprintln!("takeover: {} to {} by {end:?} in {}", leader.node, next.node, millis(took));
            samples.push(took);
            if end != End::Resign {
                self.replicas.remove(at).process.stop().await;
                self.start_replica()?;
            }
        }
        Ok(samples)
    }

    /// As an operator does it.
    async fn resign(&self, token: i64) -> anyhow::Result<()> {
        let asked = tokio::process::Command::new(env!("CARGO_BIN_EXE_counterfoil"))
            .args(["resign", "--token", &token.to_string(), "--config"])
            .arg(self.folder.path().join("counterfoil.toml"))
            .env("COUNTERFOIL__POSTGRES__URL", self.database.url())
            .env("COUNTERFOIL__REDIS__URL", self.redis.url())
            .output()
            .await?;
        anyhow::ensure!(asked.status.success(), "resign: {}", String::from_utf8_lossy(&asked.stderr));
        Ok(())
    }

    /// From now on a leader finds a file in its inbox, and waits in the middle of taking it in.
    async fn hold_the_work(&mut self) -> anyhow::Result<()> {
        let mut held = PgConnection::connect(&self.database.superuser_url()).await?;
        // Reads go on; a step's own INSERT waits.
        sqlx::raw_sql("BEGIN; LOCK TABLE counterfoil.source_file IN SHARE MODE").execute(&mut held).await?;
        self.held = Some(held);
        std::fs::write(self.folder.path().join("inbox/bank/statement.xml"), "<Document/>")
            .context("cannot write into the inbox")
    }

    /// Waits until a step waits.
    async fn at_work(&mut self) -> anyhow::Result<()> {
        let sql = &mut self.postgres_sql;
        let waits = async {
            loop {
                let waiting: bool = sqlx::query_scalar(
                    "SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) \
                     WHERE NOT l.granted AND l.relation = 'counterfoil.source_file'::regclass AND a.state = 'active')",
                )
                .fetch_one(&mut *sql)
                .await?;
                if waiting {
                    return Ok(());
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(PATIENCE, waits).await.context("no step has begun in time")?
    }

    /// Waits until somebody leads, all replicas are ready, and all who follow listen for a release.
    async fn ready(&mut self) -> anyhow::Result<Leader> {
        let channel = LeaseKeys::of(&LeaseName::new("reconciliation")?).released;
        let all = async {
            for replica in &self.replicas {
                while !replica.is_ready().await {
                    anyhow::ensure!(
                        !replica.process.has_ended(),
                        "{} ended:\n{}",
                        replica.node,
                        replica.process.last_words()
                    );
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            }
            loop {
                let (_, listening): (String, usize) =
                    redis::cmd("PUBSUB").arg("NUMSUB").arg(&channel).query_async(&mut self.redis_link).await?;
                if listening + 1 >= self.replicas.len() {
                    return Ok(());
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(PATIENCE, all).await.context("the replicas are not ready in time")??;
        self.leader_after(0).await
    }

    /// Waits for a term above this token.
    async fn leader_after(&mut self, token: i64) -> anyhow::Result<Leader> {
        let sql = &mut self.postgres_sql;
        let look = async {
            loop {
                let row: Option<(i64, String, DateTime<Utc>)> =
                    sqlx::query_as("SELECT token, owner, installed_at FROM counterfoil.leader_term WHERE token > $1")
                        .bind(token)
                        .fetch_optional(&mut *sql)
                        .await?;
                if let Some((token, owner, installed_at)) = row {
                    let node = owner.rsplit_once(':').map_or(owner.clone(), |(node, _)| node.to_owned());
                    return Ok(Leader { token, node, installed_at });
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        if let Ok(found) = tokio::time::timeout(PATIENCE, look).await {
            return found;
        }
        let words: Vec<String> = self.replicas.iter().map(|replica| replica.process.last_words()).collect();
        anyhow::bail!("no term above {token} in time:\n{}", words.join("\n"))
    }

    /// How many commands Redis is sent in [`IDLE_TTLS`] ttls, once all is quiet.
    async fn commands_of_an_idle_fleet(&mut self) -> anyhow::Result<u64> {
        self.ready().await?;
        tokio::time::sleep(TTL).await;
        let mut monitor = TcpStream::connect(("127.0.0.1", self.redis.port())).await?;
        monitor.write_all(b"MONITOR\r\n").await?;
        let mut seen = Vec::new();
        let listen = async {
            while monitor.read_buf(&mut seen).await? > 0 {}
            Ok::<_, std::io::Error>(())
        };
        // It ends by itself only if Redis does.
        if let Ok(ended) = tokio::time::timeout(TTL * IDLE_TTLS, listen).await {
            ended?;
            anyhow::bail!("Redis ended its MONITOR");
        }
        // `+1764517540.5 [0 127.0.0.1:1234] "evalsha" …`; what a script does inside Redis says `[0 lua]` instead.
        Ok(String::from_utf8_lossy(&seen).lines().filter(|line| line.contains("[0 127.0.0.1:")).count() as u64)
    }
}

// === impl Replica ===

impl Replica {
    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = self.process.pid().and_then(Pid::from_raw).context("it has not started")?;
        kill_process(pid, signal).with_context(|| format!("cannot signal {}", self.node))
    }

    /// `/readyz` answers 200.
    async fn is_ready(&self) -> bool {
        let ask = async {
            let mut stream = TcpStream::connect(&self.http).await?;
            stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n").await?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await?;
            Ok::<_, std::io::Error>(answer)
        };
        ask.await.is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 200"))
    }
}
