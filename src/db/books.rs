//! The company's side: batches, entries with their revisions, and the ledger's own balances.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use sqlx::postgres::PgConnection;

use super::copy::Copy;
use super::stored::{Refs, read_references, references};
use super::{DbError, Window};
use crate::account::AccountId;
use crate::account::book_ledger::{BookLedger, ContentHash};
use crate::account::readiness::BooksSeen;
use crate::book::{BookLine, LedgerBalance};
use crate::election::LeaseName;
use crate::matching::{OpenLine, Origin};
use crate::statement::Counterparty;

/// What a file brought to an account's books.
#[derive(Debug, Clone, Default)]
pub struct Batch<'a> {
    /// New entries and new contents of known ones, with their revision, in file order.
    pub lines: Vec<(&'a BookLine, u32, ContentHash)>,
    /// Balances, in file order.
    pub balances: Vec<&'a LedgerBalance>,
    /// How many entries were known.
    pub known: u64,
    /// The latest date of any of its lines or balances, known ones included.
    pub through: Option<NaiveDate>,
}

/// The latest contents of those of an account's entries that are named.
pub async fn ledger(session: &mut PgConnection, account: &AccountId, ids: &[&str]) -> Result<BookLedger, DbError> {
    let known = sqlx::query!(
        "SELECT DISTINCT ON (id) id, revision, content FROM counterfoil.book_line
         WHERE account = $1 AND id = ANY($2) ORDER BY id, revision DESC",
        account.as_str(),
        ids as &[&str]
    )
    .fetch_all(session)
    .await?;
    let mut ledger = BookLedger::default();
    for entry in known {
        let content: [u8; 16] =
            entry.content.try_into().map_err(|_| DbError::Value(format!("the content of {:?}", entry.id)))?;
        ledger.replay(&entry.id, u32::try_from(entry.revision).unwrap_or(0), ContentHash::from_bytes(content));
    }
    Ok(ledger)
}

/// How many batches an account's books have.
pub async fn last_seq(session: &mut PgConnection, account: &AccountId) -> Result<i64, DbError> {
    let seq = sqlx::query_scalar!(
        r#"SELECT coalesce(max(seq), 0) AS "seq!" FROM counterfoil.book_batch WHERE account = $1"#,
        account.as_str()
    )
    .fetch_one(session)
    .await?;
    Ok(seq)
}

/// An account to whose books a content was brought before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// The account.
    pub account: String,
    /// The account's last batch, whatever it came from.
    pub last: i64,
    /// The last batch that this content made.
    pub content: i64,
    /// The last batch that came from this place; none where it never brought one.
    pub place: Option<i64>,
    /// That batch was this content.
    pub same: bool,
}

impl Before {
    /// Has the place said something else since the content was last taken? Then it has come back to it.
    ///
    /// A content that merely moved to another place (a copy, a log that is rotated) has not: what that place said before
    /// is older.
    pub fn came_back(&self) -> bool {
        self.place.is_some_and(|place| place > self.content)
    }
}

/// The accounts to whose books a content was brought before, in whichever book, and what its place, which is this book's,
/// said to them last.
pub async fn before(
    session: &mut PgConnection,
    lease: &LeaseName,
    sha256: &[u8; 32],
    place: &str,
) -> Result<Vec<Before>, DbError> {
    let before = sqlx::query_as!(
        Before,
        r#"SELECT c.account,
                  (SELECT max(seq) FROM counterfoil.book_batch b WHERE b.account = c.account) AS "last!",
                  c.seq AS "content!", p.seq AS "place?", coalesce(p.sha256 = $1, false) AS "same!"
           FROM (SELECT account, max(seq) AS seq FROM counterfoil.book_batch WHERE sha256 = $1 GROUP BY account) c
           LEFT JOIN LATERAL (SELECT seq, sha256 FROM counterfoil.book_batch b
                              WHERE b.account = c.account AND b.lease = $3 AND b.place = $2
                              ORDER BY seq DESC LIMIT 1) p ON true
           ORDER BY c.account"#,
        sha256.as_slice(),
        place,
        lease.as_str()
    )
    .fetch_all(session)
    .await?;
    Ok(before)
}

/// The balances of these dates that stand, in minor units.
pub async fn closings(
    session: &mut PgConnection,
    account: &AccountId,
    dates: &[NaiveDate],
) -> Result<BTreeMap<NaiveDate, i64>, DbError> {
    let standing = sqlx::query!(
        "SELECT DISTINCT ON (date) date, closing FROM counterfoil.book_balance
         WHERE account = $1 AND date = ANY($2) ORDER BY date, seq DESC",
        account.as_str(),
        dates
    )
    .fetch_all(session)
    .await?;
    Ok(standing.into_iter().map(|balance| (balance.date, balance.closing)).collect())
}

