//! Redis' answers: one question after the other, each within its limit.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::{Floor, LongWait, News};
use crate::clock::Clock;
use crate::election::elector::{Acquired, Attempt, Event, Renewed};
use crate::election::lease::{Acquisition, Lease, LeaseError, Renewal, elsewhere, is_long, long_hold};
use crate::election::reason::{ElectionOutcome, RenewalOutcome};
use crate::election::timing::Timings;
use crate::election::{FencingToken, Owner, StoreId};
use crate::telemetry::{self, Dependency, ErrorKind, event};

/// A question about the lease.
#[derive(Debug)]
pub(super) enum Question {
    Acquire {
        attempt: Attempt,
        owner: Owner,
        floor: u64,
        incumbent: Option<StoreId>,
    },
    Renew {
        attempt: Attempt,
        owner: Owner,
        token: FencingToken,
    },
    Release {
        attempt: Attempt,
        owner: Owner,
        token: FencingToken,
        publish: bool,
    },
    /// Whether others listen; the floor is only carried along.
    Peers {
        attempt: Attempt,
        floor: Floor,
    },
}

/// Answers until nobody asks any more.
pub(super) async fn run(
    mut lease: Lease,
    timings: Timings,
    clock: Arc<dyn Clock>,
    mut questions: mpsc::UnboundedReceiver<Question>,
    news: mpsc::UnboundedSender<News>,
) -> &'static str {
    let ttl = timings.ttl;
    while let Some(question) = questions.recv().await {
        let (fault, told) = match question {
            Question::Acquire { attempt, owner, floor, incumbent } => {
                let answer = lease.acquire_beside(&owner, ttl, floor, incumbent).await;
                if let Ok(answer) = &answer {
                    let _ = news.send(News::Waits(waits(answer, ttl, &lease)));
                }
                let (outcome, acquired) = acquired(&answer, floor);
                telemetry::election(outcome);
                let told = Event::Acquired { attempt, owner, answer: acquired };
                match answer {
                    // Redis is well: what is in the way is what somebody put there.
                    Err(LeaseError::Broken(sentence)) => (Ok(()), News::Obstructed(told, sentence)),
                    Ok(Acquisition::Elsewhere { store }) => {
                        let sentence = incumbent.map(|incumbent| elsewhere(Some(store), incumbent));
                        (Ok(()), News::Obstructed(told, sentence.unwrap_or_default()))
                    }
                    answer => (fault(answer), News::Event(told)),
                }
            }
            Question::Renew { attempt, owner, token } => {
                let answer = lease.renew(&owner, token, ttl).await;
                let (outcome, renewed) = renewed(&answer);
                telemetry::renewal(outcome, clock.now().since(attempt.sent));
                (fault(answer), News::Event(Event::Renewed { attempt, token, answer: renewed }))
            }
            Question::Release { attempt, owner, token, publish } => {
                let answer = lease.release(&owner, token, publish).await;
                let answered = answer.is_ok();
                (fault(answer), News::Event(Event::Released { attempt, answered }))
            }
            Question::Peers { attempt, floor } => {
                let answer = lease.listeners().await;
                // Not known: then it waits, as if there were others.
                let alone = answer.as_ref().is_ok_and(|listeners| *listeners <= 1);
                (fault(answer), News::Peers { attempt, floor, alone })
            }
        };
        // The receiver is gone only when the keeper has ended.
        let _ = news.send(News::Redis(fault));
        let _ = news.send(told);
    }
    "redis"
}

/// What is unusual about a wait for another's lease. It is waited for all the same: the holder may lead.
fn waits(answer: &Acquisition, ttl: Duration, lease: &Lease) -> Option<LongWait> {
    let Acquisition::Held { holder, left, .. } = answer else { return None };
    is_long(*left, ttl).then(|| LongWait { holder: holder.clone(), says: long_hold(holder, *left, ttl, lease.keys()) })
}

fn acquired(answer: &Result<Acquisition, LeaseError>, floor: u64) -> (ElectionOutcome, Acquired) {
    match answer {
        Ok(Acquisition::Won { token, raised, store, .. }) => {
            if *raised {
                tracing::warn!(
                    event = event::COUNTER_RAISED,
                    floor,
                    "Redis had lost its counter of tokens; it goes on from the term that Postgres holds"
                );
            }
            (ElectionOutcome::Won, Acquired::Won { token: *token, store: *store })
        }
        Ok(Acquisition::Held { left, mended, holder }) => {
            if *mended {
                tracing::warn!(
                    event = event::LEASE_MENDED,
                    holder,
                    "the lease had no end and was given one: somebody wrote it by hand"
                );
            }
            (ElectionOutcome::Held, Acquired::Held { left: *left })
        }
        Ok(Acquisition::Elsewhere { .. }) => (ElectionOutcome::Error, Acquired::Elsewhere),
        Err(LeaseError::Broken(_)) => (ElectionOutcome::Error, Acquired::Obstructed),
        Err(error) if error.is_unknown() => (ElectionOutcome::Error, Acquired::Unknown),
        Err(_) => (ElectionOutcome::Error, Acquired::Refused),
    }
}

fn renewed(answer: &Result<Renewal, LeaseError>) -> (RenewalOutcome, Renewed) {
    match answer {
        Ok(Renewal::Kept) => (RenewalOutcome::Ok, Renewed::Kept),
        Ok(Renewal::Lost { holder }) => {
            tracing::warn!(event = event::LEASE_LOST, holder, "Redis says that the lease is not ours any more");
            (RenewalOutcome::Lost, Renewed::Lost)
        }
        Err(LeaseError::Late { .. }) => (RenewalOutcome::Timeout, Renewed::Failed),
        Err(_) => (RenewalOutcome::Error, Renewed::Failed),
    }
}

/// The fault, if it is one, counted by its kind.
fn fault<T>(answer: Result<T, LeaseError>) -> Result<(), String> {
    let Err(error) = answer else { return Ok(()) };
    let kind = match &error {
        LeaseError::Late { .. } => ErrorKind::Timeout,
        LeaseError::Connection(_) => ErrorKind::Connection,
        LeaseError::Server(_) | LeaseError::Broken(_) | LeaseError::NotReplicated { .. } | LeaseError::Strange(_) => {
            ErrorKind::Server
        }
    };
    telemetry::dependency_error(Dependency::Redis, kind);
    Err(error.to_string())
}
