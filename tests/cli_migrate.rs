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
async fn before_the_first_migration_every_command_that_reads_says_that_it_is_missing() {
    let database = postgres::database().await.expect("a database");
    for command in ["status", "runs", "history", "breaks", "report", "pause"] {
        let told = assert_cmd::Command::new(env!("CARGO_BIN_EXE_counterfoil"))
            .arg(command)
            .current_dir(std::env::temp_dir())
            .env("COUNTERFOIL__POSTGRES__URL", database.url())
            .output()
            .expect("it runs");
        let said = text(&told.stderr);
        assert_eq!(told.status.code(), Some(1), "{command}: {said}");
        assert!(said.contains("has no schema of Counterfoil: run `counterfoil migrate` first"), "{command}: {said}");
        assert!(!said.contains(" at line "), "{command}: {said}");
    }
}

#[tokio::test]
async fn the_logins_of_the_page_of_operations_will_do_and_one_that_may_not_make_roles_is_told_so() {
    let server = postgres::Postgres::start().await.expect("a server");
    let database = server.database().await.expect("a database");
    let page = include_str!("../docs/operations.md").lines();
    let sql: Vec<&str> =
        page.filter(|line| line.starts_with("      CREATE ") || line.starts_with("      REVOKE ")).collect();
    assert_eq!(sql.len(), 4, "{sql:?}");
    let mut superuser = PgConnection::connect(&database.superuser_url()).await.expect("the superuser logs in");
    for statement in sql {
        // The server of the tests has an owner of that name.
        let statement = statement.replace("counterfoil_owner", "page_owner").replace(" CREATEROLE", " NOCREATEROLE");
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut superuser).await.expect("a statement of the page");
    }
    let url = |login: &str| database.url_as(login).replace(database.name(), "counterfoil");
    let migrate = || {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_counterfoil"));
        command
            .arg("migrate")
            .current_dir(std::env::temp_dir())
            .env("COUNTERFOIL__POSTGRES__OWNER_URL", url("page_owner"))
            .env("COUNTERFOIL__POSTGRES__URL", url("counterfoil"));
        command.output().expect("it runs")
    };
    let refused = migrate();
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    let mend = said.split_once("as a superuser, ").and_then(|(_, rest)| rest.split_once(',')).expect(&said).0;
    assert_eq!(mend, "ALTER ROLE \"page_owner\" CREATEROLE");
    sqlx::raw_sql(sqlx::AssertSqlSafe(mend.to_owned())).execute(&mut superuser).await.expect("what it said to do");
    let done = migrate();
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let mut worker = PgConnection::connect(&url("counterfoil")).await.expect("the worker logs in");
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
