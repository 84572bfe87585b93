//! What the fence costs: the same write with and without it, in turn, on one server, by one client each.
//!
//! `cargo bench --bench fence`; `COUNTERFOIL_BENCH_WRITES` and `COUNTERFOIL_BENCH_COPIES` set the repetitions. The server
//! is a throw-away one that does not wait for its disk, which makes the fence's share look as large as it can get: where
//! a commit waits for a disk, the difference stays and the ratio falls. Figures: `docs/performance.md`.

#![expect(clippy::print_stderr, reason = "progress, for whoever waits for it")]

mod figures;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use counterfoil::clock::{Clock, SystemClock};
use counterfoil::db::connect::Connector;
use counterfoil::db::copy::Copy;
use counterfoil::db::fence::{Failure, Fence};
use counterfoil::election::term::{Installation, Term, TermStore};
use counterfoil::election::{FencingToken, LeaseName, Owner};
use counterfoil::scratch::postgres::{self, Database};
use figures::{Samples, millis, ratio, repetitions, row};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};
use tokio_util::sync::CancellationToken;

/// The rows of one COPY.
const ROWS: i64 = 100_000;
/// What the fence may cost a transaction.
const GOAL: Duration = Duration::from_micros(300);
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
const COLUMNS: [&str; 4] = ["account", "number", "minor", "description"];

/// The two ways to write, to two tables that differ in the fence alone.
struct Writers {
    owner: PgConnection,
    plain: PgConnection,
    by_hand: PgConnection,
    fence: Fence,
    next: i64,
}

/// How much longer the fenced write took than the unfenced one beside it: what disturbs both cancels out.
#[derive(Default)]
struct Differences(Vec<i64>);

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    if !figures::wanted() {
        return Ok(());
    }
    let database = postgres::migrated().await?;
    let mut writers = Writers::open(&database).await?;
    one_row(&mut writers, repetitions("COUNTERFOIL_BENCH_WRITES", 3000)).await?;
    many_rows(&mut writers, repetitions("COUNTERFOIL_BENCH_COPIES", 15)).await
}

/// Runs the work, and says how long it took by the clock on the wall: others' load counts.
async fn timed<T, E>(work: impl Future<Output = Result<T, E>>) -> Result<Duration, E> {
    let start = SystemClock.now();
    work.await?;
    Ok(SystemClock.now().since(start))
}

async fn one_row(writers: &mut Writers, count: usize) -> anyhow::Result<()> {
    eprintln!("fence: {count} rows, one a transaction, each unfenced, fenced in plain SQL, and by the fence");
    writers.new_tables().await?;
    let (mut plain, mut by_hand, mut by_fence) = (Samples::default(), Samples::default(), Samples::default());
    let (mut in_sql, mut whole) = (Differences::default(), Differences::default());
    // The first tenth warms up: connections, caches, prepared statements.
    let warm_up = count / 10;
    for turn in 0..count + warm_up {
        writers.next += 1;
        // Each way goes first in a third of the turns.
        let mut took = [Duration::ZERO; 3];
        for step in 0..3 {
            let way = (turn + step) % 3;
            took[way] = match way {
                0 => timed(writers.unfenced()).await?,
                1 => timed(writers.fenced_by_hand()).await?,
                _ => timed(writers.fenced()).await?,
            };
        }
        if turn >= warm_up {
            let [unfenced, hand, fence] = took;
            plain.push(unfenced);
            by_hand.push(hand);
            by_fence.push(fence);
            in_sql.push(hand, unfenced);
            whole.push(fence, unfenced);
        }
    }
    for (what, fenced, difference) in [
        ("the fence in Postgres: `enter_term` and the trigger, one row a transaction", &by_hand, &in_sql),
        ("the whole fence, the commit's look-up included, one row a transaction", &by_fence, &whole),
    ] {
        let cost = difference.median();
        row(
            what,
            &format!("the same row unfenced, {} × each, in turn: {}", fenced.count(), millis(plain.median())),
            &format!(
                "+{} ({} × the time); 90 of 100 below +{}",
                millis(cost),
                ratio(fenced.median(), plain.median()),
                millis(difference.percentile(90))
            ),
            "≤ +0.3 ms",
            cost <= GOAL,
        );
    }
    Ok(())
}

async fn many_rows(writers: &mut Writers, count: usize) -> anyhow::Result<()> {
    eprintln!("fence: {count} times {ROWS} rows by COPY, unfenced and fenced");
    let (mut plain, mut fenced) = (Samples::default(), Samples::default());
    for turn in 0..=count {
        // Empty tables each time: neither is the larger one.
        writers.new_tables().await?;
        let (unfenced, fence) = if turn % 2 == 0 {
            let first = timed(writers.copy_unfenced()).await?;
            (first, timed(writers.copy_fenced()).await?)
        } else {
            let first = timed(writers.copy_fenced()).await?;
            (timed(writers.copy_unfenced()).await?, first)
        };
        // The first warms up.
        if turn > 0 {
            plain.push(unfenced);
            fenced.push(fence);
        }
    }
    let (reference, time) = (plain.median(), fenced.median());
    row(
        &format!("the whole fence, {ROWS} rows by COPY in one transaction"),
        &format!("the same COPY unfenced, {count} × each, in turn: {}", millis(reference)),
        &format!(
            "{} × the time; the unfenced ones alone lie between {} and {} × their median",
            ratio(time, reference),
            ratio(plain.percentile(10), reference),
            ratio(plain.percentile(90), reference)
        ),
        "≤ 1.05 ×",
        time * 100 <= reference * 105,
    );
    Ok(())
}

