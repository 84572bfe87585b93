//! Books that come by query are the books that come by file: the same digests, whatever the query's order and types; and
//! a query that could lie is refused.

#![expect(clippy::unwrap_used, reason = "a test says what it could not go on without")]

mod support;

use std::time::Duration;

use counterfoil::db::book_query::{BookQuery, Bounds};
use counterfoil::scratch::postgres::{self, Database};
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};
use support::day::Site;

/// The company's own database: the example's books, in types that a ledger has.
async fn ledger() -> (Database, PgConnection) {
    let database = postgres::database().await.unwrap();
    let mut owner = PgConnection::connect(&database.owner_url()).await.unwrap();
    owner
        .execute(
            "CREATE TABLE public.posting (id text PRIMARY KEY, account varchar(20), date date, amount numeric(18,4),
                 currency char(3), reference text, reference_type text, counterparty text, description text,
                 \"group\" text, reverses text);
             CREATE TABLE public.balance (account text, date date, currency char(3), closing numeric(18,4));
             GRANT SELECT ON public.posting, public.balance TO PUBLIC",
        )
        .await
        .unwrap();
    let books = support::day::example().join("inbox/book");
    let read = |name: &str| std::fs::read(books.join(name)).unwrap();
    for (statement, bytes) in [
        ("COPY public.posting FROM STDIN (FORMAT csv, HEADER match)", read("ledger-brl-2026-11-27.csv")),
        ("COPY public.balance FROM STDIN (FORMAT csv, HEADER match)", read("balances-2026-11-27.csv")),
    ] {
        let mut copy = owner.copy_in_raw(statement).await.unwrap();
        copy.send(bytes.as_slice()).await.unwrap();
        copy.finish().await.unwrap();
    }
    for line in String::from_utf8(read("ledger-eur-2026-11-27.jsonl")).unwrap().lines() {
        sqlx::query("INSERT INTO public.posting SELECT * FROM jsonb_populate_record(NULL::public.posting, $1::jsonb)")
            .bind(line)
            .execute(&mut owner)
            .await
            .unwrap();
    }
    (database, owner)
}

const ENTRIES: &str = "SELECT * FROM public.posting ORDER BY md5(id);";
const BALANCES: &str = "SELECT account, date, currency, closing FROM public.balance -- as the ledger has it";
const BOUNDS: Bounds = Bounds { max_rows: 10_000, timeout: Duration::from_secs(20) };

/// The example's site, with no book file and the books by query.
async fn site(ledger: &Database) -> Site {
    let mut site = Site::of_the_example().await;
    std::fs::remove_dir_all(site.path("inbox/book")).unwrap();
    let settings = std::fs::read_to_string(site.path("counterfoil.toml")).unwrap();
    let by_query =
        format!("[book]\nurl = \"{}\"\nquery = \"{}\"\nbalance_query = \"{BALANCES}\"\n", ledger.url(), ENTRIES);
    let (before, rest) = settings.split_once("[book]").unwrap();
    let after = &rest[rest.find("\n[").unwrap() + 1..];
    std::fs::write(site.path("counterfoil.toml"), format!("{before}{by_query}{after}")).unwrap();
    site.reload();
    site
}

fn query(ledger: &Database, entries: &str) -> BookQuery {
    BookQuery::new(&ledger.url(), "test", entries, None, BOUNDS).unwrap()
}

/// What a query is refused for.
async fn refusal(ledger: &Database, entries: &str) -> String {
    let query = query(ledger, entries);
    let (checked, read) = (query.check().await, query.read().await);
    let told = read.unwrap_err().to_string();
    // What needs no row to be seen is seen by the check.
    if let Err(checked) = checked {
        assert_eq!(checked.to_string(), told);
    }
    told
}

#[tokio::test]
async fn books_by_query_close_the_day_with_the_digests_of_the_same_books_by_file() {
    let by_file = Site::of_the_example().await;
    by_file.day(&mut by_file.lead(1, "a").await).await;
    let (ledger, _owner) = ledger().await;
    let site = site(&ledger).await;
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    assert_eq!(site.states().await, by_file.states().await);
    assert!(!site.digests().await.is_empty());
    assert_eq!(site.digests().await, by_file.digests().await);
    let files: Vec<(String, String)> =
        site.rows("SELECT name, status FROM counterfoil.source_file WHERE side = 'book' ORDER BY name").await;
    let accepted = |name: &str| (name.to_owned(), "accepted".to_owned());
    assert_eq!(files, [accepted("book.balance_query"), accepted("book.query")]);
}

