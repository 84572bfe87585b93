//! `counterfoil accounts`: whose the accounts are; and the wish that one be another book's.

use std::path::PathBuf;

use anyhow::bail;
use chrono::SecondsFormat;
use clap::{Args, Subcommand};
use sqlx::postgres::PgConnection;

use super::{Exit, UsageError, out, session, words};
use crate::db::DbError;
use crate::db::accounts::{self, AccountRow};
use crate::db::connect::Purpose;
use crate::db::leadership;
use crate::election::LeaseName;
use crate::settings::Settings;

/// Which lease each account belongs to.
///
/// A book is a lease with its accounts; several may share a database. The first leader whose settings declare an account
/// claims it. From then on that lease alone writes its rows, until the account is moved.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Accounts {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// As JSON, one array
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Move(Move),
}

/// Ask for an account to be moved to another book.
///
/// It needs both terms: the leader of the book that has it gives it up between two steps, when no day of it is half done;
/// the leader of the other one, whose settings must declare it, takes it. Its ledger, its open items and its closed days
/// go with it. Declare it there first, then ask, then take it out of the old settings.
///
/// The newest wish for an account counts. Asked to move where it is, one that was given up and not yet taken stays.
#[derive(Debug, Args)]
struct Move {
    /// The account
    #[arg(long, value_name = "ID")]
    account: String,
    /// The lease that it shall belong to
    #[arg(long, value_name = "LEASE")]
    to: String,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", value_parser = words::reason)]
    reason: String,
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

impl Accounts {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        if let Some(Verb::Move(asked)) = &self.verb {
            return asked.run();
        }
        let (rows, own) = session::ask(self.config.as_deref(), Purpose::Read, async |settings, session| {
            Ok((accounts::all(session).await?, settings.lease.name.clone()))
        })?;
        if self.json {
            let shown = rows.iter().map(|row| {
                serde_json::json!({
                    "account": row.id, "lease": row.lease, "moving_to": row.moving_to, "since": row.since,
                    "asked_to": row.asked_to.as_ref().filter(|_| row.is_to_move()),
                })
            });
            out::json(&shown.collect::<Vec<_>>())?;
        } else if rows.is_empty() {
            out::line("No account belongs to a lease yet: a leader claims its accounts when its term begins.")?;
        } else {
            out::lines(&told(&rows, &own))?;
        }
        Ok(Exit::Done)
    }
}

fn told(rows: &[AccountRow], own: &LeaseName) -> Vec<String> {
    let width = |of: fn(&AccountRow) -> &str| rows.iter().map(|row| of(row).chars().count()).max().unwrap_or(0);
    let (ids, leases) = (width(|row| &row.id), width(|row| &row.lease));
    let line = |row: &AccountRow| {
        let since = row.since.to_rfc3339_opts(SecondsFormat::Secs, true);
        let mark = if row.lease == own.as_str() { '*' } else { ' ' };
        let more = match (&row.moving_to, &row.asked_to) {
            (Some(to), _) => format!("  given up for {to}, not yet taken"),
            (None, Some(to)) if row.is_to_move() => format!(
                "  wanted by {} for {to}: {}",
                row.asked_by.as_deref().unwrap_or("somebody"),
                row.asked_reason.as_deref().unwrap_or_default()
            ),
            _ => String::new(),
        };
        format!("{mark} {:<ids$}  {:<leases$}  since {since}{more}", row.id, row.lease)
    };
    rows.iter().map(line).collect()
}

impl Move {
    fn run(&self) -> anyhow::Result<Exit> {
        let to = LeaseName::new(&self.to).map_err(|error| UsageError(error.to_string()))?;
        let row = session::ask(self.config.as_deref(), Purpose::Ask, async |_, session| {
            let Some(row) = accounts::find(session, &self.account).await? else {
                bail!("{} belongs to no lease yet: counterfoil accounts has those that do", self.account);
            };
            if row.lease == to.as_str() && !row.is_to_move() {
                bail!("{} belongs to lease {to} already", self.account);
            }
            if leadership::installed(session, &to).await?.is_none() {
                bail!(
                    "no worker has led a lease {to} in this database yet: start its workers first, or is the name misspelt?"
                );
            }
            accounts::ask(session, &row, &to, &self.reason, &self.actor).await?;
            Ok(row)
        })?;
        if self.json {
            out::json(&serde_json::json!({ "account": row.id, "from": row.lease, "to": to }))?;
        } else if row.lease == to.as_str() {
            out::line(format!("{} stays with lease {to}.", row.id))?;
        } else {
            out::line(format!(
                "The leader of lease {} was asked to give up {}, and that of lease {to} takes it: counterfoil accounts says \
                 how far it is.",
                row.lease, row.id
            ))?;
        }
        Ok(Exit::Done)
    }
}

/// Accounts of these settings that belong to another book, and why they are not worked on.
pub(super) async fn elsewhere(
    session: &mut PgConnection,
    settings: &Settings,
) -> Result<Vec<(String, String)>, DbError> {
    let declared: Vec<&str> = settings.accounts().iter().map(|account| account.id.as_str()).collect();
    let rows = accounts::of(session, &settings.lease.name, &declared).await?;
    let declared = rows.into_iter().filter(|row| declared.contains(&row.id.as_str()));
    Ok(declared.filter_map(|row| Some((row.id.clone(), row.elsewhere(&settings.lease.name)?))).collect())
}
