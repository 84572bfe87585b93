//! `counterfoil run`: ask for a business date. The leader acts.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use chrono::NaiveDate;
use chrono_tz::Tz;
use clap::Args;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::runs::told;
use super::{Exit, date, out, session, words};
use crate::clock::{Boot, Clock, SystemClock};
use crate::db::connect::Purpose;
use crate::db::requests::{self, RunAnswer, RunRequest};
use crate::db::{days, leadership, runs};
use crate::election::LeaseName;

/// Ask the leader for a business date.
///
/// A date that the schedule has not come to is run now; of one that it has, what is not closed yet is tried again; one that
/// was skipped is run after all; one that is complete stays as it is, and that is said. The leader answers each request
/// once, also one that was made while nobody led.
///
/// Exit codes: 0 the request was accepted or, with --wait, the date is complete, also where it was so before; 1 it was
/// refused, nobody answered or, with --wait, the date is not complete.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// The business date
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date::read)]
    date: NaiveDate,
    /// Wait until the date is complete, or goes no further
    #[arg(long)]
    wait: bool,
    /// How long to wait
    #[arg(long, value_name = "SPAN", default_value = "10m", value_parser = humantime::parse_duration, requires = "wait")]
    timeout: Duration,
    /// Let one account pass by the date; its lines enter its next day
    #[arg(long, requires_all = ["account", "reason"])]
    skip: bool,
    /// The account to let pass
    #[arg(long, value_name = "ID", requires = "skip")]
    account: Option<String>,
    /// Run a closed date again, as a new revision (this version's leader refuses it)
    #[arg(long, requires = "reason", conflicts_with = "skip")]
    reopen: bool,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", value_parser = words::reason)]
    reason: Option<String>,
    /// Who asks
    #[arg(long, value_name = "NAME", env = "USER", hide_env_values = true, default_value = "unknown", value_parser = words::actor)]
    actor: String,
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// How often an answer, and then the outcome, is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long the leader's answer is waited for where the run's end is not.
const ANSWER: Duration = Duration::from_secs(15);
/// A run that is not complete and has not moved for so long goes no further by itself.
const STANDS_STILL: Duration = Duration::from_secs(15);

impl Run {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        session::ask(self.config.as_deref(), Purpose::Ask, async |settings, session| {
            let request = RunRequest {
                id: Uuid::new_v4(),
                lease: settings.lease.name.clone(),
                business_date: self.date,
                reopen: self.reopen,
                skip_account: self.account.clone(),
                reason: self.reason.clone(),
                actor: self.actor.clone(),
                asked_at: SystemClock.wall(),
            };
            requests::ask(session, &request).await?;
            let limit = if self.wait { self.timeout } else { ANSWER };
            let answer = self.answer(session, &settings.lease.name, request.id, limit).await?;
            if self.wait {
                self.wait_for(session, &settings.lease.name, &answer, settings.schedule.timetable.zone()).await
            } else {
                self.say(&answer)
            }
        })
    }

    /// Waits for the leader's answer. A refusal is an error, in the leader's words.
    async fn answer(
        &self,
        session: &mut PgConnection,
        lease: &LeaseName,
        request: Uuid,
        limit: Duration,
    ) -> anyhow::Result<RunAnswer> {
        let until = SystemClock.now() + limit;
        let answer = loop {
            if let Some(answer) = requests::answer_to(session, request).await? {
                break answer;
            }
            if SystemClock.now() >= until {
                let why = why_nobody_leads(session, lease).await?;
                let limit = humantime::format_duration(limit);
                bail!("nobody answered within {limit}: {why}. The request stays, and will be answered");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        };
        if !answer.accepted {
            if self.json {
                out::json(&json(&answer, None))?;
            }
            bail!("{}", answer.message);
        }
        Ok(answer)
    }

    fn say(&self, answer: &RunAnswer) -> anyhow::Result<Exit> {
        if self.json {
            out::json(&json(answer, None))?;
        } else {
            out::line(format!("{} (answered by term {})", answer.message, answer.token))?;
        }
        Ok(Exit::Done)
    }

    async fn wait_for(
        &self,
        session: &mut PgConnection,
        lease: &LeaseName,
        answer: &RunAnswer,
        zone: Tz,
    ) -> anyhow::Result<Exit> {
        let until = SystemClock.now() + self.timeout;
        if !self.json {
            out::say(&answer.message);
        }
        let mut last: Option<(String, Boot)> = None;
        loop {
            let found = runs::find(session, lease, self.date).await?;
            let states = days::states(session, lease, self.date).await?;
            let status = found.as_ref().map_or("due", |run| run.status.as_str()).to_owned();
            let picture = format!("{status} {states:?}");
            let now = SystemClock.now();
            let still = match &last {
                Some((before, since)) if *before == picture => now.since(*since),
                _ => {
                    last = Some((picture, now));
                    Duration::ZERO
                }
            };
            let done = status == "complete" || (status != "due" && still >= STANDS_STILL);
            if let Some(run) = found.as_ref().filter(|_| done) {
                if self.json {
                    out::json(&json(answer, Some(&status)))?;
                } else {
                    out::lines(&told(run, &states, zone))?;
                }
                let proved = states.iter().all(|state| state.failed_proofs.is_empty());
                return Ok(if status == "complete" && proved { Exit::Done } else { Exit::Failed });
            }
            if now >= until {
                if let Some(run) = &found {
                    out::lines(&told(run, &states, zone))?;
                }
                bail!("{} is not complete after {}", self.date, humantime::format_duration(self.timeout));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// The cause, as the replicas wrote it down.
async fn why_nobody_leads(session: &mut PgConnection, lease: &LeaseName) -> anyhow::Result<String> {
    let words = leadership::last_words(session, lease).await?;
    if words.is_empty() {
        return Ok("does a replica lead? See counterfoil status, and /readyz of a replica".to_owned());
    }
    let each = words.iter().map(|word| match &word.detail {
        Some(detail) => format!("{}: {} ({detail})", word.node, word.reason),
        None => format!("{}: {}", word.node, word.reason),
    });
    Ok(format!("nobody leads. What the replicas last said: {}", each.collect::<Vec<_>>().join("; ")))
}

fn json(answer: &RunAnswer, status: Option<&str>) -> serde_json::Value {
    serde_json::json!({
        "accepted": answer.accepted, "message": answer.message, "token": answer.token,
        "answered_at": answer.answered_at, "status": status,
    })
}
