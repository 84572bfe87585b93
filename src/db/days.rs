//! Account-days: what each waits for, what it is computed from, and how it was closed.

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgConnection;
use sqlx::types::Json;

use super::copy::{Copy, Row};
use super::matches::word;
use super::stored::StoredStanding;
use super::{DayKey, DbError};
use crate::account::AccountId;
use crate::election::LeaseName;
use crate::matching::RuleSet;
use crate::money::Currency;
use crate::report::AccountOutcome;

/// The last closed day of an account: what the next one goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedDay {
    /// Its date.
    pub date: NaiveDate,
    /// Its revision.
    pub revision: u32,
    /// The number of the last statement that it read.
    pub bank_seq: i64,
    /// The number of the last batch that it read.
    pub book_seq: i64,
    /// Where the account stands.
    pub standing: StoredStanding,
}

/// What an account-day is computed from, fixed by its first step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// 0, and one more each time that another engine or other settings began it again.
    pub pass: u32,
    /// The number of the last statement that it reads.
    pub bank_seq: i64,
    /// The number of the last batch that it reads.
    pub book_seq: i64,
    /// The closed day that it goes on from.
    pub previous: Option<NaiveDate>,
    /// The rules.
    pub rules: RuleSet,
    /// Hash of the account's settings.
    pub settings: String,
    /// The engine's version.
    pub engine: String,
    /// A statement that did not come is taken for a day without movement.
    pub no_movement_assumed: bool,
    /// Hashes of files, for people.
    pub files: Files,
}

/// Hashes of the files that came since the day before, as hexadecimal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// Statements.
    pub bank: Vec<String>,
    /// Books.
    pub book: Vec<String>,
}

/// How an account-day stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayState {
    /// The account.
    pub account: String,
    /// The business date.
    pub business_date: NaiveDate,
    /// The revision.
    pub revision: i32,
    /// `waiting`, `closed`, `failed` or `skipped`.
    pub status: String,
    /// What it waits for, or why it failed or was skipped.
    pub reason: Option<String>,
    /// The digest, where it is closed.
    pub digest: Option<String>,
    /// Confirmed matches, where it is closed.
    pub matched: Option<i64>,
    /// Open lines, where it is closed.
    pub open: Option<i64>,
    /// Proofs that failed, where it is closed: `P4`, …
    pub failed_proofs: Vec<String>,
    /// When it came to stand so.
    pub changed_at: DateTime<Utc>,
}

/// A query for the newest revision of account-days: what stands behind the table's name, and its arguments.
macro_rules! states {
    ($clauses:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            DayState,
            "SELECT DISTINCT ON (business_date, account) account, business_date, revision, status, reason, digest, \
             matched, open, changed_at, ARRAY(SELECT p.id FROM counterfoil.proof p \
                 WHERE p.account = account_day.account AND p.business_date = account_day.business_date \
                   AND p.revision = account_day.revision AND p.status = 'failed' ORDER BY p.place) AS \"failed_proofs!\" \
             FROM counterfoil.account_day " + $clauses
            $(, $argument)*
        )
    };
}

/// How the accounts of a book's date stand: of each its newest revision, by account.
pub async fn states(session: &mut PgConnection, lease: &LeaseName, date: NaiveDate) -> Result<Vec<DayState>, DbError> {
    let states = states!(
        "WHERE lease = $1 AND business_date = $2 ORDER BY business_date, account, revision DESC",
        lease.as_str(),
        date
    );
    Ok(states.fetch_all(session).await?)
}

/// How an account's days stand, newest first, at most `limit`.
pub async fn states_of(session: &mut PgConnection, account: &str, limit: i64) -> Result<Vec<DayState>, DbError> {
    let states =
        states!("WHERE account = $1 ORDER BY business_date DESC, account, revision DESC LIMIT $2", account, limit);
    Ok(states.fetch_all(session).await?)
}

/// Accounts whose day of that date was closed or skipped in another book: they moved here since.
pub async fn done_elsewhere(
    session: &mut PgConnection,
    lease: &LeaseName,
    date: NaiveDate,
) -> Result<Vec<String>, DbError> {
    let accounts = sqlx::query_scalar!(
        "SELECT d.account FROM counterfoil.account_day d JOIN counterfoil.account a ON a.id = d.account
         WHERE a.lease = $1 AND d.lease <> $1 AND d.business_date = $2 AND d.status IN ('closed', 'skipped')",
        lease.as_str(),
        date
    )
    .fetch_all(session)
    .await?;
    Ok(accounts)
}

