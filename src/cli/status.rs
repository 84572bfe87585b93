//! `counterfoil status`: who leads, and what runs.

use std::path::PathBuf;

use chrono::SecondsFormat;
use clap::Args;
use serde::Serialize;

use super::{Exit, out, session};
use crate::db::connect::Purpose;
use crate::db::leadership::{self, TermRow};
use crate::db::requests;
use crate::db::runs::{self, RunRow};

/// Who leads, since when, and what is not done yet.
///
/// Read from Postgres, which knows the installed term. Whether its leader still holds the lease at this moment is known
/// by the replicas: ask one for /status.
#[derive(Debug, Args)]
pub(super) struct Status {
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Standing {
    lease: String,
    term: Option<TermRow>,
    paused: bool,
    runs: Vec<Run>,
}

#[derive(Debug, Serialize)]
struct Run {
    business_date: chrono::NaiveDate,
    status: String,
    deadline: chrono::DateTime<chrono::Utc>,
    reason: Option<String>,
}

impl Status {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let standing = session::ask(self.config.as_deref(), Purpose::Read, async |settings, session| {
            let lease = &settings.lease.name;
            Ok(Standing {
                lease: lease.to_string(),
                term: leadership::installed(session, lease).await?,
                paused: requests::pause(session).await?.is_some_and(|pause| pause.paused),
                runs: runs::unfinished(session).await?.into_iter().map(Run::of).collect(),
            })
        })?;
        if self.json {
            out::json(&standing)?;
        } else {
            out::text(&standing.told())?;
        }
        Ok(Exit::Done)
    }
}

impl Run {
    fn of(row: RunRow) -> Self {
        Self { business_date: row.business_date, status: row.status, deadline: row.deadline, reason: row.reason }
    }
}

impl Standing {
    fn told(&self) -> String {
        let mut lines = Vec::new();
        lines.push(match &self.term {
            Some(term) => format!(
                "{}: term {} of {}, since {}",
                self.lease,
                term.token,
                term.node,
                term.installed_at.to_rfc3339_opts(SecondsFormat::Secs, true)
            ),
            None => format!("{}: no term was ever installed", self.lease),
        });
        if self.paused {
            lines.push("The planner is paused: no new date is begun until counterfoil resume.".to_owned());
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
                run.deadline.to_rfc3339_opts(SecondsFormat::Secs, true)
            ));
        }
        lines.join("\n") + "\n"
    }
}
