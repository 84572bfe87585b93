//! The company's books, read by a query from a database of its own: `book.url`, `book.query`, `book.balance_query`.
//!
//! Both queries are read in one transaction, REPEATABLE READ and READ ONLY, so that balances are of the same moment as
//! the entries that they sum up. Each is given to Postgres as it is written, as the query of a cursor: so it is one
//! statement, one that only reads, and its rows come in portions. Values are taken as the text that Postgres shows, so
//! that no amount passes through a float; the rows become JSON lines, and are read as a book file is, with row for line.
//!
//! Nothing is asked of that database at login, since it may stand behind a pooler or be of any version.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Column, ConnectOptions, Executor, Row, SqlSafeStr, Statement, TypeInfo, ValueRef};

use super::verdict::told;
use crate::book;

/// The books of a query: where, what, and how much at most.
#[derive(Clone)]
pub struct BookQuery {
    options: PgConnectOptions,
    entries: String,
    balances: Option<String>,
    bounds: Bounds,
}

/// How much a query may bring, and how long it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Rows of each query. More is refused: books are never cut short.
    pub max_rows: u32,
    /// All of it, from the login to the last row.
    pub timeout: Duration,
}

/// What the queries brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Books {
    /// Postings; none where the query has no row.
    pub entries: Option<Rows>,
    /// Balances.
    pub balances: Option<Rows>,
}

/// Rows of a query, as a book file. Their `Debug` shows none of them.
#[derive(Clone, PartialEq, Eq)]
pub struct Rows {
    /// JSON lines, in the order in which the rows came.
    pub bytes: Vec<u8>,
    /// SHA-256 over the lines in their own order: a query need not have an order for its content to be known again.
    pub sha256: [u8; 32],
}

/// Why the books could not be read. No password is in any of these.
#[derive(Debug, thiserror::Error)]
pub enum BookQueryError {
    /// `book.url` is none.
    #[error("book.url is no address of Postgres (postgres://user:password@host:port/database)")]
    Url,
    /// No session.
    #[error("the books' database at {place} cannot be reached: {why}")]
    Unreachable {
        /// host:port/database.
        place: String,
        /// What was said.
        why: String,
    },
    /// Too slow.
    #[error("book.query was not read within {} (book.timeout)", humantime::format_duration(*.0))]
    Late(Duration),
    /// Postgres refuses a query.
    #[error("{query}: {why}")]
    Refused {
        /// `book.query` or `book.balance_query`.
        query: &'static str,
        /// In Postgres' words.
        why: String,
    },
    /// Its columns are not those of a book file.
    #[error("{query}: {}", faults.join("; "))]
    Columns {
        /// `book.query` or `book.balance_query`.
        query: &'static str,
        /// A sentence each.
        faults: Vec<String>,
    },
    /// More rows than may be.
    #[error(
        "{query}: it has more than {max_rows} rows (book.max_rows): nothing of it was taken; let it read only what may be new, such as the postings of the last 45 days"
    )]
    TooMany {
        /// `book.query` or `book.balance_query`.
        query: &'static str,
        /// The limit.
        max_rows: u32,
    },
}

/// The setting that holds the query of entries, and the name under which what it brings is known.
pub const ENTRIES: &str = "book.query";
/// The setting that holds the query of balances.
pub const BALANCES: &str = "book.balance_query";
/// A login takes no longer.
const LOGIN: Duration = Duration::from_secs(5);
/// Rows that are fetched at a time.
const PORTION: u64 = 5_000;

// === impl BookQuery ===

impl BookQuery {
    /// Of the settings. `node` is who asks, as the other database's `pg_stat_activity` shows it.
    pub fn new(
        url: &str,
        node: &str,
        entries: &str,
        balances: Option<&str>,
        bounds: Bounds,
    ) -> Result<Self, BookQueryError> {
        let options = PgConnectOptions::from_str(url).map_err(|_| BookQueryError::Url)?;
        Ok(Self {
            options: options.application_name(&format!("counterfoil/{node}/book")).statement_cache_capacity(0),
            entries: bare(entries),
            balances: balances.map(bare),
            bounds,
        })
    }

    /// host:port/database, for messages.
    pub fn place(&self) -> String {
        let database = self.options.get_database().unwrap_or_else(|| self.options.get_username());
        format!("{}:{}/{database}", self.options.get_host(), self.options.get_port())
    }

    /// Reads the books. Dropping it at any instant closes the session.
    pub async fn read(&self) -> Result<Books, BookQueryError> {
        self.in_time(async {
            let mut session = self.begin().await?;
            let entries = self.rows(&mut session, ENTRIES, &self.entries, false).await?;
            let balances = match &self.balances {
                Some(query) => self.rows(&mut session, BALANCES, query, true).await?,
                None => None,
            };
            Ok(Books { entries, balances })
        })
        .await
    }

    /// Tries the queries without reading a row: do they stand, may this login run them, and are their columns those of a
    /// book file?
    pub async fn check(&self) -> Result<(), BookQueryError> {
        self.in_time(async {
            let mut session = self.begin().await?;
            open(&mut session, ENTRIES, &self.entries, false).await?;
            if let Some(query) = &self.balances {
                open(&mut session, BALANCES, query, true).await?;
            }
            Ok(())
        })
        .await
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, BookQueryError>>) -> Result<T, BookQueryError> {
        let late = |_| BookQueryError::Late(self.bounds.timeout);
        tokio::time::timeout(self.bounds.timeout, Box::pin(work)).await.map_err(late)?
    }

