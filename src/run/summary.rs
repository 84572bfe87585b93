//! The morning's summary, from what is stored: which accounts closed, wait or failed, and what is new, aged and gone.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use sqlx::postgres::PgConnection;

use super::RunError;
use super::attempts::Hand;
use crate::account::Account;
use crate::db::days::DayState;
use crate::db::{DayKey, DbError, outcome, reports};
use crate::election::LeaseName;
use crate::report::digest;
use crate::report::left::FileLeft;
use crate::report::summary::{AccountLine, State, Summary};

/// A summary's faces: extension and bytes.
pub(super) type Faces = [(&'static str, Vec<u8>); 2];

/// Lines of closed account-days, which never change: what spares loading their outcomes at each pass.
#[derive(Debug, Default)]
pub(super) struct Lines(BTreeMap<(NaiveDate, String, i32), AccountLine>);

impl Lines {
    /// The summary of a date. An account without a row yet waits, and nobody has looked for what.
    pub(super) async fn summary(
        &mut self,
        hand: &mut Hand,
        date: NaiveDate,
        accounts: &[&Account],
        states: &[DayState],
        files_left: Vec<FileLeft>,
    ) -> Result<Faces, RunError> {
        let mut lines = Vec::with_capacity(accounts.len());
        for account in accounts {
            let state = states.iter().find(|state| state.account == account.id.as_str());
            let reason = || state.and_then(|state| state.reason.clone()).unwrap_or_default();
            let state = match state.map(|state| (state.status.as_str(), state)) {
                Some(("closed", state)) => {
                    lines.push(self.closed(hand, account, state).await?);
                    continue;
                }
                Some(("failed", _)) => State::Failed { cause: reason() },
                Some(("skipped", _)) => State::Skipped { reason: reason() },
                _ => State::Waiting { waiting_for: vec![reason()] },
            };
            lines.push(AccountLine { account: account.id.clone(), currency: account.currency, state });
        }
        let summary = Summary::new(date, lines).with_files_left(files_left);
        let mut json = serde_json::to_vec_pretty(&summary).map_err(DbError::from)?;
        json.push(b'\n');
        Ok([("txt", summary.text().into_bytes()), ("json", json)])
    }

    async fn closed(&mut self, hand: &mut Hand, account: &Account, state: &DayState) -> Result<AccountLine, RunError> {
        let key = (state.business_date, state.account.clone(), state.revision);
        if let Some(line) = self.0.get(&key) {
            return Ok(line.clone());
        }
        let revision = u32::try_from(state.revision).unwrap_or(0);
        let day = DayKey { account: &account.id, date: state.business_date, revision };
        let loaded = hand.read(async |session| outcome::load(session, account, &day).await).await?;
        let loaded = loaded.ok_or_else(|| RunError::Transient(format!("{} is not closed any more", account.id)))?;
        let digest = digest::of_account(&loaded).map_err(DbError::from)?;
        let line = AccountLine::closed(&loaded, digest);
        self.0.insert(key, line.clone());
        Ok(line)
    }

    /// A date is complete: its lines are not asked for again.
    pub(super) fn forget(&mut self, date: NaiveDate) {
        self.0.retain(|(of, ..), _| *of != date);
    }
}

/// Is it not what is stored?
pub(super) async fn differs(
    session: &mut PgConnection,
    lease: &LeaseName,
    date: NaiveDate,
    faces: &Faces,
) -> Result<bool, DbError> {
    for (extension, bytes) in faces {
        if reports::summary(&mut *session, lease, date, extension).await?.as_ref() != Some(bytes) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Stores it.
pub(super) async fn store(session: &mut PgConnection, date: NaiveDate, faces: &Faces) -> Result<(), DbError> {
    for (extension, bytes) in faces {
        reports::store_summary(&mut *session, date, extension, bytes).await?;
    }
    Ok(())
}
