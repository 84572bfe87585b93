//! Files that a book read: known by their content, whatever they are called. Each book reads its own.

use serde_json::Value;
use sqlx::postgres::PgConnection;

use super::DbError;
use crate::election::LeaseName;
use crate::matching::Side;

/// A file, as it was judged.
#[derive(Debug, Clone, PartialEq)]
pub struct FileVerdict {
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// Which side.
    pub side: Side,
    /// Its name in the inbox.
    pub name: String,
    /// How many bytes.
    pub size: u64,
    /// The account whose folder it lies in.
    pub pinned: Option<String>,
    /// The format, where one was recognised.
    pub format: Option<String>,
    /// `accepted`, `quarantined` or `refused`.
    pub status: &'static str,
    /// Something of it may be taken later.
    pub waiting: bool,
    /// Findings, as JSON.
    pub diagnostics: Value,
    /// Settings and engine that judged it.
    pub judged_by: String,
}

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    /// The name under which its content was first seen.
    pub name: String,
    /// `accepted`, `quarantined` or `refused`.
    pub status: String,
    /// Something of it may be taken later.
    pub waiting: bool,
    /// Settings and engine that judged it last.
    pub judged_by: String,
}

/// What is known of a content.
pub async fn known(
    session: &mut PgConnection,
    lease: &LeaseName,
    sha256: &[u8; 32],
) -> Result<Option<KnownFile>, DbError> {
    let file = sqlx::query_as!(
        KnownFile,
        "SELECT name, status, waiting, judged_by FROM counterfoil.source_file
         WHERE lease = $1 AND sha256 = $2",
        lease.as_str(),
        sha256.as_slice()
    )
    .fetch_optional(session)
    .await?;
    Ok(file)
}

/// Stores a verdict, or replaces an earlier one of the same content.
pub async fn store(session: &mut PgConnection, file: &FileVerdict) -> Result<(), DbError> {
    sqlx::query!(
        "INSERT INTO counterfoil.source_file
             (sha256, side, name, size, pinned, format, status, waiting, diagnostics, judged_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (lease, sha256) DO UPDATE SET format = excluded.format, status = excluded.status,
             waiting = excluded.waiting, diagnostics = excluded.diagnostics, judged_by = excluded.judged_by,
             judged_at = clock_timestamp()",
        file.sha256.as_slice(),
        file.side.name(),
        file.name.as_str(),
        i64::try_from(file.size).unwrap_or(i64::MAX),
        file.pinned.as_deref(),
        file.format.as_deref(),
        file.status,
        file.waiting,
        &file.diagnostics,
        file.judged_by.as_str()
    )
    .execute(session)
    .await?;
    Ok(())
}

/// Keeps the bytes of a file of which something waits.
pub async fn keep_bytes(session: &mut PgConnection, sha256: &[u8; 32], bytes: &[u8]) -> Result<(), DbError> {
    sqlx::query!(
        "INSERT INTO counterfoil.source_bytes (sha256, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        sha256.as_slice(),
        bytes
    )
    .execute(session)
    .await?;
    Ok(())
}

/// The bytes of a file that waits, as the book has them that read it.
pub async fn bytes(session: &mut PgConnection, lease: &str, sha256: &[u8]) -> Result<Option<Vec<u8>>, DbError> {
    let bytes = sqlx::query_scalar!(
        "SELECT bytes FROM counterfoil.source_bytes WHERE lease = $1 AND sha256 = $2",
        lease,
        sha256
    )
    .fetch_optional(session)
    .await?;
    Ok(bytes)
}

/// Nothing of these files waits any more, if nothing of them is held: then their bytes go.
pub async fn settle(session: &mut PgConnection, files: &[Vec<u8>]) -> Result<(), DbError> {
    for sha256 in files {
        let settled = sqlx::query!(
            "UPDATE counterfoil.source_file f SET waiting = false
             WHERE f.lease = counterfoil.entered_lease() AND f.sha256 = $1 AND f.waiting
             AND NOT EXISTS (SELECT FROM counterfoil.statement s
                             WHERE s.lease = f.lease AND s.sha256 = $1 AND s.status = 'held')",
            sha256
        )
        .execute(&mut *session)
        .await?;
        if settled.rows_affected() > 0 {
            sqlx::query!(
                "DELETE FROM counterfoil.source_bytes WHERE lease = counterfoil.entered_lease() AND sha256 = $1",
                sha256
            )
            .execute(&mut *session)
            .await?;
        }
    }
    Ok(())
}

/// A file that waits and was judged by others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingFile {
    /// SHA-256 of its bytes.
    pub sha256: Vec<u8>,
    /// `bank` or `book`.
    pub side: String,
    /// Its name in the inbox.
    pub name: String,
    /// The account whose folder it lay in.
    pub pinned: Option<String>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A file that waits and was judged by others, if there is one: its accounts may have been declared since.
pub async fn to_judge_again(
    session: &mut PgConnection,
    lease: &LeaseName,
    judged_by: &str,
) -> Result<Option<WaitingFile>, DbError> {
    let file = sqlx::query_as!(
        WaitingFile,
        "SELECT f.sha256, f.side, f.name, f.pinned, b.bytes
         FROM counterfoil.source_file f JOIN counterfoil.source_bytes b USING (lease, sha256)
         WHERE lease = $2 AND f.waiting AND f.judged_by <> $1 ORDER BY f.name, f.sha256 LIMIT 1",
        judged_by,
        lease.as_str()
    )
    .fetch_optional(session)
    .await?;
    Ok(file)
}

/// A file that was not taken, or not whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotTaken {
    /// The name under which its content was first seen.
    pub name: String,
    /// `accepted` (and something of it waits), `quarantined` or `refused`.
    pub status: String,
    /// The first finding that is an error, else the first; with the line it is of.
    pub why: Option<String>,
}

/// The files that were not taken, or not whole, newest first.
pub async fn not_taken(session: &mut PgConnection, lease: &LeaseName, limit: i64) -> Result<Vec<NotTaken>, DbError> {
    let files = sqlx::query_as!(
        NotTaken,
        "SELECT name, status,
             (SELECT coalesce('line ' || (d ->> 'line') || ': ', '') || (d ->> 'message') FROM jsonb_array_elements(diagnostics) WITH ORDINALITY AS f (d, place)
              ORDER BY d ->> 'severity' <> 'error', place LIMIT 1) AS why
         FROM counterfoil.source_file WHERE lease = $2 AND (status <> 'accepted' OR waiting)
         ORDER BY judged_at DESC LIMIT $1",
        limit,
        lease.as_str()
    )
    .fetch_all(session)
    .await?;
    Ok(files)
}
