//! A day at work, without an election: the example's files, a database of its own, and terms installed by hand.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use counterfoil::book;
use counterfoil::clock::ManualClock;
use counterfoil::db::connect::Connector;
use counterfoil::election::tenure::Progress;
use counterfoil::election::term::{Installation, Term};
use counterfoil::inbox::Folder;
use counterfoil::outbox::Outbox;
use counterfoil::reconciliation::{self, BankFile, BookFile, Reconciliation, Request};
use counterfoil::report::digest;
use counterfoil::run::Reins;
use counterfoil::run::desk::Desk;
use counterfoil::run::runner::{Bench, Pass, Runner};
use counterfoil::scratch::postgres::{self, Database};
use counterfoil::settings::{BookSource, Need, Settings, SettingsFile, Sources};
use counterfoil::statement::{self, detect};
use sqlx::FromRow;
use sqlx::postgres::{PgConnection, PgRow};
use tokio_util::sync::CancellationToken;

use super::{BOUND, connector, lease, owner, session, store, token};

/// The example's business date.
pub const DATE: &str = "2026-11-27";

/// A site: inbox, outbox, database, clock.
pub struct Site {
    pub folder: tempfile::TempDir,
    pub database: Database,
    pub clock: ManualClock,
    pub settings: Settings,
}

impl Site {
    /// The example as it is, the morning after its business date, with a database of its own.
    pub async fn of_the_example() -> Self {
        let database = postgres::migrated().await.expect("a migrated database");
        let folder = tempfile::tempdir().expect("a folder");
        copy(&example(), folder.path());
        Self::over(folder, database, "2026-11-28T09:00:00Z")
    }

