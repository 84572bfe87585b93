//! The day: files in, parse, prove, match, store, close and report, beside a bare COPY of the rows that it stored.
//!
//! `cargo bench --bench day [-- LINES [ACCOUNTS]]`: lines a side over all accounts (100,000), and accounts (50). Half of
//! the accounts have a camt.053 statement, half an OFX one; each has a CSV of its books. The leader's own work runs in
//! this process, over a real Postgres; nobody contends for the lease, so that no Redis is needed. The reference is the
//! server's own COPY from files on its disk, of bank lines, book lines and match legs, into tables with the same indexes
//! and constraints, one after the other. Figures: `docs/performance.md`.

#![expect(clippy::print_stderr, reason = "progress, for whoever waits for it")]

mod figures;

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use counterfoil::clock::{Clock, ManualClock, SystemClock};
use counterfoil::db::connect::Connector;
use counterfoil::election::tenure::Progress;
use counterfoil::election::term::{Installation, TermStore};
use counterfoil::election::{FencingToken, LeaseName, Owner};
use counterfoil::inbox::Folder as Inbox;
use counterfoil::outbox::Outbox;
use counterfoil::run::Reins;
use counterfoil::run::desk::Desk;
use counterfoil::run::runner::{Bench, Runner};
use counterfoil::scratch::Folder;
use counterfoil::scratch::postgres::{self, Database};
use counterfoil::settings::{Need, Settings, SettingsFile, Sources};
use figures::random::Random;
use figures::{Verdict, millis, ratio, row};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tokio_util::sync::CancellationToken;

const TABLES: [&str; 3] = ["bank_line", "book_line", "match_leg"];
const MEMORY: u64 = 1 << 20;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if !figures::wanted() {
        return Ok(());
    }
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let (lines, accounts) = (numbers.next().unwrap_or(100_000), numbers.next().unwrap_or(50));
    let folder = Folder::new("day", None)?;
    let each = lines / accounts;
    eprintln!("day: writes the files of {accounts} accounts with {each} lines a side");
    write_files(folder.path(), accounts, each)?;
    let database = postgres::migrated().await?;
    let mut superuser = PgConnection::connect(&database.superuser_url()).await?;
    let clock = ManualClock::at("2026-11-28T09:00:00Z".parse()?);
    let mut runner = lead(folder.path(), &database, &clock).await?;
    // The first look: a file is taken when it is equal in two.
    runner.pass().await?;
    clock.advance(Duration::from_secs(11));

    // From here on the highest mark of this process' memory is the day's.
    fs::write("/proc/self/clear_refs", "5").context("cannot reset the mark of the memory used")?;
    let start = SystemClock.now();
    let pass = runner.pass().await?;
    let took = SystemClock.now().since(start);
    let memory = peak_kib()?;
    anyhow::ensure!(pass.unfinished == 0, "the day is not complete");
    shares(&mut superuser).await?;

    let (rows, bare) = bare_copy(&mut superuser).await?;
    let ratio_of = ratio(took, bare);
    let rate = u128::from(2 * lines) * 1_000_000 / took.as_micros().max(1);
    let met = took.as_nanos() * 10 <= bare.as_nanos() * 15 && memory < MEMORY;
    row(
        &format!("the day, {lines} lines a side over {accounts} accounts"),
        &format!("bare `COPY` of the {rows} rows of lines and match legs that it stored: {}", millis(bare)),
        &format!("{ratio_of} × the time ({}, {rate} lines a second); {} MiB at most", millis(took), memory / 1024),
        "≤ 1.5 × its time; < 1 GiB",
        Verdict::from(met),
    );
    Ok(())
}

