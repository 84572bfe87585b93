//! `counterfoil check`: is this deployment sound? Asks everything that a worker would find out the hard way.

mod postgres;
mod redis;

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use super::{Exit, UsageError, out};
use crate::report::counted;
use crate::settings::{Need, Settings};

/// Check this deployment: settings, timings, Redis, Postgres, clocks, folders, accounts.
///
/// Run it where a worker would run, with a worker's settings. It changes nothing, except that it opens a session of its
/// own in Postgres and ends it, to see that replicas may. Exit 0 if a worker could lead here (warnings included), 1 if
/// something stands in its way, 2 if the settings are wrong.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Findings {
    /// Could a worker lead here?
    sound: bool,
    findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
struct Finding {
    of: &'static str,
    severity: Grade,
    says: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Grade {
    Good,
    Warning,
    Problem,
}

impl Check {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let needs = [Need::Redis, Need::Postgres, Need::Accounts];
        let settings = Settings::of_process(self.config.as_deref(), &needs).map_err(UsageError::from)?;
        let mut findings = Findings::default();
        of_settings(&settings, &mut findings);
        of_folders(&settings, &mut findings);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("no runtime")?;
        runtime.block_on(async {
            let term = postgres::look(&settings, &mut findings).await;
            redis::look(&settings, term.as_ref(), &mut findings).await;
            of_books(&settings, &mut findings).await;
        });
        findings.sound = findings.findings.iter().all(|finding| finding.severity != Grade::Problem);
        if self.json {
            out::text(&(serde_json::to_string_pretty(&findings)? + "\n"))?;
        } else {
            findings.print()?;
        }
        Ok(if findings.sound { Exit::Done } else { Exit::Failed })
    }
}

fn of_settings(settings: &Settings, findings: &mut Findings) {
    let derived = settings.lease.timings.derived();
    findings.good(
        "timings",
        format!(
            "a Redis outage of {} is outlived; a crash costs at most {} without a leader, a clean hand-over about {}",
            humantime::format_duration(derived.outage_tolerated),
            humantime::format_duration(derived.worst_takeover),
            humantime::format_duration(derived.graceful_takeover)
        ),
    );
    if !settings.lease.eligible {
        findings.warn("lease", "lease.eligible is false: this replica never leads".to_owned());
    }
    let opened = settings.accounts().iter().filter(|account| account.opening.is_some()).count();
    findings.good("accounts", format!("{} declared, {opened} with an opening", settings.accounts().len()));
    for account in settings.accounts().iter().filter(|account| account.opening.is_none()) {
        findings.warn(
            "accounts",
            format!(
                "{} has no opening: both sides start at its first statement's balance, and P5 is derived, never proved",
                account.id
            ),
        );
    }
}

/// Books by query: the queries are tried, without reading a row.
async fn of_books(settings: &Settings, findings: &mut Findings) {
    let query = match settings.book_query() {
        Ok(None) => return,
        Ok(Some(query)) => query,
        Err(error) => return findings.problem("books", error.to_string()),
    };
    match query.check().await {
        Ok(()) => {
            let place = query.place();
            findings.good("books", format!("the queries stand, and are read at {place} in a read-only transaction"));
        }
        Err(error) => findings.problem("books", error.to_string()),
    }
}

fn of_folders(settings: &Settings, findings: &mut Findings) {
    for (name, url, written) in [("inbox", &settings.inbox.url, false), ("outbox", &settings.outbox.url, true)] {
        let Ok(folder) = url.to_file_path() else {
            findings.problem(name, format!("{name}.url {url} is no folder"));
            continue;
        };
        match std::fs::read_dir(&folder) {
            Err(error) => findings.problem(
                name,
                format!("{} cannot be read: {error}. Make it, and let the worker's user in", folder.display()),
            ),
            Ok(_) if written && is_read_only(&folder) => {
                findings.problem(name, format!("{} cannot be written: reports would not appear", folder.display()));
            }
            Ok(_) => findings.good(name, format!("{} is there", folder.display())),
        }
    }
}

/// Whether a file cannot be made there: the one sure way to know is to try.
fn is_read_only(folder: &std::path::Path) -> bool {
    let probe = folder.join(format!(".counterfoil-check-{}", uuid::Uuid::new_v4()));
    let made = std::fs::write(&probe, b"").is_ok();
    // Left behind only where it could be made and not removed, under a name that every reader of the folder ignores.
    let _ = std::fs::remove_file(&probe);
    !made
}

/// How far two clocks may be apart before a person should look.
fn of_clock(peer: &'static str, skew: chrono::TimeDelta, findings: &mut Findings) {
    let milliseconds = skew.num_milliseconds();
    if milliseconds.abs() >= 1_000 {
        findings.warn(
            peer,
            format!("its clock and this host's are {milliseconds} ms apart: look at NTP. No decision depends on it, but logs do"),
        );
    }
}

// === impl Findings ===

impl Findings {
    fn good(&mut self, of: &'static str, says: String) {
        self.findings.push(Finding { of, severity: Grade::Good, says });
    }

    fn warn(&mut self, of: &'static str, says: String) {
        self.findings.push(Finding { of, severity: Grade::Warning, says });
    }

    fn problem(&mut self, of: &'static str, says: String) {
        self.findings.push(Finding { of, severity: Grade::Problem, says });
    }

    fn print(&self) -> anyhow::Result<()> {
        for finding in &self.findings {
            let mark = match finding.severity {
                Grade::Good => "ok     ",
                Grade::Warning => "warning",
                Grade::Problem => "PROBLEM",
            };
            out::line(format!("{mark}  {:9}  {}", finding.of, finding.says))?;
        }
        let count = |grade| self.findings.iter().filter(|finding| finding.severity == grade).map(|_| 1).sum::<u64>();
        let problems = counted(count(Grade::Problem), "problem", "problems");
        let warnings = counted(count(Grade::Warning), "warning", "warnings");
        let verdict = if self.sound { "a worker could lead here" } else { "a worker could not lead here" };
        out::line(format!("{verdict}: {problems}, {warnings}"))
    }
}
