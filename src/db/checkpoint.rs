//! The ledger of steps: which are done, and under which term. A row is inserted by the transaction that did the work.

use sqlx::postgres::PgConnection;

use super::fence::FencedTransaction;
use crate::election::{FencingToken, LeaseName, Owner};

/// One step's place in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The account; empty where the step is no account's (a file, a source of books).
    pub account: String,
    /// The step's name: `ingest`, `match`, …
    pub step: &'static str,
    /// What it is a step of: a file's hash, a business date with its revision.
    pub key: String,
}

/// A step's place, and the steps that must have been committed before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Where it goes.
    pub key: Key,
    /// Asserted in SQL when it is inserted.
    pub after: Vec<Key>,
}

/// A committed step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The term that committed it.
    pub token: FencingToken,
    /// Its owner.
    pub owner: Owner,
    /// The transaction's id, as text: xid8 never comes again in a cluster's life.
    pub(crate) transaction: String,
}

// === impl Key ===

impl Key {
    /// A step of an account.
    pub fn new(account: impl Into<String>, step: &'static str, key: impl Into<String>) -> Self {
        Self { account: account.into(), step, key: key.into() }
    }

    /// Whether the step is done, and by whom: an account's in whichever book, a file's in this one.
    pub async fn find(&self, session: &mut PgConnection, lease: &LeaseName) -> Result<Option<Done>, sqlx::Error> {
        let row = sqlx::query!(
            r#"SELECT token, owner, transaction::text AS "transaction!" FROM counterfoil.checkpoint
               WHERE account = $1 AND step = $2 AND key = $3 AND (account <> '' OR lease = $4)"#,
            self.account,
            self.step,
            self.key,
            lease.as_str()
        )
        .fetch_optional(session)
        .await?;
        Ok(row.and_then(|row| {
            let token = u64::try_from(row.token).ok().and_then(FencingToken::new)?;
            Some(Done { token, owner: Owner::from_stored(row.owner), transaction: row.transaction })
        }))
    }
}

// === impl Checkpoint ===

impl Checkpoint {
    /// A step that needs no other.
    pub fn first(key: Key) -> Self {
        Self { key, after: Vec::new() }
    }

    /// A step that comes after others.
    pub fn after(key: Key, after: impl IntoIterator<Item = Key>) -> Self {
        Self { key, after: after.into_iter().collect() }
    }

    /// Inserts it: false where a predecessor is missing. A duplicate key is Postgres' own error.
    pub(crate) async fn insert(&self, transaction: &mut FencedTransaction) -> Result<bool, sqlx::Error> {
        let owner = transaction.term().owner().as_str().to_owned();
        let accounts: Vec<String> = self.after.iter().map(|key| key.account.clone()).collect();
        let steps: Vec<String> = self.after.iter().map(|key| key.step.to_owned()).collect();
        let keys: Vec<String> = self.after.iter().map(|key| key.key.clone()).collect();
        let inserted = sqlx::query!(
            r#"INSERT INTO counterfoil.checkpoint (account, step, key, owner)
               SELECT $1, $2, $3, $4
               WHERE NOT EXISTS (
                   SELECT FROM unnest($5::text[], $6::text[], $7::text[]) AS needed (account, step, key)
                   WHERE NOT EXISTS (
                       SELECT FROM counterfoil.checkpoint done
                       WHERE done.account = needed.account AND done.step = needed.step AND done.key = needed.key
                         AND (done.account <> '' OR done.lease = counterfoil.entered_lease())))"#,
            self.key.account,
            self.key.step,
            self.key.key,
            owner,
            &accounts,
            &steps,
            &keys
        )
        .execute(transaction.sql())
        .await?;
        Ok(inserted.rows_affected() == 1)
    }
}
