//! Step `manifest`: fix what an account-day is computed from.
//!
//! After it nothing that arrives changes the day: a statement that comes in the middle of its matching waits for the next
//! one. A replica of another engine, or with other settings of the account, that meets an unfinished day begins it again
//! from the same manifest, as another pass.

use super::attempts::{Hand, Tried};
use super::desk::{Desk, ENGINE};
use super::plan::Step;
use super::{RunError, day};
use crate::account::Account;
use crate::db::checkpoint::{Checkpoint, Key};
use crate::db::days::{self, Files, Manifest};
use crate::db::{DayKey, bank, books};
use crate::telemetry::event;

/// Fixes the day, or says what was fixed before.
pub(super) async fn run(
    hand: &mut Hand,
    desk: &Desk,
    account: &Account,
    day: &DayKey<'_>,
    no_movement_assumed: bool,
    allowed: Option<u32>,
) -> Result<Tried<Manifest>, RunError> {
    let key = Key::new(account.id.as_str(), Step::Manifest.name(), day.step_key(0));
    let checkpoint = Checkpoint::first(key.clone());
    hand.try_step(Step::Manifest, &key, allowed, async |hand| {
        let manifest = hand
            .read(async |session| {
                let before = day::before(&mut *session, account, day.date, None).await?;
                let previous = before.and_then(|before| before.previous);
                let bank_seq = bank::last_seq(&mut *session, &account.id).await?;
                let book_seq = books::last_seq(&mut *session, &account.id).await?;
                let since = previous.as_ref().map_or((0, 0), |day| (day.bank_seq, day.book_seq));
                Ok(Manifest {
                    pass: 0,
                    bank_seq,
                    book_seq,
                    previous: previous.map(|day| day.date),
                    rules: desk.rules.clone(),
                    settings: Desk::account_fingerprint(account),
                    engine: ENGINE.to_owned(),
                    no_movement_assumed,
                    files: Files {
                        bank: bank::files_between(&mut *session, &account.id, since.0, bank_seq).await?,
                        book: books::files_between(session, &account.id, since.1, book_seq).await?,
                    },
                })
            })
            .await?;
        let stored = hand.commit(&checkpoint, async |sql| days::store_manifest(sql, day, &manifest).await).await?;
        Ok(match stored {
            crate::db::fence::Outcome::Committed(()) => crate::db::fence::Outcome::Committed(manifest),
            crate::db::fence::Outcome::AlreadyDone { by } => crate::db::fence::Outcome::AlreadyDone { by },
        })
    })
    .await
}

/// Is the manifest this replica's to go on with? Else the next pass of it, which begins the day again.
pub(super) fn next_pass(account: &Account, manifest: &Manifest) -> Option<Manifest> {
    let settings = Desk::account_fingerprint(account);
    if manifest.engine == ENGINE && manifest.settings == settings {
        return None;
    }
    Some(Manifest { pass: manifest.pass + 1, engine: ENGINE.to_owned(), settings, ..manifest.clone() })
}

/// Begins the day again: takes back what earlier passes stored, and fixes the same again for this engine.
pub(super) async fn begin_again(
    hand: &mut Hand,
    account: &Account,
    day: &DayKey<'_>,
    next: &Manifest,
) -> Result<Tried<()>, RunError> {
    tracing::warn!(
        event = event::BEGUN_AGAIN, account = %account.id, business_date = %day.date, pass = next.pass, engine = next.engine,
        "the account-day was begun by another engine or with other settings: it is begun again from its manifest"
    );
    let key = Key::new(account.id.as_str(), Step::Manifest.name(), day.step_key(next.pass));
    let checkpoint = Checkpoint::first(key.clone());
    hand.try_step(Step::Manifest, &key, None, async |hand| {
        hand.commit(&checkpoint, async |sql| {
            days::begin_again(&mut *sql, day).await?;
            days::store_manifest(sql, day, next).await
        })
        .await
    })
    .await
}
