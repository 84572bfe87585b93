//! `counterfoil reconcile`: files in, the whole reconciliation out, in memory and by the worker's own code.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use chrono::NaiveDate;
use clap::{Args, ValueEnum};

use super::files::{Source, gather, read_each};
use super::progress::Progress;
use super::{Exit, UsageError, date, out};
use crate::account::AccountId;
use crate::account::registry::Registry;
use crate::book::{self, profile::Profile};
use crate::calendar::Calendar;
use crate::matching::RuleSet;
use crate::reconciliation::{BankFile, BookFile, Reconciliation, Request, StatementVerdict, Verdict, reconcile};
use crate::report::inspect::StatementShown;
use crate::report::text::{self, StatementRow};
use crate::report::{csv, digest, html, json};
use crate::settings::{Settings, read_rules};
use crate::statement::{Input, detect};

/// Hold bank statements against books, and show what matched, what did not, and why.
///
/// Needs no server. Without --config, every account number that the files name is an account, and the position starts at
/// its first statement's opening. Exit code: 0 done; 1 a proof P4 to P7 failed; 2 usage; 3 some input was not taken.
#[derive(Debug, Args)]
pub(super) struct Reconcile {
    /// Statement files, or folders of them
    #[arg(long, value_name = "PATH", num_args = 1.., required = true)]
    bank: Vec<PathBuf>,
    /// Book files, or folders of them
    #[arg(long, value_name = "PATH", num_args = 1.., required = true)]
    book: Vec<PathBuf>,
    /// Settings: accounts, openings, calendars, profiles, rules
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Matching rules, in place of those of the settings: a TOML file as in docs/rules.md
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Business date [default: the latest day that all accounts cover]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date::read)]
    date: Option<NaiveDate>,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Face::Text)]
    format: Face,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Where to put it: a file, or a folder for csv [default: standard output]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Exit with 1 if anything is open
    #[arg(long)]
    fail_on_breaks: bool,
}

/// How an outcome is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Face {
    /// For a person at a terminal
    Text,
    /// For programs: docs/schema/reconcile.schema.json
    Json,
    /// matches.csv, breaks.csv and proofs.csv in a folder
    Csv,
    /// One page, to read, print and keep
    Html,
}

/// What the settings say, or what holds without them.
struct Terms {
    /// The accounts, where settings declare any.
    declared: Option<Registry>,
    rules: RuleSet,
    calendar: Arc<Calendar>,
    book_profile: Option<Profile>,
}

// === impl Reconcile ===

