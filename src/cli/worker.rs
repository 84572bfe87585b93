//! `counterfoil worker`: one replica.

use std::path::PathBuf;

use clap::Args;

use super::{Exit, UsageError};
use crate::settings::{Need, Settings};
use crate::telemetry::logging;
use crate::worker;

/// Run one replica, until SIGTERM, SIGINT or SIGHUP.
///
/// Start as many as you like, on as many machines: one of them leads and reconciles, the others stand by and take over.
/// Told to end, it stops its work, gives the lead away, and exits 0. It exits 1 if a part of it failed or its work did
/// not stop in time, and 2 if its settings are unsound. A Redis or Postgres that is away is waited for.
#[derive(Debug, Args)]
pub(super) struct Worker {
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Worker {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let needs = [Need::Redis, Need::Postgres, Need::Accounts];
        let settings = Settings::of_process(self.config.as_deref(), &needs).map_err(UsageError::from)?;
        logging::init(&settings.log).map_err(|error| UsageError(error.to_string()))?;
        // The one provider that is built in; a process has to choose one before it speaks TLS. An error says that it has.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let outcome = runtime.block_on(worker::run(&settings));
        // What is left of work that did not stop must not keep the process: it ends with it.
        runtime.shutdown_background();
        match outcome {
            Ok(()) => Ok(Exit::Done),
            Err(error) if error.is_of_settings() => Err(UsageError(error.to_string()).into()),
            Err(error) => Err(error.into()),
        }
    }
}