/// Stores a batch as the `seq`-th of its account. `place` is the name in the inbox, or the query's setting.
pub async fn store(
    session: &mut PgConnection,
    account: &AccountId,
    seq: i64,
    (sha256, place): (&[u8; 32], &str),
    batch: &Batch<'_>,
) -> Result<(), DbError> {
    const COLUMNS: [&str; 14] = [
        "account",
        "id",
        "revision",
        "seq",
        "date",
        "minor",
        "refs",
        "counterparty",
        "description",
        "batch",
        "reverses",
        "content",
        "sha256",
        "ordinal",
    ];
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    sqlx::query!(
        "INSERT INTO counterfoil.book_batch (account, seq, sha256, lines, balances, known, changed, through, place)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        account.as_str(),
        seq,
        sha256.as_slice(),
        count(batch.lines.len()),
        count(batch.balances.len()),
        i64::try_from(batch.known).unwrap_or(i64::MAX),
        count(batch.lines.iter().filter(|(_, revision, _)| *revision > 0).count()),
        batch.through,
        place
    )
    .execute(&mut *session)
    .await?;
    if !batch.lines.is_empty() {
        let mut copy = Copy::into(&mut *session, "book_line", &COLUMNS).await?;
        for (line, revision, content) in &batch.lines {
            copy.row(|out| {
                out.text(account.as_str())
                    .text(&line.id)
                    .u32(*revision)
                    .i64(seq)
                    .date(line.date)
                    .i64(line.amount.minor())
                    .json(&references(&line.references))
                    .text_or_null(line.counterparty.as_deref())
                    .text(&line.description)
                    .text_or_null(line.group.as_deref())
                    .text_or_null(line.reverses.as_deref())
                    .bytes(content.as_bytes())
                    .bytes(sha256)
                    .u32(line.ordinal);
            })
            .await?;
        }
        copy.finish().await?;
    }
    // Of several balances of one day in one file the last counts.
    let balances: BTreeMap<NaiveDate, i64> =
        batch.balances.iter().map(|balance| (balance.date, balance.closing.minor())).collect();
    let (dates, closings): (Vec<_>, Vec<_>) = balances.into_iter().unzip();
    sqlx::query!(
        "INSERT INTO counterfoil.book_balance (account, date, seq, closing)
         SELECT $1, b.date, $2, b.closing FROM unnest($3::date[], $4::bigint[]) AS b (date, closing)",
        account.as_str(),
        seq,
        &dates,
        &closings
    )
    .execute(session)
    .await?;
    Ok(())
}

/// What is known of an account's books for a date.
pub async fn seen(session: &mut PgConnection, account: &AccountId, date: NaiveDate) -> Result<BooksSeen, DbError> {
    let seen = sqlx::query_as!(
        BooksSeen,
        r#"SELECT EXISTS (SELECT FROM counterfoil.book_balance WHERE account = $1 AND date = $2) AS "balance!",
                  (SELECT max(through) FROM counterfoil.book_batch WHERE account = $1) AS through"#,
        account.as_str(),
        date
    )
    .fetch_one(session)
    .await?;
    Ok(seen)
}

/// The ledger's own balance of a date, in minor units, as the newest batch up to `seq` states it.
pub async fn balance(
    session: &mut PgConnection,
    account: &AccountId,
    date: NaiveDate,
    seq: i64,
) -> Result<Option<i64>, DbError> {
    let closing = sqlx::query_scalar!(
        "SELECT closing FROM counterfoil.book_balance WHERE account = $1 AND date = $2 AND seq <= $3
         ORDER BY seq DESC LIMIT 1",
        account.as_str(),
        date,
        seq
    )
    .fetch_optional(session)
    .await?;
    Ok(closing)
}

/// Hashes of the files behind the batches between two numbers.
pub async fn files_between(
    session: &mut PgConnection,
    account: &AccountId,
    after: i64,
    through: i64,
) -> Result<Vec<String>, DbError> {
    let files = sqlx::query_scalar!(
        r#"SELECT DISTINCT encode(sha256, 'hex') AS "sha256!" FROM counterfoil.book_batch
           WHERE account = $1 AND seq > $2 AND seq <= $3 ORDER BY 1"#,
        account.as_str(),
        after,
        through
    )
    .fetch_all(session)
    .await?;
    Ok(files)
}

struct LineRow {
    id: String,
    date: NaiveDate,
    minor: i64,
    refs: Refs,
    counterparty: Option<String>,
    description: String,
    batch: Option<String>,
    reverses: Option<String>,
    file: String,
    ordinal: i32,
}

impl LineRow {
    fn open(self, first_seen: NaiveDate, late: bool) -> Result<OpenLine, DbError> {
        Ok(OpenLine {
            id: self.id,
            date: self.date,
            ledger_day: self.date,
            minor: self.minor,
            references: read_references(self.refs.0)?,
            counterparty: self.counterparty.map(|name| Counterparty { name: Some(name), ..Counterparty::default() }),
            description: self.description,
            code: None,
            reversal: false,
            reverses: self.reverses,
            group: self.batch,
            origin: Origin { file: self.file, statement: None, ordinal: u32::try_from(self.ordinal).unwrap_or(0) },
            first_seen,
            late,
        })
    }
}

