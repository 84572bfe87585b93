//! Step `book`: read the company's entries of a file, and take in what is new or changed.

use std::collections::BTreeMap;

use super::RunError;
use super::attempts::{Hand, Tried};
use super::desk::Desk;
use super::ingest::{Arrived, ELSEWHERE, codes, hex, shown, to_judge};
use super::plan::Step;
use crate::account::book_ledger::{BookLedger, ContentHash, Entry};
use crate::account::registry::Lookup;
use crate::account::{Account, AccountId};
use crate::book::{self, BookLine, LedgerBalance, ParsedBook};
use crate::db::accounts;
use crate::db::books::{self, Batch, Before};
use crate::db::checkpoint::{Checkpoint, Key};
use crate::db::fence;
use crate::db::files::{self, FileVerdict};
use crate::diagnostic::{Diagnostic, Severity};
use crate::matching::Side;
use crate::report::counted;
use crate::supervisor::blocking;
use crate::telemetry::{FileOutcome, LineOutcome, event, metrics};

/// An account's part of a file.
#[derive(Debug, Default)]
struct Part<'a> {
    lines: Vec<&'a BookLine>,
    balances: Vec<&'a LedgerBalance>,
}

/// Takes in a book file; none where it is known already.
///
/// A place that comes back to what it said before says it again: to the accounts that heard something else from it since,
/// its content is news (decision 79).
pub(super) async fn run(hand: &mut Hand, desk: &Desk, file: &Arrived) -> Result<Option<Tried<()>>, RunError> {
    let lease = hand.lease();
    let before = hand.read(async |session| books::before(session, &lease, &file.sha256, &file.name).await).await?;
    let came_back = |account: &Before| file.present && account.came_back();
    let key = match to_judge(hand, desk, file, Step::Book).await? {
        Some(key) => key,
        // Each batch raises the sum: the next return is another step, and whoever finds this one undone asks for this one.
        None if before.iter().any(came_back) => {
            let batches: i64 = before.iter().map(|account| account.last).sum();
            Key::new("", Step::Book.name(), format!("{}/again/{batches}", hex(&file.sha256)))
        }
        None => return Ok(None),
    };
    let judged_by = desk.judged_by.as_str();
    let checkpoint = Checkpoint::first(key.clone());
    let tried = hand
        .try_step(Step::Book, &key, None, async |hand| {
            let (bytes, profile) = (std::sync::Arc::clone(&file.bytes), desk.book_profile.clone());
            let parsed = blocking(move || book::parse(&book::Input { bytes: &bytes, profile: profile.as_ref() })).await;
            hand.beat();
            let Sorted { mut parts, mut diagnostics, unknown } = sort(desk, &parsed);
            // Judged again since settings changed: what was taken then is not taken twice.
            for account in before.iter().filter(|account| !came_back(account)) {
                parts.retain(|id, _| id.as_str() != account.account);
            }
            let mut batches: Vec<(AccountId, i64, Batch<'_>)> = Vec::new();
            for (account, part) in parts {
                let ids: Vec<&str> = part.lines.iter().map(|line| line.id.as_str()).collect();
                let (ledger, seq) = hand
                    .read(async |session| {
                        let ledger = books::ledger(&mut *session, &account, &ids).await?;
                        Ok((ledger, books::last_seq(session, &account).await?))
                    })
                    .await?;
                batches.push((account, seq + 1, batch(ledger, &part, &mut diagnostics)));
                hand.beat();
                hand.tools().check()?;
            }
            let status = if parsed.is_refused() { "refused" } else { "accepted" };
            let verdict = FileVerdict {
                sha256: file.sha256,
                side: Side::Book,
                name: file.name.clone(),
                size: file.bytes.len() as u64,
                pinned: None,
                format: None,
                status,
                waiting: unknown && status == "accepted",
                diagnostics: shown(&diagnostics),
                judged_by: judged_by.to_owned(),
            };
            let stored = hand
                .commit(&checkpoint, async |sql| {
                    files::store(&mut *sql, &verdict).await?;
                    if verdict.waiting {
                        files::keep_bytes(&mut *sql, &file.sha256, &file.bytes).await?;
                    } else {
                        files::settle(&mut *sql, &[file.sha256.to_vec()]).await?;
                    }
                    for (account, seq, batch) in &batches {
                        accounts::enter(&mut *sql, account.as_str()).await?;
                        books::store(&mut *sql, account, *seq, (&file.sha256, &file.name), batch).await?;
                    }
                    Ok(())
                })
                .await?;
            if let fence::Outcome::Committed(()) = stored {
                tell(file, &verdict, &batches);
            }
            Ok(stored)
        })
        .await?;
    Ok(Some(tried))
}

/// Why a content that was taken before is not taken again, though something of it was replaced since; none where it
/// stands as it is, or lies untouched in its place. An old copy or a correction: its bytes do not tell.
pub(super) async fn replaced(hand: &mut Hand, desk: &Desk, file: &Arrived) -> Result<Option<String>, RunError> {
    let lease = hand.lease();
    let (before, known) = hand
        .read(async |session| {
            let before = books::before(&mut *session, &lease, &file.sha256, &file.name).await?;
            Ok((before, files::known(session, &lease, &file.sha256).await?))
        })
        .await?;
    let elsewhere: Vec<&str> =
        before.iter().filter(|account| !account.same).map(|account| account.account.as_str()).collect();
    let Some(known) = known.filter(|known| known.status == "accepted" && !elsewhere.is_empty()) else {
        return Ok(None);
    };
    let (bytes, profile) = (std::sync::Arc::clone(&file.bytes), desk.book_profile.clone());
    let parsed = blocking(move || book::parse(&book::Input { bytes: &bytes, profile: profile.as_ref() })).await;
    let (mut entries, mut balances) = (0_u64, 0_u64);
    for (account, part) in sort(desk, &parsed).parts {
        if !elsewhere.contains(&account.as_str()) {
            continue;
        }
        hand.tools().check()?;
        let ids: Vec<&str> = part.lines.iter().map(|line| line.id.as_str()).collect();
        let dates: Vec<_> = part.balances.iter().map(|balance| balance.date).collect();
        let (ledger, closings) = hand
            .read(async |session| {
                let ledger = books::ledger(&mut *session, &account, &ids).await?;
                Ok((ledger, books::closings(session, &account, &dates).await?))
            })
            .await?;
        let other = |line: &&&BookLine| ledger.look(&line.id, ContentHash::of(line)) != Entry::Known;
        entries += part.lines.iter().filter(other).count() as u64;
        let other = |balance: &&&LedgerBalance| closings.get(&balance.date) != Some(&balance.closing.minor());
        balances += part.balances.iter().filter(other).count() as u64;
    }
    let counts: Vec<String> = [(entries, "entry", "entries"), (balances, "balance", "balances")]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, more)| counted(count, one, more))
        .collect();
    Ok((!counts.is_empty()).then(|| {
        format!(
            "taken before, as {}; of it {} came with other content since. If it is to correct them, put it in the place of \
             the file that it corrects",
            known.name,
            counts.join(" and ")
        )
    }))
}

