//! What the fence costs: the same write with and without it, in turn, on one server, by one client each.
//!
//! `cargo bench --bench fence`; `COUNTERFOIL_BENCH_ROUNDS` sets how many rounds there are of each kind, and
//! `COUNTERFOIL_BENCH_WRITES` and `COUNTERFOIL_BENCH_COPIES` the repetitions of one: one round decides nothing. The server
//! is a throw-away one that does not wait for its disk, which makes the fence's share look as large as it can get: where
//! a commit waits for a disk, the difference stays and the ratio falls. Figures: `docs/performance.md`.

#![expect(clippy::print_stderr, reason = "progress, for whoever waits for it")]

mod figures;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use counterfoil::clock::{Clock, SystemClock};
use counterfoil::db::accounts;
use counterfoil::db::connect::{Connector, Purpose};
use counterfoil::db::copy::Copy;
use counterfoil::db::fence::{Failure, Fence};
use counterfoil::election::term::{Installation, Term, TermStore};
use counterfoil::election::{FencingToken, LeaseName, Owner};
use counterfoil::scratch::postgres::{self, Database};
use figures::{Samples, Verdict, middle, millis, ratio, repetitions, row, signed_millis};
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

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    if !figures::wanted() {
        return Ok(());
    }
    let database = postgres::migrated().await?;
    let mut writers = Writers::open(&database).await?;
    let rounds = repetitions("COUNTERFOIL_BENCH_ROUNDS", 7);
    one_row(&mut writers, rounds, repetitions("COUNTERFOIL_BENCH_WRITES", 1000)).await?;
    many_rows(&mut writers, rounds, repetitions("COUNTERFOIL_BENCH_COPIES", 5)).await
}

/// Runs the work, and says how long it took by the clock on the wall: others' load counts.
async fn timed<T, E>(work: impl Future<Output = Result<T, E>>) -> Result<Duration, E> {
    let start = SystemClock.now();
    work.await?;
    Ok(SystemClock.now().since(start))
}

/// One round of one-row writes: nanoseconds that the fence adds, stated in both ways, and what the plain write takes.
#[derive(Debug, Clone, Copy)]
struct Cost {
    of_medians: i64,
    of_neighbours: i64,
    plain: Duration,
}

async fn one_row(writers: &mut Writers, rounds: usize, count: usize) -> anyhow::Result<()> {
    eprintln!(
        "fence: {rounds} rounds of {count} rows, one a transaction, each unfenced, fenced in plain SQL, and by the fence"
    );
    writers.new_tables().await?;
    let (mut by_hand, mut by_fence) = (Vec::new(), Vec::new());
    // A round that is thrown away warms up: connections, caches, prepared statements.
    for round in 0..=rounds {
        let (hand, fence) = round_of_rows(writers, count).await?;
        if round > 0 {
            by_hand.push(hand);
            by_fence.push(fence);
        }
    }
    for (what, costs) in [
        ("the fence as SQL alone, `enter_term` sent by itself, one row a transaction", &by_hand),
        ("the whole fence, the question what became of the commit included, one row a transaction", &by_fence),
    ] {
        let goal = i64::try_from(GOAL.as_nanos()).unwrap_or(i64::MAX);
        let missed = costs.iter().filter(|cost| cost.of_medians > goal || cost.of_neighbours > goal).count();
        let figure = |of: fn(&Cost) -> i64| {
            let values: Vec<i64> = costs.iter().map(of).collect();
            let (least, most) = (values.iter().min().copied(), values.iter().max().copied());
            let ends = [least, most].map(|end| signed_millis(end.unwrap_or_default()));
            format!("{} ({} to {})", signed_millis(middle(&values)), ends[0], ends[1])
        };
        let plain: Vec<Duration> = costs.iter().map(|cost| cost.plain).collect();
        row(
            what,
            &format!("the same row unfenced, {rounds} rounds of {count} × each, in turn: {}", millis(middle(&plain))),
            &format!(
                "difference of medians {}; median of differences {}",
                figure(|cost| cost.of_medians),
                figure(|cost| cost.of_neighbours)
            ),
            "≤ +0.3 ms",
            Verdict::Missed(missed, costs.len()),
        );
    }
    Ok(())
}

