//! Several books in one deployment: leases with accounts of their own, in one database. None writes what is another's, and
//! an account moves with all that it has.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

mod support;

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use counterfoil::clock::ManualClock;
use counterfoil::db::accounts::{self, AccountRow};
use counterfoil::db::days::{self, DayState};
use counterfoil::db::runs;
use counterfoil::election::LeaseName;
use counterfoil::election::term::{Installation, Term};
use counterfoil::run::runner::{Bench, Runner};
use counterfoil::scratch::free_port;
use counterfoil::scratch::postgres::{self, Database};
use counterfoil::scratch::redis::Redis;
use counterfoil::settings::Settings;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use support::day::{DATE, Site, bench, copy_whole, example, reins, settings};
use support::{BOUND, connector, download, one_account, owner, run, session, state, store, token};

/// A lease with some of the example's accounts, and folders of its own.
struct Book<'d> {
    lease: LeaseName,
    folder: tempfile::TempDir,
    settings: Settings,
    database: &'d Database,
    clock: ManualClock,
}

impl<'d> Book<'d> {
    fn new(database: &'d Database, lease: &str, accounts: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["inbox", "openings"] {
            copy_whole(&example().join(name), &folder.path().join(name));
        }
        Self {
            lease: LeaseName::new(lease).expect("a name"),
            settings: declare(folder.path(), accounts),
            folder,
            database,
            clock: ManualClock::at("2026-11-28T09:00:00Z".parse().expect("an instant")),
        }
    }

    /// A book that declares the account `main` alone, and whose inbox is empty.
    fn of_one_account(database: &'d Database, lease: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["inbox/bank", "inbox/book"] {
            std::fs::create_dir_all(folder.path().join(name)).expect("made");
        }
        std::fs::write(folder.path().join("counterfoil.toml"), one_account::SETTINGS).expect("written");
        std::fs::write(folder.path().join("items.csv"), one_account::ITEMS).expect("written");
        Self {
            lease: LeaseName::new(lease).expect("a name"),
            settings: settings(folder.path()),
            folder,
            database,
            clock: ManualClock::at("2026-11-09T05:00:00Z".parse().expect("an instant")),
        }
    }

    /// Settings with these accounts from now on.
    fn declare(&mut self, accounts: &[&str]) {
        self.settings = declare(self.folder.path(), accounts);
    }

    fn bench(&self, node: &str) -> Bench {
        bench(&self.settings, self.folder.path(), connector(self.database, node), self.clock.clone())
    }

    async fn term(&self, number: u64, node: &str) -> Arc<Term> {
        let installed = store(self.database).install(&self.lease, token(number), &owner(node), BOUND).await;
        match installed.expect("an answer") {
            Installation::Installed(term) => Arc::new(term),
            other => unreachable!("{node} could not install {number}: {other:?}"),
        }
    }

    async fn lead(&self, number: u64, node: &str) -> Runner {
        Runner::new(self.bench(node), reins(&self.term(number, node).await, &self.clock))
    }

    /// What lies in the inbox is taken in, and what is due is done.
    async fn day(&self, runner: &mut Runner) {
        runner.pass().await.expect("the first look");
        self.clock.advance(Duration::from_secs(11));
        runner.pass().await.expect("the day");
    }

    async fn states(&self, date: &str) -> Vec<DayState> {
        let date = date.parse().expect("a date");
        days::states(&mut session(self.database).await, &self.lease, date).await.expect("the states")
    }

    /// Account and digest of what is closed, by account.
    async fn digests(&self, date: &str) -> Vec<(String, String)> {
        let closed = self.states(date).await.into_iter();
        closed.filter_map(|state| Some((state.account, state.digest?))).collect()
    }

    async fn status(&self, date: &str) -> Option<(String, Option<String>)> {
        let date = date.parse().expect("a date");
        let run = runs::find(&mut session(self.database).await, &self.lease, date).await.expect("the ledger");
        run.map(|run| (run.status, run.digest))
    }
}

fn declare(folder: &std::path::Path, accounts: &[&str]) -> Settings {
    let whole = std::fs::read_to_string(example().join("counterfoil.toml")).expect("the example's settings");
    let mut parts = whole.split("[[accounts]]");
    let mut text = parts.next().expect("what comes before the accounts").to_owned();
    for part in parts.filter(|part| accounts.iter().any(|id| part.contains(&format!("id = \"{id}\"")))) {
        text.push_str("[[accounts]]");
        text.push_str(part);
    }
    std::fs::write(folder.join("counterfoil.toml"), text).expect("written");
    settings(folder)
}

