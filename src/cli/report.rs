//! `counterfoil report`: what was found, as it was stored when the day was closed.

use std::path::PathBuf;

use anyhow::bail;
use chrono::NaiveDate;
use clap::{Args, ValueEnum};

use super::{Exit, date, known, out, session};
use crate::db::connect::Purpose;
use crate::db::{days, reports, runs};

/// The report of an account's day, or the summary of a whole date.
///
/// Byte for byte as it was stored under the leader's term, and published to the outbox. Exit code 1, as of `run --wait`,
/// where one of the proofs in it failed.
#[derive(Debug, Args)]
pub(super) struct Report {
    /// The business date [default: the newest that has a report]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date::read)]
    date: Option<NaiveDate>,
    /// The account [default: the summary of all]
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// An earlier revision of a reopened day [default: the newest]
    #[arg(long, value_name = "N", requires = "account")]
    revision: Option<u32>,
    /// In which face
    #[arg(long, value_enum, default_value_t = Face::Text)]
    format: Face,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Face {
    /// For people
    Text,
    /// For machines
    Json,
}

impl Report {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let extension = if self.json || self.format == Face::Json { "json" } else { "txt" };
        let (bytes, failed, newer) = session::ask(self.config.as_deref(), Purpose::Read, async |settings, session| {
            let (account, lease) = (self.account.as_deref(), &settings.lease.name);
            if let Some(account) = account {
                known::account(session, settings, account).await?;
            }
            let newest = runs::newest(session, lease, 1).await?.first().map(|run| run.business_date);
            let date = match self.date {
                Some(date) => date,
                None => match reports::newest(session, lease, account).await? {
                    Some(date) => date,
                    None => bail!(
                        "{} has no report yet: counterfoil runs says what is waited for",
                        account.unwrap_or("the day")
                    ),
                },
            };
            let found = match account {
                Some(account) => reports::find(session, account, date, self.revision, extension).await?,
                None => reports::summary(session, lease, date, extension).await?,
            };
            let Some(bytes) = found else {
                known::closed(session, settings, account, date).await?;
                let which = self.revision.map_or_else(String::new, |revision| format!(" of revision {revision}"));
                bail!("{date} has no report{which}: counterfoil runs --date {date} says why");
            };
            let states = days::states(session, lease, date).await?;
            let of = states.iter().filter(|state| account.is_none_or(|account| state.account == account));
            let failed: Vec<String> =
                of.filter(|state| !state.failed_proofs.is_empty()).map(|state| state.account.clone()).collect();
            Ok((
                bytes,
                failed,
                newest.filter(|newest| self.date.is_none() && *newest > date).map(|newest| (newest, date)),
            ))
        })?;
        // On stderr: what is on stdout is the report, byte for byte.
        if let Some((newest, date)) = newer {
            out::say(format!(
                "counterfoil: {newest} has no report yet (counterfoil runs --date {newest} says why); this is {date}, the \
                 newest that has one"
            ));
        }
        out::bytes(&bytes)?;
        if !failed.is_empty() {
            out::say(format!("counterfoil: a proof of {} FAILED: what is shown does not add up", failed.join(", ")));
            return Ok(Exit::Failed);
        }
        Ok(Exit::Done)
    }
}