/// A runner under the first term.
async fn lead(folder: &Path, database: &Database, clock: &ManualClock) -> anyhow::Result<Runner> {
    let path = folder.join("counterfoil.toml");
    let file = SettingsFile { text: fs::read_to_string(&path)?, path };
    let sources =
        Sources { file: Some(file), folder: folder.to_owned(), host: "bench".to_owned(), ..Sources::default() };
    let settings = Settings::load(&sources, &[Need::Accounts])?;
    let connector = Connector::new(&database.url(), "bench")?;
    let mut terms = TermStore::new(connector.clone(), Duration::from_secs(10));
    let (lease, owner) = (LeaseName::new("reconciliation")?, Owner::from_stored("bench:1".to_owned()));
    let token = FencingToken::new(1).context("one is a token")?;
    let term = match terms.install(&lease, token, &owner, Duration::from_secs(5)).await? {
        Installation::Installed(term) => term,
        other => anyhow::bail!("the term was not installed: {other:?}"),
    };
    let accounts: Vec<_> = settings.registry.accounts().iter().map(|account| account.id.clone()).collect();
    let inbox = Inbox::new(folder.join("inbox"), settings.inbox.settle, accounts, true);
    let bench = Bench {
        desk: Arc::new(Desk::of(&settings)),
        inbox: Arc::new(Mutex::new(inbox)),
        outbox: Arc::new(Outbox::new(folder.join("outbox"))),
        books: None,
        connector,
        clock: Arc::new(clock.clone()),
    };
    let reins = Reins {
        term: Arc::new(term),
        stop: CancellationToken::new(),
        leads: Arc::new(|| true),
        progress: Progress::new(Arc::new(clock.clone())),
        refused: Arc::new(|_| {}),
        failing: Arc::new(|_| {}),
    };
    Ok(Runner::new(bench, reins))
}

/// Where the time went: from the beginning of each step's attempt to its checkpoint, summed; accounts go side by side.
async fn shares(sql: &mut PgConnection) -> anyhow::Result<()> {
    let shares: Vec<(String, i64, String)> = sqlx::query_as(
        "SELECT c.step, count(*), round(sum(extract(epoch FROM c.committed_at - a.began_at)), 2)::text \
         FROM counterfoil.checkpoint c JOIN counterfoil.step_attempt a USING (account, step, key) \
         GROUP BY 1 ORDER BY min(c.committed_at)",
    )
    .fetch_all(sql)
    .await?;
    for (step, count, seconds) in shares {
        eprintln!("day: {count} × {step}, {seconds} s in all");
    }
    Ok(())
}

/// The best of three: what else the machine did is not counted against the reference.
async fn bare_copy(sql: &mut PgConnection) -> anyhow::Result<(i64, Duration)> {
    let mut rows = 0;
    let folder: String = sqlx::query_scalar("SHOW data_directory").fetch_one(&mut *sql).await?;
    run(sql, "CREATE SCHEMA bare").await?;
    for table in TABLES {
        run(sql, &format!("CREATE TABLE bare.{table} (LIKE counterfoil.{table} INCLUDING ALL)")).await?;
        run(sql, &format!("COPY counterfoil.{table} TO '{folder}/{table}.bare' (FORMAT binary)")).await?;
        let count = format!("SELECT count(*) FROM counterfoil.{table}");
        rows += sqlx::query_scalar::<_, i64>(AssertSqlSafe(count)).fetch_one(&mut *sql).await?;
    }
    let mut best = Duration::MAX;
    for _ in 0..3 {
        run(sql, &format!("TRUNCATE {}; CHECKPOINT", TABLES.map(|table| format!("bare.{table}")).join(", "))).await?;
        let start = SystemClock.now();
        for table in TABLES {
            run(sql, &format!("COPY bare.{table} FROM '{folder}/{table}.bare' (FORMAT binary)")).await?;
        }
        best = best.min(SystemClock.now().since(start));
    }
    Ok((rows, best))
}

async fn run(sql: &mut PgConnection, statements: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(sql).await.map(|_| ())
}

/// The most memory that this process had at once, in KiB.
fn peak_kib() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no mark of the memory used")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

// === The files ===

/// A payment as one side has it.
struct Payment {
    number: u64,
    minor: i64,
    /// The Pix end-to-end id, on 96 of 100.
    reference: String,
    at_the_bank: bool,
    in_the_books: bool,
}

