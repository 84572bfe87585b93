//! The whole reconciliation of some files, in memory: what the worker does in steps over Postgres, done at once.
//!
//! It calls the worker's own rooms in the worker's own order (prove at the door, find the account, chain, take, match,
//! close), so that both come to the same digest. Nothing here decides anything about money.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use crate::account::book_ledger::{BookLedger, ContentHash, Entry};
use crate::account::day::{Changed, DayInput, Standing, Take};
use crate::account::ledger::{Accepted, Admission, BankLedger, Header};
use crate::account::lines::{Taking, from_bank, from_book};
use crate::account::readiness::{BooksSeen, Missing, Stopped, missing};
use crate::account::registry::{Lookup, Registry};
use crate::account::{Account, AccountId};
use crate::book::{BookLine, LedgerBalance, ParsedBook};
use crate::calendar::Calendar;
use crate::diagnostic::{Diagnostic, Severity};
use crate::matching::{OpenLine, RuleSet, Side};
use crate::proof::{Proof, ProofStatus};
use crate::report::AccountOutcome;
use crate::report::digest::{self, Digest};
use crate::statement::proof::{StatementProof, prove};
use crate::statement::{Format, Parsed, Statement};

/// A statement file, parsed.
#[derive(Debug)]
pub struct BankFile {
    /// Its name, for people.
    pub name: String,
    /// SHA-256 of its bytes.
    pub sha256: Digest,
    /// The account that its folder pins, if any.
    pub pinned: Option<AccountId>,
    /// What is in it.
    pub parsed: Parsed,
}

/// A book file, parsed.
#[derive(Debug)]
pub struct BookFile {
    /// Its name, for people.
    pub name: String,
    /// What is in it.
    pub parsed: ParsedBook,
}

/// What to reconcile.
#[derive(Debug)]
pub struct Request<'a> {
    /// The accounts.
    pub registry: &'a Registry,
    /// Are the accounts declared in settings? Then a day whose statement or books are missing waits, as in the worker;
    /// else it is reconciled with what there is, and a finding says what was missing.
    pub declared: bool,
    /// The rules.
    pub rules: &'a RuleSet,
    /// The calendar of business dates.
    pub calendar: &'a Calendar,
    /// The business date; else the latest that all accounts cover.
    pub date: Option<NaiveDate>,
    /// Statement files, in any order.
    pub bank: Vec<BankFile>,
    /// Book files, in any order.
    pub book: Vec<BookFile>,
}

/// What came of it.
#[derive(Debug)]
pub struct Reconciliation {
    /// The business date; absent where no account has a day that is covered.
    pub date: Option<NaiveDate>,
    /// The run's digest, over the accounts reconciled.
    pub digest: Digest,
    /// The accounts reconciled, by id.
    pub accounts: Vec<Reconciled>,
    /// The accounts that wait, and for what.
    pub waiting: Vec<(AccountId, Vec<Missing>)>,
    /// Statements that belong to no reconciled account: of unknown accounts, or of accounts that wait.
    pub other_statements: Vec<StatementVerdict>,
    /// Findings about files, in order of file names.
    pub diagnostics: Vec<(String, Diagnostic)>,
}

/// One account, reconciled.
#[derive(Debug)]
pub struct Reconciled {
    /// The outcome.
    pub outcome: AccountOutcome,
    /// Its digest.
    pub digest: Digest,
    /// The statements of the account that were given.
    pub statements: Vec<StatementVerdict>,
}

/// A statement, and what became of it.
#[derive(Debug)]
pub struct StatementVerdict {
    /// The file.
    pub file: String,
    /// SHA-256 of the file.
    pub sha256: Digest,
    /// The file's format.
    pub format: Format,
    /// The statement.
    pub statement: Statement,
    /// P1 and P3.
    pub proof: StatementProof,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It chains, and its lines are in.
    Accepted,
    /// It waits for an earlier one, or for its account to be declared.
    Held,
    /// Its balances contradict themselves or what is known.
    Quarantined,
    /// It cannot be of this account.
    Refused,
}

