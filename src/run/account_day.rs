//! An account-day, from waiting to closed: what it waits for, and its steps in their order.

use chrono::{DateTime, Utc};

use super::attempts::{Hand, Tools, Tried};
use super::day::before;
use super::desk::Desk;
use super::plan::Step;
use super::{RunError, close, manifest, match_lines, report};
use crate::account::Account;
use crate::account::readiness::{missing, no_movement_may_be_assumed};
use crate::db::checkpoint::Key;
use crate::db::days::DayState;
use crate::db::runs::RunRow;
use crate::db::{DayKey, attempts, bank, books, days};
use crate::telemetry::{AccountDayOutcome, WriteOperation, event, metrics};

/// How far an account-day came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    Closed,
    Waiting,
    Failed,
    Skipped,
    /// It could be fixed now, but a file in the inbox may belong to it.
    Postponed,
}

/// What of the pass the account-day must know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// Now.
    pub(super) now: DateTime<Utc>,
    /// A day that failed before this is tried again.
    pub(super) again: Option<DateTime<Utc>>,
    /// No day is fixed in this pass: a file may still belong to it.
    pub(super) postponed: bool,
}

/// Brings an account-day as far as it goes.
pub(super) async fn advance(
    desk: &Desk,
    tools: &Tools,
    account: &Account,
    run: &RunRow,
    state: Option<&DayState>,
    moment: Moment,
) -> Result<Came, RunError> {
    let day = DayKey::first(&account.id, run.business_date);
    let mut retry = false;
    match state.map(|state| (state.status.as_str(), state)) {
        Some(("skipped", _)) => return Ok(Came::Skipped),
        Some(("failed", state)) => {
            retry = moment.again.is_some_and(|again| again > state.changed_at);
            if !retry {
                return Ok(Came::Failed);
            }
        }
        _ => {}
    }
    let closed = state.is_some_and(|state| state.status == "closed");
    let mut hand = tools.hand();
    let hand = &mut hand;
    let fixed = hand.read(async |session| days::manifest(session, &day).await).await?;
    let fixed = match fixed {
        Some(fixed) => fixed,
        None => match ready(hand, account, &day, run, moment.now).await? {
            Ready::Waits(reason) => {
                let written = hand
                    .record(WriteOperation::Schedule, async |sql| {
                        days::set(sql, &day, account.currency, "waiting", &reason).await
                    })
                    .await?;
                if written {
                    tracing::info!(event = event::ACCOUNT_WAITING, account = %account.id, business_date = %day.date, reason, "account waits");
                }
                return Ok(Came::Waiting);
            }
            Ready::Never(reason) => {
                hand.record(WriteOperation::Schedule, async |sql| {
                    days::set(sql, &day, account.currency, "skipped", &reason).await
                })
                .await?;
                metrics::account_day(AccountDayOutcome::Skipped);
                return Ok(Came::Skipped);
            }
            Ready::Now { .. } if moment.postponed => return Ok(Came::Postponed),
            Ready::Now { no_movement_assumed } => {
                let allowed = allowance(hand, &day, Step::Manifest, 0, retry).await?;
                match manifest::run(hand, desk, account, &day, no_movement_assumed, allowed).await? {
                    Tried::Done(fixed) => fixed,
                    // A predecessor committed it after we looked: what it fixed counts.
                    Tried::AlreadyDone => match hand.read(async |session| days::manifest(session, &day).await).await? {
                        Some(fixed) => fixed,
                        None => {
                            return Err(RunError::Transient("a manifest that was committed is not there".to_owned()));
                        }
                    },
                    Tried::GivenUp(why) => return failed(hand, account, &day, &why).await,
                }
            }
        },
    };
    let fixed = match manifest::next_pass(account, &fixed) {
        Some(next) if !closed => match manifest::begin_again(hand, account, &day, &next).await? {
            Tried::GivenUp(why) => return failed(hand, account, &day, &why).await,
            Tried::Done(()) | Tried::AlreadyDone => next,
        },
        _ => fixed,
    };
    let key = day.step_key(fixed.pass);
    let (committed, token) =
        hand.read(async |session| attempts::committed(session, account.id.as_str(), &key).await).await?;
    let mut committed: Vec<Step> = committed.iter().filter_map(|step| Step::named(step)).collect();
    let Some(next) = Step::next(&committed) else { return Ok(Came::Closed) };
    if token.is_some_and(|token| u64::try_from(token).is_ok_and(|token| token != tools.reins.term.token().get())) {
        metrics::resumed(next);
        tracing::info!(event = event::RESUMED, account = %account.id, business_date = %day.date, step = %next, "going on where an earlier term ended");
    }
    let (mut matched, mut outcome) = (None, None);
    while let Some(step) = Step::next(&committed) {
        let allowed = allowance(hand, &day, step, fixed.pass, retry).await?;
        let given_up = match step {
            Step::Match => match match_lines::run(hand, account, &day, &fixed, allowed).await? {
                Tried::Done(found) => {
                    matched = Some(found);
                    None
                }
                Tried::AlreadyDone => None,
                Tried::GivenUp(why) => Some(why),
            },
            Step::Close => match close::run(hand, account, &day, &fixed, matched.take(), allowed).await? {
                Tried::Done(closed) => {
                    outcome = Some(closed);
                    None
                }
                Tried::AlreadyDone => None,
                Tried::GivenUp(why) => Some(why),
            },
            Step::Report => match report::run(hand, account, &day, &fixed, outcome.take(), allowed).await? {
                Tried::Done(()) | Tried::AlreadyDone => None,
                Tried::GivenUp(why) => Some(why),
            },
            Step::Manifest | Step::Ingest | Step::Book => {
                return Err(RunError::Bug(format!(
                    "step {step} of {} {} is missing though later ones began",
                    account.id, day.date
                )));
            }
        };
        if let Some(why) = given_up {
            if closed || committed.contains(&Step::Close) {
                // The day is closed, and only its report is missing: that is no failure of the day.
                tracing::error!(event = event::REPORT_GIVEN_UP, account = %account.id, business_date = %day.date, error = %why, "the report was given up");
                return Ok(Came::Closed);
            }
            return failed(hand, account, &day, &why).await;
        }
        committed.push(step);
    }
    Ok(Came::Closed)
}

