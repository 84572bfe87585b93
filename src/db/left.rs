//! Files that lie in the inbox and of which nothing was taken, as the leader's last look found them.

use sqlx::postgres::PgConnection;

use super::DbError;
use crate::election::LeaseName;
use crate::report::left::{FileLeft, WhyLeft};

/// All of a book's, by reason and name.
pub async fn all(session: &mut PgConnection, lease: &LeaseName) -> Result<Vec<FileLeft>, DbError> {
    let rows = sqlx::query!("SELECT name, why, told FROM counterfoil.file_left WHERE lease = $1", lease.as_str());
    let rows = rows.fetch_all(session).await?;
    let mut files = Vec::with_capacity(rows.len());
    for row in rows {
        let why =
            WhyLeft::named(&row.why).ok_or_else(|| DbError::Value(format!("a file was left as {:?}", row.why)))?;
        files.push(FileLeft { why, name: row.name, told: row.told });
    }
    files.sort();
    Ok(files)
}

/// Makes these all of the book's. Those that were there keep the time since which they are.
pub async fn replace(session: &mut PgConnection, files: &[FileLeft]) -> Result<(), DbError> {
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let whys: Vec<&str> = files.iter().map(|file| file.why.name()).collect();
    let told: Vec<&str> = files.iter().map(|file| file.told.as_str()).collect();
    sqlx::query!(
        "DELETE FROM counterfoil.file_left l WHERE l.lease = counterfoil.entered_lease() AND (l.name, l.why, l.told) NOT IN
             (SELECT name, why, told FROM unnest($1::text[], $2::text[], $3::text[]) AS f (name, why, told))",
        &names as &[&str],
        &whys as &[&str],
        &told as &[&str]
    )
    .execute(&mut *session)
    .await?;
    sqlx::query!(
        "INSERT INTO counterfoil.file_left (name, why, told)
         SELECT name, why, told FROM unnest($1::text[], $2::text[], $3::text[]) AS f (name, why, told)
         EXCEPT SELECT name, why, told FROM counterfoil.file_left
         WHERE lease = counterfoil.entered_lease() ORDER BY 1, 2, 3",
        &names as &[&str],
        &whys as &[&str],
        &told as &[&str]
    )
    .execute(session)
    .await?;
    Ok(())
}