/// An account's files, gathered.
#[derive(Default)]
struct Gathered {
    statements: Vec<StatementVerdict>,
    lines: Vec<(String, BookLine)>,
    balances: Vec<LedgerBalance>,
}

/// An account's bank side, after its statements were offered.
struct Chained {
    ledger: BankLedger,
    /// Place in the statements, and what was taken in.
    accepted: Vec<(usize, Accepted)>,
}

/// Reconciles.
///
/// # Errors
/// Only if an outcome cannot be hashed, which its types rule out.
pub fn reconcile(request: Request<'_>) -> Result<Reconciliation, serde_json::Error> {
    let Request { registry, declared, rules, calendar, date, bank, book } = request;
    let mut diagnostics = Vec::new();
    let mut gathered: BTreeMap<AccountId, Gathered> = BTreeMap::new();
    let mut other_statements = Vec::new();
    gather_statements(registry, bank, &mut gathered, &mut other_statements, &mut diagnostics);
    gather_books(registry, book, &mut gathered, &mut diagnostics);

    let mut chains: BTreeMap<AccountId, Chained> = BTreeMap::new();
    for account in registry.accounts() {
        if let Some(files) = gathered.get_mut(&account.id) {
            chains.insert(account.id.clone(), chain(account, &mut files.statements, &mut diagnostics));
        }
    }
    let date = date.or_else(|| latest_covered(&chains, calendar));
    let mut accounts = Vec::new();
    let mut waiting = Vec::new();
    for account in registry.accounts() {
        let files = gathered.remove(&account.id).unwrap_or_default();
        let chain = chains.remove(&account.id);
        let stopped = date.and_then(|date| stopped(&files.statements, date));
        let nothing_covers = |chain: &Chained, date| chain.ledger.start().is_none_or(|start| start.day >= date);
        let chain = chain.filter(|chain| date.is_none_or(|date| !nothing_covers(chain, date)));
        let (Some(date), Some(chain)) = (date, chain) else {
            // Said even where nobody declared the account: postings must not leave a report without a word.
            if !files.lines.is_empty() || !files.statements.is_empty() {
                let message = format!(
                    "account {} is not reconciled: no statement that was taken says anything before or on {}; {} postings of it \
                     are left out",
                    account.id,
                    date.map_or_else(|| "any date".to_owned(), |date| date.to_string()),
                    files.lines.len()
                );
                diagnostics.push((String::new(), Diagnostic::new(Severity::Error, "NOT_RECONCILED", message)));
            }
            other_statements.extend(files.statements);
            if declared && let Some(date) = date {
                waiting.push((account.id.clone(), missing(account, date, None, BooksSeen::default(), stopped)));
            }
            continue;
        };
        let lacks = missing(account, date, chain.ledger.covered_through(), books_seen(&files, date), stopped);
        if !lacks.is_empty() && declared {
            waiting.push((account.id.clone(), lacks));
            other_statements.extend(files.statements);
            continue;
        }
        for lack in &lacks {
            let message = format!("account {}: {date} is reconciled without {lack}", account.id);
            diagnostics.push((String::new(), Diagnostic::new(Severity::Warning, "INCOMPLETE", message)));
        }
        let Some(outcome) = close(account, date, rules, &files, &chain, &mut diagnostics) else {
            other_statements.extend(files.statements);
            continue;
        };
        accounts.push(Reconciled { digest: digest::of_account(&outcome)?, outcome, statements: files.statements });
    }
    for (account, missing) in &waiting {
        let what: Vec<String> = missing.iter().map(ToString::to_string).collect();
        let message = format!("account {account} waits for {}", what.join(" and "));
        diagnostics.push((String::new(), Diagnostic::new(Severity::Warning, "WAITING", message)));
    }
    accounts.sort_by(|a, b| a.outcome.account.cmp(&b.outcome.account));
    waiting.sort_by(|(a, _), (b, _)| a.cmp(b));
    diagnostics.sort_by(|(a, x), (b, y)| (a, x.line, x.column).cmp(&(b, y.line, y.column)));
    let digest = digest::of_run(accounts.iter().map(|account| (account.outcome.account.as_str(), account.digest)));
    Ok(Reconciliation { date, digest, accounts, waiting, other_statements, diagnostics })
}