impl Payment {
    fn of(number: u64) -> Self {
        let mut random = Random(number);
        let sign = if random.below(2) == 0 { 1 } else { -1 };
        let minor = sign * i64::try_from(random.below(500_000) + 1).unwrap_or(1);
        let kind = random.below(100);
        let reference = if kind < 96 { format!("E00416968202611270600{number:011}") } else { String::new() };
        Self { number, minor, reference, at_the_bank: kind != 99, in_the_books: kind != 98 }
    }

    fn customer(&self) -> String {
        let syllable = |n: u64| ["Ka", "ro", "mi", "te", "lu", "za", "pe", "no"][usize::try_from(n % 8).unwrap_or(0)];
        (0..4).map(|at| syllable((self.number / 50) >> (3 * at))).collect()
    }
}

fn decimal(minor: i64) -> String {
    let sign = if minor < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", minor.unsigned_abs() / 100, minor.unsigned_abs() % 100)
}

fn write_files(folder: &Path, accounts: u64, each: u64) -> anyhow::Result<()> {
    let mut settings = String::from("[schedule]\nstart = 2026-11-27\n");
    let mut balances = String::from("account,date,currency,closing\n");
    fs::create_dir_all(folder.join("inbox/book"))?;
    fs::create_dir_all(folder.join("outbox"))?;
    for account in 0..accounts {
        let id = format!("account-{account:03}");
        write!(
            settings,
            "[[accounts]]\nid = \"{id}\"\nbank = \"0999\"\nnumber = \"{}\"\ncurrency = \"BRL\"\n\
             opening = {{ date = 2026-11-26, bank = \"0.00\", book = \"0.00\" }}\n",
            1_000_001 + account
        )?;
        let payments = || (account * each..(account + 1) * each).map(Payment::of);
        let sum = |side: fn(&Payment) -> bool| payments().filter(side).map(|payment| payment.minor).sum::<i64>();
        let bank = folder.join("inbox/bank").join(&id);
        fs::create_dir_all(&bank)?;
        let closing = sum(|payment| payment.at_the_bank);
        let at_the_bank = payments().filter(|payment| payment.at_the_bank);
        if account % 2 == 0 {
            write_camt(&bank.join("statement.xml"), account, closing, at_the_bank)?;
        } else {
            write_ofx(&bank.join("statement.ofx"), account, closing, at_the_bank)?;
        }
        let mut book = writer(&folder.join(format!("inbox/book/{id}.csv")))?;
        writeln!(book, "id,account,date,amount,currency,reference,counterparty,description")?;
        for payment in payments().filter(|payment| payment.in_the_books) {
            let Payment { number, minor, ref reference, .. } = payment;
            let (amount, customer) = (decimal(minor), payment.customer());
            writeln!(book, "ERP-{number},{id},2026-11-27,{amount},BRL,{reference},{customer},Fatura {number}")?;
        }
        book.flush()?;
        writeln!(balances, "{id},2026-11-27,BRL,{}", decimal(sum(|payment| payment.in_the_books)))?;
    }
    fs::write(folder.join("inbox/book/balances.csv"), balances)?;
    fs::write(folder.join("counterfoil.toml"), settings)?;
    Ok(())
}

fn writer(path: &Path) -> anyhow::Result<std::io::BufWriter<fs::File>> {
    Ok(std::io::BufWriter::new(fs::File::create(path)?))
}

