//! What matching found: matches with their legs, and what stayed open.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use serde_json::Value;
use sqlx::postgres::PgConnection;
use sqlx::types::Json;

use super::copy::Copy;
use super::{DayKey, DbError};
use crate::account::AccountId;
use crate::account::day::Changed;
use crate::matching::{Explanation, Match, MatchStatus, Nearest, Outcome, Residue, Side};

/// Stores an outcome. A line that an earlier match consumes already is refused by the table's own constraint.
pub async fn store(session: &mut PgConnection, day: &DayKey<'_>, outcome: &Outcome) -> Result<(), DbError> {
    const MATCH: [&str; 9] =
        ["account", "business_date", "revision", "id", "place", "rule", "status", "difference", "explanation"];
    const LEG: [&str; 8] = ["account", "business_date", "revision", "match", "side", "place", "line", "consumes"];
    const RESIDUE: [&str; 8] = ["account", "business_date", "revision", "place", "side", "line", "class", "nearest"];
    let mut copy = Copy::into(&mut *session, "match", &MATCH).await?;
    for (place, found) in (0_u32..).zip(&outcome.matches) {
        copy.row(|out| {
            day.write(out)
                .text(&found.id)
                .u32(place)
                .text(found.rule.name())
                .text(status(found.status))
                .i64(found.difference)
                .json(&found.explanation);
        })
        .await?;
    }
    copy.finish().await?;
    let mut copy = Copy::into(&mut *session, "match_leg", &LEG).await?;
    for found in &outcome.matches {
        let consumes = found.status == MatchStatus::Confirmed;
        for (side, legs) in [(Side::Bank, &found.bank), (Side::Book, &found.book)] {
            for (place, line) in (0_u32..).zip(legs) {
                copy.row(|out| {
                    day.write(out).text(&found.id).text(side.name()).u32(place).text(line).bool(consumes);
                })
                .await?;
            }
        }
    }
    copy.finish().await?;
    let mut copy = Copy::into(session, "residue", &RESIDUE).await?;
    for (place, open) in (0_u32..).zip(&outcome.residue) {
        let class = word(&open.class)?;
        copy.row(|out| {
            day.write(out)
                .u32(place)
                .text(open.side.name())
                .text(&open.line)
                .text(&class)
                .json_or_null(open.nearest.as_ref());
        })
        .await?;
    }
    copy.finish().await?;
    Ok(())
}

/// Loads an outcome as it was stored.
pub async fn load(session: &mut PgConnection, day: &DayKey<'_>) -> Result<Outcome, DbError> {
    let mut legs: BTreeMap<String, (Vec<String>, Vec<String>)> = BTreeMap::new();
    let rows = sqlx::query!(
        "SELECT match, side, line FROM counterfoil.match_leg
         WHERE account = $1 AND business_date = $2 AND revision = $3 ORDER BY match, side, place",
        day.account.as_str(),
        day.date,
        day.revision()
    )
    .fetch_all(&mut *session)
    .await?;
    for leg in rows {
        let of = legs.entry(leg.r#match).or_default();
        if leg.side == Side::Bank.name() { of.0.push(leg.line) } else { of.1.push(leg.line) }
    }
    let rows = sqlx::query!(
        r#"SELECT id, rule, status, difference, explanation AS "explanation: Json<Explanation>" FROM counterfoil.match
           WHERE account = $1 AND business_date = $2 AND revision = $3 ORDER BY place"#,
        day.account.as_str(),
        day.date,
        day.revision()
    )
    .fetch_all(&mut *session)
    .await?;
    let mut matches = Vec::with_capacity(rows.len());
    for found in rows {
        let (bank, book) = legs.remove(&found.id).unwrap_or_default();
        matches.push(Match {
            id: found.id,
            rule: serde_json::from_value(Value::String(found.rule))?,
            status: serde_json::from_value(Value::String(found.status))?,
            bank,
            book,
            difference: found.difference,
            explanation: found.explanation.0,
        });
    }
    let rows = sqlx::query!(
        r#"SELECT side, line, class, nearest AS "nearest: Json<Nearest>" FROM counterfoil.residue
           WHERE account = $1 AND business_date = $2 AND revision = $3 ORDER BY place"#,
        day.account.as_str(),
        day.date,
        day.revision()
    )
    .fetch_all(session)
    .await?;
    let mut residue = Vec::with_capacity(rows.len());
    for open in rows {
        residue.push(Residue {
            side: serde_json::from_value(Value::String(open.side))?,
            line: open.line,
            class: serde_json::from_value(Value::String(open.class))?,
            nearest: open.nearest.map(|Json(nearest)| nearest),
        });
    }
    Ok(Outcome { matches, residue })
}

/// A match that is undone, because an entry of it came again with other content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Undone {
    date: NaiveDate,
    revision: i32,
    id: String,
}

/// Legs of undone matches: the lines that they release, by side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Released {
    /// The matches.
    pub matches: BTreeSet<Undone>,
    /// Ids of bank lines.
    pub bank: BTreeSet<String>,
    /// Ids of entries, withdrawn ones among them.
    pub book: BTreeSet<String>,
}

