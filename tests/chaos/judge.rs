//! Reads the history afterwards, as Postgres and the outbox have it, and says what does not hold.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use counterfoil::clock::Boot;
use counterfoil::scratch::postgres::Database;
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::site::{TTL_MS, collect};
use crate::watch::{Look, Reign};
use crate::weather::Happened;

/// What the undisturbed site and the one in the storm must agree on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// (business date, status, digest)
    pub(crate) runs: Vec<(NaiveDate, String, Option<String>)>,
    /// (account, business date, revision, status, digest)
    pub(crate) account_days: Vec<(String, NaiveDate, i32, String, Option<String>)>,
    /// (account, step, key)
    pub(crate) steps: BTreeSet<(String, String, String)>,
    /// Reports, by their path.
    pub(crate) outbox: BTreeMap<String, Vec<u8>>,
}

/// What the history told.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// What does not hold. Empty, or the product is at fault.
    pub(crate) faults: Vec<String>,
    pub(crate) terms: usize,
    pub(crate) steps: usize,
    pub(crate) refusals: usize,
    pub(crate) evictions: usize,
    /// Why terms ended, and how often.
    pub(crate) reasons: BTreeMap<String, usize>,
    /// How often the weather was fair for [`BOUND`] or longer.
    pub(crate) fair: usize,
    /// The longest that nobody led in fair weather.
    pub(crate) leaderless: Duration,
}

/// Fair weather for so long, and somebody leads. What may add up: a lease whose holder cannot release it (one ttl), the
/// pause of whoever lost or failed before (one ttl and a fifth), a drain (one ttl), and a process that has to start.
pub(crate) const BOUND: Duration = Duration::from_millis(TTL_MS * 4);
/// Fewer answers than this in all that time: then it was the watch that did not look.
const LOOKS_LEAST: usize = 20;

#[derive(Debug, sqlx::FromRow)]
struct TermRow {
    token: i64,
    owner: String,
    started_at: DateTime<Utc>,
    ended_at: Option<DateTime<Utc>>,
    reason: Option<String>,
}

#[derive(sqlx::FromRow)]
struct StepRow {
    account: String,
    step: String,
    key: String,
    token: i64,
    owner: String,
    committed_at: DateTime<Utc>,
}

/// (token, node, Postgres' words, when)
type Refusal = (Option<i64>, String, Option<String>, DateTime<Utc>);

// === impl Outcome ===

impl Outcome {
    pub(crate) async fn read(database: &Database, outbox: &Path) -> Self {
        let mut sql = PgConnection::connect(&database.superuser_url()).await.expect("the superuser logs in");
        let runs = sqlx::query_as("SELECT business_date, status, digest FROM counterfoil.run ORDER BY 1");
        let account_days = sqlx::query_as(
            "SELECT account, business_date, revision, status, digest FROM counterfoil.account_day ORDER BY 2, 1, 3",
        );
        let steps = sqlx::query_as("SELECT account, step, key FROM counterfoil.checkpoint");
        let mut files = BTreeMap::new();
        collect(outbox, outbox, &mut files);
        Self {
            runs: runs.fetch_all(&mut sql).await.expect("runs"),
            account_days: account_days.fetch_all(&mut sql).await.expect("account-days"),
            steps: steps.fetch_all(&mut sql).await.expect("steps").into_iter().collect(),
            outbox: files,
        }
    }

    /// What differs from the undisturbed outcome, one line each.
    pub(crate) fn differences(&self, undisturbed: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        if self.runs != undisturbed.runs {
            differences.push(format!("runs: {:?}, undisturbed {:?}", self.runs, undisturbed.runs));
        }
        for (found, expected) in self.account_days.iter().zip(&undisturbed.account_days) {
            if found != expected {
                differences.push(format!("account-day {found:?}, undisturbed {expected:?}"));
            }
        }
        if self.account_days.len() != undisturbed.account_days.len() {
            differences.push(format!(
                "{} account-days, undisturbed {}",
                self.account_days.len(),
                undisturbed.account_days.len()
            ));
        }
        differences.extend(
            self.steps.symmetric_difference(&undisturbed.steps).map(|step| format!("step of one site alone: {step:?}")),
        );
        let names: BTreeSet<_> = self.outbox.keys().chain(undisturbed.outbox.keys()).collect();
        for name in names {
            if self.outbox.get(name) != undisturbed.outbox.get(name) {
                differences.push(format!("outbox/{name} differs"));
            }
        }
        differences
    }
}

// === impl Verdict ===