// === impl Writers ===

impl Writers {
    async fn open(database: &Database) -> anyhow::Result<Self> {
        let connector = Connector::new(&database.url(), "bench")?;
        let lease = LeaseName::new("reconciliation")?;
        let token = FencingToken::new(1).context("one is a token")?;
        let owner = Owner::from_stored("bench:1".to_owned());
        let mut terms = TermStore::new(connector.clone(), Duration::from_secs(10));
        let term: Term = match terms.install(&lease, token, &owner, Duration::from_secs(5)).await? {
            Installation::Installed(term) => term,
            other => anyhow::bail!("the term was not installed: {other:?}"),
        };
        Ok(Self {
            owner: PgConnection::connect(&database.owner_url()).await?,
            plain: PgConnection::connect(&database.url()).await?,
            by_hand: PgConnection::connect(&database.url()).await?,
            fence: Fence::new(Arc::new(term), connector, CancellationToken::new()),
            next: 0,
        })
    }

    /// Two empty tables, shaped like lines.
    async fn new_tables(&mut self) -> anyhow::Result<()> {
        for table in ["bench_plain", "bench_fenced"] {
            let made = format!(
                "DROP TABLE IF EXISTS counterfoil.{table};
                 CREATE TABLE counterfoil.{table} (account text NOT NULL, number bigint NOT NULL, minor bigint NOT NULL,
                     description text NOT NULL, PRIMARY KEY (account, number)) WITH (autovacuum_enabled = false);
                 GRANT SELECT, INSERT ON counterfoil.{table} TO counterfoil_worker"
            );
            sqlx::raw_sql(AssertSqlSafe(made)).execute(&mut self.owner).await?;
        }
        self.owner.execute("SELECT counterfoil.fence_table('counterfoil.bench_fenced')").await?;
        Ok(())
    }

    async fn unfenced(&mut self) -> anyhow::Result<()> {
        self.plain.execute(BEGIN).await?;
        insert_plain(&mut self.plain, self.next).await?;
        self.plain.execute("COMMIT").await?;
        Ok(())
    }

    /// What any client would do: no more than Postgres demands.
    async fn fenced_by_hand(&mut self) -> anyhow::Result<()> {
        self.by_hand.execute(BEGIN).await?;
        sqlx::query("SELECT counterfoil.enter_term('reconciliation', 1, 'bench:1')").execute(&mut self.by_hand).await?;
        // A key of its own: both fenced ways write to one table.
        insert_fenced(&mut self.by_hand, -self.next).await?;
        self.by_hand.execute("COMMIT").await?;
        Ok(())
    }

    /// What the product does: it also asks what became of the transaction.
    async fn fenced(&mut self) -> anyhow::Result<()> {
        let number = self.next;
        self.fence
            .record(async |transaction| insert_fenced(transaction.sql(), number).await.map_err(Failure::from))
            .await?;
        Ok(())
    }

    async fn copy_unfenced(&mut self) -> anyhow::Result<()> {
        self.plain.execute(BEGIN).await?;
        copy(&mut self.plain, "bench_plain").await?;
        self.plain.execute("COMMIT").await?;
        Ok(())
    }

    async fn copy_fenced(&mut self) -> anyhow::Result<()> {
        self.fence.record(async |transaction| Ok(copy(transaction.sql(), "bench_fenced").await?)).await?;
        Ok(())
    }
}

async fn insert_plain(sql: &mut PgConnection, number: i64) -> Result<(), sqlx::Error> {
    insert(sql, "INSERT INTO counterfoil.bench_plain VALUES ('operating', $1, 1990, 'PIX RECEBIDO')", number).await
}

async fn insert_fenced(sql: &mut PgConnection, number: i64) -> Result<(), sqlx::Error> {
    insert(sql, "INSERT INTO counterfoil.bench_fenced VALUES ('operating', $1, 1990, 'PIX RECEBIDO')", number).await
}

async fn insert(sql: &mut PgConnection, statement: &'static str, number: i64) -> Result<(), sqlx::Error> {
    sqlx::query(statement).bind(number).execute(sql).await?;
    Ok(())
}

async fn copy(sql: &mut PgConnection, table: &str) -> Result<(), counterfoil::db::DbError> {
    let mut copy = Copy::into(sql, table, &COLUMNS).await?;
    for number in 0..ROWS {
        copy.row(|row| {
            row.text("operating").i64(number).i64(number % 500_000 + 1).text("PIX RECEBIDO DE UM CLIENTE");
        })
        .await?;
    }
    copy.finish().await?;
    Ok(())
}

// === impl Differences ===

impl Differences {
    fn push(&mut self, fenced: Duration, unfenced: Duration) {
        let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        self.0.push(nanos(fenced) - nanos(unfenced));
        self.0.sort_unstable();
    }

    fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// A difference below nothing is told as nothing.
    fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        Duration::from_nanos(self.0.get(rank - 1).map_or(0, |nanos| u64::try_from(*nanos).unwrap_or(0)))
    }
}
