//! Whose an account is. A book is a lease with its accounts; several share a database, and none writes a row of
//! another's.
//!
//! ```text
//! nobody's ──claim──▶ A's ──give up──▶ A's, moving to B ──take──▶ B's
//!                      ▲                     │
//!                      └─────take back───────┘
//! ```
//!
//! Every arrow is written under the term of the lease that acts: `counterfoil.check_move` lets no other through. What
//! people ask for is a wish, the newest for each account; leaders act on it.

use chrono::{DateTime, Utc};
use sqlx::postgres::PgConnection;

use super::DbError;
use crate::election::LeaseName;

/// An account, whose it is, and whose somebody wants it to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRow {
    /// Its id.
    pub id: String,
    /// The lease that it belongs to.
    pub lease: String,
    /// Given up by that lease, for this one to take.
    pub moving_to: Option<String>,
    /// Since when it stands so.
    pub since: DateTime<Utc>,
    /// The lease that it was last asked to move to.
    pub asked_to: Option<String>,
    /// By whom.
    pub asked_by: Option<String>,
    /// Why.
    pub asked_reason: Option<String>,
}

/// A query for accounts with the newest wish for each: what stands behind it, and its arguments.
macro_rules! accounts {
    ($clauses:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            AccountRow,
            "SELECT a.id, a.lease, a.moving_to, a.since, r.to_lease AS \"asked_to?\", r.actor AS \"asked_by?\", \
             r.reason AS \"asked_reason?\" FROM counterfoil.account a LEFT JOIN LATERAL ( \
                 SELECT q.to_lease, q.actor, q.reason FROM counterfoil.account_request q WHERE q.account = a.id \
                 ORDER BY q.id DESC LIMIT 1) r ON true " + $clauses
            $(, $argument)*
        )
    };
}

// === impl AccountRow ===

impl AccountRow {
    /// Is it wanted elsewhere, or is somebody to have it who has not taken it?
    pub fn is_to_move(&self) -> bool {
        self.moving_to.is_some() || self.asked_to.as_ref().is_some_and(|wanted| *wanted != self.lease)
    }

    /// Why this lease does not work on it, and what to do; none where it does.
    pub fn elsewhere(&self, own: &LeaseName) -> Option<String> {
        let Self { id, lease, moving_to, .. } = self;
        match moving_to {
            None if lease == own.as_str() => None,
            None => Some(format!(
                "it belongs to lease {lease}, not to {own}: counterfoil accounts move --account {id} --to {own} moves it; \
                 else set lease.name back, or take it out of these settings"
            )),
            Some(to) if lease == own.as_str() => {
                Some(format!("it was given up for lease {to}, which has not taken it: its settings must declare it"))
            }
            Some(to) => Some(format!("it is on its way from lease {lease} to lease {to}")),
        }
    }
}

/// Where every account of a replica's settings is another book's: that, and what to do. Its lease was renamed, or the
/// settings were mixed up; there is nothing that it could do.
pub fn none_is_own(rows: &[AccountRow], declared: &[&str], own: &LeaseName) -> Option<String> {
    let mut first = None;
    for id in declared {
        let why = rows.iter().find(|row| row.id == *id)?.elsewhere(own)?;
        first.get_or_insert_with(|| format!("none of the accounts in these settings is lease {own}'s; {id}: {why}"));
    }
    first
}

/// Every account, by id.
pub async fn all(session: &mut PgConnection) -> Result<Vec<AccountRow>, DbError> {
    Ok(accounts!("ORDER BY a.id").fetch_all(session).await?)
}

/// One account.
pub async fn find(session: &mut PgConnection, id: &str) -> Result<Option<AccountRow>, DbError> {
    Ok(accounts!("WHERE a.id = $1", id).fetch_optional(session).await?)
}

/// The accounts that a lease's leader must know of: those that are named, and those that are its own.
pub async fn of(session: &mut PgConnection, lease: &LeaseName, named: &[&str]) -> Result<Vec<AccountRow>, DbError> {
    let accounts = accounts!("WHERE a.id = ANY($1) OR a.lease = $2 ORDER BY a.id", named as &[&str], lease.as_str());
    Ok(accounts.fetch_all(session).await?)
}

/// Changes whenever an account changed hands, or somebody asked for it.
pub async fn stamp(session: &mut PgConnection) -> Result<(Option<i64>, Option<DateTime<Utc>>), DbError> {
    let stamp = sqlx::query!(
        "SELECT (SELECT max(id) FROM counterfoil.account_request) AS asked,
                (SELECT max(since) FROM counterfoil.account) AS since"
    )
    .fetch_one(session)
    .await?;
    Ok((stamp.asked, stamp.since))
}

