//! `counterfoil demo`: the scenario that the product exists for, on throw-away servers, with real processes.
//!
//! [`stage`] raises the servers, the folders and the replicas; [`observer`] looks at them from outside, through Postgres;
//! [`play`] freezes, wakes and ends leaders while a day is reconciled, and judges what came of it. Nothing is simulated:
//! the replicas are this very binary, and they are told nothing that a deployment would not tell them.

mod example;
mod observer;
mod play;
mod stage;

use anyhow::Context;
use clap::Args;

use super::{Exit, out, told};

/// See a leader frozen in the middle of a day's reconciliation, and nothing go wrong.
///
/// Starts a throw-away Postgres and Redis on free loopback ports and three workers, and asks for the day of the example
/// files. Inside the match step's transaction the leader is frozen; another takes over and goes on; the first, woken, is
/// refused by Postgres. Then the new leader is asked to end, and hands over. At the end: the leadership history, each step
/// with the token that committed it, the report, and the digest. Needs redis-server and Postgres 15 to 18. Takes under a
/// minute; exit 0 only if everything held, 1 if not; nothing is left running.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Leave servers and replicas running at the end, print their addresses, and wait for Ctrl-C
    #[arg(long)]
    keep: bool,
}

impl Demo {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
        runtime.block_on(async {
            // Ctrl-C ends the play; what was started is ended as the stage is dropped.
            tokio::select! {
                ended = play::play(self.keep) => ended,
                _ = tokio::signal::ctrl_c() => {
                    out::say("counterfoil: interrupted; everything that was started is ended");
                    Ok(Exit::Failed)
                }
            }
        })
    }
}