/// The entries that an account-day takes: of each the newest content up to the window's number.
pub async fn taken(session: &mut PgConnection, account: &AccountId, window: &Window) -> Result<Vec<OpenLine>, DbError> {
    // Two ranges, each found by an index: dates that no earlier day reached, and batches that came after the last closed
    // day, of whatever date. `newer` drops contents that were replaced since.
    // Behind a UNION Postgres no longer tells which columns cannot be null: it is said here, as the tables have it.
    let rows = sqlx::query_as!(
        LineRow,
        r#"WITH line AS (SELECT * FROM counterfoil.book_line
                         WHERE account = $1 AND seq <= $2 AND date > $4 AND date <= $3
                         UNION ALL
                         SELECT * FROM counterfoil.book_line
                         WHERE account = $1 AND seq > $5 AND seq <= $2 AND date <= $4 AND date <= $3)
           SELECT l.id AS "id!", l.date AS "date!", l.minor AS "minor!", l.refs AS "refs!: Refs", l.counterparty,
                  l.description AS "description!", l.batch, l.reverses, f.name AS file, l.ordinal AS "ordinal!"
           FROM line l
           JOIN counterfoil.book_batch k ON k.account = l.account AND k.seq = l.seq
           JOIN counterfoil.source_file f ON f.lease = k.lease AND f.sha256 = k.sha256
           WHERE l.date > $6 AND NOT EXISTS (
               SELECT FROM counterfoil.book_line newer
               WHERE newer.account = $1 AND newer.id = l.id AND newer.revision > l.revision AND newer.seq <= $2)"#,
        account.as_str(),
        window.seq,
        window.date,
        window.previous_date(),
        window.previous_seq(),
        window.start
    )
    .fetch_all(session)
    .await?;
    rows.into_iter()
        .map(|row| {
            let late = window.is_late(row.date);
            row.open(window.date, late)
        })
        .collect()
}

/// Entries that an earlier day took and that came again with other content since: as they were taken.
pub async fn withdrawn(
    session: &mut PgConnection,
    account: &AccountId,
    window: &Window,
) -> Result<Vec<OpenLine>, DbError> {
    let Some((previous, previous_seq)) = window.previous else { return Ok(Vec::new()) };
    let rows = sqlx::query_as!(
        LineRow,
        r#"SELECT l.id, l.date, l.minor, l.refs AS "refs: Refs", l.counterparty, l.description, l.batch, l.reverses,
                  f.name AS file, l.ordinal
           FROM (SELECT DISTINCT id FROM counterfoil.book_line
                 WHERE account = $1 AND revision > 0 AND seq > $3 AND seq <= $2) changed
           CROSS JOIN LATERAL (SELECT * FROM counterfoil.book_line o
                 WHERE o.account = $1 AND o.id = changed.id AND o.seq <= $3 ORDER BY o.revision DESC LIMIT 1) l
           JOIN counterfoil.book_batch k ON k.account = l.account AND k.seq = l.seq
           JOIN counterfoil.source_file f ON f.lease = k.lease AND f.sha256 = k.sha256
           WHERE l.date <= $4 AND l.date > $5"#,
        account.as_str(),
        window.seq,
        previous_seq,
        previous,
        window.start
    )
    .fetch_all(session)
    .await?;
    // When they were first seen and whether they were late is no longer asked of lines that leave.
    rows.into_iter().map(|row| row.open(previous, false)).collect()
}

/// Entries by id, in the content that `seq` knows, each with the date that first saw it and whether it was late then.
pub async fn by_id(
    session: &mut PgConnection,
    account: &AccountId,
    seq: i64,
    wanted: &BTreeMap<String, (NaiveDate, bool)>,
) -> Result<Vec<OpenLine>, DbError> {
    let ids: Vec<&str> = wanted.keys().map(String::as_str).collect();
    let rows = sqlx::query_as!(
        LineRow,
        r#"SELECT DISTINCT ON (l.id) l.id, l.date, l.minor, l.refs AS "refs: Refs", l.counterparty, l.description,
                  l.batch, l.reverses,
                  f.name AS file, l.ordinal
           FROM counterfoil.book_line l
           JOIN counterfoil.book_batch k ON k.account = l.account AND k.seq = l.seq
           JOIN counterfoil.source_file f ON f.lease = k.lease AND f.sha256 = k.sha256
           WHERE l.account = $1 AND l.id = ANY($2) AND l.seq <= $3 ORDER BY l.id, l.revision DESC"#,
        account.as_str(),
        &ids as &[&str],
        seq
    )
    .fetch_all(session)
    .await?;
    rows.into_iter()
        .map(|row| {
            let (first_seen, late) = wanted.get(&row.id).copied().unwrap_or((row.date, false));
            row.open(first_seen, late)
        })
        .collect()
}
