//! What the lease costs and keeps where there is trouble: an install among writers that overlap, and renewals while every
//! core is busy.
//!
//! `cargo bench --bench lease`; `COUNTERFOIL_BENCH_INSTALLS` and `COUNTERFOIL_BENCH_RENEWALS` set how many of each. A real
//! Postgres and Redis; the worker is a process of its own, and so is what keeps the cores busy, the product's own
//! `reconcile`. Figures: `docs/performance.md`.

#![expect(clippy::print_stderr, reason = "progress, for whoever waits for it")]

mod figures;

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use counterfoil::clock::{Clock, SystemClock};
use counterfoil::db::connect::Connector;
use counterfoil::election::lease::LeaseKeys;
use counterfoil::election::term::{Installation, TermStore};
use counterfoil::election::timing::Timings;
use counterfoil::election::{FencingToken, LeaseName, Owner};
use counterfoil::scratch::postgres::{self, Database};
use counterfoil::scratch::redis::Redis;
use counterfoil::scratch::{Folder, free_port};
use figures::{HEARTBEAT, Samples, TTL, Verdict, millis, repetitions, row};
use rustix::process::{Pid, Signal, kill_process_group};
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};

/// Writers whose transactions overlap at any moment.
const WRITERS: usize = 4;
/// How long each of their transactions holds the lease's lock.
const HOLDS: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_mins(2);
const LOOK_EVERY: Duration = Duration::from_millis(5);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if !figures::wanted() {
        return Ok(());
    }
    let database = postgres::migrated().await?;
    installs(&database, repetitions("COUNTERFOIL_BENCH_INSTALLS", 50)).await?;
    renewals(repetitions("COUNTERFOIL_BENCH_RENEWALS", 200)).await
}

// === Installs ===