impl Reconcile {
    /// Runs it.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let face = if self.json { Face::Json } else { self.format };
        if face == Face::Csv && self.out.is_none() {
            return Err(UsageError("--format csv makes three files: name a folder for them with --out".into()).into());
        }
        let terms = self.terms()?;
        self.date.map_or(Ok(()), |date| fits(&terms, date))?;
        let bank = gather("--bank", &self.bank)?;
        let book = gather("--book", &self.book)?;
        let found = Progress::during(bank.len() + book.len(), |progress| {
            let (bank, book) = read_files(&terms, &bank, &book, progress)?;
            progress.say("reconciling");
            self.reconcile(&terms, bank, book)
        })?;
        self.show(face, &found)?;
        Ok(self.exit(&found))
    }

    fn terms(&self) -> anyhow::Result<Terms> {
        let mut terms = match &self.config {
            Some(path) => {
                let settings = Settings::of_process(Some(path), &[]).map_err(UsageError::from)?;
                Terms {
                    book_profile: settings.book_profile().cloned(),
                    rules: settings.rules,
                    calendar: settings.schedule.calendar,
                    declared: Some(settings.registry).filter(|registry| !registry.accounts().is_empty()),
                }
            }
            None => Terms {
                declared: None,
                rules: RuleSet::default(),
                calendar: Arc::new(Calendar::weekdays()),
                book_profile: None,
            },
        };
        if let Some(path) = &self.rules {
            terms.rules = read_rules(path).map_err(UsageError::from)?;
        }
        Ok(terms)
    }

    fn reconcile(&self, terms: &Terms, bank: Vec<BankFile>, book: Vec<BookFile>) -> anyhow::Result<Reconciliation> {
        let discovered;
        let registry = if let Some(registry) = &terms.declared {
            registry
        } else {
            let statements = bank.iter().flat_map(|file| &file.parsed.statements);
            let lines = book.iter().flat_map(|file| &file.parsed.lines);
            let balances = book.iter().flat_map(|file| &file.parsed.balances);
            discovered = Registry::discover(
                statements.map(|statement| (&statement.account, statement.currency)),
                lines
                    .map(|line| (line.account.as_str(), line.amount.currency()))
                    .chain(balances.map(|balance| (balance.account.as_str(), balance.closing.currency()))),
                &terms.calendar,
            );
            &discovered
        };
        let request = Request {
            registry,
            declared: terms.declared.is_some(),
            rules: &terms.rules,
            calendar: &terms.calendar,
            date: self.date,
            bank,
            book,
        };
        Ok(reconcile(request)?)
    }

    fn show(&self, face: Face, found: &Reconciliation) -> anyhow::Result<()> {
        let outcomes = || found.accounts.iter().map(|account| &account.outcome);
        match face {
            Face::Text => self.put(|out| Ok(out.write_all(as_text(found).as_bytes())?)),
            Face::Json => self.put(|out| {
                let run = json::Run {
                    date: found.date,
                    digest: found.digest,
                    accounts: found
                        .accounts
                        .iter()
                        .map(|account| {
                            let statements = account.statements.iter();
                            let shown = statements.map(|entry| StatementShown::new(&entry.statement, &entry.proof));
                            json::AccountDay::new(&account.outcome, account.digest, shown.collect())
                        })
                        .collect(),
                    diagnostics: json::Found::all(&found.diagnostics),
                };
                serde_json::to_writer_pretty(&mut *out, &run)?;
                Ok(out.write_all(b"\n")?)
            }),
            Face::Html => self.put(|out| {
                let rows: Vec<Vec<StatementRow>> =
                    found.accounts.iter().map(|account| statement_rows(&account.statements)).collect();
                let sections: Vec<_> = found
                    .accounts
                    .iter()
                    .zip(&rows)
                    .map(|(account, rows)| html::Section {
                        outcome: &account.outcome,
                        digest: account.digest,
                        statements: rows,
                    })
                    .collect();
                let date = found.date.map_or("—".to_owned(), |date| date.to_string());
                let page = html::page(&date, found.digest, &sections, &waiting(found), &found.diagnostics)?;
                Ok(out.write_all(page.as_bytes())?)
            }),
            Face::Csv => {
                let folder = self.out.as_deref().unwrap_or(Path::new("."));
                fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
                write_whole(&folder.join("matches.csv"), &csv::matches(outcomes())?)?;
                write_whole(&folder.join("breaks.csv"), &csv::breaks(outcomes())?)?;
                write_whole(&folder.join("proofs.csv"), &csv::proofs(outcomes())?)
            }
        }
    }

    /// Writes to standard output, or to the file that `--out` names.
    fn put(&self, write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
        match &self.out {
            None => {
                let mut out = out::stdout();
                let written = write(&mut out).and_then(|()| Ok(out.flush()?));
                written.context("standard output cannot be written")
            }
            Some(path) => {
                let mut bytes = Vec::new();
                write(&mut bytes)?;
                write_whole(path, &bytes)
            }
        }
    }

    fn exit(&self, found: &Reconciliation) -> Exit {
        if found.a_proof_failed() {
            out::say(
                "counterfoil: a proof failed: what is shown does not add up, and nothing of it should be relied on",
            );
            return Exit::Failed;
        }
        if found.some_input_was_not_taken() {
            out::say("counterfoil: some input was not taken: the findings say which, and what was expected");
            return Exit::Refused;
        }
        if found.accounts.is_empty() {
            out::say("counterfoil: nothing was reconciled: no account has a day that its statements and books cover");
            return Exit::Failed;
        }
        let open = found.accounts.iter().any(|account| !account.outcome.breaks.is_empty());
        if self.fail_on_breaks && open { Exit::Failed } else { Exit::Done }
    }
}

