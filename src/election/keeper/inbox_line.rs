//! Whether the inbox can be read: looked at once a heartbeat by every replica, so that a leader which lost it makes way
//! and a follower without it is not taken for one that could take over. One verdict for all who ask.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::{InboxCheck, News};
use crate::election::timing::Timings;
use crate::supervisor;
use crate::telemetry::{self, Dependency, ErrorKind};

/// The latest verdict; `None` before the first.
pub(super) type Verdict = watch::Receiver<Option<Result<(), String>>>;

/// Looks for ever.
pub(super) struct Watch {
    check: InboxCheck,
    timings: Timings,
}

// === impl Watch ===

impl Watch {
    pub(super) fn new(check: InboxCheck, timings: Timings) -> Self {
        Self { check, timings }
    }

    /// An inbox that could be read is given up only when two looks in a row fail: a term is worth more than one error
    /// of a network's file system.
    pub(super) async fn run(
        self,
        verdict: watch::Sender<Option<Result<(), String>>>,
        news: mpsc::UnboundedSender<News>,
    ) -> &'static str {
        let tell = |outcome: Result<(), String>| {
            verdict.send_replace(Some(outcome.clone()));
            // The receiver is gone only when the keeper has ended.
            let _ = news.send(News::Inbox(outcome));
        };
        let mut doubted = true;
        loop {
            let mut look = pin!(supervisor::blocking({
                let check = self.check.clone();
                move || check()
            }));
            let outcome = if let Ok(outcome) = tokio::time::timeout(self.timings.ttl, &mut look).await {
                outcome
            } else {
                telemetry::dependency_error(Dependency::Inbox, ErrorKind::Timeout);
                let limit = humantime::format_duration(self.timings.ttl);
                tell(Err(format!("the inbox did not answer within {limit}: is its file system reachable?")));
                doubted = true;
                // A file system that hangs is waited for by this one look, and not by one more thread each time.
                look.await
            };
            let pause = if outcome.is_ok() || doubted { self.timings.heartbeat } else { self.second_look() };
            if outcome.is_err() {
                telemetry::dependency_error(Dependency::Inbox, ErrorKind::Server);
            }
            let doubt = outcome.is_err();
            if !doubt || doubted {
                tell(outcome);
            }
            doubted = doubt;
            tokio::time::sleep(pause).await;
        }
    }

    /// How soon after a first failure.
    fn second_look(&self) -> Duration {
        self.timings.heartbeat / 4
    }
}