/// Says that rows of this account follow. Without it Postgres asks of each row whose it is.
pub async fn enter(session: &mut PgConnection, id: &str) -> Result<(), DbError> {
    sqlx::query!("SELECT counterfoil.enter_account($1) AS entered", id).fetch_one(session).await?;
    Ok(())
}

/// Claims accounts that are nobody's. Of two leases that claim one at a time the first has it.
pub async fn claim(session: &mut PgConnection, ids: &[&str]) -> Result<u64, DbError> {
    let claimed = sqlx::query!(
        "INSERT INTO counterfoil.account (id) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING",
        ids as &[&str]
    )
    .execute(session)
    .await?;
    Ok(claimed.rows_affected())
}

/// Takes those of these accounts that were given up for this lease; their ids.
///
/// A day of theirs that the other book had not closed is this book's where its run of that date is not done; else it is
/// skipped, with the reason, and its lines enter the next day.
pub async fn take(session: &mut PgConnection, ids: &[&str]) -> Result<Vec<String>, DbError> {
    let taken = sqlx::query_scalar!(
        "UPDATE counterfoil.account SET lease = counterfoil.entered_lease(), moving_to = NULL
         WHERE id = ANY($1) AND moving_to = counterfoil.entered_lease() RETURNING id",
        ids as &[&str]
    )
    .fetch_all(&mut *session)
    .await?;
    sqlx::query!(
        "UPDATE counterfoil.account_day d SET lease = counterfoil.entered_lease()
         WHERE d.account = ANY($1) AND d.lease <> counterfoil.entered_lease() AND d.status IN ('waiting', 'failed')
           AND EXISTS (SELECT FROM counterfoil.run r
                       WHERE r.lease = counterfoil.entered_lease() AND r.business_date = d.business_date
                         AND r.status IN ('due', 'incomplete', 'failed'))",
        &taken
    )
    .execute(&mut *session)
    .await?;
    sqlx::query!(
        "UPDATE counterfoil.account_day d SET status = 'skipped', changed_at = clock_timestamp(),
             reason = format('the account moved from lease %s to lease %s, whose run of this date is done or was none; its lines enter its next day',
                             d.lease, counterfoil.entered_lease())
         WHERE d.account = ANY($1) AND d.lease <> counterfoil.entered_lease() AND d.status IN ('waiting', 'failed')",
        &taken
    )
    .execute(session)
    .await?;
    Ok(taken)
}

/// Gives up those of this lease's accounts that somebody wants elsewhere, and of which no day is half done; account and
/// lease of each. What was given up for one that nobody wants it to go to any more is taken back first.
pub async fn give_up(session: &mut PgConnection) -> Result<Vec<(String, String)>, DbError> {
    sqlx::query!(
        "UPDATE counterfoil.account a SET moving_to = NULL
         WHERE a.lease = counterfoil.entered_lease() AND a.moving_to <> (
             SELECT q.to_lease FROM counterfoil.account_request q WHERE q.account = a.id ORDER BY q.id DESC LIMIT 1)"
    )
    .execute(&mut *session)
    .await?;
    let given = sqlx::query!(
        r#"UPDATE counterfoil.account a SET moving_to = wish.to_lease
           FROM (SELECT DISTINCT ON (q.account) q.account, q.to_lease FROM counterfoil.account_request q
                 ORDER BY q.account, q.id DESC) wish
           WHERE wish.account = a.id AND a.lease = counterfoil.entered_lease() AND a.moving_to IS NULL
             AND wish.to_lease <> a.lease
             AND NOT EXISTS (SELECT FROM counterfoil.manifest m
                             LEFT JOIN counterfoil.account_day d USING (account, business_date, revision)
                             WHERE m.account = a.id AND coalesce(d.status, '') NOT IN ('closed', 'skipped'))
           RETURNING a.id, wish.to_lease"#
    )
    .fetch_all(session)
    .await?;
    Ok(given.into_iter().map(|given| (given.id, given.to_lease)).collect())
}

/// Asks for an account to be moved.
pub async fn ask(
    session: &mut PgConnection,
    account: &AccountRow,
    to: &LeaseName,
    reason: &str,
    actor: &str,
) -> Result<(), DbError> {
    sqlx::query!(
        "INSERT INTO counterfoil.account_request (account, from_lease, to_lease, reason, actor)
         VALUES ($1, $2, $3, $4, $5)",
        account.id,
        account.lease,
        to.as_str(),
        reason,
        actor
    )
    .execute(session)
    .await?;
    Ok(())
}