#[tokio::test]
async fn it_is_asked_until_the_books_are_complete_less_and_less_often_and_then_no_more() {
    let (ledger, mut owner) = ledger().await;
    owner.execute("CREATE TABLE public.late AS SELECT * FROM public.balance; TRUNCATE public.balance").await.unwrap();
    owner.execute("UPDATE public.posting SET amount = amount + 1 WHERE id = 'OP-41001'").await.unwrap();
    let site = site(&ledger).await;
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    let waiting = site.states().await;
    assert!(waiting.iter().all(|(_, _, status, _)| status == "waiting"), "{waiting:?}");
    let batches = "SELECT count(*) FROM counterfoil.book_batch";
    assert_eq!(site.count(batches).await, 3, "the entries have come, each once");

    // The ledger corrects an entry, and closes its day: seen at the next asking, and not before.
    owner.execute("UPDATE public.posting SET amount = amount - 1 WHERE id = 'OP-41001'").await.unwrap();
    owner.execute("INSERT INTO public.balance SELECT * FROM public.late").await.unwrap();
    runner.pass().await.unwrap();
    assert_eq!(site.count(batches).await, 3, "not at every pass");
    site.clock.advance(Duration::from_mins(1));
    runner.pass().await.unwrap();
    let closed = site.states().await;
    assert!(closed.iter().all(|(_, _, status, _)| status == "closed"), "{closed:?}");
    let revised = "SELECT count(*) FROM counterfoil.book_line WHERE revision > 0";
    assert_eq!(site.count(revised).await, 1);

    // Complete: nobody asks any more.
    let before = site.count(batches).await;
    owner.execute("UPDATE public.posting SET amount = amount + 5 WHERE id = 'OP-41001'").await.unwrap();
    site.clock.advance(Duration::from_hours(2));
    runner.pass().await.unwrap();
    assert_eq!(site.count(batches).await, before);
}