/// What became of the statements that reach a date and were not taken.
fn stopped(statements: &[StatementVerdict], date: NaiveDate) -> Option<Stopped> {
    let reaches = |verdict| statements.iter().any(|entry| entry.verdict == verdict && entry.statement.to >= date);
    if reaches(Verdict::Quarantined) {
        return Some(Stopped::Quarantined);
    }
    reaches(Verdict::Held).then_some(Stopped::Held)
}

/// Proves each statement at the door, and finds its account.
fn gather_statements(
    registry: &Registry,
    files: Vec<BankFile>,
    gathered: &mut BTreeMap<AccountId, Gathered>,
    others: &mut Vec<StatementVerdict>,
    diagnostics: &mut Vec<(String, Diagnostic)>,
) {
    let mut files = files;
    files.sort_by(|a, b| (&a.name, a.sha256).cmp(&(&b.name, b.sha256)));
    for file in files {
        let BankFile { name, sha256, pinned, parsed } = file;
        diagnostics.extend(parsed.diagnostics.into_iter().map(|diagnostic| (name.clone(), diagnostic)));
        let Some(format) = parsed.format else { continue };
        for statement in parsed.statements {
            let mut say = |severity, code, message: String| {
                diagnostics.push((name.clone(), Diagnostic::new(severity, code, message).at_line(statement.line)));
            };
            let proof = prove(&statement);
            let found = registry.find(&statement.account, statement.currency, pinned.as_ref());
            let mut verdict = Verdict::Accepted;
            if proof.failed() {
                verdict = Verdict::Quarantined;
                say(Severity::Error, "STMT_ARITH", format!("its balances do not close: {proof}"));
            }
            if let Some(code) = found.code() {
                verdict = if matches!(found, Lookup::Unknown) { Verdict::Held } else { Verdict::Refused };
                let waits = if verdict == Verdict::Held { ": the statement waits" } else { "" };
                say(Severity::Error, code, format!("{} in {} {found}{waits}", statement.account, statement.currency));
            }
            let account = found.found().map(|account| account.id.clone());
            let entry = StatementVerdict { file: name.clone(), sha256, format, statement, proof, verdict };
            match account {
                Some(account) => gathered.entry(account).or_default().statements.push(entry),
                None => others.push(entry),
            }
        }
    }
}

fn gather_books(
    registry: &Registry,
    files: Vec<BookFile>,
    gathered: &mut BTreeMap<AccountId, Gathered>,
    diagnostics: &mut Vec<(String, Diagnostic)>,
) {
    let mut files = files;
    files.sort_by(|a, b| a.name.cmp(&b.name));
    for file in files {
        let BookFile { name, parsed } = file;
        diagnostics.extend(parsed.diagnostics.into_iter().map(|diagnostic| (name.clone(), diagnostic)));
        let mut refuse = |named: &str, found: &Lookup<'_>, line: u32| {
            let code = found.code().unwrap_or("UNKNOWN_ACCOUNT");
            let message = format!("account {named:?} {found}: the row is not taken");
            diagnostics.push((name.clone(), Diagnostic::new(Severity::Error, code, message).at_line(line)));
        };
        for line in parsed.lines {
            match registry.find_book(&line.account, line.amount.currency()) {
                Lookup::Found(account) => {
                    gathered.entry(account.id.clone()).or_default().lines.push((name.clone(), line));
                }
                other => refuse(&line.account, &other, line.line),
            }
        }
        for balance in parsed.balances {
            match registry.find_book(&balance.account, balance.closing.currency()) {
                Lookup::Found(account) => gathered.entry(account.id.clone()).or_default().balances.push(balance),
                other => refuse(&balance.account, &other, balance.line),
            }
        }
    }
}

