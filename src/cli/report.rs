//! `counterfoil report`: what was found, as it was stored when the day was closed.

use std::path::PathBuf;

use anyhow::bail;
use chrono::NaiveDate;
use clap::{Args, ValueEnum};

use super::{Exit, date, out, session};
use crate::db::connect::Purpose;
use crate::db::{reports, runs};

/// The report of an account's day, or the summary of a whole date.
///
/// Byte for byte as it was stored under the leader's term, and published to the outbox.
#[derive(Debug, Args)]
pub(super) struct Report {
    /// The business date [default: the newest one]
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
        let bytes = session::ask(self.config.as_deref(), Purpose::Read, async |_, session| {
            let date = match self.date {
                Some(date) => date,
                None => match runs::newest(session, 1).await?.first() {
                    Some(run) => run.business_date,
                    None => bail!("no date was recorded yet"),
                },
            };
            let found = match &self.account {
                Some(account) => reports::find(session, account, date, self.revision, extension).await?,
                None => reports::summary(session, date, extension).await?,
            };
            found.ok_or_else(|| match &self.account {
                Some(account) => {
                    anyhow::anyhow!("{account} has no report of {date}: counterfoil runs --date {date} says why")
                }
                None => anyhow::anyhow!("there is no summary of {date}: counterfoil runs --date {date} says why"),
            })
        })?;
        out::bytes(&bytes)?;
        Ok(Exit::Done)
    }
}
