//! `counterfoil status`: who leads, who waits, and what runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::SecondsFormat;
use chrono_tz::Tz;
use clap::Args;
use serde::Serialize;

use super::{Exit, UsageError, moment, out, session};
use crate::clock::{Clock, SystemClock};
use crate::db::connect::Purpose;
use crate::db::leadership::{self, TermRow};
use crate::db::left as left_rows;
use crate::db::requests;
use crate::db::runs::{self, RunRow};
use crate::election::lease::{Lease, Sight};
use crate::report::counted;
use crate::report::left::{self, FileLeft};
use crate::settings::Settings;

/// Who leads, since when, who waits, and what is not done yet.
///
/// The installed term, the replicas and the dates are Postgres' word. How long the lease has to run is Redis', where
/// redis.url is set. With --follow it looks again each second, until it is interrupted: on a terminal the picture is
/// drawn anew, elsewhere it is written whenever it has changed.
#[derive(Debug, Args)]
pub(super) struct Status {
    /// Look again each second
    #[arg(long)]
    follow: bool,
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// As JSON; with --follow, one line for each change
    #[arg(long)]
    json: bool,
}

#[derive(Debug, PartialEq, Serialize)]
struct Standing {
    lease: String,
    term: Option<TermRow>,
    /// Does the term's own candidacy hold the lease? None where Redis did not say.
    leads: Option<bool>,
    /// Replicas with a session at Postgres that do not lead.
    waiting: Vec<String>,
    /// None where redis.url is not set.
    redis: Option<InRedis>,
    timings: InSeconds,
    paused: bool,
    /// The next date that the schedule names, whether or not a leader is there to begin it.
    next: Option<Next>,
    #[serde(skip)]
    zone: Tz,
    runs: Vec<Run>,
    /// Files that lie in the inbox and of which nothing is taken.
    files_left: Vec<FileLeft>,
}

/// The lease, as Redis has it.
#[derive(Debug, PartialEq, Serialize)]
struct InRedis {
    holder: Option<String>,
    /// The holder as the lease names it, `<owner> <token>`.
    #[serde(skip)]
    claim: Option<String>,
    lease_left_seconds: Option<f64>,
    /// For how long its holder may still act, should it not renew.
    trust_left_seconds: Option<f64>,
    /// Replicas that a release would wake.
    listening: u64,
    fault: Option<String>,
}

/// What follows from the timings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct InSeconds {
    ttl: f64,
    outage_tolerated: f64,
    worst_takeover: f64,
    graceful_takeover: f64,
}

/// What is due next.
#[derive(Debug, PartialEq, Serialize)]
struct Next {
    business_date: chrono::NaiveDate,
    due: chrono::DateTime<chrono::Utc>,
    deadline: chrono::DateTime<chrono::Utc>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Run {
    business_date: chrono::NaiveDate,
    status: String,
    deadline: chrono::DateTime<chrono::Utc>,
    reason: Option<String>,
}

const LOOK_EVERY: Duration = Duration::from_secs(1);

// === impl Status ===

impl Status {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let config = self.config.as_deref();
        if self.follow {
            return self.follow(config);
        }
        let standing = Standing::look(config)?;
        if self.json {
            out::json(&standing)?;
        } else {
            out::text(&standing.told())?;
        }
        Ok(Exit::Done)
    }

