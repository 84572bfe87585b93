//! The work side of a replica: waits for tenures, does the work of each, and counts the bell of a follower.
//!
//! It runs on a thread of its own, which blocks on [`work`] within the process' runtime. Its futures are not `Send`, since
//! async closures that borrow are not (rust-lang/rust#102211); and nothing is lost: what computes is on the blocking
//! pool, and the rest waits for Postgres.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::Reins;
use super::runner::{Bench, Runner};
use crate::election::tenure::Tenure;
use crate::schedule::bell::Bell;
use crate::telemetry::{CronTick, event, metrics};

/// What the thread of the work does, until it is told to stop or the keeper has ended.
///
/// The bell must have been hung within `runtime`.
pub fn on_this_thread(
    runtime: &Handle,
    bench: &Bench,
    mut tenures: UnboundedReceiver<Tenure>,
    mut bell: Bell,
    stop: &CancellationToken,
) {
    runtime.block_on(work(bench, &mut tenures, &mut bell, stop));
}

/// Does the work of each tenure that appears.
async fn work(bench: &Bench, tenures: &mut UnboundedReceiver<Tenure>, bell: &mut Bell, stop: &CancellationToken) {
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            tenure = tenures.recv() => match tenure {
                Some(tenure) => lead(bench, tenure, bell).await,
                None => return,
            },
            _ = bell.rung() => metrics::cron_tick(CronTick::SkippedNotLeader),
        }
    }
}

/// Does the work of one term, to its end.
async fn lead(bench: &Bench, tenure: Tenure, bell: &mut Bell) {
    let tenure = Arc::new(tenure);
    let token = tenure.term().token();
    tracing::info!(event = event::WORK_BEGAN, token = token.get(), "work begins");
    // The runner ends here, and with it every session of the term; the tenure ends after it.
    let ended = Runner::new(bench.clone(), Reins::of(&tenure)).lead(bell).await;
    tracing::info!(event = event::WORK_ENDED, token = token.get(), reason = %ended, "work has stopped");
}