/// Offers an account's statements until no held one chains any more.
fn chain(
    account: &Account,
    statements: &mut [StatementVerdict],
    diagnostics: &mut Vec<(String, Diagnostic)>,
) -> Chained {
    let mut ledger = BankLedger::new(account);
    let offered = statements.iter().enumerate().filter(|(_, entry)| entry.verdict == Verdict::Accepted);
    let headers =
        offered.map(|(at, entry)| (Header::of(entry.format, &entry.statement, account.day_complete), at)).collect();
    let mut left = Header::in_offering_order(headers);
    let mut accepted = Vec::new();
    let mut held: BTreeMap<usize, String> = BTreeMap::new();
    loop {
        let before = left.len();
        left.retain(|at| {
            let entry = &mut statements[*at];
            match ledger.admit(entry.format, &entry.statement) {
                Admission::Accepted(taken) => {
                    ledger.take(&taken);
                    accepted.push((*at, taken));
                    held.remove(at);
                    false
                }
                Admission::Held { reason } => {
                    held.insert(*at, reason);
                    true
                }
                Admission::Quarantined { code, reason } => {
                    entry.verdict = Verdict::Quarantined;
                    let diagnostic = Diagnostic::new(Severity::Error, code, reason).at_line(entry.statement.line);
                    diagnostics.push((entry.file.clone(), diagnostic));
                    false
                }
            }
        });
        if left.is_empty() || left.len() == before {
            break;
        }
    }
    for (at, reason) in held {
        let entry = &mut statements[at];
        entry.verdict = Verdict::Held;
        let diagnostic = Diagnostic::new(Severity::Warning, "STMT_GAP", reason).at_line(entry.statement.line);
        diagnostics.push((entry.file.clone(), diagnostic));
    }
    Chained { ledger, accepted }
}

/// The latest business date that every account with a statement covers. An account whose statements never say that a day
/// is over counts with the last day that they speak of.
fn latest_covered(chains: &BTreeMap<AccountId, Chained>, calendar: &Calendar) -> Option<NaiveDate> {
    let through = |chain: &Chained| chain.ledger.covered_through().or_else(|| chain.ledger.last_day());
    let day = chains.values().filter_map(through).min()?;
    Some(if calendar.is_business_day(day) { day } else { calendar.previous(day) })
}

fn books_seen(files: &Gathered, date: NaiveDate) -> BooksSeen {
    let dates = files.lines.iter().map(|(_, line)| line.date).chain(files.balances.iter().map(|balance| balance.date));
    BooksSeen { balance: files.balances.iter().any(|balance| balance.date == date), through: dates.max() }
}