/// Which matches of earlier days consume an entry that is withdrawn on `date`, and what they release. Those that `date`
/// itself has undone already are among them: its later steps must see what its first one saw.
pub async fn consuming(
    session: &mut PgConnection,
    account: &AccountId,
    withdrawn: &[&str],
    date: NaiveDate,
) -> Result<Released, DbError> {
    let rows = sqlx::query!(
        "SELECT l.business_date, l.revision, l.match, l.side, l.line FROM counterfoil.match_leg l
         JOIN counterfoil.match_leg w USING (account, business_date, revision, match)
         JOIN counterfoil.match m
           ON (m.account, m.business_date, m.revision, m.id) = (l.account, l.business_date, l.revision, l.match)
         WHERE w.account = $1 AND w.side = 'book' AND w.line = ANY($2) AND l.business_date < $3
           AND (w.consumes AND l.consumes OR m.undone_by = $3)",
        account.as_str(),
        withdrawn as &[&str],
        date
    )
    .fetch_all(session)
    .await?;
    let mut released = Released::default();
    for leg in rows {
        released.matches.insert(Undone { date: leg.business_date, revision: leg.revision, id: leg.r#match });
        let of = if leg.side == Side::Bank.name() { &mut released.bank } else { &mut released.book };
        of.insert(leg.line);
    }
    Ok(released)
}

/// Undoes matches on a date: their lines are free for others. What they were stays.
pub async fn undo(
    session: &mut PgConnection,
    account: &AccountId,
    released: &Released,
    date: NaiveDate,
) -> Result<(), DbError> {
    for undone in &released.matches {
        sqlx::query!(
            "UPDATE counterfoil.match_leg SET consumes = false
             WHERE account = $1 AND business_date = $2 AND revision = $3 AND match = $4",
            account.as_str(),
            undone.date,
            undone.revision,
            undone.id.as_str()
        )
        .execute(&mut *session)
        .await?;
        sqlx::query!(
            "UPDATE counterfoil.match SET status = 'undone', undone_by = $5
             WHERE account = $1 AND business_date = $2 AND revision = $3 AND id = $4",
            account.as_str(),
            undone.date,
            undone.revision,
            undone.id.as_str(),
            date
        )
        .execute(&mut *session)
        .await?;
    }
    Ok(())
}

/// By line id: the date that first saw it, and whether it was late then.
pub type Seen = BTreeMap<String, (NaiveDate, bool)>;

/// When lines were first seen, and whether they were late then: the first closed day whose manifest takes them. Of
/// entries the content that `book_seq` knows.
pub async fn first_seen(
    session: &mut PgConnection,
    account: &AccountId,
    released: &Released,
    book_seq: i64,
) -> Result<(Seen, Seen), DbError> {
    let bank_ids: Vec<&str> = released.bank.iter().map(String::as_str).collect();
    let book_ids: Vec<&str> = released.book.iter().map(String::as_str).collect();
    // A day takes late what lies on or before the closed day that it goes on from.
    let bank = sqlx::query!(
        r#"SELECT DISTINCT ON (l.id) l.id, m.business_date, coalesce(l.ledger_day <= m.previous, false) AS "late!"
           FROM counterfoil.bank_line l JOIN counterfoil.manifest m ON m.account = l.account
           JOIN counterfoil.account_day d
             ON d.account = m.account AND d.business_date = m.business_date AND d.revision = m.revision
           WHERE l.account = $1 AND l.id = ANY($2) AND d.status = 'closed'
             AND l.seq <= m.bank_seq AND l.ledger_day <= m.business_date
           ORDER BY l.id, m.business_date"#,
        account.as_str(),
        &bank_ids as &[&str]
    )
    .fetch_all(&mut *session)
    .await?;
    let book = sqlx::query!(
        r#"SELECT DISTINCT ON (l.id) l.id, m.business_date, coalesce(l.date <= m.previous, false) AS "late!"
           FROM counterfoil.book_line l JOIN counterfoil.manifest m ON m.account = l.account
           JOIN counterfoil.account_day d
             ON d.account = m.account AND d.business_date = m.business_date AND d.revision = m.revision
           WHERE l.account = $1 AND l.id = ANY($2) AND d.status = 'closed'
             AND l.seq <= m.book_seq AND l.date <= m.business_date AND l.seq <= $3
           ORDER BY l.id, l.revision DESC, m.business_date"#,
        account.as_str(),
        &book_ids as &[&str],
        book_seq
    )
    .fetch_all(session)
    .await?;
    let bank = bank.into_iter().map(|line| (line.id, (line.business_date, line.late))).collect();
    let book = book.into_iter().map(|entry| (entry.id, (entry.business_date, entry.late))).collect();
    Ok((bank, book))
}

/// What changed, as the day's computation needs it.
pub async fn changed(
    session: &mut PgConnection,
    account: &AccountId,
    books: &super::Window,
) -> Result<(Changed, Released), DbError> {
    let withdrawn = super::books::withdrawn(&mut *session, account, books).await?;
    if withdrawn.is_empty() {
        return Ok((Changed::default(), Released::default()));
    }
    let ids: Vec<&str> = withdrawn.iter().map(|line| line.id.as_str()).collect();
    let released = consuming(&mut *session, account, &ids, books.date).await?;
    let (bank, book) = first_seen(&mut *session, account, &released, books.previous_seq()).await?;
    let released_bank = super::bank::by_id(&mut *session, account, &bank).await?;
    let released_book = super::books::by_id(session, account, books.previous_seq(), &book).await?;
    Ok((Changed { withdrawn, released_bank, released_book }, released))
}

/// The word of a value that is a bare word in JSON.
pub(super) fn word(value: &impl serde::Serialize) -> Result<String, DbError> {
    match serde_json::to_value(value)? {
        Value::String(word) => Ok(word),
        other => Err(DbError::Value(format!("{other} is no word"))),
    }
}

fn status(status: MatchStatus) -> &'static str {
    match status {
        MatchStatus::Suggested => "suggested",
        MatchStatus::Confirmed => "confirmed",
        MatchStatus::Rejected => "rejected",
        MatchStatus::Undone => "undone",
    }
}
