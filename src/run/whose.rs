//! Whose the accounts are: claimed, taken and given up under this book's own term, between steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Utc};

use super::RunError;
use super::attempts::Hand;
use super::desk::Desk;
use crate::account::{Account, AccountId};
use crate::db::accounts::{self, AccountRow};
use crate::db::days::DayState;
use crate::telemetry::{WriteOperation, event};

/// What a term knows of it.
pub(super) struct Whose {
    /// The desk as the settings have it.
    whole: Arc<Desk>,
    /// Accounts of the settings that belong to another book, and why they are not worked on; none before the first look.
    elsewhere: Option<BTreeMap<AccountId, String>>,
    /// Somebody wants an account of this book elsewhere.
    wanted: bool,
    seen: (Option<i64>, Option<DateTime<Utc>>),
}

// === impl Whose ===

impl Whose {
    pub(super) fn of(desk: &Arc<Desk>) -> Self {
        Self { whole: Arc::clone(desk), elsewhere: None, wanted: false, seen: (None, None) }
    }

    /// Has an account changed hands, or did somebody ask for it, since the last look?
    pub(super) fn changed(&self, stamp: (Option<i64>, Option<DateTime<Utc>>)) -> bool {
        self.seen != stamp
    }

    /// Claims what the settings declare and nobody has, takes what was given up for this book, and looks whose the rest
    /// is. The desk to go on with, where it is another one than before.
    pub(super) async fn look(&mut self, hand: &mut Hand) -> Result<Option<Arc<Desk>>, RunError> {
        let lease = hand.lease();
        let whole = Arc::clone(&self.whole);
        let declared: Vec<&str> = whole.registry.accounts().iter().map(|account| account.id.as_str()).collect();
        let look = async |hand: &mut Hand| {
            hand.read(async |session| {
                // The stamp first: what changes after it is looked at again.
                let stamp = accounts::stamp(&mut *session).await?;
                Ok((stamp, accounts::of(session, &lease, &declared).await?))
            })
            .await
        };
        let (mut stamp, mut rows) = look(hand).await?;
        let unclaimed: Vec<&str> =
            declared.iter().copied().filter(|id| !rows.iter().any(|row| row.id == *id)).collect();
        let ours =
            |row: &AccountRow| row.moving_to.as_deref() == Some(lease.as_str()) && declared.contains(&row.id.as_str());
        if !unclaimed.is_empty() || rows.iter().any(ours) {
            let (claimed, taken) = hand
                .record(WriteOperation::Schedule, async |sql| {
                    let claimed = accounts::claim(&mut *sql, &unclaimed).await?;
                    Ok((claimed, accounts::take(sql, &declared).await?))
                })
                .await?;
            if claimed > 0 {
                tracing::info!(event = event::ACCOUNTS_CLAIMED, claimed, "accounts that were nobody's are this book's");
            }
            for account in taken {
                tracing::info!(
                    event = event::ACCOUNT_TAKEN,
                    account,
                    "an account that was given up for this book is its own"
                );
            }
            (stamp, rows) = look(hand).await?;
        }
        self.seen = stamp;
        self.wanted = rows.iter().any(|row| row.lease == lease.as_str() && row.is_to_move());
        let of = |account: &Account| {
            let row = rows.iter().find(|row| row.id == account.id.as_str())?;
            Some((account.id.clone(), row.elsewhere(&lease)?))
        };
        let elsewhere: BTreeMap<AccountId, String> = whole.registry.accounts().iter().filter_map(of).collect();
        if self.elsewhere.as_ref() == Some(&elsewhere) {
            return Ok(None);
        }
        let before = self.elsewhere.replace(elsewhere.clone()).unwrap_or_default();
        for (account, why) in elsewhere.iter().filter(|(account, why)| before.get(*account) != Some(*why)) {
            tracing::warn!(event = event::ACCOUNT_ELSEWHERE, account = %account, reason = why, "an account of these settings is not worked on");
        }
        Ok(Some(Arc::new(whole.without(elsewhere))))
    }

    /// Gives up what somebody wants elsewhere, unless a day of it is half done: then a later pass does.
    pub(super) async fn give_up(&mut self, hand: &mut Hand) -> Result<(), RunError> {
        if !self.wanted {
            return Ok(());
        }
        let given = hand.record(WriteOperation::Schedule, async |sql| accounts::give_up(sql).await).await?;
        for (account, to) in given {
            tracing::info!(event = event::ACCOUNT_GIVEN_UP, account, to, "an account was given up for another book");
        }
        Ok(())
    }

    /// Adds to how accounts stand those that are not worked on, and why.
    pub(super) fn say(&self, accounts: &[&Account], date: NaiveDate, states: &mut Vec<DayState>) {
        for account in accounts {
            let Some(why) = self.elsewhere.as_ref().and_then(|elsewhere| elsewhere.get(&account.id)) else { continue };
            let known = states.iter().position(|state| state.account == account.id.as_str());
            match known.and_then(|at| states.get_mut(at)) {
                Some(state) if state.status == "waiting" => state.reason = Some(why.clone()),
                Some(_) => {}
                None => states.push(DayState {
                    account: account.id.to_string(),
                    business_date: date,
                    revision: 0,
                    status: "waiting".to_owned(),
                    reason: Some(why.clone()),
                    digest: None,
                    matched: None,
                    open: None,
                    failed_proofs: Vec::new(),
                    changed_at: DateTime::UNIX_EPOCH,
                }),
            }
        }
    }
}