    /// Until it is interrupted. What cannot be had now may be had at the next look; wrong settings end it.
    fn follow(&self, config: Option<&Path>) -> anyhow::Result<Exit> {
        let screen = !self.json && out::is_terminal();
        let mut last = None;
        loop {
            let picture = match Standing::look(config) {
                Ok(standing) if self.json => out::in_json(&standing.still())?,
                Ok(standing) if screen => standing.told(),
                Ok(standing) => standing.still().told(),
                Err(error) if error.is::<UsageError>() => return Err(error),
                Err(error) if self.json => out::in_json(&serde_json::json!({ "fault": format!("{error:#}") }))?,
                Err(error) => format!("{error:#}\n"),
            };
            if screen {
                out::screen(&format!("{}\n{picture}", now()))?;
            } else if last.as_ref() != Some(&picture) {
                if self.json { out::bytes(picture.as_bytes()) } else { out::text(&format!("{}\n{picture}\n", now())) }?;
            }
            last = Some(picture);
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

fn now() -> String {
    SystemClock.wall().to_rfc3339_opts(SecondsFormat::Secs, true)
}

// === impl Run ===

impl Run {
    fn of(row: RunRow) -> Self {
        Self { business_date: row.business_date, status: row.status, deadline: row.deadline, reason: row.reason }
    }
}

// === impl InRedis ===

impl InRedis {
    async fn look(settings: &Settings) -> Option<Self> {
        let timings = settings.lease.timings;
        let mut lease = Lease::new(settings.redis().ok()?.clone(), &settings.lease.name, timings.attempt_timeout);
        Some(match lease.look().await {
            Ok(Sight { holder: claim, left, listeners }) => Self {
                holder: claim.as_deref().map(|claim| claim.rsplit_once(':').map_or(claim, |(node, _)| node).to_owned()),
                claim,
                lease_left_seconds: left.map(|left| left.as_secs_f64()),
                trust_left_seconds: left.map(|left| left.saturating_sub(timings.margin).as_secs_f64()),
                listening: listeners,
                fault: None,
            },
            Err(error) => Self {
                holder: None,
                claim: None,
                lease_left_seconds: None,
                trust_left_seconds: None,
                listening: 0,
                fault: Some(error.to_string()),
            },
        })
    }

    fn told(&self) -> String {
        if let Some(fault) = &self.fault {
            return fault.clone();
        }
        let left = match (self.lease_left_seconds, self.trust_left_seconds) {
            (Some(lease), Some(trust)) => format!(" for {lease:.1} s more, trusted for {trust:.1} s"),
            _ => String::new(),
        };
        match &self.holder {
            Some(holder) => format!("held by {holder}{left}; {} for its release", self.listen()),
            None => format!("nobody holds it; {}", self.listen()),
        }
    }

    fn listen(&self) -> String {
        counted(self.listening, "listens", "listen")
    }

    /// Is the lease the term's own? None where Redis did not answer.
    fn is_held_by(&self, term: &TermRow) -> Option<bool> {
        let own = format!("{} {}", term.owner, term.token);
        self.fault.is_none().then(|| self.claim.as_ref() == Some(&own))
    }
}

// === impl Standing ===

impl Standing {
    fn look(config: Option<&Path>) -> anyhow::Result<Self> {
        session::ask(config, Purpose::Read, async |settings, session| {
            let lease = &settings.lease.name;
            let term = leadership::installed(session, lease).await?;
            let mut waiting = leadership::replicas(session, lease).await?;
            // Asked after the term: a hand-over in between shows as a lease whose term is not seen yet.
            let redis = InRedis::look(settings).await;
            let leads = match &term {
                Some(term) => redis.as_ref().and_then(|redis| redis.is_held_by(term)),
                None => Some(false),
            };
            let leader = term.as_ref().filter(|_| leads != Some(false));
            waiting.retain(|node| leader.is_none_or(|term| term.node != *node));
            let derived = settings.lease.timings.derived();
            Ok(Self {
                lease: lease.to_string(),
                term,
                leads,
                waiting,
                redis,
                timings: InSeconds {
                    ttl: settings.lease.timings.ttl.as_secs_f64(),
                    outage_tolerated: derived.outage_tolerated.as_secs_f64(),
                    worst_takeover: derived.worst_takeover.as_secs_f64(),
                    graceful_takeover: derived.graceful_takeover.as_secs_f64(),
                },
                paused: requests::pause(session, lease).await?.is_some_and(|pause| pause.paused),
                next: settings.schedule.timetable.next(SystemClock.wall()).map(|next| Next {
                    business_date: next.business_date,
                    due: next.due,
                    deadline: next.deadline,
                }),
                zone: settings.schedule.timetable.zone(),
                runs: runs::unfinished(session, lease).await?.into_iter().map(Run::of).collect(),
                files_left: left_rows::all(session, lease).await?,
            })
        })
    }

    /// Without what changes at every look.
    fn still(mut self) -> Self {
        if let Some(redis) = &mut self.redis {
            (redis.lease_left_seconds, redis.trust_left_seconds) = (None, None);
        }
        self
    }

    fn told(&self) -> String {
        let mut lines = Vec::new();
        let since = |term: &TermRow| {
            let since = moment::second(term.installed_at, self.zone);
            format!("{} of {}, since {since}", term.token, term.node)
        };
        lines.push(match &self.term {
            Some(term) if self.leads == Some(false) => {
                format!("{}: nobody leads; the last term was {}", self.lease, since(term))
            }
            Some(term) => format!("{}: term {}", self.lease, since(term)),
            None => format!("{}: no term was ever installed", self.lease),
        });
        if let Some(redis) = &self.redis {
            lines.push(format!("Lease in Redis: {}.", redis.told()));
        }
        lines.push(if self.waiting.is_empty() {
            "No other replica waits.".to_owned()
        } else {
            format!("Waiting: {}.", self.waiting.join(", "))
        });
        let InSeconds { ttl, outage_tolerated, worst_takeover, graceful_takeover } = self.timings;
        lines.push(format!(
            "By these settings: ttl {ttl} s; an outage of Redis up to {outage_tolerated} s costs nobody the lead; a takeover \
             takes {worst_takeover} s at worst, {graceful_takeover} s after an orderly end."
        ));
        if self.paused {
            let asked = "except those asked for by counterfoil run";
            lines.push(format!("The planner is paused: no new date is begun until counterfoil resume, {asked}."));
        }
        if self.runs.is_empty() {
            lines.push("Every recorded date is done.".to_owned());
        }
        for run in &self.runs {
            let why = run.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
            lines.push(format!(
                "{}  {}{why}, deadline {}",
                run.business_date,
                run.status,
                moment::second(run.deadline, self.zone)
            ));
        }
        lines.extend(self.next.as_ref().map(|next| {
            let at = |when| moment::second(when, self.zone);
            format!("Next: {}, due {}, deadline {}.", next.business_date, at(next.due), at(next.deadline))
        }));
        lines.extend(left::lines(&self.files_left));
        out::joined(&lines)
    }
}