async fn whose(database: &Database) -> Vec<(String, String, Option<String>)> {
    let rows = accounts::all(&mut session(database).await).await.expect("the accounts");
    rows.into_iter().map(|AccountRow { id, lease, moving_to, .. }| (id, lease, moving_to)).collect()
}

fn is(account: &str, lease: &str) -> (String, String, Option<String>) {
    (account.to_owned(), lease.to_owned(), None)
}

async fn ask_to_move(database: &Database, account: &str, to: &str) {
    let mut session = session(database).await;
    let row = accounts::find(&mut session, account).await.expect("an answer").expect("an account");
    let to = LeaseName::new(to).expect("a name");
    accounts::ask(&mut session, &row, &to, "the desk was split", "somebody").await.expect("asked");
}

/// The digests of the example's day, as nobody shared it: by account.
async fn undisturbed() -> Vec<(String, String)> {
    Site::of_the_example().await.digests_in_memory()
}

fn of(digests: &[(String, String)], accounts: &[&str]) -> Vec<(String, String)> {
    digests.iter().filter(|(account, _)| accounts.contains(&account.as_str())).cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_books_do_their_days_side_by_side_each_with_its_own_runs_files_and_digests() {
    let database = postgres::migrated().await.expect("a database");
    let brazil = Book::new(&database, "brazil", &["operating", "receivables"]);
    let europe = Book::new(&database, "europe", &["europe"]);
    let mut runners = (brazil.lead(1, "a").await, europe.lead(1, "b").await);
    tokio::join!(brazil.day(&mut runners.0), europe.day(&mut runners.1));
    assert_eq!(
        whose(&database).await,
        [is("europe", "europe"), is("operating", "brazil"), is("receivables", "brazil")]
    );
    let undisturbed = undisturbed().await;
    for (book, accounts) in [(&brazil, &["operating", "receivables"][..]), (&europe, &["europe"])] {
        let own = of(&undisturbed, accounts);
        assert_eq!(book.digests(DATE).await, own, "{}", book.lease);
        let (status, digest) = book.status(DATE).await.expect("a run");
        assert_eq!(status, "complete", "{}", book.lease);
        // The digest of a run that has these accounts alone.
        assert!(digest.is_some(), "{}", book.lease);
        let outbox = std::fs::read_dir(book.folder.path().join("outbox").join(DATE)).expect("published");
        let mut names: Vec<String> =
            outbox.map(|name| name.expect("a name").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        let mut expected: Vec<&str> = accounts.to_vec();
        expected.extend(["summary.json", "summary.txt"]);
        expected.sort_unstable();
        assert_eq!(names, expected, "{}", book.lease);
    }
    assert_ne!(brazil.status(DATE).await, europe.status(DATE).await, "each has its own");
}

/// As the owner of the tables, who may write each column: the fence holds for him too.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_of_one_book_is_refused_on_the_account_of_another_at_every_results_table() {
    let database = postgres::migrated().await.expect("a database");
    let whole = Book::new(&database, "whole", &["operating", "receivables", "europe"]);
    let mut runner = whole.lead(1, "a").await;
    whole.day(&mut runner).await;
    let other = LeaseName::new("other").expect("a name");
    drop(store(&database).install(&other, token(1), &owner("b"), BOUND).await.expect("an answer"));
    let mut owner = PgConnection::connect(&database.owner_url()).await.expect("the owner logs in");
    let tables: Vec<(String, String, bool)> = sqlx::query_as(
        "SELECT c.relname, a.attname, EXISTS (SELECT FROM pg_constraint f WHERE f.confrelid = c.oid)
         FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgfoid = 'counterfoil.check_fence'::regproc
         JOIN LATERAL (SELECT attname FROM pg_attribute a WHERE a.attrelid = c.oid AND attname IN ('account', 'lease')
                       ORDER BY attname LIMIT 1) a ON true
         WHERE c.relname <> 'account' ORDER BY 1",
    )
    .fetch_all(&mut owner)
    .await
    .expect("the catalogue");
    assert!(tables.len() >= 20, "{tables:?}");
    let mut empty = Vec::new();
    for (table, column, referred_to) in &tables {
        let rows: i64 =
            sqlx::query_scalar(AssertSqlSafe(format!("SELECT count(*) FROM counterfoil.{table} WHERE {column} <> ''")))
                .fetch_one(&mut owner)
                .await
                .expect("counted");
        if rows == 0 {
            empty.push(table.as_str());
            continue;
        }
        let mut writes = vec![format!("UPDATE counterfoil.{table} SET {column} = {column} WHERE {column} <> ''")];
        if !referred_to {
            writes.push(format!("DELETE FROM counterfoil.{table} WHERE {column} <> ''"));
        }
        for write in writes {
            run(&mut owner, "BEGIN; SELECT counterfoil.enter_term('other', 1, 'b:1')").await.expect("it leads");
            assert_eq!(state(run(&mut owner, &write).await), "TF007", "{write}");
            run(&mut owner, "ROLLBACK").await.expect("rolled back");
        }
    }
    // Nothing waits or was left, and nobody asked: of these there is no row to try it on.
    assert_eq!(empty, ["file_left", "run_answer", "source_bytes"]);
    // By COPY, which is how lines come in.
    run(&mut owner, "BEGIN; SELECT counterfoil.enter_term('other', 1, 'b:1')").await.expect("it leads");
    let mut copy = owner.copy_in_raw("COPY counterfoil.bank_day FROM STDIN").await.expect("it takes data");
    copy.send(b"europe\t2026-11-30\t99\t1\t5\n".as_slice()).await.expect("sent");
    assert_eq!(state(copy.finish().await), "TF007", "COPY");
}

#[tokio::test(flavor = "multi_thread")]
async fn r2_a_renamed_lease_in_a_rolling_deployment_works_on_nothing_and_says_what_to_do() {
    let database = postgres::migrated().await.expect("a database");
    let all = ["operating", "receivables", "europe"];
    let old = Book::new(&database, "reconciliation", &all);
    let mut runner = old.lead(4, "a").await;
    runner.pass().await.expect("the first look");
    let new = Book::new(&database, "renamed", &all);
    let mut renamed = new.lead(1, "b").await;
    new.day(&mut renamed).await;
    old.clock.advance(Duration::from_secs(11));
    runner.pass().await.expect("the old one goes on");
    assert_eq!(old.digests(DATE).await, undisturbed().await);
    assert_eq!(old.status(DATE).await.expect("a run").0, "complete");
    assert_eq!(new.states(DATE).await, []);
    assert_eq!(new.status(DATE).await.expect("a run").0, "due", "its accounts wait");
    let of_the_new: i64 = sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM counterfoil.statement WHERE lease = 'renamed')
              + (SELECT count(*) FROM counterfoil.account_day WHERE lease = 'renamed')
              + (SELECT count(*) FROM counterfoil.checkpoint WHERE lease = 'renamed' AND account <> '')",
    )
    .fetch_one(&mut session(&database).await)
    .await
    .expect("counted");
    assert_eq!(of_the_new, 0);
    let why: Vec<String> = sqlx::query_scalar(
        "SELECT DISTINCT d ->> 'message' FROM counterfoil.source_file, jsonb_array_elements(diagnostics) d
         WHERE lease = 'renamed' AND side = 'bank' ORDER BY 1",
    )
    .fetch_all(&mut session(&database).await)
    .await
    .expect("why nothing was taken");
    let says =
        "it belongs to lease reconciliation, not to renamed: counterfoil accounts move --account europe --to renamed";
    assert!(why.iter().any(|why| why.contains(says) && why.contains("set lease.name back")), "{why:?}");
    // Set back, it is at once what it was.
    let summary = new.folder.path().join("outbox").join(DATE).join("summary.txt");
    let summary = std::fs::read_to_string(summary).expect("a summary");
    assert!(summary.contains("it belongs to lease reconciliation"), "{summary}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_moves_by_both_terms_with_its_closed_days_its_open_items_and_its_ledger() {
    let database = postgres::migrated().await.expect("a database");
    let mut from = Book::new(&database, "brazil", &["operating", "receivables"]);
    let mut to = Book::new(&database, "treasury", &["europe"]);
    let mut giver = from.lead(1, "a").await;
    let mut taker = to.lead(1, "b").await;
    tokio::join!(from.day(&mut giver), to.day(&mut taker));
    let undisturbed = undisturbed().await;
    assert_eq!(from.digests(DATE).await, of(&undisturbed, &["operating", "receivables"]));

    // Asked for; given up by the one term, and then nobody's to write.
    ask_to_move(&database, "receivables", "treasury").await;
    taker.pass().await.expect("a pass of the other book");
    assert_eq!(whose(&database).await[2], is("receivables", "brazil"), "nobody takes what was not given");
    giver.pass().await.expect("a pass");
    let given = ("receivables".to_owned(), "brazil".to_owned(), Some("treasury".to_owned()));
    assert_eq!(whose(&database).await[2], given);
    let mut writer = session(&database).await;
    for enter in ["'brazil', 1, 'a:1'", "'treasury', 1, 'b:1'"] {
        run(&mut writer, &format!("BEGIN; SELECT counterfoil.enter_term({enter})")).await.expect("it leads");
        let step =
            "INSERT INTO counterfoil.checkpoint (account, step, key, owner) VALUES ('receivables', 'x', 'x', 'x')";
        assert_eq!(state(run(&mut writer, step).await), "TF007", "{enter}");
        run(&mut writer, "ROLLBACK").await.expect("rolled back");
    }
    taker.pass().await.expect("a pass whose settings do not declare it");
    assert_eq!(whose(&database).await[2], given, "it is taken by the book that declares it");

    // Taken by the other term.
    to.declare(&["europe", "receivables"]);
    let mut taker = to.lead(2, "c").await;
    taker.pass().await.expect("a pass whose settings declare it");
    assert_eq!(whose(&database).await[2], is("receivables", "treasury"));
    // The day that was closed in the old book stays there, and is not done twice.
    to.day(&mut taker).await;
    assert_eq!(from.digests(DATE).await, of(&undisturbed, &["operating", "receivables"]));
    assert_eq!(to.digests(DATE).await, of(&undisturbed, &["europe"]));
    assert_eq!(to.status(DATE).await.expect("a run").0, "complete");
    // And its next one is the new book's.
    from.declare(&["operating"]);
    let mut giver = from.lead(2, "d").await;
    for book in [&from, &to] {
        book.clock.set_wall("2026-12-01T09:00:00Z".parse().expect("an instant"));
    }
    tokio::join!(from.day(&mut giver), to.day(&mut taker));
    let accounts = |states: Vec<DayState>| states.into_iter().map(|state| state.account).collect::<Vec<_>>();
    assert_eq!(accounts(from.states("2026-11-30").await), ["operating"]);
    assert_eq!(accounts(to.states("2026-11-30").await), ["europe", "receivables"]);
}