/// The dates on which an account was closed, in whichever book, or any account of this one; newest first, at most `limit`.
pub async fn closed_dates(
    session: &mut PgConnection,
    lease: &LeaseName,
    account: Option<&str>,
    limit: i64,
) -> Result<Vec<NaiveDate>, DbError> {
    let dates = sqlx::query_scalar!(
        "SELECT DISTINCT business_date FROM counterfoil.account_day
         WHERE status = 'closed' AND CASE WHEN $1::text IS NULL THEN lease = $3 ELSE account = $1 END
         ORDER BY business_date DESC LIMIT $2",
        account,
        limit,
        lease.as_str()
    )
    .fetch_all(session)
    .await?;
    Ok(dates)
}

/// Was the account, or any account of the book, closed on this date?
pub async fn is_closed(
    session: &mut PgConnection,
    lease: &LeaseName,
    account: Option<&str>,
    date: NaiveDate,
) -> Result<bool, DbError> {
    let closed = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM counterfoil.account_day
                          WHERE business_date = $2 AND status = 'closed'
                            AND CASE WHEN $1::text IS NULL THEN lease = $3 ELSE account = $1 END) AS "closed!""#,
        account,
        date,
        lease.as_str()
    )
    .fetch_one(session)
    .await?;
    Ok(closed)
}

/// Every account that ever had a day in the book, by id.
pub async fn accounts(session: &mut PgConnection, lease: &LeaseName) -> Result<Vec<String>, DbError> {
    let accounts = sqlx::query_scalar!(
        "SELECT DISTINCT account FROM counterfoil.account_day WHERE lease = $1 ORDER BY account",
        lease.as_str()
    )
    .fetch_all(session)
    .await?;
    Ok(accounts)
}

/// The last closed day of an account before a date.
pub async fn closed_before(
    session: &mut PgConnection,
    account: &AccountId,
    date: NaiveDate,
) -> Result<Option<ClosedDay>, DbError> {
    // Where the account stands is there: the table wants it of a closed day.
    let found = sqlx::query!(
        r#"SELECT d.business_date, d.revision, m.bank_seq, m.book_seq, d.standing AS "standing!: Json<StoredStanding>"
           FROM counterfoil.account_day d JOIN counterfoil.manifest m USING (account, business_date, revision)
           WHERE d.account = $1 AND d.business_date < $2 AND d.status = 'closed'
           ORDER BY d.business_date DESC, d.revision DESC, m.pass DESC LIMIT 1"#,
        account.as_str(),
        date
    )
    .fetch_optional(session)
    .await?;
    Ok(found.map(|found| ClosedDay {
        date: found.business_date,
        revision: u32::try_from(found.revision).unwrap_or(0),
        bank_seq: found.bank_seq,
        book_seq: found.book_seq,
        standing: found.standing.0,
    }))
}

/// Is a later day of the account closed? Then this one cannot be any more.
pub async fn closed_after(
    session: &mut PgConnection,
    account: &AccountId,
    date: NaiveDate,
) -> Result<Option<NaiveDate>, DbError> {
    let later = sqlx::query_scalar!(
        "SELECT min(business_date) FROM counterfoil.account_day
         WHERE account = $1 AND business_date > $2 AND status = 'closed'",
        account.as_str(),
        date
    )
    .fetch_one(session)
    .await?;
    Ok(later)
}

/// The oldest earlier day of the account that this book was to run and that is neither closed nor skipped: it goes first.
pub async fn unfinished_before(
    session: &mut PgConnection,
    lease: &LeaseName,
    account: &AccountId,
    date: NaiveDate,
) -> Result<Option<(NaiveDate, String)>, DbError> {
    let earlier = sqlx::query!(
        "SELECT d.business_date, d.status FROM counterfoil.account_day d JOIN counterfoil.run r USING (lease, business_date)
         WHERE d.lease = $3 AND d.account = $1 AND d.business_date < $2 AND d.status IN ('waiting', 'failed') AND r.status <> 'skipped'
           AND NOT EXISTS (SELECT FROM counterfoil.account_day n WHERE n.account = d.account
                           AND n.business_date = d.business_date AND n.revision > d.revision)
           AND NOT EXISTS (SELECT FROM counterfoil.account_day c WHERE c.account = d.account
                           AND c.business_date > d.business_date AND c.status = 'closed')
         ORDER BY d.business_date LIMIT 1",
        account.as_str(),
        date,
        lease.as_str()
    )
    .fetch_optional(session)
    .await?;
    Ok(earlier.map(|earlier| (earlier.business_date, earlier.status)))
}