/// Takes, matches and closes one account's day. `None` where no statement was accepted: there is nothing to start from.
fn close(
    account: &Account,
    date: NaiveDate,
    rules: &RuleSet,
    files: &Gathered,
    chain: &Chained,
    diagnostics: &mut Vec<(String, Diagnostic)>,
) -> Option<AccountOutcome> {
    let first = chain.ledger.start()?;
    let standing = Standing::start(account, first);
    let mut left = LeftOut::default();
    let mut takes = |side, day| match standing.takes(day, date, standing.date) {
        Take::Now { late } => Some(Taking { date, late }),
        Take::BeforeStart => left.before(side),
        Take::Later => left.later(side),
    };
    let mut bank = Vec::new();
    for (at, accepted) in &chain.accepted {
        let entry = &files.statements[*at];
        bank.extend(accepted.new.iter().filter_map(|new| {
            let taking = takes(Side::Bank, new.ledger_day)?;
            from_bank(&account.id, &entry.file, &entry.statement, new, taking)
        }));
    }
    let mut known = BookLedger::default();
    let mut book: BTreeMap<&str, OpenLine> = BTreeMap::new();
    for (file, line) in &files.lines {
        let Some(taking) = takes(Side::Book, line.date) else { continue };
        match known.take(&line.id, ContentHash::of(line)) {
            Entry::Known => continue,
            Entry::New => {}
            Entry::Changed { .. } => {
                let message = format!("entry {:?} came before with other content: the later file counts", line.id);
                let diagnostic = Diagnostic::new(Severity::Warning, "BOOK_CHANGED", message).at_line(line.line);
                diagnostics.push((file.clone(), diagnostic));
            }
        }
        book.insert(&line.id, from_book(file, line, taking));
    }
    let book: Vec<OpenLine> = book.into_values().collect();
    left.say(account, standing.date, date, diagnostics);
    let stated =
        files.balances.iter().filter(|balance| balance.date == date).map(|balance| balance.closing).next_back();
    let accepted = chain.accepted.iter().map(|(at, _)| &files.statements[*at]);
    let door_proofs: Vec<Vec<Proof>> = accepted
        .filter(|entry| entry.statement.to > standing.date && entry.statement.from <= date)
        .map(|entry| entry.proof.proofs(&entry.statement))
        .collect();
    let input = DayInput {
        account,
        date,
        revision: 0,
        rules,
        standing: &standing,
        bank_closing: chain.ledger.closing(date)?,
        book_stated: stated,
        bank: &bank,
        book: &book,
        changed: &Changed::default(),
        door_proofs: &door_proofs,
        anchor_proofs: &chain.ledger.proofs(standing.date, date),
    };
    let (open_bank, open_book) = input.open_lines();
    let outcome = input.matched(&open_bank, &open_book);
    Some(input.close(&open_bank, &open_book, outcome))
}

/// Lines that this date does not take: counted, since nothing is left out in silence.
#[derive(Debug, Default)]
struct LeftOut {
    before: [u64; 2],
    later: [u64; 2],
}

// === impl LeftOut ===

impl LeftOut {
    fn before(&mut self, side: Side) -> Option<Taking> {
        self.before[usize::from(side == Side::Book)] += 1;
        None
    }

    fn later(&mut self, side: Side) -> Option<Taking> {
        self.later[usize::from(side == Side::Book)] += 1;
        None
    }

    fn say(&self, account: &Account, start: NaiveDate, date: NaiveDate, diagnostics: &mut Vec<(String, Diagnostic)>) {
        let counted = |[bank, book]: [u64; 2]| match (bank, book) {
            (0, book) => format!("{book} postings"),
            (bank, 0) => format!("{bank} bank lines"),
            (bank, book) => format!("{bank} bank lines and {book} postings"),
        };
        if self.before != [0, 0] {
            // Where nobody said from when on, a posting before the bank's first day may be one that belongs to it.
            let (severity, why) = match account.opening {
                Some(_) => (Severity::Info, "the settings' opening tells how both sides stood then"),
                None => (Severity::Warning, "the first statement begins after it, and no opening is set"),
            };
            let message =
                format!("account {}: {} dated up to {start} are left out: {why}", account.id, counted(self.before));
            diagnostics.push((String::new(), Diagnostic::new(severity, "BEFORE_OPENING", message)));
        }
        if self.later != [0, 0] {
            let message =
                format!("account {}: {} dated after {date} wait for their own date", account.id, counted(self.later));
            diagnostics.push((String::new(), Diagnostic::new(Severity::Info, "LATER", message)));
        }
    }
}

// === impl Reconciliation ===

impl Reconciliation {
    /// Did one of P4–P7 fail, of any account?
    pub fn a_proof_failed(&self) -> bool {
        let mut proofs = self.accounts.iter().flat_map(|account| &account.outcome.proofs);
        proofs.any(|proof| proof.id >= crate::proof::ProofId::P4 && proof.status == ProofStatus::Failed)
    }

    /// Was some input not taken: a file refused, a statement quarantined or held, a book row of no account?
    pub fn some_input_was_not_taken(&self) -> bool {
        let statements = self.accounts.iter().flat_map(|account| &account.statements).chain(&self.other_statements);
        statements.into_iter().any(|entry| entry.verdict != Verdict::Accepted)
            || self.diagnostics.iter().any(|(_, diagnostic)| diagnostic.severity == Severity::Error)
    }
}
