//! Step `report`: the report's bytes, stored under the fence. They hold no time, node or token, so that whoever publishes
//! them, and however often, writes the same.

use super::attempts::{Hand, Tried};
use super::plan::Step;
use super::{RunError, StepError};
use crate::account::Account;
use crate::db::checkpoint::{Checkpoint, Key};
use crate::db::days::{self, Manifest};
use crate::db::{DayKey, outcome, reports};
use crate::report::AccountOutcome;
use crate::report::digest::{self, Digest};
use crate::report::json::AccountDay;
use crate::report::text;

/// Stores the reports of a closed day. `carried` is the outcome, where this process closed the day; else it is loaded, and
/// its digest must be the one that was stored.
pub(super) async fn run(
    hand: &mut Hand,
    account: &Account,
    day: &DayKey<'_>,
    manifest: &Manifest,
    carried: Option<AccountOutcome>,
    allowed: Option<u32>,
) -> Result<Tried<()>, RunError> {
    let of = |step: Step| Key::new(account.id.as_str(), step.name(), day.step_key(manifest.pass));
    let key = of(Step::Report);
    let checkpoint = Checkpoint::after(key.clone(), [of(Step::Close)]);
    let mut carried = carried;
    hand.try_step(Step::Report, &key, allowed, async |hand| {
        let closed = match carried.take() {
            Some(closed) => closed,
            None => load(hand, account, day).await?,
        };
        let digest = digest::of_account(&closed).map_err(|error| StepError::Attempt(error.to_string()))?;
        let rendered = render(&closed, digest).map_err(|error| StepError::Attempt(error.to_string()))?;
        hand.commit(&checkpoint, async |sql| {
            for (extension, bytes) in &rendered {
                reports::store(&mut *sql, day, extension, bytes).await?;
            }
            Ok(())
        })
        .await
    })
    .await
}

async fn load(hand: &mut Hand, account: &Account, day: &DayKey<'_>) -> Result<AccountOutcome, StepError> {
    let (loaded, stored) = hand
        .read(async |session| {
            let loaded = outcome::load(&mut *session, account, day).await?;
            Ok((loaded, days::digest(session, day).await?))
        })
        .await?;
    let closed = loaded.ok_or_else(|| StepError::Attempt("the account-day is not closed".to_owned()))?;
    let digest = digest::of_account(&closed).map_err(|error| StepError::Attempt(error.to_string()))?;
    if stored.as_deref() == Some(digest.to_string().as_str()) {
        Ok(closed)
    } else {
        Err(StepError::Attempt(format!(
            "what is stored of {} {} has the digest {digest}, and the digest stored with it is {}: rows were changed",
            account.id,
            day.date,
            stored.unwrap_or_else(|| "absent".to_owned())
        )))
    }
}

/// The faces of an account-day that are published: extension and bytes.
fn render(closed: &AccountOutcome, digest: Digest) -> Result<[(&'static str, Vec<u8>); 2], serde_json::Error> {
    let text = text::account_day(closed, &digest.to_string(), &[]);
    let json = AccountDay::<()>::new(closed, digest, Vec::new());
    let mut json = serde_json::to_vec_pretty(&json)?;
    json.push(b'\n');
    Ok([("txt", text.into_bytes()), ("json", json)])
}