    pub fn over(folder: tempfile::TempDir, database: Database, now: &str) -> Self {
        let settings = settings(folder.path());
        Self { folder, database, clock: ManualClock::at(now.parse().expect("an instant")), settings }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The settings, read again.
    pub fn reload(&mut self) {
        self.settings = settings(self.folder.path());
    }

    pub fn bench(&self, node: &str) -> Bench {
        bench(&self.settings, self.folder.path(), connector(&self.database, node), self.clock.clone())
    }

    /// A runner under a new term.
    pub async fn lead(&self, number: u64, node: &str) -> Runner {
        Runner::new(self.bench(node), reins(&self.term(number, node).await, &self.clock))
    }

    /// Installs a term; ends whoever is in its way, as a candidate does.
    pub async fn term(&self, number: u64, node: &str) -> Arc<Term> {
        let mut store = store(&self.database);
        for _ in 0..20 {
            match store.install(&lease(), token(number), &owner(node), BOUND).await.expect("an answer") {
                Installation::Installed(term) => return Arc::new(term),
                Installation::Blocked => drop(store.evict(&lease()).await.expect("an answer")),
                other => unreachable!("{node} could not install {number}: {other:?}"),
            }
        }
        unreachable!("the lock was never had")
    }

    /// Two passes with a settle time in between: what lies in the inbox is taken in, and what is due is done.
    pub async fn day(&self, runner: &mut Runner) -> Pass {
        runner.pass().await.expect("the first look");
        self.clock.advance(Duration::from_secs(11));
        runner.pass().await.expect("the day")
    }

    /// Rows of a query, as the worker may read them.
    pub async fn rows<T>(&self, sql: &'static str) -> Vec<T>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let mut session: PgConnection = session(&self.database).await;
        sqlx::query_as(sql).fetch_all(&mut session).await.expect(sql)
    }

    pub async fn count(&self, sql: &'static str) -> i64 {
        let rows: Vec<(i64,)> = self.rows(sql).await;
        rows[0].0
    }

    /// Digests of closed account-days, by account.
    pub async fn digests(&self) -> Vec<(String, String)> {
        self.rows("SELECT account, digest FROM counterfoil.account_day WHERE status = 'closed' ORDER BY account").await
    }

    /// How account-days stand: account, date, status, reason.
    pub async fn states(&self) -> Vec<(String, String, String, Option<String>)> {
        self.rows(
            "SELECT account, business_date::text, status, reason FROM counterfoil.account_day ORDER BY business_date, account",
        )
        .await
    }

    /// The same files, reconciled in memory.
    pub fn in_memory(&self) -> Reconciliation {
        let read = |side: &str| -> Vec<(String, Vec<u8>)> {
            let mut files = Vec::new();
            list(&self.path("inbox").join(side), &mut files);
            files.sort();
            files
                .into_iter()
                .map(|path| {
                    let name = path.strip_prefix(self.path("inbox")).expect("below it").display().to_string();
                    (name, std::fs::read(path).expect("a file"))
                })
                .collect()
        };
        let bank = read("bank").into_iter().map(|(name, bytes)| BankFile {
            sha256: digest::of_bytes(&bytes),
            pinned: None,
            parsed: detect::parse(&statement::Input { bytes: &bytes }),
            name,
        });
        let book = read("book")
            .into_iter()
            .map(|(name, bytes)| BookFile { parsed: book::parse(&book::Input { bytes: &bytes, profile: None }), name });
        reconciliation::reconcile(Request {
            registry: &self.settings.registry,
            declared: true,
            rules: &self.settings.rules,
            calendar: &self.settings.schedule.calendar,
            date: Some(DATE.parse().expect("a date")),
            bank: bank.collect(),
            book: book.collect(),
        })
        .expect("an outcome")
    }

    /// Digests of [`Self::in_memory`], by account.
    pub fn digests_in_memory(&self) -> Vec<(String, String)> {
        let accounts = self.in_memory().accounts.into_iter();
        let mut digests: Vec<_> =
            accounts.map(|account| (account.outcome.account.to_string(), account.digest.to_string())).collect();
        digests.sort();
        digests
    }
}

pub fn reins(term: &Arc<Term>, clock: &ManualClock) -> Reins {
    Reins {
        term: Arc::clone(term),
        stop: CancellationToken::new(),
        leads: Arc::new(|| true),
        progress: Progress::new(Arc::new(clock.clone())),
        refused: Arc::new(|_| {}),
        failing: Arc::new(|_| {}),
    }
}

pub fn bench(settings: &Settings, folder: &Path, connector: Connector, clock: ManualClock) -> Bench {
    let accounts: Vec<_> = settings.registry.accounts().iter().map(|account| account.id.clone()).collect();
    let by_file = matches!(settings.book.source, BookSource::Files);
    let inbox = Folder::new(folder.join("inbox"), settings.inbox.settle, accounts, by_file);
    let desk = Desk { backoff: Duration::from_millis(1), ..Desk::of(settings) };
    Bench {
        desk: Arc::new(desk),
        inbox: Arc::new(Mutex::new(inbox)),
        outbox: Arc::new(Outbox::new(folder.join("outbox"))),
        books: settings.book_query().expect("an address").map(Arc::new),
        connector,
        clock: Arc::new(clock),
    }
}

pub fn settings(folder: &Path) -> Settings {
    let path = folder.join("counterfoil.toml");
    let file = SettingsFile { text: std::fs::read_to_string(&path).expect("settings"), path };
    let sources =
        Sources { file: Some(file), folder: folder.to_owned(), host: "test".to_owned(), ..Sources::default() };
    Settings::load(&sources, &[Need::Accounts]).expect("settings that hold")
}

/// The example's folder.
pub fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn copy(from: &Path, to: &Path) {
    for name in ["counterfoil.toml", "inbox", "openings"] {
        copy_whole(&from.join(name), &to.join(name));
    }
}

pub fn copy_whole(from: &Path, to: &Path) {
    if !from.is_dir() {
        std::fs::copy(from, to).expect("copied");
        return;
    }
    std::fs::create_dir_all(to).expect("made");
    for name in std::fs::read_dir(from).expect("listed") {
        let name = name.expect("a name").file_name();
        copy_whole(&from.join(&name), &to.join(&name));
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for name in std::fs::read_dir(folder).expect("listed") {
        let path = name.expect("a name").path();
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}
