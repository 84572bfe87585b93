//! The bank's side: statements, lines, and the ledger that is folded from them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use chrono::NaiveDate;
use serde_json::Value;
use sqlx::postgres::PgConnection;
use sqlx::types::Json;

use super::copy::Copy;
use super::stored::{Refs, read_references, references};
use super::{DbError, Window};
use crate::account::ledger::{Accepted, BankLedger, DaySum, Header, Reading};
use crate::account::readiness::Stopped;
use crate::account::{Account, AccountId};
use crate::matching::{OpenLine, Origin};
use crate::proof::Proof;
use crate::statement::identity::Identity;
use crate::statement::{Counterparty, Statement};

/// A statement, and what became of it.
#[derive(Debug, Clone)]
pub struct StatementRow<'a> {
    /// The account.
    pub account: &'a AccountId,
    /// The file.
    pub sha256: &'a [u8],
    /// Place in it, from 1.
    pub ordinal: u32,
    /// The format's name.
    pub format: &'a str,
    /// What it says.
    pub statement: &'a Statement,
    /// P1 and P3, as they stood at the door.
    pub proofs: &'a [Proof],
    /// What became of it.
    pub outcome: Outcome<'a>,
}

/// What became of a statement.
#[derive(Debug, Clone, Copy)]
pub enum Outcome<'a> {
    /// It was taken in, as the `seq`-th of its account.
    Accepted {
        /// The number.
        seq: i64,
        /// What the ledger made of it.
        accepted: &'a Accepted,
    },
    /// It waits.
    Held {
        /// For what.
        reason: &'a str,
    },
    /// It contradicts itself or what is known.
    Quarantined {
        /// The stable word.
        code: &'a str,
        /// The arithmetic.
        reason: &'a str,
    },
}

/// A statement that waits, by file and place in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldStatement {
    /// The book that read its file: another one's, where the account has moved since.
    pub lease: String,
    /// The file.
    pub sha256: Vec<u8>,
    /// Its name.
    pub name: String,
    /// Place in it, from 1.
    pub ordinal: i32,
}

/// Folds an account's ledger again, of what was taken in up to `through` (all if none). Lines of the days in `lines` are
/// folded one by one, so that a statement of those days can be offered; of the others their sums.
pub async fn ledger(
    session: &mut PgConnection,
    account: &Account,
    through: Option<i64>,
    lines: Option<RangeInclusive<NaiveDate>>,
) -> Result<BankLedger, DbError> {
    let through = through.unwrap_or(i64::MAX);
    let id = account.id.as_str();
    let mut ledger = BankLedger::new(account);
    // A number is given to what was taken in, and the table wants both of that.
    let headers = sqlx::query!(
        r#"SELECT header AS "header!: Json<Header>", to_jsonb(reading) AS "reading!: Json<Reading>"
           FROM counterfoil.statement WHERE account = $1 AND seq <= $2 ORDER BY seq"#,
        id,
        through
    )
    .fetch_all(&mut *session)
    .await?;
    for statement in headers {
        ledger.replay(statement.header.0, statement.reading.0);
    }
    let sums = sqlx::query!(
        r#"SELECT ledger_day, sum(lines)::bigint AS "lines!", sum(minor)::text AS "minor!" FROM counterfoil.bank_day
           WHERE account = $1 AND seq <= $2 GROUP BY ledger_day"#,
        id,
        through
    )
    .fetch_all(&mut *session)
    .await?;
    let mut days = BTreeMap::new();
    for sum in sums {
        let minor =
            sum.minor.parse().map_err(|_| DbError::Value(format!("{:?} is no sum of minor units", sum.minor)))?;
        days.insert(sum.ledger_day, DaySum { lines: u64::try_from(sum.lines).unwrap_or(0), minor });
    }
    if let Some(range) = lines {
        let known = sqlx::query!(
            "SELECT id, booking_date, ledger_day, minor FROM counterfoil.bank_line
             WHERE account = $1 AND seq <= $2 AND (ledger_day BETWEEN $3 AND $4 OR booking_date BETWEEN $3 AND $4)",
            id,
            through,
            *range.start(),
            *range.end()
        )
        .fetch_all(&mut *session)
        .await?;
        let mut single = Vec::with_capacity(known.len());
        for line in known {
            let identity = identity_of(&line.id, line.booking_date)?;
            // Folded one by one, so no part of its day's sum any more.
            if let Some(day) = days.get_mut(&line.ledger_day) {
                day.lines = day.lines.saturating_sub(1);
                day.minor -= i128::from(line.minor);
            }
            single.push((identity, line.ledger_day, line.minor));
        }
        ledger.add_lines(single);
    }
    for (day, sum) in days {
        ledger.add_day(day, sum);
    }
    Ok(ledger)
}

