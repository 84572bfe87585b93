//! `counterfoil migrate`, as an operator runs it.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

use std::process::Output;

use counterfoil::db::connect::{Connector, Purpose};
use counterfoil::db::schema;
use counterfoil::scratch::postgres::{self, Database};
use sqlx::Connection;
use sqlx::postgres::PgConnection;

fn migrate(database: &Database, worker_url: Option<&str>) -> Output {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_counterfoil"));
    command
        .arg("migrate")
        .current_dir(std::env::temp_dir())
        .env("COUNTERFOIL__POSTGRES__OWNER_URL", database.owner_url());
    if let Some(url) = worker_url {
        command.env("COUNTERFOIL__POSTGRES__URL", url);
    }
    command.output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn the_schema_is_made_once_and_the_worker_let_in() {
    let database = postgres::database().await.expect("a database");
    let mut worker = PgConnection::connect(&database.url()).await.expect("the worker logs in");
    assert!(matches!(schema::check(&mut worker).await, Err(schema::SchemaError::Missing)));
    for _ in 0..2 {
        let done = migrate(&database, Some(&database.url()));
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        assert!(text(&done.stdout).contains(&format!("at version {}", schema::version())), "{}", text(&done.stdout));
    }
    schema::check(&mut worker).await.expect("the schema that this binary knows");
}

#[tokio::test]
async fn several_migrations_at_once_queue_and_all_succeed() {
    let database = postgres::database().await.expect("a database");
    let owner = Connector::new(&database.owner_url(), "test").expect("a url");
    let once = || schema::migrate(&owner, Some(postgres::WORKER));
    let (one, two, three) = tokio::join!(once(), once(), once());
    for version in [one, two, three] {
        assert_eq!(version.expect("migrated"), schema::version());
    }
}

#[tokio::test]
async fn a_login_that_owns_the_schema_or_does_not_exist_is_refused_as_the_workers() {
    let database = postgres::database().await.expect("a database");
    let owns = migrate(&database, Some(&database.owner_url()));
    assert_eq!(owns.status.code(), Some(1));
    assert!(text(&owns.stderr).contains("could bypass the fence"), "{}", text(&owns.stderr));
    let nobody = migrate(&database, Some(&database.url_as("nobody_of_that_name")));
    assert!(text(&nobody.stderr).contains("create it"), "{}", text(&nobody.stderr));
}

#[tokio::test]
async fn without_an_owner_url_it_says_which_setting_is_missing() {
    let told = assert_cmd::Command::new(env!("CARGO_BIN_EXE_counterfoil"))
        .arg("migrate")
        .current_dir(std::env::temp_dir())
        .output()
        .expect("it runs");
    assert_eq!(told.status.code(), Some(2));
    assert!(text(&told.stderr).contains("postgres.owner_url"), "{}", text(&told.stderr));
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_left_alone() {
    let database = postgres::migrated().await.expect("a database");
    let owner = Connector::new(&database.owner_url(), "test").expect("a url");
    let mut session = owner.connect(Purpose::Migrate).await.expect("the owner logs in");
    sqlx::query(
        "INSERT INTO counterfoil.schema_migration (version, description, success, checksum, execution_time)
         VALUES (999999, 'of the future', true, '', 0)",
    )
    .execute(&mut session)
    .await
    .expect("a newer schema");
    let refused = schema::migrate(&owner, None).await;
    assert!(matches!(refused, Err(schema::SchemaError::TooNew { found: 999_999, .. })), "{refused:?}");
}