/// Sets an account-day that is not closed to `waiting`, `failed` or `skipped`. What stands so already is left alone, so
/// that asking every minute writes nothing.
pub async fn set(
    session: &mut PgConnection,
    day: &DayKey<'_>,
    currency: Currency,
    status: &str,
    reason: &str,
) -> Result<bool, DbError> {
    let done = sqlx::query!(
        "INSERT INTO counterfoil.account_day AS d (account, business_date, revision, status, reason, currency)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (account, business_date, revision) DO UPDATE
             SET lease = excluded.lease, status = excluded.status, reason = excluded.reason,
                 changed_at = clock_timestamp()
         WHERE d.status <> 'closed'
           AND (d.lease, d.status, d.reason) IS DISTINCT FROM (excluded.lease, excluded.status, excluded.reason)",
        day.account.as_str(),
        day.date,
        day.revision(),
        status,
        reason,
        currency.code()
    )
    .execute(session)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// A day's manifest: that of its last pass.
pub async fn manifest(session: &mut PgConnection, day: &DayKey<'_>) -> Result<Option<Manifest>, DbError> {
    let stored = sqlx::query!(
        r#"SELECT pass, bank_seq, book_seq, previous, rule_set AS "rule_set: Json<RuleSet>", settings, engine,
               no_movement_assumed, files AS "files: Json<Files>"
           FROM counterfoil.manifest WHERE account = $1 AND business_date = $2 AND revision = $3
           ORDER BY pass DESC LIMIT 1"#,
        day.account.as_str(),
        day.date,
        day.revision()
    )
    .fetch_optional(session)
    .await?;
    Ok(stored.map(|stored| Manifest {
        pass: u32::try_from(stored.pass).unwrap_or(0),
        bank_seq: stored.bank_seq,
        book_seq: stored.book_seq,
        previous: stored.previous,
        rules: stored.rule_set.0,
        settings: stored.settings,
        engine: stored.engine,
        no_movement_assumed: stored.no_movement_assumed,
        files: stored.files.0,
    }))
}

/// Fixes what a day is computed from.
pub async fn store_manifest(session: &mut PgConnection, day: &DayKey<'_>, manifest: &Manifest) -> Result<(), DbError> {
    sqlx::query!(
        "INSERT INTO counterfoil.manifest (account, business_date, revision, pass, bank_seq, book_seq, previous,
             rule_set, settings, engine, no_movement_assumed, files)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        day.account.as_str(),
        day.date,
        day.revision(),
        i32::try_from(manifest.pass).unwrap_or(i32::MAX),
        manifest.bank_seq,
        manifest.book_seq,
        manifest.previous,
        Json(&manifest.rules) as _,
        manifest.settings.as_str(),
        manifest.engine.as_str(),
        manifest.no_movement_assumed,
        Json(&manifest.files) as _
    )
    .execute(session)
    .await?;
    Ok(())
}

/// Takes back what the steps of an earlier pass stored of a day that is not closed.
pub async fn begin_again(session: &mut PgConnection, day: &DayKey<'_>) -> Result<(), DbError> {
    let (account, date, revision) = (day.account.as_str(), day.date, day.revision());
    sqlx::query!(
        "DELETE FROM counterfoil.match_leg WHERE account = $1 AND business_date = $2 AND revision = $3",
        account,
        date,
        revision
    )
    .execute(&mut *session)
    .await?;
    sqlx::query!(
        "DELETE FROM counterfoil.match WHERE account = $1 AND business_date = $2 AND revision = $3",
        account,
        date,
        revision
    )
    .execute(&mut *session)
    .await?;
    sqlx::query!(
        "DELETE FROM counterfoil.residue WHERE account = $1 AND business_date = $2 AND revision = $3",
        account,
        date,
        revision
    )
    .execute(session)
    .await?;
    Ok(())
}

