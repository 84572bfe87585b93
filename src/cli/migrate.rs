//! `counterfoil migrate`: bring the schema up to this version, as its owner.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use secrecy::ExposeSecret;

use super::{Exit, UsageError, out};
use crate::db::connect::Connector;
use crate::db::schema::{self, WORKER_ROLE};
use crate::settings::{Need, Settings};

/// Make or update the schema, and let the worker's login in.
///
/// Logs in by postgres.owner_url. If postgres.url is set too, its login is made a member of counterfoil_worker, the role
/// that may write only as the leader. Safe to repeat, and to run in several places at once. Workers need not be stopped:
/// those of another version stay out of the election until they are replaced.
#[derive(Debug, Args)]
pub(super) struct Migrate {
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Migrate {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let settings =
            Settings::of_process(self.config.as_deref(), &[Need::PostgresOwner]).map_err(UsageError::from)?;
        let url = settings.postgres_owner().map_err(UsageError::from)?;
        let owner = Connector::new(url.expose_secret(), &settings.node.id)?;
        let worker = match settings.postgres() {
            Ok(url) => Some(Connector::new(url.expose_secret(), &settings.node.id)?),
            Err(_) => None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let version =
            runtime.block_on(schema::migrate(&owner, worker.as_ref().map(Connector::login))).with_context(|| {
                format!("the schema of {} was not brought up to version {}", owner.place(), schema::version())
            })?;
        out::line(format!("{}: the schema is at version {version}.", owner.place()))?;
        out::line(match &worker {
            Some(worker) => format!("{} is a member of {WORKER_ROLE}.", worker.login()),
            None => format!("postgres.url is not set: no login was made a member of {WORKER_ROLE}."),
        })?;
        Ok(Exit::Done)
    }
}