    /// A session in the transaction that everything is read in. What it is told ends with the transaction.
    async fn begin(&self) -> Result<PgConnection, BookQueryError> {
        let unreachable = |why: String| BookQueryError::Unreachable { place: self.place(), why };
        let opened = tokio::time::timeout(LOGIN, self.options.connect()).await;
        let opened = opened.map_err(|_| unreachable(format!("no answer within {} s", LOGIN.as_secs())))?;
        let mut session = opened.map_err(|error| unreachable(told(&error)))?;
        let begun = async {
            session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
            // Dates as they are compared; and a server that goes on for nobody is told when to stop.
            sqlx::query!(
                "SELECT set_config('datestyle', 'ISO, YMD', true) AS dates,
                     set_config('statement_timeout', $1, true) AS statement,
                     set_config('idle_in_transaction_session_timeout', $1, true) AS idle",
                self.bounds.timeout.as_millis().to_string()
            )
            .fetch_one(&mut session)
            .await
        };
        begun.await.map_err(|error| unreachable(told(&error)))?;
        Ok(session)
    }

    async fn rows(
        &self,
        session: &mut PgConnection,
        name: &'static str,
        query: &str,
        balances: bool,
    ) -> Result<Option<Rows>, BookQueryError> {
        let columns = open(session, name, query, balances).await?;
        let mut bytes = Vec::new();
        let mut count = 0;
        loop {
            // By the simple protocol: every value comes as text, exact, whatever its type.
            let portion = sqlx::raw_sql(AssertSqlSafe(format!("FETCH FORWARD {PORTION} FROM {}", cursor(balances))))
                .fetch_all(&mut *session)
                .await
                .map_err(refused(name))?;
            if portion.is_empty() {
                break;
            }
            count += portion.len() as u64;
            if count > u64::from(self.bounds.max_rows) {
                return Err(BookQueryError::TooMany { query: name, max_rows: self.bounds.max_rows });
            }
            for row in portion {
                let mut object = Map::with_capacity(columns.len());
                for (at, column) in columns.iter().enumerate() {
                    let value = row.try_get_raw(at).map_err(refused(name))?;
                    if !value.is_null() {
                        let text = value.as_str().map_err(sqlx::Error::Decode).map_err(refused(name))?;
                        object.insert(column.clone(), Value::String(text.to_owned()));
                    }
                }
                bytes.extend_from_slice(Value::Object(object).to_string().as_bytes());
                bytes.push(b'\n');
            }
        }
        Ok((count > 0).then(|| Rows { sha256: whatever_the_order(&bytes), bytes }))
    }
}

impl fmt::Debug for BookQuery {
    /// Without the address: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BookQuery").field("place", &self.place()).field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

/// A query without the semicolon that ends it.
fn bare(query: &str) -> String {
    query.trim().trim_end_matches(';').trim_end().to_owned()
}

fn cursor(balances: bool) -> &'static str {
    if balances { "counterfoil_balances" } else { "counterfoil_entries" }
}

fn refused(query: &'static str) -> impl Fn(sqlx::Error) -> BookQueryError {
    move |error| BookQueryError::Refused { query, why: told(&error) }
}

/// Opens a query's cursor; its columns, which are those of a book file.
async fn open(
    session: &mut PgConnection,
    name: &'static str,
    query: &str,
    balances: bool,
) -> Result<Vec<String>, BookQueryError> {
    let statement = session.prepare(AssertSqlSafe(query.to_owned()).into_sql_str()).await.map_err(refused(name))?;
    let columns: Vec<String> = statement.columns().iter().map(|column| column.name().to_owned()).collect();
    let mut faults = book::faults_of_columns(&columns, balances);
    faults.extend(
        statement.columns().iter().filter_map(|column| fault_of_type(column.name(), column.type_info().name())),
    );
    if !faults.is_empty() {
        return Err(BookQueryError::Columns { query: name, faults });
    }
    // Prepared, so that it is one statement. The line end closes a comment that the query ends in.
    let declared = format!("DECLARE {} NO SCROLL CURSOR FOR {query}\n", cursor(balances));
    sqlx::query(AssertSqlSafe(declared)).persistent(false).execute(session).await.map_err(refused(name))?;
    Ok(columns)
}

/// Types whose text is not the value: floats have lost it, money is written in the server's locale, and an instant is
/// of another day in another zone.
fn fault_of_type(column: &str, found: &str) -> Option<String> {
    let expected = match (column, found) {
        ("amount" | "debit" | "credit" | "closing", "FLOAT4" | "FLOAT8" | "MONEY") => "numeric or text",
        ("date", "TIMESTAMP" | "TIMESTAMPTZ") => "date: say in which zone a day begins, in the query",
        _ => return None,
    };
    Some(format!("{column}: found the type {}, expected {expected}", found.to_lowercase()))
}

fn whatever_the_order(lines: &[u8]) -> [u8; 32] {
    let mut lines: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    let mut hash = Sha256::new();
    for line in lines {
        hash.update(line);
    }
    hash.finalize().into()
}