/// How many attempts at a step are allowed in all: as many as the settings say; where a failed day is tried again, that
/// many more than were made.
async fn allowance(
    hand: &mut Hand,
    day: &DayKey<'_>,
    step: Step,
    pass: u32,
    retry: bool,
) -> Result<Option<u32>, RunError> {
    if !retry {
        return Ok(None);
    }
    let key = Key::new(day.account.as_str(), step.name(), day.step_key(pass));
    let lease = hand.lease();
    let made = hand.read(async |session| attempts::of(session, &lease, &key).await).await?.made;
    Ok(Some(made + hand.tools().attempts))
}

async fn failed(hand: &mut Hand, account: &Account, day: &DayKey<'_>, why: &str) -> Result<Came, RunError> {
    hand.record(WriteOperation::Schedule, async |sql| days::set(sql, day, account.currency, "failed", why).await)
        .await?;
    metrics::account_day(AccountDayOutcome::Failed);
    tracing::error!(event = event::ACCOUNT_FAILED, account = %account.id, business_date = %day.date, error = why, "account-day failed");
    Ok(Came::Failed)
}

/// May an account-day be fixed now?
enum Ready {
    Now { no_movement_assumed: bool },
    Waits(String),
    Never(String),
}

async fn ready(
    hand: &mut Hand,
    account: &Account,
    day: &DayKey<'_>,
    run: &RunRow,
    now: DateTime<Utc>,
) -> Result<Ready, RunError> {
    let lease = hand.lease();
    let ready = hand
        .read(async |session| {
            if let Some(later) = days::closed_after(&mut *session, &account.id, day.date).await? {
                return Ok(Ready::Never(format!(
                    "{later} was closed before it came to this day; its lines are in there"
                )));
            }
            if let Some((earlier, status)) =
                days::unfinished_before(&mut *session, &lease, &account.id, day.date).await?
            {
                return Ok(Ready::Waits(format!("{earlier} goes first, and is {status}")));
            }
            let ledger = bank::ledger(&mut *session, account, None, None).await?;
            let seen = books::seen(&mut *session, &account.id, day.date).await?;
            let stopped = bank::stopped(&mut *session, &account.id, day.date).await?;
            let lacks = missing(account, day.date, ledger.covered_through(), seen, stopped);
            if lacks.is_empty() {
                return match before(session, account, day.date, None).await? {
                    Some(before) if before.start >= day.date => {
                        Ok(Ready::Never(format!("the account starts at the end of {}", before.start)))
                    }
                    Some(_) => Ok(Ready::Now { no_movement_assumed: false }),
                    None => Ok(Ready::Waits("its first statement".to_owned())),
                };
            }
            if now > run.deadline && no_movement_may_be_assumed(account, &lacks) && ledger.start().is_some() {
                return Ok(Ready::Now { no_movement_assumed: true });
            }
            let lacks: Vec<String> = lacks.iter().map(ToString::to_string).collect();
            Ok(Ready::Waits(lacks.join(", and ")))
        })
        .await?;
    Ok(ready)
}
