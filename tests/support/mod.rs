//! What the tests of one writer share: a migrated database with a results table, and terms on it.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]
#![expect(dead_code, unreachable_pub, reason = "each test binary uses its part of it")]

pub mod day;
pub mod download;
pub mod one_account;
pub mod proxy;
pub mod raw;

use std::sync::Arc;
use std::time::Duration;

use counterfoil::db::connect::Connector;
use counterfoil::db::fence::Fence;
use counterfoil::election::term::{Installation, Term, TermStore};
use counterfoil::election::{FencingToken, LeaseName, Owner};
use counterfoil::scratch::postgres::{self, Database};
use sqlx::postgres::{PgConnection, PgDatabaseError};
use sqlx::{AssertSqlSafe, Connection};
use tokio_util::sync::CancellationToken;

pub const BOUND: Duration = Duration::from_millis(300);

pub fn lease() -> LeaseName {
    LeaseName::new("reconciliation").expect("a name")
}

pub fn token(number: u64) -> FencingToken {
    FencingToken::new(number).expect("in range")
}

/// `<node>:1`.
pub fn owner(node: &str) -> Owner {
    Owner::from_stored(format!("{node}:1"))
}

pub fn connector(database: &Database, node: &str) -> Connector {
    Connector::new(&database.url(), node).expect("a url")
}

pub fn store(database: &Database) -> TermStore {
    TermStore::new(connector(database, "test"), Duration::from_secs(10))
}

/// A migrated database with one results table behind the fence, `counterfoil.probe (word)`.
pub async fn database() -> Database {
    let database = postgres::migrated().await.expect("a migrated database");
    let mut owner = PgConnection::connect(&database.owner_url()).await.expect("the owner logs in");
    run(
        &mut owner,
        "CREATE TABLE counterfoil.probe (word text NOT NULL);
         SELECT counterfoil.fence_table('counterfoil.probe');
         GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON counterfoil.probe TO counterfoil_worker",
    )
    .await
    .expect("the results table");
    database
}

/// Installs a term, without a fight. The account `acme` is its lease's.
pub async fn lead(database: &Database, number: u64, node: &str) -> Arc<Term> {
    lead_of(database, &lease(), number, node).await
}

/// Installs a term of a lease, which claims `acme` where nobody has it.
pub async fn lead_of(database: &Database, lease: &LeaseName, number: u64, node: &str) -> Arc<Term> {
    let term = match store(database).install(lease, token(number), &owner(node), BOUND).await.expect("an answer") {
        Installation::Installed(term) => Arc::new(term),
        other => unreachable!("{node} could not install {number}: {other:?}"),
    };
    let mut session = session(database).await;
    run(&mut session, "BEGIN").await.expect("begun");
    let entered = sqlx::query("SELECT counterfoil.enter_term($1, $2, $3)").bind(lease.as_str());
    let entered = entered.bind(i64::try_from(number).expect("in range")).bind(owner(node).as_str().to_owned());
    entered.execute(&mut session).await.expect("entered");
    let claim = "INSERT INTO counterfoil.account (id) VALUES ('acme') ON CONFLICT DO NOTHING; COMMIT";
    run(&mut session, claim).await.expect("claimed");
    term
}

pub fn fence(database: &Database, term: &Arc<Term>) -> Fence {
    Fence::new(Arc::clone(term), connector(database, term.owner().node()), CancellationToken::new())
}

/// A session of the worker's login, as any code path, old binary or psql could open.
pub async fn session(database: &Database) -> PgConnection {
    PgConnection::connect(&database.url()).await.expect("the worker logs in")
}

/// Statements, by the simple protocol.
pub async fn run(session: &mut PgConnection, statements: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(session).await.map(|_| ())
}

/// The SQLSTATE with which a statement was refused.
pub fn state<T>(answer: Result<T, sqlx::Error>) -> String {
    let error = answer.err().expect("it was to be refused");
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).map_or_else(|| error.to_string(), Into::into)
}

/// SQLSTATE, message, DETAIL and HINT of a refusal.
pub fn words<T>(answer: Result<T, sqlx::Error>) -> [String; 4] {
    let error = answer.err().expect("it was to be refused").into_database_error().expect("an answer of Postgres");
    let error = error.downcast_ref::<PgDatabaseError>();
    [error.code(), error.message(), error.detail().unwrap_or_default(), error.hint().unwrap_or_default()]
        .map(str::to_owned)
}

/// What the results table holds, sorted.
pub async fn kept(database: &Database) -> Vec<String> {
    sqlx::query_scalar("SELECT word FROM counterfoil.probe ORDER BY word COLLATE \"C\"")
        .fetch_all(&mut session(database).await)
        .await
        .expect("the rows")
}