/// A file, sorted by account.
struct Sorted<'a> {
    parts: BTreeMap<AccountId, Part<'a>>,
    diagnostics: Vec<Diagnostic>,
    /// Some of it is of no account that is declared.
    unknown: bool,
}

/// Sorts a file's lines and balances by account. Those of no account are named, and wait for it to be declared.
fn sort<'a>(desk: &Desk, parsed: &'a ParsedBook) -> Sorted<'a> {
    let mut some_unknown = false;
    let mut parts: BTreeMap<AccountId, Part<'a>> = BTreeMap::new();
    let mut diagnostics = parsed.diagnostics.clone();
    let mut unknown = |account: &str, line: u32, elsewhere: Option<&String>| {
        some_unknown = true;
        let (code, message) = match elsewhere {
            Some(why) => (ELSEWHERE, format!("account {account}: {why}: not taken")),
            None => ("UNKNOWN_ACCOUNT", format!("account {account:?} is none of the declared ones: not taken")),
        };
        if diagnostics.len() < crate::diagnostic::Diagnostics::CAP {
            diagnostics.push(Diagnostic::new(Severity::Error, code, message).at_line(line));
        }
    };
    let elsewhere = |account: &Account| desk.elsewhere.get(&account.id);
    for line in &parsed.lines {
        match desk.registry.find_book(&line.account, line.amount.currency()) {
            Lookup::Found(account) if elsewhere(account).is_none() => {
                parts.entry(account.id.clone()).or_default().lines.push(line);
            }
            Lookup::Found(account) => unknown(&line.account, line.line, elsewhere(account)),
            _ => unknown(&line.account, line.line, None),
        }
    }
    for balance in &parsed.balances {
        match desk.registry.find_book(&balance.account, balance.closing.currency()) {
            Lookup::Found(account) if elsewhere(account).is_none() => {
                parts.entry(account.id.clone()).or_default().balances.push(balance);
            }
            Lookup::Found(account) => unknown(&balance.account, balance.line, elsewhere(account)),
            _ => unknown(&balance.account, balance.line, None),
        }
    }
    Sorted { parts, diagnostics, unknown: some_unknown }
}

/// What of an account's part is new.
fn batch<'a>(mut ledger: BookLedger, part: &Part<'a>, diagnostics: &mut Vec<Diagnostic>) -> Batch<'a> {
    let dates = part.lines.iter().map(|line| line.date).chain(part.balances.iter().map(|balance| balance.date));
    let mut batch = Batch { balances: part.balances.clone(), through: dates.max(), ..Batch::default() };
    for line in &part.lines {
        let content = ContentHash::of(line);
        match ledger.take(&line.id, content) {
            Entry::New => batch.lines.push((line, 0, content)),
            Entry::Known => batch.known += 1,
            Entry::Changed { revision } => {
                let message = format!("entry {:?} came before with other content: revision {revision}", line.id);
                diagnostics.push(Diagnostic::new(Severity::Warning, "BOOK_CHANGED", message).at_line(line.line));
                batch.lines.push((line, revision, content));
            }
        }
    }
    batch
}

fn tell(file: &Arrived, verdict: &FileVerdict, batches: &[(AccountId, i64, Batch<'_>)]) {
    let status = verdict.status;
    let (mut new, mut known, mut revised) = (0, 0, 0);
    for (_, _, batch) in batches {
        known += batch.known;
        for (_, revision, _) in &batch.lines {
            *(if *revision == 0 { &mut new } else { &mut revised }) += 1;
        }
    }
    metrics::lines(Side::Book, LineOutcome::New, new);
    metrics::lines(Side::Book, LineOutcome::Known, known);
    metrics::lines(Side::Book, LineOutcome::Revised, revised);
    metrics::file(Side::Book, if status == "refused" { FileOutcome::Refused } else { FileOutcome::Accepted });
    let sha256 = hex(&file.sha256);
    if status == "accepted" && !verdict.waiting {
        tracing::info!(event = event::FILE_TAKEN, side = "book", %sha256, status, new, known, revised, "book file taken");
    } else {
        let codes = codes(&verdict.diagnostics);
        tracing::warn!(event = event::FILE_NOT_TAKEN, side = "book", %sha256, status, waiting = verdict.waiting, %codes, "book file not taken, or not whole");
    }
}
