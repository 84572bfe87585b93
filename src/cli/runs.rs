//! `counterfoil runs`: which dates were run, and how they stand.

use std::path::PathBuf;

use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;
use clap::Args;
use serde::Serialize;

use super::{Exit, accounts, date, moment, out, session};
use crate::db::connect::Purpose;
use crate::db::days::{self, DayState};
use crate::db::runs::{self, RunRow};
use crate::db::{files, left as left_rows};
use crate::report::left;

/// Which business dates were run, and how each account of them stands.
///
/// Newest first. A date is complete when each of its accounts is closed or was skipped, incomplete past its deadline while
/// one waits, failed when one failed. Exit code 1 where the date that was named is not in the ledger.
#[derive(Debug, Args)]
pub(super) struct Runs {
    /// One date alone
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date::read)]
    date: Option<NaiveDate>,
    /// How many of the newest
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// As JSON, one array
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct RunJson<'a> {
    business_date: NaiveDate,
    origin: &'a str,
    status: &'a str,
    reason: Option<&'a str>,
    due: DateTime<Utc>,
    deadline: DateTime<Utc>,
    digest: Option<&'a str>,
    recorded_at: DateTime<Utc>,
    finished_at: Option<DateTime<Utc>>,
    accounts: Vec<AccountJson<'a>>,
}

#[derive(Debug, Serialize)]
struct AccountJson<'a> {
    account: &'a str,
    revision: i32,
    status: &'a str,
    reason: Option<&'a str>,
    digest: Option<&'a str>,
    matched: Option<i64>,
    open: Option<i64>,
    failed_proofs: &'a [String],
    changed_at: DateTime<Utc>,
}

/// How many files that were not taken are named.
const FILES: i64 = 20;

impl Runs {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let (found, not_taken, left, zone, elsewhere) =
            session::ask(self.config.as_deref(), Purpose::Read, async |settings, session| {
                let lease = &settings.lease.name;
                let rows = match self.date {
                    Some(date) => runs::find(session, lease, date).await?.into_iter().collect(),
                    None => runs::newest(session, lease, self.limit).await?,
                };
                let mut found = Vec::with_capacity(rows.len());
                for row in rows {
                    let states = days::states(session, lease, row.business_date).await?;
                    found.push((row, states));
                }
                Ok((
                    found,
                    files::not_taken(session, lease, FILES).await?,
                    left_rows::all(session, lease).await?,
                    settings.schedule.timetable.zone(),
                    accounts::elsewhere(session, settings).await?,
                ))
            })?;
        if self.json {
            let shown: Vec<RunJson<'_>> = found.iter().map(|(run, states)| RunJson::of(run, states)).collect();
            out::json(&shown)?;
        } else if found.is_empty() {
            if self.date.is_none() {
                out::line("No date was recorded yet.")?;
            }
        } else {
            for (run, states) in &found {
                out::lines(&told(run, states, zone))?;
            }
        }
        if !self.json {
            for (account, why) in &elsewhere {
                out::line(format!("{account} is not worked on: {why}"))?;
            }
            out::lines(&left::lines(&left))?;
        }
        if !self.json && !not_taken.is_empty() {
            out::line("Files that were not taken, or not whole:")?;
            for file in &not_taken {
                let status = if file.status == "accepted" { "waiting" } else { &file.status };
                out::line(format!("    {status:<11}  {}  {}", file.name, file.why.as_deref().unwrap_or_default()))?;
            }
        }
        if let Some(date) = self.date.filter(|_| found.is_empty()) {
            out::say(format!(
                "counterfoil: {date} is not in the ledger: counterfoil runs has the dates that are, counterfoil run --date \
                 {date} asks for it"
            ));
            return Ok(Exit::Failed);
        }
        Ok(Exit::Done)
    }
}

impl<'a> RunJson<'a> {
    fn of(run: &'a RunRow, states: &'a [DayState]) -> Self {
        Self {
            business_date: run.business_date,
            origin: &run.origin,
            status: &run.status,
            reason: run.reason.as_deref(),
            due: run.due,
            deadline: run.deadline,
            digest: run.digest.as_deref(),
            recorded_at: run.recorded_at,
            finished_at: run.finished_at,
            accounts: states
                .iter()
                .map(|state| AccountJson {
                    account: &state.account,
                    revision: state.revision,
                    status: &state.status,
                    reason: state.reason.as_deref(),
                    digest: state.digest.as_deref(),
                    matched: state.matched,
                    open: state.open,
                    failed_proofs: &state.failed_proofs,
                    changed_at: state.changed_at,
                })
                .collect(),
        }
    }
}

/// A day whose proofs fail is closed, so that there is a report to find the cause in; whoever looks must see it.
fn failed(proofs: &[String]) -> String {
    if proofs.is_empty() { String::new() } else { format!("; PROOF FAILED: {}", proofs.join(", ")) }
}

/// A run and its accounts, as a person reads them.
pub(super) fn told(run: &RunRow, states: &[DayState], zone: Tz) -> Vec<String> {
    let at = |when: DateTime<Utc>| moment::second(when, zone);
    let when = match (run.status.as_str(), run.finished_at) {
        ("complete", Some(finished)) => format!("at {}", at(finished)),
        ("skipped", _) => run.reason.clone().unwrap_or_default(),
        _ => format!("deadline {}", at(run.deadline)),
    };
    let mut lines = vec![format!("{}  {:<10}  {when}", run.business_date, run.status)];
    let width = states.iter().map(|state| state.account.chars().count()).max().unwrap_or(0);
    for state in states {
        let more = match (state.matched, state.open, &state.reason) {
            (Some(matched), Some(open), _) => format!("{matched} matched, {open} open{}", failed(&state.failed_proofs)),
            (_, _, reason) => reason.clone().unwrap_or_default(),
        };
        lines.push(format!("    {:<width$}  {:<8}  {more}", state.account, state.status));
    }
    lines.extend(run.digest.as_ref().map(|digest| format!("    digest {digest}")));
    lines
}