impl Verdict {
    /// Judges terms, steps and refusals by what Postgres wrote down.
    pub(crate) async fn of(database: &Database) -> Self {
        let mut sql = PgConnection::connect(&database.superuser_url()).await.expect("the superuser logs in");
        let terms: Vec<TermRow> = sqlx::query_as(
            "SELECT token, owner, started_at, ended_at, reason FROM counterfoil.leadership_event WHERE kind = 'term' ORDER BY id",
        )
        .fetch_all(&mut sql)
        .await
        .expect("terms");
        let steps: Vec<StepRow> = sqlx::query_as(
            "SELECT account, step, key, token, owner, committed_at FROM counterfoil.checkpoint ORDER BY committed_at",
        )
        .fetch_all(&mut sql)
        .await
        .expect("steps");
        let refusals: Vec<Refusal> = sqlx::query_as(
            "SELECT token, node, detail, started_at FROM counterfoil.leadership_event WHERE kind = 'refusal' ORDER BY id",
        )
        .fetch_all(&mut sql)
        .await
        .expect("refusals");
        let evictions: i64 =
            sqlx::query_scalar("SELECT count(*) FROM counterfoil.leadership_event WHERE kind = 'eviction'")
                .fetch_one(&mut sql)
                .await
                .expect("a number");
        let mut verdict = Self {
            terms: terms.len(),
            steps: steps.len(),
            refusals: refusals.len(),
            evictions: usize::try_from(evictions).unwrap_or_default(),
            ..Self::default()
        };
        for pair in terms.windows(2) {
            if pair[0].token >= pair[1].token {
                verdict.faults.push(format!("terms do not rise: {pair:?}"));
            }
            if pair[0].ended_at.is_none_or(|ended| ended > pair[1].started_at) {
                verdict.faults.push(format!("terms overlap: {pair:?}"));
            }
        }
        for reason in terms.iter().filter_map(|term| term.reason.clone()) {
            *verdict.reasons.entry(reason).or_default() += 1;
        }
        for step in &steps {
            let held = terms.iter().any(|term| {
                term.token == step.token
                    && term.owner == step.owner
                    && term.started_at <= step.committed_at
                    && term.ended_at.is_none_or(|ended| step.committed_at <= ended)
            });
            if !held {
                verdict.faults.push(format!(
                    "{} {} {} was committed at {} by token {} of {}, which did not hold then",
                    step.account, step.step, step.key, step.committed_at, step.token, step.owner
                ));
            }
        }
        for (token, node, detail, at) in &refusals {
            let newer = terms.iter().any(|term| Some(term.token) > *token && term.started_at <= *at);
            if !newer {
                verdict.faults.push(format!("a refusal without a newer term: {token:?} of {node} at {at}: {detail:?}"));
            }
        }
        verdict
    }

    /// Takeovers come within the bound: wherever nothing was wrong for so long, somebody led in the meantime.
    pub(crate) fn judge_takeovers(&mut self, looks: &[Look], happened: &[Happened], from: Boot, until: Boot) {
        let mut faults: Vec<(Boot, Boot)> = happened.iter().map(|it| (it.from, it.to)).collect();
        faults.push((until, until));
        faults.sort_unstable();
        let mut fair_since = from;
        for (begins, ends) in faults {
            if begins.since(fair_since) >= BOUND {
                self.fair += 1;
                self.judge_fair_weather(looks, fair_since, begins);
            }
            fair_since = fair_since.max(ends);
        }
    }

    fn judge_fair_weather(&mut self, looks: &[Look], from: Boot, until: Boot) {
        let looks: Vec<&Look> = looks.iter().filter(|look| from <= look.at && look.at < until).collect();
        let mut led: Vec<Boot> = looks.iter().filter(|look| look.leads).map(|look| look.at).collect();
        led.extend([from, until]);
        led.sort_unstable();
        for pair in led.windows(2) {
            let span = pair[1].since(pair[0]);
            let seen = looks.iter().filter(|look| pair[0] < look.at && look.at < pair[1]).count();
            if seen < LOOKS_LEAST {
                continue;
            }
            self.leaderless = self.leaderless.max(span);
            if span >= BOUND {
                self.faults.push(format!(
                    "nobody led for {span:?} though nothing was wrong: {seen} answers from {:?} to {:?} denied it",
                    pair[0], pair[1]
                ));
            }
        }
    }

    /// Two replicas believed at once, where Redis had forgotten nothing: trust must not outlive the lease.
    pub(crate) fn judge_reigns(&mut self, reigns: &[Reign], happened: &[Happened]) {
        let ttl = Duration::from_millis(TTL_MS);
        for (at, one) in reigns.iter().enumerate() {
            for other in &reigns[at + 1..] {
                let (from, to) = (one.from.max(other.from), one.to.min(other.to));
                if one.replica == other.replica || from >= to {
                    continue;
                }
                let forgot = happened.iter().any(|it| it.fault.forgets() && it.from <= to && from <= it.to + ttl);
                if !forgot {
                    self.faults
                        .push(format!("two replicas led at once, and Redis had forgotten nothing: {one:?}, {other:?}"));
                }
            }
        }
    }
}