async fn installs(database: &Database, count: usize) -> anyhow::Result<()> {
    let lease = LeaseName::new("reconciliation")?;
    let bound = Timings { ttl: TTL, ..Timings::default() }.install_bound();
    let mut store = TermStore::new(Connector::new(&database.url(), "bench")?, PATIENCE);
    let (term, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut writers = Vec::new();
    let (mut idle, mut busy, mut evictions) = (Samples::default(), Samples::default(), 0_usize);
    for number in 1..=2 * count {
        let samples = if number <= count { &mut idle } else { &mut busy };
        if number == count + 1 {
            writers.extend(
                (0..WRITERS).map(|_| write(database.url(), lease.clone(), Arc::clone(&term), Arc::clone(&over))),
            );
            // They are on their way before the first install.
            tokio::time::sleep(HOLDS * 4).await;
        }
        let token = FencingToken::new(u64::try_from(number)?).context("a token")?;
        let owner = Owner::from_stored("bench:1");
        let begin = SystemClock.now();
        loop {
            match store.install(&lease, token, &owner, bound).await? {
                Installation::Installed(_) => break,
                Installation::Blocked => {
                    evictions += 1;
                    store.evict(&lease).await?;
                }
                other => anyhow::bail!("{token} was not installed: {other:?}"),
            }
            anyhow::ensure!(SystemClock.now().since(begin) < PATIENCE, "no install in time");
        }
        samples.push(SystemClock.now().since(begin));
        term.store(token.get(), Ordering::SeqCst);
        if number > count {
            tokio::time::sleep(HOLDS).await; // the writers of the new term begin
        }
    }
    over.store(true, Ordering::SeqCst);
    let mut written = 0;
    for writer in writers {
        written += writer.await??;
    }
    anyhow::ensure!(written > count as u64, "the writers hardly wrote: {written}");
    eprintln!("install: {count} among {written} transactions, {evictions} evictions");
    row(
        &format!("the install of a term, among {WRITERS} writers whose transactions of {} overlap", millis(HOLDS)),
        &format!("without writers: median {}, longest {}", millis(idle.median()), millis(idle.percentile(100))),
        &format!(
            "median {}, 99 of 100 up to {}, longest {} of {count}; {evictions} had to evict",
            millis(busy.median()),
            millis(busy.percentile(99)),
            millis(busy.percentile(100))
        ),
        &format!("≤ its bound, {}", millis(bound)),
        (busy.percentile(100) <= bound).into(),
    );
    Ok(())
}

/// Transactions of the installed term, one after the other; how many were committed. One that is refused or ended begins
/// again.
fn write(
    url: String,
    lease: LeaseName,
    term: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
) -> tokio::task::JoinHandle<anyhow::Result<u64>> {
    #[expect(clippy::disallowed_methods, reason = "a bench has no supervisor; it waits for them itself")]
    tokio::spawn(async move {
        let mut written = 0;
        let mut session = PgConnection::connect(&url).await?;
        while !over.load(Ordering::SeqCst) {
            let token = i64::try_from(term.load(Ordering::SeqCst))?;
            let transaction = async {
                session.execute("BEGIN").await?;
                sqlx::query("SELECT counterfoil.enter_term($1, $2, 'bench:1')")
                    .bind(lease.as_str())
                    .bind(token)
                    .execute(&mut session)
                    .await?;
                sqlx::query("SELECT pg_sleep($1::bigint / 1000.0)")
                    .bind(i64::try_from(HOLDS.as_millis()).unwrap_or(0))
                    .execute(&mut session)
                    .await?;
                session.execute("COMMIT").await
            };
            match transaction.await {
                Ok(_) => written += 1,
                Err(sqlx::Error::Database(refused)) if refused.code().is_some_and(|code| code.starts_with("TF")) => {
                    session.execute("ROLLBACK").await?;
                }
                Err(_) => session = PgConnection::connect(&url).await?,
            }
        }
        Ok(written)
    })
}

// === Renewals ===

/// A process, the leader of its group, that ends with the bench and with whatever it started.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

async fn renewals(count: usize) -> anyhow::Result<()> {
    let (redis, database) = (Redis::start().await?, postgres::migrated().await?);
    let folder = Folder::new("bench", None)?;
    for inner in ["inbox/bank", "inbox/book", "outbox"] {
        std::fs::create_dir_all(folder.path().join(inner))?;
    }
    let account = "[[accounts]]\nid = \"operating\"\nbank = \"0999\"\nnumber = \"12345-6\"\ncurrency = \"BRL\"\n";
    std::fs::write(folder.path().join("counterfoil.toml"), account)?;
    let _worker = worker(&redis, &database, folder.path())?;
    let quiet = lateness(&redis, count / 4).await?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let busy = hogs(cores * 2)?;
    let loaded = lateness(&redis, count).await?;
    drop(busy);
    row(
        &format!("lateness of renewals while {} reconciliations keep {cores} cores busy", cores * 2),
        &format!(
            "the longest pause that is meant, {}; with idle cores: 99 of 100 up to {}",
            millis(HEARTBEAT + HEARTBEAT / 5),
            millis(quiet.percentile(99))
        ),
        &format!(
            "99 of 100 up to {}, longest {} of {}; the lease never ended",
            millis(loaded.percentile(99)),
            millis(loaded.percentile(100)),
            loaded.count()
        ),
        "—",
        Verdict::NoGoal,
    );
    Ok(())
}

fn worker(redis: &Redis, database: &Database, folder: &Path) -> anyhow::Result<Process> {
    let http = format!("127.0.0.1:{}", free_port()?);
    let variables = figures::worker(redis.url(), database.url(), http, folder);
    let mut command = Command::new(env!("CARGO_BIN_EXE_counterfoil"));
    command.arg("worker").arg("--config").arg(folder.join("counterfoil.toml"));
    command.envs(variables.into_iter().map(|(key, value)| (format!("COUNTERFOIL__{key}"), value)));
    start(command)
}

fn start(mut command: Command) -> anyhow::Result<Process> {
    command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    Ok(Process(command.spawn().context("a process could not be started")?))
}

/// The example's day reconciled in memory, again and again, by so many shells side by side. The system ends each after a
/// while, should nobody else.
fn hogs(count: usize) -> anyhow::Result<Vec<Process>> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let day = "ulimit -t 20; while kill -0 $PPID; do \"$0\" reconcile --config counterfoil.toml --bank inbox/bank --book inbox/book; done";
    (0..count)
        .map(|_| {
            let mut command = Command::new("sh");
            command.args(["-c", day, env!("CARGO_BIN_EXE_counterfoil")]).current_dir(&examples);
            start(command)
        })
        .collect()
}

/// How much later than meant renewals came: from one to the next, by Redis' own clock, less the longest pause. A renewal
/// is seen by the lease's end, which tells its instant however late we look.
async fn lateness(redis: &Redis, count: usize) -> anyhow::Result<Samples> {
    let keys = LeaseKeys::of(&LeaseName::new("reconciliation")?);
    let mut link = redis::Client::open(redis.url())?.get_multiplexed_async_connection().await?;
    let begin = SystemClock.now();
    let (mut samples, mut last, mut holder) = (Samples::default(), None, None);
    while samples.count() < count {
        anyhow::ensure!(SystemClock.now().since(begin) < PATIENCE + HEARTBEAT * u32::try_from(count)?, "no renewals");
        let held: Option<String> = redis::cmd("GET").arg(&keys.holder).query_async(&mut link).await?;
        let end: i64 = redis::cmd("PEXPIRETIME").arg(&keys.holder).query_async(&mut link).await?;
        anyhow::ensure!(holder.is_none() || held == holder, "the lease ended: {holder:?}, then {held:?}");
        if let (Some(_), Some(last)) = (&held, last)
            && end > last
        {
            let pause = Duration::from_millis(u64::try_from(end - last)?);
            samples.push(pause.saturating_sub(HEARTBEAT + HEARTBEAT / 5));
        }
        if held.is_some() {
            (holder, last) = (held, Some(end));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(samples)
}