/// The identity within a line's id.
fn identity_of(id: &str, booking_date: NaiveDate) -> Result<Identity, DbError> {
    let hex = id.rsplit(':').nth(1).unwrap_or("");
    Identity::from_hex(booking_date, hex).ok_or_else(|| DbError::Value(format!("{id:?} is no id of a bank line")))
}

/// What became of the statements that reach a day and were not taken; none where there are none.
pub async fn stopped(
    session: &mut PgConnection,
    account: &AccountId,
    day: NaiveDate,
) -> Result<Option<Stopped>, DbError> {
    let stopped = sqlx::query_scalar!(
        r#"SELECT bool_or(status = 'quarantined') AS quarantined FROM counterfoil.statement
           WHERE account = $1 AND to_day >= $2 AND status <> 'accepted'"#,
        account.as_str(),
        day
    )
    .fetch_one(session)
    .await?;
    Ok(stopped.map(|quarantined| if quarantined { Stopped::Quarantined } else { Stopped::Held }))
}

/// How many statements of an account were taken in.
pub async fn last_seq(session: &mut PgConnection, account: &AccountId) -> Result<i64, DbError> {
    let seq = sqlx::query_scalar!(
        r#"SELECT coalesce(max(seq), 0) AS "seq!" FROM counterfoil.statement WHERE account = $1"#,
        account.as_str()
    )
    .fetch_one(session)
    .await?;
    Ok(seq)
}

/// Which statements of an account wait for another one.
pub async fn held(session: &mut PgConnection, account: &AccountId) -> Result<Vec<HeldStatement>, DbError> {
    let held = sqlx::query_as!(
        HeldStatement,
        "SELECT s.lease, s.sha256, f.name, s.ordinal
         FROM counterfoil.statement s JOIN counterfoil.source_file f USING (lease, sha256)
         WHERE s.account = $1 AND s.status = 'held' ORDER BY f.name, s.sha256, s.ordinal",
        account.as_str()
    )
    .fetch_all(session)
    .await?;
    Ok(held)
}

/// Places of a file's statements that were taken in: not offered again when the file is judged again.
pub async fn accepted_of(session: &mut PgConnection, sha256: &[u8]) -> Result<Vec<i32>, DbError> {
    let places = sqlx::query_scalar!(
        "SELECT ordinal FROM counterfoil.statement WHERE sha256 = $1 AND status = 'accepted'",
        sha256
    )
    .fetch_all(session)
    .await?;
    Ok(places)
}

/// P1 and P3 of each statement that an account-day is taken from: those that speak of days after `after` and up to
/// `date`.
pub async fn door_proofs(
    session: &mut PgConnection,
    account: &AccountId,
    seq: i64,
    after: NaiveDate,
    date: NaiveDate,
) -> Result<Vec<Vec<Proof>>, DbError> {
    let proofs = sqlx::query_scalar!(
        r#"SELECT proofs AS "proofs: Json<Vec<Proof>>" FROM counterfoil.statement
           WHERE account = $1 AND seq <= $2 AND to_day > $3 AND from_day <= $4 ORDER BY seq"#,
        account.as_str(),
        seq,
        after,
        date
    )
    .fetch_all(session)
    .await?;
    Ok(proofs.into_iter().map(|Json(proofs)| proofs).collect())
}

/// Hashes of the files whose statements were taken in between two numbers.
pub async fn files_between(
    session: &mut PgConnection,
    account: &AccountId,
    after: i64,
    through: i64,
) -> Result<Vec<String>, DbError> {
    let files = sqlx::query_scalar!(
        r#"SELECT DISTINCT encode(sha256, 'hex') AS "sha256!" FROM counterfoil.statement
           WHERE account = $1 AND seq > $2 AND seq <= $3 ORDER BY 1"#,
        account.as_str(),
        after,
        through
    )
    .fetch_all(session)
    .await?;
    Ok(files)
}

