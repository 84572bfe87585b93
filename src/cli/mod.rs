//! The command line: one file a subcommand. Reads go to stdout, errors to stderr with what to do next.

mod accounts;
mod breaks;
mod check;
mod date;
mod demo;
mod files;
mod healthcheck;
mod history;
mod inspect;
mod known;
mod migrate;
mod moment;
mod out;
mod pause;
mod progress;
mod reconcile;
mod report;
mod resign;
mod run;
mod runs;
mod session;
mod status;
mod words;
mod worker;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::db::said;
use crate::settings::SettingsError;

/// The daily bank-reconciliation worker.
#[derive(Debug, Parser)]
#[command(name = "counterfoil", version, about, propagate_version = true, subcommand_required = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Accounts(accounts::Accounts),
    Breaks(breaks::Breaks),
    Check(check::Check),
    Demo(demo::Demo),
    Healthcheck(healthcheck::Healthcheck),
    Inspect(inspect::Inspect),
    History(history::History),
    Migrate(migrate::Migrate),
    Pause(pause::Pause),
    Reconcile(reconcile::Reconcile),
    Report(report::Report),
    Resign(resign::Resign),
    Resume(pause::Resume),
    Run(run::Run),
    Runs(runs::Runs),
    Status(status::Status),
    Worker(worker::Worker),
}

/// How a command ended, and its exit code.
///
/// One rule between 1 and 2: what is wrong with the words or the settings by themselves, whatever any server holds, is 2.
/// What could have been right, and is not so here (an account that nobody knows, a term that is no longer installed, a date
/// that was not closed), is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: done. Breaks and unprovable balances are results, not failures.
    Done,
    /// 1: failed; also where one of the proofs P4 to P7 failed.
    Failed,
    /// 2: wrong usage or settings.
    Usage,
    /// 3: some input was refused or quarantined; the rest was still done.
    Refused,
}

/// An error of usage or settings: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

// === impl Cli ===

impl Cli {
    /// Runs the command to its end. An error is told on standard error.
    pub fn run(self) -> Exit {
        self.command().unwrap_or_else(|error| {
            out::say(format!("counterfoil: {}", told(&error)));
            Exit::of_error(&error)
        })
    }

    fn command(self) -> anyhow::Result<Exit> {
        match self.command {
            Command::Accounts(command) => command.run(),
            Command::Breaks(command) => command.run(),
            Command::Check(command) => command.run(),
            Command::Demo(command) => command.run(),
            Command::Healthcheck(command) => command.run(),
            Command::Inspect(command) => command.run(),
            Command::History(command) => command.run(),
            Command::Migrate(command) => command.run(),
            Command::Pause(command) => command.run(),
            Command::Reconcile(command) => command.run(),
            Command::Report(command) => command.run(),
            Command::Resign(command) => command.run(),
            Command::Resume(command) => command.run(),
            Command::Run(command) => command.run(),
            Command::Runs(command) => command.run(),
            Command::Status(command) => command.run(),
            Command::Worker(command) => command.run(),
        }
    }
}

// === impl UsageError ===

impl From<SettingsError> for UsageError {
    fn from(error: SettingsError) -> Self {
        Self(error.to_string())
    }
}

/// An error and what caused it, each part once: many an error says its cause's words itself.
fn told(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for part in error.chain().map(part) {
        if !told.contains(&part) {
            told = if told.is_empty() { part } else { format!("{told}: {part}") };
        }
    }
    told
}

fn part(error: &(dyn std::error::Error + 'static)) -> String {
    let of_postgres =
        || error.downcast_ref::<sqlx::postgres::PgDatabaseError>().map(|error| error.message().to_owned());
    error.downcast_ref::<sqlx::Error>().map(said).or_else(of_postgres).unwrap_or_else(|| error.to_string())
}

// === impl Exit ===

impl Exit {
    /// The exit of a command that ended in an error.
    fn of_error(error: &anyhow::Error) -> Self {
        if error.chain().any(<dyn std::error::Error>::is::<UsageError>) { Self::Usage } else { Self::Failed }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Refused => 3,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot listen: {0}")]
    struct SaysItsCause(#[source] io::Error);

    #[test]
    fn a_part_that_an_error_says_itself_is_not_said_again_for_its_cause() {
        let told_twice = SaysItsCause(io::Error::other("Address already in use"));
        let error = anyhow::Error::new(told_twice).context("the worker did not start");
        assert_eq!(told(&error), "the worker did not start: cannot listen: Address already in use");
        let error = anyhow::anyhow!("no such file").context("cannot read a.toml");
        assert_eq!(told(&error), "cannot read a.toml: no such file");
    }
}
