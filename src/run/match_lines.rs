//! Step `match`: load open and taken lines, match in memory, store matches, their legs, and what stays open.

use super::RunError;
use super::attempts::{Hand, Tried};
use super::day::LoadedDay;
use super::plan::Step;
use crate::account::Account;
use crate::db::checkpoint::{Checkpoint, Key};
use crate::db::days::Manifest;
use crate::db::fence;
use crate::db::{DayKey, matches};
use crate::matching::{MatchStatus, Outcome, Rule};
use crate::supervisor::blocking;
use crate::telemetry::metrics;

/// Matches, and hands on what it loaded and found, so that the next step need not load it again.
pub(super) async fn run(
    hand: &mut Hand,
    account: &Account,
    day: &DayKey<'_>,
    manifest: &Manifest,
    allowed: Option<u32>,
) -> Result<Tried<(LoadedDay, Outcome)>, RunError> {
    let of = |step: Step| Key::new(account.id.as_str(), step.name(), day.step_key(manifest.pass));
    let key = of(Step::Match);
    let checkpoint = Checkpoint::after(key.clone(), [of(Step::Manifest)]);
    let tried = hand
        .try_step(Step::Match, &key, allowed, async |hand| {
            let loaded =
                hand.read(async |session| LoadedDay::load(session, account, day, manifest.clone()).await).await?;
            hand.beat();
            // No transaction is open while it computes, and no worker thread of the runtime is kept from the others.
            let (loaded, outcome) = blocking(move || {
                let outcome = loaded.matched();
                (loaded, outcome)
            })
            .await;
            hand.beat();
            hand.tools().check()?;
            let stored = hand
                .commit(&checkpoint, async |sql| {
                    matches::undo(&mut *sql, &account.id, &loaded.released, day.date).await?;
                    matches::store(sql, day, &outcome).await
                })
                .await?;
            Ok(match stored {
                fence::Outcome::Committed(()) => fence::Outcome::Committed((loaded, outcome)),
                fence::Outcome::AlreadyDone { by } => fence::Outcome::AlreadyDone { by },
            })
        })
        .await?;
    if let Tried::Done((_, outcome)) = &tried {
        for rule in [Rule::Reversal, Rule::StrongReference, Rule::RareToken, Rule::AmountWindow] {
            let made = outcome.matches.iter().filter(|found| found.rule == rule);
            let made = made.filter(|found| matches!(found.status, MatchStatus::Confirmed | MatchStatus::Suggested));
            metrics::matches(rule, made.count() as u64);
        }
    }
    Ok(tried)
}