async fn round_of_rows(writers: &mut Writers, count: usize) -> anyhow::Result<(Cost, Cost)> {
    let mut samples: [Samples; 3] = Default::default();
    let mut differences: [Vec<i64>; 2] = Default::default();
    let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    for turn in 0..count {
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
        for (samples, took) in samples.iter_mut().zip(took) {
            samples.push(took);
        }
        for (differences, fenced) in differences.iter_mut().zip(&took[1..]) {
            differences.push(nanos(*fenced) - nanos(took[0]));
        }
    }
    let plain = samples[0].median();
    let cost = |way: usize| Cost {
        of_medians: nanos(samples[way].median()) - nanos(plain),
        of_neighbours: middle(&differences[way - 1]),
        plain,
    };
    Ok((cost(1), cost(2)))
}

async fn many_rows(writers: &mut Writers, rounds: usize, count: usize) -> anyhow::Result<()> {
    eprintln!("fence: {rounds} rounds of {count} times {ROWS} rows by COPY, unfenced and fenced");
    let mut found = Vec::new();
    for round in 0..=rounds {
        let (mut plain, mut fenced) = (Samples::default(), Samples::default());
        // The round that warms up is short.
        for turn in 0..if round == 0 { 1 } else { count } {
            // Empty tables each time: neither is the larger one.
            writers.new_tables().await?;
            let (unfenced, fence) = if turn % 2 == 0 {
                let first = timed(writers.copy_unfenced()).await?;
                (first, timed(writers.copy_fenced()).await?)
            } else {
                let first = timed(writers.copy_fenced()).await?;
                (timed(writers.copy_unfenced()).await?, first)
            };
            plain.push(unfenced);
            fenced.push(fence);
        }
        if round > 0 {
            found.push((fenced.median(), plain.median()));
        }
    }
    let ratios: Vec<String> = found.iter().map(|(fenced, plain)| ratio(*fenced, *plain)).collect();
    let mut sorted = ratios.clone();
    sorted.sort();
    let plain: Vec<Duration> = found.iter().map(|(_, plain)| *plain).collect();
    let (fast, slow) = (plain.iter().min().copied(), plain.iter().max().copied());
    let missed = found.iter().filter(|(fenced, plain)| fenced.as_nanos() * 100 > plain.as_nanos() * 105).count();
    row(
        &format!("the whole fence, {ROWS} rows by COPY in one transaction"),
        &format!(
            "the same COPY unfenced, {rounds} rounds of {count} × each, in turn: {} ({} to {})",
            millis(middle(&plain)),
            millis(fast.unwrap_or_default()),
            millis(slow.unwrap_or_default())
        ),
        &format!(
            "{} × the time in the middle round; all rounds: {}",
            sorted.get(sorted.len().saturating_sub(1) / 2).map_or("", String::as_str),
            ratios.join(", ")
        ),
        "≤ 1.05 ×",
        Verdict::Missed(missed, found.len()),
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
        let claim = "BEGIN; SELECT counterfoil.enter_term('reconciliation', 1, 'bench:1');
             INSERT INTO counterfoil.account (id) VALUES ('operating'); COMMIT";
        sqlx::raw_sql(claim).execute(&mut PgConnection::connect(&database.url()).await?).await?;
        Ok(Self {
            owner: PgConnection::connect(&database.owner_url()).await?,
            // With the limits of a writing session, as the fence's own has them: time limits cost something as well.
            plain: connector.connect(Purpose::Write).await?,
            by_hand: connector.connect(Purpose::Write).await?,
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
        self.fence
            .record(async |transaction| {
                accounts::enter(transaction.sql(), "operating").await?;
                Ok(copy(transaction.sql(), "bench_fenced").await?)
            })
            .await?;
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