/// Stores a statement, or what became of one that was held; and, where it was accepted, its new lines.
pub async fn store(session: &mut PgConnection, row: &StatementRow<'_>) -> Result<(), DbError> {
    let (status, seq, header, reading, counts, code, reason) = match row.outcome {
        Outcome::Accepted { seq, accepted } => {
            let reading = serde_json::to_value(accepted.reading)?;
            let counts = (accepted.new.len() as u64, accepted.known as u64, accepted.vanished);
            ("accepted", Some(seq), Some(Json(&accepted.header)), Some(reading), counts, None, None)
        }
        Outcome::Held { reason } => ("held", None, None, None, (0, 0, 0), Some("STMT_GAP"), Some(reason)),
        Outcome::Quarantined { code, reason } => ("quarantined", None, None, None, (0, 0, 0), Some(code), Some(reason)),
    };
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    sqlx::query!(
        "INSERT INTO counterfoil.statement AS s (account, sha256, ordinal, status, seq, format, bank_id, sequence,
             from_day, to_day, header, reading, proofs, aside, new_lines, known, vanished, code, reason)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
         ON CONFLICT (account, sha256, ordinal) DO UPDATE SET status = excluded.status, seq = excluded.seq,
             header = excluded.header, reading = excluded.reading, proofs = excluded.proofs, aside = excluded.aside,
             new_lines = excluded.new_lines, known = excluded.known, vanished = excluded.vanished,
             code = excluded.code, reason = excluded.reason
         WHERE s.status <> 'accepted'",
        row.account.as_str(),
        row.sha256,
        i32::try_from(row.ordinal).unwrap_or(i32::MAX),
        status,
        seq,
        row.format,
        row.statement.id.as_deref(),
        row.statement.sequence.as_deref(),
        row.statement.from,
        row.statement.to,
        header as _,
        reading.as_ref().and_then(Value::as_str),
        Json(row.proofs) as _,
        aside(row.statement),
        count(counts.0),
        count(counts.1),
        count(counts.2),
        code,
        reason
    )
    .execute(&mut *session)
    .await?;
    if let Outcome::Accepted { seq, accepted } = row.outcome {
        store_lines(session, row, seq, accepted).await?;
    }
    Ok(())
}

/// Rows that are no money, as they are kept: kind, status, date, amount, text.
fn aside(statement: &Statement) -> Value {
    let rows = statement.lines.iter().filter(|line| !line.is_movement()).map(|line| {
        serde_json::json!({
            "ordinal": line.ordinal,
            "kind": line.kind,
            "status": line.status,
            "date": line.booking_date,
            "minor": line.amount.minor().to_string(),
            "description": line.description.replace('\0', "\u{fffd}"),
        })
    });
    rows.collect()
}

async fn store_lines(
    session: &mut PgConnection,
    row: &StatementRow<'_>,
    seq: i64,
    accepted: &Accepted,
) -> Result<(), DbError> {
    const COLUMNS: [&str; 16] = [
        "account",
        "id",
        "seq",
        "ledger_day",
        "booking_date",
        "value_date",
        "minor",
        "code",
        "reversal",
        "refs",
        "counterparty",
        "description",
        "sha256",
        "statement",
        "ordinal",
        "before_opening",
    ];
    if accepted.new.is_empty() {
        return Ok(());
    }
    let mut days: BTreeMap<NaiveDate, DaySum> = BTreeMap::new();
    let mut copy = Copy::into(session, "bank_line", &COLUMNS).await?;
    for new in &accepted.new {
        let line = row.statement.lines.get(new.index).ok_or_else(|| {
            DbError::Value(format!("the ledger names line {}, which the statement does not have", new.index))
        })?;
        let day = days.entry(new.ledger_day).or_default();
        day.lines += 1;
        day.minor += i128::from(new.minor);
        copy.row(|out| {
            out.text(row.account.as_str())
                .text(new.identity.line_id(row.account.as_str(), new.occurrence).as_str())
                .i64(seq)
                .date(new.ledger_day)
                .date(line.booking_date)
                .date_or_null(line.value_date)
                .i64(line.amount.minor())
                .text_or_null(line.code.as_deref())
                .bool(line.reversal)
                .json(&references(&line.references))
                .json_or_null(line.counterparty.as_ref())
                .text(&line.description)
                .bytes(row.sha256)
                .u32(row.ordinal)
                .u32(line.ordinal)
                .bool(new.before_opening);
        })
        .await?;
    }
    copy.finish().await?;
    let (dates, sums): (Vec<_>, Vec<_>) = days.into_iter().unzip();
    let counts: Vec<i64> = sums.iter().map(|sum| i64::try_from(sum.lines).unwrap_or(i64::MAX)).collect();
    let minors: Vec<String> = sums.iter().map(|sum| sum.minor.to_string()).collect();
    sqlx::query!(
        "INSERT INTO counterfoil.bank_day (account, ledger_day, seq, lines, minor)
         SELECT $1, d.day, $2, d.lines, d.minor::numeric
         FROM unnest($3::date[], $4::bigint[], $5::text[]) AS d (day, lines, minor)",
        row.account.as_str(),
        seq,
        &dates,
        &counts,
        &minors
    )
    .execute(session)
    .await?;
    Ok(())
}

