//! A closed account-day, as it was computed: what every report is rendered from.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde_json::Value;
use sqlx::postgres::PgConnection;
use sqlx::types::Json;

use super::stored::StoredStanding;
use super::{DayKey, DbError, bank, books, matches};
use crate::account::{Account, AccountId};
use crate::election::LeaseName;
use crate::matching::{Nearest, OpenLine, Side};
use crate::money::Money;
use crate::proof::Proof;
use crate::report::{AccountOutcome, Break, Lines};

/// A row of a closed day's breaks.
#[derive(Debug, Clone)]
pub struct BreakRow {
    /// The account.
    pub account: String,
    /// The business date.
    pub business_date: NaiveDate,
    /// The currency.
    pub currency: String,
    /// `bank` or `book`.
    pub side: String,
    /// The line.
    pub line: String,
    /// Why it is open.
    pub class: String,
    /// Its amount, in minor units.
    pub minor: i64,
    /// Its age, in business days.
    pub age: i32,
    /// The bucket of it.
    pub bucket: String,
    /// The business date whose run took it.
    pub first_seen: NaiveDate,
    /// It came after its own day was closed.
    pub late: bool,
    /// What came closest.
    pub nearest: Option<Json<Nearest>>,
}

struct ProofRow {
    id: String,
    scope: String,
    status: String,
    left_side: Option<String>,
    right_side: Option<String>,
    difference: Option<String>,
}

impl ProofRow {
    fn read(self) -> Result<Proof, DbError> {
        Ok(Proof {
            id: serde_json::from_value(Value::String(self.id))?,
            scope: self.scope,
            status: serde_json::from_value(Value::String(self.status))?,
            left: self.left_side,
            right: self.right_side,
            difference: self.difference,
        })
    }
}

/// The breaks of an account-day, in canonical order.
pub async fn breaks(
    session: &mut PgConnection,
    account: &str,
    date: NaiveDate,
    revision: i32,
) -> Result<Vec<BreakRow>, DbError> {
    let rows = sqlx::query_as!(
        BreakRow,
        r#"SELECT b.account, b.business_date, d.currency, b.side, b.line, b.class, b.minor, b.age, b.bucket,
                  b.first_seen, b.late, b.nearest AS "nearest: Json<Nearest>"
           FROM counterfoil.break b JOIN counterfoil.account_day d USING (account, business_date, revision)
           WHERE b.account = $1 AND b.business_date = $2 AND b.revision = $3 ORDER BY b.place"#,
        account,
        date,
        revision
    )
    .fetch_all(session)
    .await?;
    Ok(rows)
}

/// What is open at the last closed day of each account of the book, or of the one that is named; or at a date, as that
/// book closed it. Oldest first, then the largest amounts.
pub async fn open(
    session: &mut PgConnection,
    lease: &LeaseName,
    account: Option<&str>,
    date: Option<NaiveDate>,
) -> Result<Vec<BreakRow>, DbError> {
    let rows = sqlx::query_as!(
        BreakRow,
        r#"WITH day AS (SELECT DISTINCT ON (account) account, business_date, revision, currency
                        FROM counterfoil.account_day
                        WHERE status = 'closed' AND ($2::date IS NULL OR business_date = $2)
                          AND CASE WHEN $1::text IS NOT NULL THEN account = $1
                                   WHEN $2::date IS NOT NULL THEN lease = $3
                                   ELSE account IN (SELECT a.id FROM counterfoil.account a WHERE a.lease = $3) END
                        ORDER BY account, business_date DESC, revision DESC)
           SELECT b.account, b.business_date, day.currency, b.side, b.line, b.class, b.minor, b.age, b.bucket,
                  b.first_seen, b.late, b.nearest AS "nearest: Json<Nearest>"
           FROM counterfoil.break b JOIN day USING (account, business_date, revision)
           ORDER BY b.age DESC, abs(b.minor::numeric) DESC, b.account, b.place"#,
        account,
        date,
        lease.as_str()
    )
    .fetch_all(session)
    .await?;
    Ok(rows)
}

/// The lines that these open rows of one account's day are of, as that day knew them. Opening items are no row, and are
/// not among them.
pub async fn lines_of(session: &mut PgConnection, account: &AccountId, rows: &[&BreakRow]) -> Result<Lines, DbError> {
    let Some(date) = rows.first().map(|row| row.business_date) else { return Ok(Lines::default()) };
    let book_seq = sqlx::query_scalar!(
        "SELECT book_seq FROM counterfoil.manifest WHERE account = $1 AND business_date = $2
         ORDER BY revision DESC, pass DESC LIMIT 1",
        account.as_str(),
        date
    )
    .fetch_one(&mut *session)
    .await?;
    let of = |side: &str| {
        let rows = rows.iter().filter(|row| row.side == side);
        rows.map(|row| (row.line.clone(), (row.first_seen, row.late))).collect()
    };
    let index = |found: Vec<OpenLine>| found.into_iter().map(|line| (line.id.clone(), line)).collect();
    Ok(Lines {
        bank: index(bank::by_id(&mut *session, account, &of("bank")).await?),
        book: index(books::by_id(session, account, book_seq, &of("book")).await?),
    })
}