/// Closes a day: its breaks with their ages, its proofs, and where the account stands.
pub async fn close(
    session: &mut PgConnection,
    day: &DayKey<'_>,
    outcome: &AccountOutcome,
    standing: &StoredStanding,
    digest: &str,
    no_movement_assumed: bool,
) -> Result<(), DbError> {
    const BREAK: [&str; 13] = [
        "account",
        "business_date",
        "revision",
        "side",
        "line",
        "place",
        "class",
        "minor",
        "age",
        "bucket",
        "first_seen",
        "late",
        "nearest",
    ];
    const PROOF: [&str; 9] =
        ["account", "business_date", "revision", "place", "id", "scope", "status", "left_side", "right_side"];
    let mut copy = Copy::into(&mut *session, "break", &BREAK).await?;
    for (place, open) in (0_u32..).zip(&outcome.breaks) {
        let class = word(&open.class)?;
        let lines = match open.side {
            crate::matching::Side::Bank => &outcome.lines.bank,
            crate::matching::Side::Book => &outcome.lines.book,
        };
        let late = lines.get(&open.line).is_some_and(|line| line.late);
        copy.row(|out| {
            day.write(out)
                .text(open.side.name())
                .text(&open.line)
                .u32(place)
                .text(&class)
                .i64(open.amount.minor())
                .u32(open.age_business_days)
                .text(open.bucket.name())
                .date(open.first_seen)
                .bool(late)
                .json_or_null(open.nearest.as_ref());
        })
        .await?;
    }
    copy.finish().await?;
    let mut columns = PROOF.to_vec();
    columns.push("difference");
    let mut copy = Copy::into(&mut *session, "proof", &columns).await?;
    for (place, proof) in (0_u32..).zip(&outcome.proofs) {
        copy.row(|out| {
            day.write(out)
                .u32(place)
                .text(proof.id.name())
                .text(&proof.scope)
                .text(proof.status.name())
                .text_or_null(proof.left.as_deref())
                .text_or_null(proof.right.as_deref())
                .text_or_null(proof.difference.as_deref());
        })
        .await?;
    }
    copy.finish().await?;
    let confirmed = outcome.matches.iter().filter(|found| found.status == crate::matching::MatchStatus::Confirmed);
    sqlx::query!(
        "INSERT INTO counterfoil.account_day AS d (account, business_date, revision, status, currency,
             no_movement_assumed, digest, rule_set, standing, matched, open)
         VALUES ($1, $2, $3, 'closed', $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (account, business_date, revision) DO UPDATE SET lease = excluded.lease, status = 'closed', reason = NULL,
             no_movement_assumed = excluded.no_movement_assumed, digest = excluded.digest,
             rule_set = excluded.rule_set, standing = excluded.standing, matched = excluded.matched,
             open = excluded.open, changed_at = clock_timestamp()",
        day.account.as_str(),
        day.date,
        day.revision(),
        outcome.currency.code(),
        no_movement_assumed,
        digest,
        outcome.rule_set.as_str(),
        Json(standing) as _,
        i64::try_from(confirmed.count()).unwrap_or(i64::MAX),
        i64::try_from(outcome.breaks.len()).unwrap_or(i64::MAX)
    )
    .execute(session)
    .await?;
    Ok(())
}

/// The open lines of a closed day, as ids: what the next day carries forward.
pub async fn carried(
    session: &mut PgConnection,
    account: &AccountId,
    date: NaiveDate,
    revision: u32,
) -> Result<Vec<(String, String, NaiveDate, bool)>, DbError> {
    let carried = sqlx::query!(
        "SELECT side, line, first_seen, late FROM counterfoil.break
         WHERE account = $1 AND business_date = $2 AND revision = $3",
        account.as_str(),
        date,
        i32::try_from(revision).unwrap_or(i32::MAX)
    )
    .fetch_all(session)
    .await?;
    Ok(carried.into_iter().map(|open| (open.side, open.line, open.first_seen, open.late)).collect())
}

/// The digest of a closed day.
pub async fn digest(session: &mut PgConnection, day: &DayKey<'_>) -> Result<Option<String>, DbError> {
    let digest = sqlx::query_scalar!(
        "SELECT digest FROM counterfoil.account_day WHERE account = $1 AND business_date = $2 AND revision = $3
         AND status = 'closed'",
        day.account.as_str(),
        day.date,
        day.revision()
    )
    .fetch_optional(session)
    .await?;
    Ok(digest.flatten())
}

// === impl DayKey ===

impl<'a> DayKey<'a> {
    /// An account-day's first revision.
    pub fn first(account: &'a AccountId, date: NaiveDate) -> Self {
        Self { account, date, revision: 0 }
    }

    /// The key under which its steps are recorded.
    pub fn step_key(&self, pass: u32) -> String {
        let Self { date, revision, .. } = self;
        if pass == 0 { format!("{date}/r{revision}") } else { format!("{date}/r{revision}/pass-{pass}") }
    }

    pub(super) fn revision(&self) -> i32 {
        i32::try_from(self.revision).unwrap_or(i32::MAX)
    }

    /// The three columns that it is in every table.
    pub(super) fn write<'r>(&self, out: &'r mut Row) -> &'r mut Row {
        out.text(self.account.as_str()).date(self.date).u32(self.revision)
    }
}