/// What every query for lines selects, and from where.
struct LineRow {
    id: String,
    booking_date: NaiveDate,
    ledger_day: NaiveDate,
    minor: i64,
    refs: Refs,
    counterparty: Option<Json<Counterparty>>,
    description: String,
    code: Option<String>,
    reversal: bool,
    file: String,
    bank_id: Option<String>,
    ordinal: i32,
}

impl LineRow {
    fn open(self, first_seen: NaiveDate, late: bool) -> Result<OpenLine, DbError> {
        Ok(OpenLine {
            id: self.id,
            date: self.booking_date,
            ledger_day: self.ledger_day,
            minor: self.minor,
            references: read_references(self.refs.0)?,
            counterparty: self.counterparty.map(|Json(counterparty)| counterparty),
            description: self.description,
            code: self.code,
            reversal: self.reversal,
            reverses: None,
            group: None,
            origin: Origin {
                file: self.file,
                statement: self.bank_id,
                ordinal: u32::try_from(self.ordinal).unwrap_or(0),
            },
            first_seen,
            late,
        })
    }
}

/// The lines that an account-day takes.
pub async fn taken(session: &mut PgConnection, account: &AccountId, window: &Window) -> Result<Vec<OpenLine>, DbError> {
    // Two ranges of days, each found by the index: days that no earlier day reached, and closed days for which a
    // statement came after they were closed. The second begins where the earliest of those statements does.
    // Behind a UNION Postgres no longer tells which columns cannot be null: it is said here, as the tables have it.
    let rows = sqlx::query_as!(
        LineRow,
        r#"WITH late AS (SELECT min(from_day) AS day FROM counterfoil.statement
                         WHERE account = $1 AND seq > $5 AND seq <= $2),
                line AS (SELECT * FROM counterfoil.bank_line
                         WHERE account = $1 AND seq <= $2 AND ledger_day > $4 AND ledger_day <= $3
                         UNION ALL
                         SELECT l.* FROM counterfoil.bank_line l, late
                         WHERE l.account = $1 AND l.seq > $5 AND l.seq <= $2
                           AND l.ledger_day >= late.day AND l.ledger_day <= $4 AND l.ledger_day <= $3)
           SELECT l.id AS "id!", l.booking_date AS "booking_date!", l.ledger_day AS "ledger_day!", l.minor AS "minor!",
                  l.refs AS "refs!: Refs", l.counterparty AS "counterparty: Json<Counterparty>",
                  l.description AS "description!", l.code, l.reversal AS "reversal!", f.name AS file, s.bank_id,
                  l.ordinal AS "ordinal!"
           FROM line l
           JOIN counterfoil.statement s ON s.account = l.account AND s.sha256 = l.sha256 AND s.ordinal = l.statement
           JOIN counterfoil.source_file f ON f.lease = s.lease AND f.sha256 = s.sha256
           WHERE l.ledger_day > $6 AND NOT l.before_opening"#,
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
            let late = window.is_late(row.ledger_day);
            row.open(window.date, late)
        })
        .collect()
}

/// Lines by id, each with the date that first saw it and whether it was late then.
pub async fn by_id(
    session: &mut PgConnection,
    account: &AccountId,
    wanted: &BTreeMap<String, (NaiveDate, bool)>,
) -> Result<Vec<OpenLine>, DbError> {
    let ids: Vec<&str> = wanted.keys().map(String::as_str).collect();
    let rows = sqlx::query_as!(
        LineRow,
        r#"SELECT l.id, l.booking_date, l.ledger_day, l.minor, l.refs AS "refs: Refs",
                  l.counterparty AS "counterparty: Json<Counterparty>", l.description, l.code, l.reversal,
                  f.name AS file, s.bank_id, l.ordinal
           FROM counterfoil.bank_line l
           JOIN counterfoil.statement s ON s.account = l.account AND s.sha256 = l.sha256 AND s.ordinal = l.statement
           JOIN counterfoil.source_file f ON f.lease = s.lease AND f.sha256 = s.sha256
           WHERE l.account = $1 AND l.id = ANY($2)"#,
        account.as_str(),
        &ids as &[&str]
    )
    .fetch_all(session)
    .await?;
    rows.into_iter()
        .map(|row| {
            let (first_seen, late) = wanted.get(&row.id).copied().unwrap_or((row.ledger_day, false));
            row.open(first_seen, late)
        })
        .collect()
}