fn write_camt(path: &Path, account: u64, closing: i64, payments: impl Iterator<Item = Payment>) -> anyhow::Result<()> {
    let mut out = writer(path)?;
    let side = |minor: i64| if minor < 0 { "DBIT" } else { "CRDT" };
    let balance = |code: &str, minor: i64, day: &str| {
        format!(
            "<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy=\"BRL\">{}</Amt><CdtDbtInd>{}</CdtDbtInd>\
             <Dt><Dt>{day}</Dt></Dt></Bal>",
            decimal(minor.abs()),
            side(minor)
        )
    };
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.08\"><BkToCstmrStmt><GrpHdr><MsgId>M-{account}</MsgId>\
         <CreDtTm>2026-11-28T02:10:00-03:00</CreDtTm></GrpHdr><Stmt><Id>S-{account}</Id><ElctrncSeqNb>229</ElctrncSeqNb>\
         <CreDtTm>2026-11-28T02:10:00-03:00</CreDtTm><Acct><Id><Othr><Id>{}</Id></Othr></Id><Ccy>BRL</Ccy></Acct>{}{}",
        1_000_001 + account,
        balance("OPBD", 0, "2026-11-26"),
        balance("CLBD", closing, "2026-11-27"),
    )?;
    for payment in payments {
        let Payment { number, minor, ref reference, .. } = payment;
        let reference = if reference.is_empty() { "NOTPROVIDED" } else { reference };
        writeln!(
            out,
            "<Ntry><NtryRef>{number}</NtryRef><Amt Ccy=\"BRL\">{}</Amt><CdtDbtInd>{}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>\
             <BookgDt><Dt>2026-11-27</Dt></BookgDt><ValDt><Dt>2026-11-27</Dt></ValDt>\
             <AcctSvcrRef>B{number}</AcctSvcrRef><BkTxCd><Prtry><Cd>PIX</Cd></Prtry></BkTxCd>\
             <NtryDtls><TxDtls><Refs><EndToEndId>{reference}</EndToEndId></Refs>\
             <RmtInf><Ustrd>Fatura {number} {}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>",
            decimal(minor.abs()),
            side(minor),
            payment.customer(),
        )?;
    }
    writeln!(out, "</Stmt></BkToCstmrStmt></Document>")?;
    Ok(out.flush()?)
}

fn write_ofx(path: &Path, account: u64, closing: i64, payments: impl Iterator<Item = Payment>) -> anyhow::Result<()> {
    let mut out = writer(path)?;
    writeln!(
        out,
        "OFXHEADER:100\nDATA:OFXSGML\nVERSION:102\nSECURITY:NONE\nENCODING:USASCII\nCHARSET:1252\nCOMPRESSION:NONE\n\
         OLDFILEUID:NONE\nNEWFILEUID:NONE\n\n<OFX>\n<SIGNONMSGSRSV1>\n<SONRS>\n<STATUS>\n<CODE>0\n<SEVERITY>INFO\n</STATUS>\n\
         <DTSERVER>20261128060000[-3:BRT]\n<LANGUAGE>POR\n</SONRS>\n</SIGNONMSGSRSV1>\n<BANKMSGSRSV1>\n<STMTTRNRS>\n\
         <TRNUID>1\n<STATUS>\n<CODE>0\n<SEVERITY>INFO\n</STATUS>\n<STMTRS>\n<CURDEF>BRL\n<BANKACCTFROM>\n<BANKID>0999\n\
         <ACCTID>{}\n<ACCTTYPE>CHECKING\n</BANKACCTFROM>\n<BANKTRANLIST>\n<DTSTART>20261127\n<DTEND>20261127",
        1_000_001 + account
    )?;
    for payment in payments {
        let Payment { number, minor, ref reference, .. } = payment;
        let kind = if minor < 0 { "DEBIT" } else { "CREDIT" };
        writeln!(
            out,
            "<STMTTRN>\n<TRNTYPE>{kind}\n<DTPOSTED>20261127120000[-3:BRT]\n<TRNAMT>{}\n<FITID>{number}\n\
             <MEMO>PIX {} Fatura {number} {reference}\n</STMTTRN>",
            decimal(minor),
            payment.customer(),
        )?;
    }
    writeln!(
        out,
        "</BANKTRANLIST>\n<LEDGERBAL>\n<BALAMT>{}\n<DTASOF>20261128\n</LEDGERBAL>\n</STMTRS>\n</STMTTRNRS>\n\
         </BANKMSGSRSV1>\n</OFX>",
        decimal(closing)
    )?;
    Ok(out.flush()?)
}
