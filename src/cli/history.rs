//! `counterfoil history`: who led, from when to when, and why it ended; and what people asked for.

use std::path::PathBuf;

use chrono_tz::Tz;
use clap::Args;

use super::{Exit, moment, out, session};
use crate::db::connect::Purpose;
use crate::db::leadership::{self, EventRow};
use crate::db::requests;

/// Who led, from when to when, and why each term ended; and what people asked for.
///
/// By Postgres' clock, in the schedule's zone, oldest first. A term ends when its successor's is installed; between losing the lease and that,
/// nobody wrote.
#[derive(Debug, Args)]
pub(super) struct History {
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Terms alone, without candidacies that failed, evictions, and requests to resign, pause, resume, run and move accounts
    #[arg(long)]
    terms: bool,
    /// How many of the newest entries
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=100_000))]
    limit: i64,
    /// As JSON, one array
    #[arg(long)]
    json: bool,
}

impl History {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let (events, zone) = session::ask(self.config.as_deref(), Purpose::Read, async |settings, session| {
            let mut events = leadership::history(session, &settings.lease.name, self.terms, self.limit).await?;
            if !self.terms {
                events.extend(requests::history(session, &settings.lease.name, self.limit).await?);
                // Stable: what happened at one instant keeps the order in which it was written.
                events.sort_by_key(|event| event.started_at);
                events.drain(..events.len().saturating_sub(usize::try_from(self.limit)?));
            }
            Ok((events, settings.schedule.timetable.zone()))
        })?;
        if self.json {
            out::json(&events)?;
        } else if events.is_empty() {
            out::line("Nobody has led yet, and nobody has asked for anything.")?;
        } else {
            out::lines(&events.iter().map(|event| told(event, zone)).collect::<Vec<_>>())?;
        }
        Ok(Exit::Done)
    }
}

fn told(event: &EventRow, zone: Tz) -> String {
    let at = |when: &chrono::DateTime<chrono::Utc>| moment::millisecond(*when, zone);
    let token = event.token.map_or_else(|| "-".to_owned(), |token| token.to_string());
    let started = at(&event.started_at);
    let mut words = vec![format!("{started}  {:<9}  {token:>6}  {}", event.kind, event.node)];
    match (event.kind.as_str(), &event.ended_at, &event.reason) {
        ("term", Some(ended), reason) => {
            words.push(format!("until {}: {}", at(ended), reason.as_deref().unwrap_or("superseded")));
        }
        ("term", None, Some(reason)) => words.push(format!("stepped down: {reason}")),
        ("term", None, None) => words.push("leads".to_owned()),
        (_, _, Some(reason)) => words.push(reason.clone()),
        (_, _, None) => {}
    }
    words.extend(event.detail.as_ref().map(|detail| format!("({detail})")));
    words.join("  ")
}
