//! Step `close`: positions, P4–P7, breaks with their ages, and the digest. After it the account-day is final.

use super::attempts::{Hand, Tried};
use super::day::LoadedDay;
use super::plan::Step;
use super::{RunError, StepError};
use crate::account::Account;
use crate::db::checkpoint::{Checkpoint, Key};
use crate::db::days::{self, Manifest};
use crate::db::fence;
use crate::db::stored::StoredStanding;
use crate::db::{DayKey, matches};
use crate::matching::Outcome;
use crate::proof::ProofStatus;
use crate::report::AccountOutcome;
use crate::report::digest;
use crate::supervisor::blocking;
use crate::telemetry::{AccountDayOutcome, event, metrics};

/// Closes the day. `carried` is what the step before loaded and found, where it was this process that did it; else it is
/// loaded again, as that step stored it.
pub(super) async fn run(
    hand: &mut Hand,
    account: &Account,
    day: &DayKey<'_>,
    manifest: &Manifest,
    carried: Option<(LoadedDay, Outcome)>,
    allowed: Option<u32>,
) -> Result<Tried<AccountOutcome>, RunError> {
    let of = |step: Step| Key::new(account.id.as_str(), step.name(), day.step_key(manifest.pass));
    let key = of(Step::Close);
    let checkpoint = Checkpoint::after(key.clone(), [of(Step::Match)]);
    let mut carried = carried;
    let tried = hand
        .try_step(Step::Close, &key, allowed, async |hand| {
            let (loaded, outcome) = match carried.take() {
                Some(carried) => carried,
                None => {
                    hand.read(async |session| {
                        let loaded = LoadedDay::load(&mut *session, account, day, manifest.clone()).await?;
                        Ok((loaded, matches::load(session, day).await?))
                    })
                    .await?
                }
            };
            hand.beat();
            let (closed, standing) = blocking(move || {
                let closed = loaded.closed(outcome);
                let standing = StoredStanding::new(loaded.start, loaded.stated_start(), &closed);
                (closed, standing)
            })
            .await;
            hand.beat();
            hand.tools().check()?;
            let digest =
                digest::of_account(&closed).map_err(|error| StepError::Attempt(error.to_string()))?.to_string();
            let stored = hand
                .commit(&checkpoint, async |sql| {
                    days::close(sql, day, &closed, &standing, &digest, manifest.no_movement_assumed).await
                })
                .await?;
            Ok(match stored {
                fence::Outcome::Committed(()) => fence::Outcome::Committed(closed),
                fence::Outcome::AlreadyDone { by } => fence::Outcome::AlreadyDone { by },
            })
        })
        .await?;
    if let Tried::Done(closed) = &tried {
        metrics::account_day(AccountDayOutcome::Closed);
        for open in &closed.breaks {
            if open.first_seen == closed.date {
                metrics::breaks(open.class, 1);
            }
        }
        for proof in &closed.proofs {
            metrics::proof(proof.id, proof.status);
            if proof.status == ProofStatus::Failed {
                tracing::error!(
                    event = event::PROOF_FAILED,
                    business_date = %closed.date,
                    account = account.id.as_str(),
                    proof = proof.id.name(),
                    scope = %proof.scope,
                    difference = proof.difference.as_ref().map(ToString::to_string),
                    "a proof failed; the account-day is closed, and its report shows both sides"
                );
            }
        }
    }
    Ok(tried)
}