/// The files of Monday 9 and Tuesday 10 November: a deposit of the first is booked on the second.
fn deliver(book: &Book<'_>, day: u32) {
    let inbox = book.folder.path().join("inbox");
    let put = |name: &str, text: String| std::fs::write(inbox.join(name), text).expect("written");
    if day == 9 {
        let rows = [("2026-11-09", 12_300, "778899", "Deposit of a customer")];
        put("bank/09.ofx", download::ofx("2026-11-09", "2026-11-09", "2026-11-10", 112_300, &rows));
        put("book/09.csv", one_account::balance("2026-11-09", 95_000));
    } else {
        let rows = [("2026-11-10", -2_000, "", "Fee")];
        put("bank/10.ofx", download::ofx("2026-11-10", "2026-11-10", "2026-11-11", 110_300, &rows));
        put("book/10.csv", one_account::book(&[("B1", "2026-11-10", 12_300, "778899", "Deposit of a customer")]));
        put("book/10b.csv", one_account::balance("2026-11-10", 107_300));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_that_an_account_was_moved_before_has_the_digest_of_one_that_nobody_moved() {
    let digest = async |book: &Book<'_>, date: &str| {
        let closed = book.digests(date).await;
        closed.into_iter().find(|(account, _)| account == "main").map(|(_, digest)| digest)
    };
    let apart = postgres::migrated().await.expect("a database");
    let whole = Book::of_one_account(&apart, "whole");
    let mut runner = whole.lead(1, "a").await;
    whole.clock.set_wall("2026-11-11T06:30:00Z".parse().expect("an instant"));
    for day in [9, 10] {
        deliver(&whole, day);
        whole.day(&mut runner).await;
    }
    let expected = digest(&whole, "2026-11-10").await.expect("closed");

    let database = postgres::migrated().await.expect("a database");
    let (old, new) = (Book::of_one_account(&database, "old"), Book::of_one_account(&database, "new"));
    let (mut giver, mut taker) = (old.lead(1, "a").await, new.lead(1, "b").await);
    for book in [&old, &new] {
        book.clock.set_wall("2026-11-11T06:30:00Z".parse().expect("an instant"));
    }
    // Both know of both dates; the old one has closed the first, and lacks the statement of the second.
    deliver(&old, 9);
    old.day(&mut giver).await;
    new.day(&mut taker).await;
    assert_eq!(digest(&old, "2026-11-09").await, digest(&whole, "2026-11-09").await);
    assert_eq!(old.states("2026-11-10").await[0].status, "waiting");
    assert_eq!(new.states("2026-11-10").await, [], "not its own yet");
    ask_to_move(&database, "main", "new").await;
    giver.pass().await.expect("given up");
    taker.pass().await.expect("taken");
    assert_eq!(whose(&database).await, [is("main", "new")]);
    assert_eq!(new.states("2026-11-10").await[0].status, "waiting", "a day that was not closed goes with it");
    deliver(&new, 10);
    new.day(&mut taker).await;
    assert_eq!(digest(&new, "2026-11-10").await, Some(expected));
    assert_eq!(new.status("2026-11-10").await.expect("a run").0, "complete");
    assert_eq!(old.states("2026-11-10").await, [], "it left no trace of a day that it did not do");
    // The first day stays where it was done, and the new book has nothing to do for it.
    assert_eq!(old.states("2026-11-09").await[0].status, "closed");
    assert_eq!(new.status("2026-11-09").await.expect("a run").0, "complete");
    let previous: String = sqlx::query_scalar(
        "SELECT previous::text FROM counterfoil.manifest WHERE lease = 'new' AND business_date = '2026-11-10'",
    )
    .fetch_one(&mut session(&database).await)
    .await
    .expect("a manifest");
    assert_eq!(previous, "2026-11-09");
    // And back again: what was given and not taken may stay.
    ask_to_move(&database, "main", "old").await;
    taker.pass().await.expect("given up");
    ask_to_move(&database, "main", "new").await;
    taker.pass().await.expect("taken back");
    giver.pass().await.expect("nothing to take");
    assert_eq!(whose(&database).await, [is("main", "new")]);
}

/// A node runs a worker of each book. Whoever is dropped is killed.
struct Node {
    name: &'static str,
    workers: Vec<tokio::process::Child>,
}

const TAKEOVER: [(&str, &str); 7] = [
    ("COUNTERFOIL__LEASE__TTL", "4s"),
    ("COUNTERFOIL__LEASE__HEARTBEAT", "800ms"),
    ("COUNTERFOIL__LEASE__ATTEMPT_TIMEOUT", "800ms"),
    ("COUNTERFOIL__LEASE__MARGIN", "200ms"),
    ("COUNTERFOIL__LEASE__DRAIN", "2s"),
    ("COUNTERFOIL__LEASE__STALL_LIMIT", "60s"),
    ("COUNTERFOIL__INBOX__SETTLE", "500ms"),
];

/// The program, with a book's settings, as whoever runs it on that node would.
fn program(book: &Book<'_>, redis: &Redis, node: &str) -> tokio::process::Command {
    let place = |name: &str| format!("file://{}", book.folder.path().join(name).display());
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_counterfoil"));
    command
        .current_dir(book.folder.path())
        .envs(TAKEOVER)
        .env("COUNTERFOIL__LEASE__NAME", book.lease.as_str())
        .env("COUNTERFOIL__NODE__ID", node)
        .env("COUNTERFOIL__REDIS__URL", redis.url())
        .env("COUNTERFOIL__POSTGRES__URL", book.database.url())
        .env("COUNTERFOIL__INBOX__URL", place("inbox"))
        .env("COUNTERFOIL__OUTBOX__URL", place("outbox"))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

fn start(books: &[Book<'_>], redis: &Redis, name: &'static str) -> Node {
    let worker = |book: &Book<'_>| {
        let port = free_port().expect("a port");
        let log = std::fs::File::create(book.folder.path().join(format!("{name}.log"))).expect("a log");
        let mut command = program(book, redis, name);
        command.arg("worker").env("COUNTERFOIL__HTTP__LISTEN", format!("127.0.0.1:{port}"));
        command.stdout(Stdio::null()).stderr(log).spawn().expect("a process")
    };
    Node { name, workers: books.iter().map(worker).collect() }
}

/// Which node leads each book, once all are led, and none by a node that has gone.
async fn led(database: &Database, books: usize, gone: Option<&str>) -> Vec<(String, String)> {
    for _ in 0..1200 {
        let led: Vec<(String, String)> =
            sqlx::query_as("SELECT lease, split_part(owner, ':', 1) FROM counterfoil.leader_term ORDER BY lease")
                .fetch_all(&mut session(database).await)
                .await
                .expect("the terms");
        if led.len() == books && led.iter().all(|(_, node)| Some(node.as_str()) != gone) {
            return led;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    unreachable!("not every book is led");
}

#[tokio::test(flavor = "multi_thread")]
async fn three_books_on_three_nodes_are_led_taken_over_when_a_node_dies_and_each_closes_its_own_day() {
    let (database, redis) = (postgres::migrated().await.expect("a database"), Redis::start().await.expect("a Redis"));
    let accounts = [("brazil", "operating"), ("europe", "europe"), ("receipts", "receivables")];
    let books = accounts.map(|(lease, account)| Book::new(&database, lease, &[account]));
    let mut nodes = ["a", "b", "c"].map(|name| start(&books, &redis, name)).into_iter().collect::<Vec<_>>();
    let led_by = led(&database, books.len(), None).await;
    // The node of the first book's leader dies, with all that it leads.
    let dies = nodes.iter().position(|node| node.name == led_by[0].1).expect("one of the three");
    let dead = nodes.remove(dies);
    let name = dead.name;
    for mut worker in dead.workers {
        worker.kill().await.expect("killed");
    }
    led(&database, books.len(), Some(name)).await;
    let undisturbed = undisturbed().await;
    for (book, (lease, account)) in books.iter().zip(accounts) {
        let mut run = program(book, &redis, "operator");
        let run = run.args(["run", "--date", DATE, "--wait", "--timeout", "90s"]).output().await.expect("a process");
        assert!(run.status.success(), "{lease}: {}", String::from_utf8_lossy(&run.stderr));
        assert_eq!(book.digests(DATE).await, of(&undisturbed, &[account]), "{lease}");
        let runs = program(book, &redis, "operator").args(["runs", "--json", "--date", DATE]).output().await;
        let runs: serde_json::Value = serde_json::from_slice(&runs.expect("a process").stdout).expect("JSON");
        let shown: Vec<_> =
            runs[0]["accounts"].as_array().expect("accounts").iter().map(|day| &day["account"]).collect();
        assert_eq!(shown, [account], "the runs of {lease} are its own alone");
    }
    assert_eq!(whose(&database).await, accounts_of(&accounts));
}

fn accounts_of(books: &[(&str, &str)]) -> Vec<(String, String, Option<String>)> {
    let mut accounts: Vec<_> = books.iter().map(|(lease, account)| is(account, lease)).collect();
    accounts.sort();
    accounts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_came_first_and_leads_every_book_shares_them_out_with_those_that_come_later() {
    let (database, redis) = (postgres::migrated().await.expect("a database"), Redis::start().await.expect("a Redis"));
    let accounts = [("brazil", "operating"), ("europe", "europe"), ("receipts", "receivables")];
    let books = accounts.map(|(lease, account)| Book::new(&database, lease, &[account]));
    let _first = start(&books, &redis, "a");
    let led_by = led(&database, books.len(), None).await;
    assert!(led_by.iter().all(|(_, node)| node == "a"), "{led_by:?}");
    let _later = ["b", "c"].map(|name| start(&books, &redis, name));
    let mut shared = Vec::new();
    for _ in 0..1200 {
        shared = led(&database, books.len(), None).await.into_iter().map(|(_, node)| node).collect();
        shared.sort();
        if shared == ["a", "b", "c"] {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(shared, ["a", "b", "c"], "one book each");
    let reasons: Vec<(String,)> = sqlx::query_as(
        "SELECT reason FROM counterfoil.leadership_event WHERE kind = 'term' AND ended_at IS NOT NULL ORDER BY id",
    )
    .fetch_all(&mut session(&database).await)
    .await
    .expect("the terms");
    assert_eq!(reasons, [("shared_out".to_owned(),), ("shared_out".to_owned(),)], "two hand-overs, and then rest");
}