#[tokio::test]
async fn a_query_tells_of_the_present_and_what_comes_back_to_what_it_was_is_what_it_was() {
    let (ledger, mut owner) = ledger().await;
    // One balance is missing, so that the books are asked for again and again.
    owner.execute("DELETE FROM public.balance WHERE account = 'europe'").await.unwrap();
    let site = site(&ledger).await;
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    let batches = "SELECT count(*) FROM counterfoil.book_batch";
    for cents in ["+ 1", "- 1", "- 0"] {
        let before = site.count(batches).await;
        for table in ["public.posting SET amount = amount", "public.balance SET closing = closing"] {
            let change = format!("UPDATE {table} {cents} WHERE account = 'operating'");
            owner.execute(sqlx::AssertSqlSafe(change)).await.unwrap();
        }
        site.clock.advance(Duration::from_mins(15));
        runner.pass().await.unwrap();
        let after = site.count(batches).await;
        assert_eq!(after > before, cents != "- 0", "{cents}: {before} and {after} batches");
    }
    let entry = "SELECT minor FROM counterfoil.book_line WHERE id = 'OP-41001' ORDER BY revision";
    let told: Vec<(i64,)> = site.rows(entry).await;
    assert_eq!(told, [(-421_845,), (-421_745,), (-421_845,)]);
    let closing = "SELECT closing FROM counterfoil.book_balance WHERE account = 'operating' ORDER BY seq";
    let told: Vec<(i64,)> = site.rows(closing).await;
    assert_eq!(told, [(33_024_909,), (33_025_009,), (33_024_909,)]);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_named_with_its_number_and_column_and_its_balances_wait() {
    let (ledger, mut owner) = ledger().await;
    owner.execute("UPDATE public.posting SET amount = 0.0001 WHERE id = 'OP-41001'").await.unwrap();
    let site = site(&ledger).await;
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    let told: Vec<(String,)> = site
        .rows(
            "SELECT d ->> 'line' || ': ' || (d ->> 'message') \
             FROM counterfoil.source_file, jsonb_array_elements(diagnostics) d WHERE status = 'refused'",
        )
        .await;
    let mut found = PgConnection::connect(&ledger.url()).await.unwrap();
    let row: i64 = sqlx::query_scalar(
        "SELECT n FROM (SELECT id, row_number() OVER (ORDER BY md5(id)) AS n FROM public.posting) o WHERE id = 'OP-41001'",
    )
    .fetch_one(&mut found)
    .await
    .unwrap();
    assert!(told[0].0.starts_with(&format!("{row}: amount: ")), "{told:?}");
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.book_balance").await, 0);
}

#[tokio::test]
async fn the_same_rows_in_another_order_are_the_same_books() {
    let (ledger, _owner) = ledger().await;
    let one = query(&ledger, "SELECT id, account, date, amount, currency FROM public.posting ORDER BY id").read().await;
    let other =
        query(&ledger, "SELECT id, account, date, amount, currency FROM public.posting ORDER BY id DESC").read().await;
    let (one, other) = (one.unwrap().entries.unwrap(), other.unwrap().entries.unwrap());
    assert_eq!(one.sha256, other.sha256);
    assert_ne!(one.bytes, other.bytes, "rows are told of by their number");
}

#[tokio::test]
async fn a_query_that_writes_says_more_than_one_thing_or_has_other_columns_is_refused() {
    let (ledger, mut owner) = ledger().await;
    owner
        .execute(
            "CREATE FUNCTION public.sneaky() RETURNS text LANGUAGE sql AS 'DELETE FROM public.posting; SELECT ''x''';
             GRANT DELETE ON public.posting TO PUBLIC",
        )
        .await
        .unwrap();
    let of = async |query: &str| refusal(&ledger, query).await;
    let plain = "id, account, date, amount, currency FROM public.posting";
    let writes = of("SELECT public.sneaky() AS id, account, date, amount, currency FROM public.posting").await;
    assert!(writes.contains("read-only transaction"), "{writes}");
    assert!(of(&format!("SELECT {plain}; COMMIT")).await.contains("multiple commands"));
    assert!(
        of("DELETE FROM public.posting RETURNING id, account, date, amount, currency").await.contains("book.query: ")
    );
    let float = of("SELECT id, account, date, amount::float8 AS amount, currency FROM public.posting").await;
    assert!(float.contains("amount: found the type float8, expected numeric or text"), "{float}");
    let instant = of("SELECT id, account, date::timestamptz AS date, amount, currency FROM public.posting").await;
    assert!(instant.contains("date: found the type timestamptz"), "{instant}");
    let columns = of("SELECT id, account AS konto, date, amount FROM public.posting").await;
    assert!(columns.contains("\"konto\"") && columns.contains("no column for currency"), "{columns}");
    assert!(of("SELECT account, date, currency, closing FROM public.balance").await.contains("a query of their own"));
    assert!(of("SELECT * FROM public.nowhere").await.contains("nowhere"));
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM public.posting").fetch_one(&mut owner).await.unwrap();
    assert!(left > 0, "nothing was deleted");
}

#[tokio::test]
async fn books_are_never_cut_short_and_a_database_that_does_not_answer_is_not_waited_for() {
    let (ledger, _owner) = ledger().await;
    let few = Bounds { max_rows: 3, ..BOUNDS };
    let told = BookQuery::new(&ledger.url(), "test", ENTRIES, None, few).unwrap().read().await.unwrap_err().to_string();
    assert!(told.contains("more than 3 rows"), "{told}");
    let short = Bounds { timeout: Duration::from_millis(300), ..BOUNDS };
    let slow = "SELECT pg_sleep(30)::text AS id, '' AS account, current_date AS date, '1' AS amount, 'BRL' AS currency";
    let told = BookQuery::new(&ledger.url(), "test", slow, None, short).unwrap().read().await.unwrap_err().to_string();
    assert!(told.contains("book.timeout") || told.contains("statement timeout"), "{told}");
    let away = BookQuery::new("postgres://reader:secret@127.0.0.1:1/erp", "test", ENTRIES, None, BOUNDS).unwrap();
    let told = format!("{} {away:?}", away.read().await.unwrap_err());
    assert!(told.contains("127.0.0.1:1/erp") && !told.contains("secret"), "{told}");
}