/// A date on which nothing can be closed waits for nothing: it is refused, with the reason. Without declared accounts
/// there is no calendar to say so.
fn fits(terms: &Terms, date: NaiveDate) -> Result<(), UsageError> {
    let Some(accounts) = terms.declared.as_ref().map(Registry::accounts) else { return Ok(()) };
    if !terms.calendar.is_business_day(date) {
        let (calendar, next) = (terms.calendar.name(), terms.calendar.next(date));
        let told =
            format!("--date {date}: no business day of calendar {calendar:?}; its lines enter the day of {next}");
        return Err(UsageError(told));
    }
    let openings: Option<Vec<NaiveDate>> =
        accounts.iter().map(|account| account.opening.as_ref().map(|opening| opening.date)).collect();
    match openings.and_then(|openings| openings.into_iter().min()).filter(|opening| date <= *opening) {
        Some(opening) => {
            Err(UsageError(format!("--date {date}: not later than {opening}, the earliest opening of any account")))
        }
        None => Ok(()),
    }
}

/// Reads and parses all files.
fn read_files(
    terms: &Terms,
    bank: &[Source],
    book: &[Source],
    progress: &Progress,
) -> anyhow::Result<(Vec<BankFile>, Vec<BookFile>)> {
    let accounts = terms.declared.iter().flat_map(Registry::accounts);
    let ids: BTreeSet<&AccountId> = accounts.map(|account| &account.id).collect();
    progress.say("reading statements");
    let bank = read_each(bank, progress, |source, bytes| BankFile {
        name: source.name.clone(),
        sha256: digest::of_bytes(bytes),
        pinned: source.folder.as_deref().and_then(|folder| AccountId::new(folder).ok()).filter(|id| ids.contains(id)),
        // The ledger knows each account's own rule, and applies it.
        parsed: detect::parse(&Input { bytes }),
    })?;
    progress.say("reading books");
    let book = read_each(book, progress, |source, bytes| BookFile {
        name: source.name.clone(),
        parsed: book::parse(&book::Input { bytes, profile: terms.book_profile.as_ref() }),
    })?;
    Ok((bank, book))
}

fn as_text(found: &Reconciliation) -> String {
    let mut out = String::new();
    for sentence in waiting(found) {
        out.push_str(&sentence);
        out.push_str("\n\n");
    }
    for account in &found.accounts {
        out.push_str(&text::account_day(
            &account.outcome,
            &account.digest.to_string(),
            &statement_rows(&account.statements),
        ));
    }
    if !found.other_statements.is_empty() {
        out.push_str("Of no account that was reconciled:\n\n");
        text::statement_list(&mut out, &statement_rows(&found.other_statements));
    }
    text::findings(&mut out, &found.diagnostics);
    if let Some(date) = found.date.filter(|_| found.accounts.len() > 1) {
        // Writing into a String cannot fail.
        let _ = writeln!(out, "{} accounts on {date}; digest of the run {}", found.accounts.len(), found.digest);
    }
    out
}

fn waiting(found: &Reconciliation) -> Vec<String> {
    let sentence = |(account, missing): &(AccountId, Vec<_>)| {
        let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
        format!("{account} waits for {}", missing.join(", and "))
    };
    found.waiting.iter().map(sentence).collect()
}

fn statement_rows(statements: &[StatementVerdict]) -> Vec<StatementRow> {
    let row = |entry: &StatementVerdict| {
        let statement = &entry.statement;
        StatementRow {
            file: entry.file.clone(),
            id: statement.id.clone().unwrap_or_default(),
            days: if statement.from == statement.to {
                statement.to.to_string()
            } else {
                format!("{} – {}", statement.from, statement.to)
            },
            movements: statement.movements().count() as u64,
            verdict: word(entry.verdict),
            proof: entry.proof.to_string(),
        }
    };
    statements.iter().map(row).collect()
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "accepted",
        Verdict::Held => "held",
        Verdict::Quarantined => "quarantined",
        Verdict::Refused => "refused",
    }
}

/// A file appears whole under its name, or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    fs::write(&beside, bytes)
        .and_then(|()| fs::rename(&beside, path).inspect_err(|_| drop(fs::remove_file(&beside))))
        .map_err(|error| cannot_write(path, &error))
}

/// A place that cannot be written is a fault of the words; a disk that is full is none.
fn cannot_write(path: &Path, error: &std::io::Error) -> anyhow::Error {
    use std::io::ErrorKind::{
        AlreadyExists, IsADirectory, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem,
    };
    let told = format!("--out {}: {error}", path.display());
    match error.kind() {
        NotFound | PermissionDenied | IsADirectory | NotADirectory | ReadOnlyFilesystem | AlreadyExists => {
            UsageError(format!("{told}: name a place that can be written, in a folder that is there")).into()
        }
        _ => anyhow::anyhow!(told),
    }
}