/// The outcome of a closed account-day; `None` if it is not closed. `account` gives its opening items, which are no row.
pub async fn load(
    session: &mut PgConnection,
    account: &Account,
    day: &DayKey<'_>,
) -> Result<Option<AccountOutcome>, DbError> {
    // Both are there: the table wants them of a closed day.
    let closed = sqlx::query!(
        r#"SELECT d.rule_set AS "rule_set!", d.standing AS "standing!: Json<StoredStanding>", m.book_seq
           FROM counterfoil.account_day d
           JOIN counterfoil.manifest m USING (account, business_date, revision)
           WHERE d.account = $1 AND d.business_date = $2 AND d.revision = $3 AND d.status = 'closed'
           ORDER BY m.pass DESC LIMIT 1"#,
        day.account.as_str(),
        day.date,
        day.revision()
    )
    .fetch_optional(&mut *session)
    .await?;
    let Some(closed) = closed else { return Ok(None) };
    let (rule_set, Json(standing), book_seq) = (closed.rule_set, closed.standing, closed.book_seq);
    let currency = account.currency;
    let found = matches::load(&mut *session, day).await?;
    let mut breaks = Vec::new();
    let mut seen: BTreeMap<(Side, String), (NaiveDate, bool)> = BTreeMap::new();
    for row in self::breaks(&mut *session, day.account.as_str(), day.date, day.revision()).await? {
        let side: Side = serde_json::from_value(Value::String(row.side))?;
        seen.insert((side, row.line.clone()), (row.first_seen, row.late));
        breaks.push(Break {
            class: serde_json::from_value(Value::String(row.class))?,
            side,
            line: row.line,
            amount: Money::new(row.minor, currency),
            age_business_days: u32::try_from(row.age).unwrap_or(0),
            bucket: serde_json::from_value(Value::String(row.bucket))?,
            first_seen: row.first_seen,
            nearest: row.nearest.map(|Json(nearest)| nearest),
        });
    }
    let proofs = sqlx::query_as!(
        ProofRow,
        "SELECT id, scope, status, left_side, right_side, difference FROM counterfoil.proof
         WHERE account = $1 AND business_date = $2 AND revision = $3 ORDER BY place",
        day.account.as_str(),
        day.date,
        day.revision()
    )
    .fetch_all(&mut *session)
    .await?;
    let proofs = proofs.into_iter().map(ProofRow::read).collect::<Result<Vec<_>, _>>()?;
    let mut wanted = matches::Released::default();
    for (side, line) in seen.keys() {
        match side {
            Side::Bank => wanted.bank.insert(line.clone()),
            Side::Book => wanted.book.insert(line.clone()),
        };
    }
    for leg in &found.matches {
        wanted.bank.extend(leg.bank.iter().cloned());
        wanted.book.extend(leg.book.iter().cloned());
    }
    let lines = lines(session, account, day, book_seq, &wanted).await?;
    let (bank, book) = standing.taken(currency)?;
    Ok(Some(AccountOutcome {
        account: account.id.clone(),
        currency,
        date: day.date,
        revision: day.revision,
        rule_set,
        bank,
        book,
        position: standing.position(currency)?,
        matches: found.matches,
        breaks,
        proofs,
        lines,
    }))
}

/// Lines by id, opening items among them.
async fn lines(
    session: &mut PgConnection,
    account: &Account,
    day: &DayKey<'_>,
    book_seq: i64,
    wanted: &matches::Released,
) -> Result<Lines, DbError> {
    let (bank_seen, book_seen) = matches::first_seen(&mut *session, day.account, wanted, book_seq).await?;
    let mut lines = Lines::default();
    let index = |found: Vec<OpenLine>| found.into_iter().map(|line| (line.id.clone(), line)).collect();
    lines.bank = index(bank::by_id(&mut *session, day.account, &bank_seen).await?);
    lines.book = index(books::by_id(session, day.account, book_seq, &book_seen).await?);
    for (side, item) in account.opening.iter().flat_map(|opening| &opening.items) {
        let (wanted, known) = match side {
            Side::Bank => (&wanted.bank, &mut lines.bank),
            Side::Book => (&wanted.book, &mut lines.book),
        };
        if wanted.contains(&item.id) {
            known.entry(item.id.clone()).or_insert_with(|| item.clone());
        }
    }
    Ok(lines)
}
