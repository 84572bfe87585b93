//! `counterfoil healthcheck`: is the worker of this machine, or of this container, alive?

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::{Exit, UsageError, out};
use crate::http;
use crate::settings::Settings;

/// Ask the worker on this machine for /livez: exit 0 if it is alive, 1 if not.
///
/// For a container's HEALTHCHECK: the image needs no shell and no curl. It asks on the loopback, at the port of
/// http.listen. A worker without Redis or Postgres is alive: restarting it would not help.
#[derive(Debug, Args)]
pub(super) struct Healthcheck {
    /// Settings file [default: counterfoil.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// How long the worker has to answer.
const LIMIT: Duration = Duration::from_secs(2);

impl Healthcheck {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let settings = Settings::of_process(self.config.as_deref(), &[]).map_err(UsageError::from)?;
        let listen = settings.http.listen;
        let asked = http::reachable(listen);
        let health = http::probe(listen, LIMIT).with_context(|| format!("no worker answers at {asked}"))?;
        if health.live {
            Ok(Exit::Done)
        } else {
            out::say(format!("counterfoil: the worker at {asked} is not alive: {}", health.says));
            Ok(Exit::Failed)
        }
    }
}
