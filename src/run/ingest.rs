//! Step `ingest`: parse a statement file, prove its statements at the door, find their accounts, and take in what chains.
//!
//! One transaction takes the whole file, and with it whatever waited for it: a statement that was held, because an
//! earlier one was missing, is offered again as soon as something of its account arrives. Files are taken in one after
//! the other, since each is judged against what the ones before it brought.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use chrono::NaiveDate;
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;

use super::attempts::{Hand, Tried};
use super::desk::Desk;
use super::plan::Step;
use super::{RunError, StepError};
use crate::account::ledger::{Accepted, Admission, BankLedger, Header};
use crate::account::registry::{Lookup, Registry};
use crate::account::{Account, AccountId};
use crate::db::accounts;
use crate::db::bank::{self, StatementRow};
use crate::db::checkpoint::{Checkpoint, Key};
use crate::db::files::{self, FileVerdict};
use crate::db::{DbError, fence};
use crate::diagnostic::{Diagnostic, Severity};
use crate::matching::Side;
use crate::proof::Proof;
use crate::statement::proof::prove;
use crate::statement::{Format, Input, Statement, detect};
use crate::supervisor::blocking;
use crate::telemetry::{FileOutcome, LineOutcome, event, metrics};

/// A file that was read from the inbox, or one that waits.
#[derive(Debug, Clone)]
pub(super) struct Arrived {
    /// Its name in the inbox.
    pub(super) name: String,
    /// The account whose folder it lies in.
    pub(super) pinned: Option<AccountId>,
    /// Its bytes.
    pub(super) bytes: Arc<Vec<u8>>,
    /// Their SHA-256.
    pub(super) sha256: [u8; 32],
    /// It lies at its place now. Else it was kept from an earlier reading, and the place may say something else.
    pub(super) present: bool,
}

/// The accounts that a file may be of.
#[derive(Debug, Clone)]
struct Declared {
    registry: Arc<Registry>,
    elsewhere: Arc<BTreeMap<AccountId, String>>,
}

/// The code of what is of an account that belongs to another book.
pub(super) const ELSEWHERE: &str = "ACCOUNT_ELSEWHERE";

/// What a file says, before anything that is known is asked.
#[derive(Debug)]
struct Read {
    format: Option<Format>,
    offers: BTreeMap<AccountId, Vec<Offer>>,
    diagnostics: Vec<Diagnostic>,
    /// Something of it may be taken when settings change.
    unknown_account: bool,
    /// A statement contradicts itself, or cannot be of its account.
    quarantined: bool,
}

/// A statement that is offered to its account's ledger.
#[derive(Debug)]
struct Offer {
    sha256: Vec<u8>,
    ordinal: u32,
    format: Format,
    statement: Statement,
    proofs: Vec<Proof>,
    /// It contradicts itself: it is stored, and not offered.
    refused: Option<String>,
    /// It was held before, and is another file's.
    held_before: bool,
}

/// What becomes of an account's offers.
#[derive(Debug)]
struct Chained {
    account: AccountId,
    /// The number of the first statement that is taken in.
    first_seq: i64,
    /// In the order in which they are taken in.
    accepted: Vec<(Offer, Accepted)>,
    held: Vec<(Offer, String)>,
    quarantined: Vec<(Offer, &'static str, String)>,
}

// === impl Declared ===

impl Declared {
    fn of(desk: &Desk) -> Self {
        Self { registry: Arc::clone(&desk.registry), elsewhere: Arc::clone(&desk.elsewhere) }
    }
}

/// The step that judges a file of either side; none where the file is known, and would be judged as it was.
pub(super) async fn to_judge(
    hand: &mut Hand,
    desk: &Desk,
    file: &Arrived,
    step: Step,
) -> Result<Option<Key>, RunError> {
    let judged_by = desk.judged_by.as_str();
    let lease = hand.lease();
    let known = hand.read(async |session| files::known(session, &lease, &file.sha256).await).await?;
    let hex = hex(&file.sha256);
    let key = match known {
        Some(known) if known.judged_by == judged_by || (known.status == "accepted" && !known.waiting) => {
            return Ok(None);
        }
        // Judged before, by others: this judgement is another step.
        Some(_) => format!("{hex}/{judged_by}"),
        None => hex,
    };
    Ok(Some(Key::new("", step.name(), key)))
}

/// Takes in a file. Says nothing of one that is known already.
pub(super) async fn run(hand: &mut Hand, desk: &Desk, file: &Arrived) -> Result<Option<Tried<()>>, RunError> {
    let Some(key) = to_judge(hand, desk, file, Step::Ingest).await? else { return Ok(None) };
    let judged_by = desk.judged_by.as_str();
    let checkpoint = Checkpoint::first(key.clone());
    let tried = hand
        .try_step(Step::Ingest, &key, None, async |hand| {
            let (declared, arrived) = (Declared::of(desk), file.clone());
            let mut read = blocking(move || read(&declared, &arrived)).await;
            hand.beat();
            let taken = hand.read(async |session| bank::accepted_of(session, &file.sha256).await).await?;
            let mut chains = Vec::new();
            for (account, mut offers) in std::mem::take(&mut read.offers) {
                let Some(account) = desk.registry.get(&account) else { continue };
                offers.retain(|offer| !taken.iter().any(|place| i64::from(*place) == i64::from(offer.ordinal)));
                chains.push(chain(hand, &Declared::of(desk), account, offers, &file.sha256).await?);
                hand.beat();
                hand.tools().check()?;
            }
            let verdict = verdict(file, read, &chains, judged_by);
            hand.commit(&checkpoint, async |sql| store(sql, file, &verdict, &chains).await).await.map(|stored| {
                if let fence::Outcome::Committed(()) = stored {
                    tell(file, &verdict, &chains);
                }
                stored
            })
        })
        .await?;
    Ok(Some(tried))
}

/// Parses a file, proves its statements and finds their accounts.
fn read(declared: &Declared, file: &Arrived) -> Read {
    let parsed = detect::parse(&Input { bytes: &file.bytes });
    let mut read = Read {
        format: parsed.format,
        offers: BTreeMap::new(),
        diagnostics: parsed.diagnostics,
        unknown_account: false,
        quarantined: false,
    };
    let Some(format) = parsed.format else { return read };
    for (ordinal, statement) in (1_u32..).zip(parsed.statements) {
        let proof = prove(&statement);
        let mut say = |code, message: String| {
            read.diagnostics.push(Diagnostic::new(Severity::Error, code, message).at_line(statement.line));
        };
        let refused = proof.failed().then(|| format!("its balances do not close: {proof}"));
        if let Some(reason) = &refused {
            read.quarantined = true;
            say("STMT_ARITH", reason.clone());
        }
        match declared.registry.find(&statement.account, statement.currency, file.pinned.as_ref()) {
            Lookup::Found(account) if declared.elsewhere.contains_key(&account.id) => {
                read.unknown_account = true;
                let why = &declared.elsewhere[&account.id];
                say(ELSEWHERE, format!("account {}: {why}: the statement waits", account.id));
            }
            Lookup::Found(account) => {
                let offer = Offer {
                    sha256: file.sha256.to_vec(),
                    ordinal,
                    format,
                    proofs: proof.proofs(&statement),
                    statement,
                    refused,
                    held_before: false,
                };
                read.offers.entry(account.id.clone()).or_default().push(offer);
            }
            Lookup::Unknown => {
                read.unknown_account = true;
                let (named, currency) = (&statement.account, statement.currency);
                let unknown = Lookup::Unknown;
                say("UNKNOWN_ACCOUNT", format!("{named} in {currency} {unknown}: the statement waits"));
            }
            other => {
                read.quarantined = true;
                let code = other.code().unwrap_or("ACCOUNT");
                say(code, format!("{} in {} {other}", statement.account, statement.currency));
            }
        }
    }
    read
}

/// Offers an account's statements, and those of it that wait, until none chains any more.
async fn chain(
    hand: &mut Hand,
    declared: &Declared,
    account: &Account,
    mut offers: Vec<Offer>,
    sha256: &[u8; 32],
) -> Result<Chained, StepError> {
    let waiting = hand
        .read(async |session| {
            let mut files: BTreeMap<Vec<u8>, (String, Vec<i32>, Vec<u8>)> = BTreeMap::new();
            for held in bank::held(&mut *session, &account.id).await? {
                if held.sha256 == sha256 {
                    continue;
                }
                if !files.contains_key(&held.sha256) {
                    let bytes = files::bytes(&mut *session, &held.lease, &held.sha256).await?;
                    let bytes = bytes.ok_or_else(|| DbError::Value(format!("the bytes of {} are gone", held.name)))?;
                    files.insert(held.sha256.clone(), (held.name, Vec::new(), bytes));
                }
                if let Some((_, places, _)) = files.get_mut(&held.sha256) {
                    places.push(held.ordinal);
                }
            }
            Ok(files)
        })
        .await?;
    for (sha256, (name, places, bytes)) in waiting {
        let content = <[u8; 32]>::try_from(sha256.as_slice()).unwrap_or_default();
        let file =
            Arrived { name, pinned: Some(account.id.clone()), bytes: Arc::new(bytes), sha256: content, present: false };
        let declared = declared.clone();
        let mut again = blocking(move || read(&declared, &file)).await;
        let held = again.offers.remove(&account.id).unwrap_or_default().into_iter();
        offers.extend(
            held.filter(|offer| offer.refused.is_none() && places.iter().any(|place| *place == ordinal(offer)))
                .map(|offer| Offer { held_before: true, ..offer }),
        );
    }
    let (refused, offers): (Vec<Offer>, Vec<Offer>) = offers.into_iter().partition(|offer| offer.refused.is_some());
    let days = days(&offers);
    let (ledger, seq) = hand
        .read(async |session| {
            let ledger = bank::ledger(&mut *session, account, None, days).await?;
            Ok((ledger, bank::last_seq(session, &account.id).await?))
        })
        .await?;
    let account = account.clone();
    Ok(blocking(move || admit(&account, ledger, seq + 1, refused, offers)).await)
}

fn admit(
    account: &Account,
    mut ledger: BankLedger,
    first_seq: i64,
    refused: Vec<Offer>,
    offers: Vec<Offer>,
) -> Chained {
    let headers = offers.iter().enumerate();
    let headers =
        headers.map(|(at, offer)| (Header::of(offer.format, &offer.statement, account.day_complete), at)).collect();
    let order = Header::in_offering_order(headers);
    let mut offers: Vec<Option<Offer>> = offers.into_iter().map(Some).collect();
    let mut left: Vec<Offer> = order.into_iter().filter_map(|at| offers.get_mut(at).and_then(Option::take)).collect();
    let mut chained = Chained {
        account: account.id.clone(),
        first_seq,
        accepted: Vec::new(),
        held: Vec::new(),
        quarantined: Vec::new(),
    };
    for offer in refused {
        let reason = offer.refused.clone().unwrap_or_default();
        chained.quarantined.push((offer, "STMT_ARITH", reason));
    }
    loop {
        let before = left.len();
        let mut held = Vec::new();
        for offer in left {
            match ledger.admit(offer.format, &offer.statement) {
                Admission::Accepted(accepted) => {
                    ledger.take(&accepted);
                    chained.accepted.push((offer, accepted));
                }
                Admission::Held { reason } => held.push((offer, reason)),
                Admission::Quarantined { code, reason } => chained.quarantined.push((offer, code, reason)),
            }
        }
        if held.is_empty() || held.len() == before {
            chained.held = held;
            return chained;
        }
        left = held.into_iter().map(|(offer, _)| offer).collect();
    }
}

/// The days whose known lines must be seen one by one to judge the offers.
fn days(offers: &[Offer]) -> Option<RangeInclusive<NaiveDate>> {
    let dates = offers.iter().flat_map(|offer| {
        let booked = offer.statement.movements().map(|line| line.booking_date);
        booked.chain([offer.statement.from, offer.statement.to])
    });
    let (first, last) = dates.fold((None, None), |(first, last), date| {
        let first = first.map_or(date, |first: NaiveDate| first.min(date));
        let last = last.map_or(date, |last: NaiveDate| last.max(date));
        (Some(first), Some(last))
    });
    Some(first?..=last?)
}

fn verdict(file: &Arrived, read: Read, chains: &[Chained], judged_by: &str) -> FileVerdict {
    let own = |offer: &Offer| !offer.held_before;
    let held = chains.iter().flat_map(|chain| &chain.held).filter(|(offer, _)| own(offer));
    let contradicted = chains.iter().flat_map(|chain| &chain.quarantined).filter(|(offer, ..)| own(offer));
    let mut diagnostics = read.diagnostics;
    let waiting = read.unknown_account || held.clone().next().is_some();
    diagnostics.extend(held.map(|(offer, reason)| {
        Diagnostic::new(Severity::Warning, "STMT_GAP", reason.clone()).at_line(offer.statement.line)
    }));
    let mut quarantined = read.quarantined;
    for (offer, code, reason) in contradicted {
        quarantined = true;
        if offer.refused.is_none() {
            diagnostics.push(Diagnostic::new(Severity::Error, code, reason.clone()).at_line(offer.statement.line));
        }
    }
    let nothing_read = read.format.is_none() || (chains.is_empty() && !read.unknown_account && !quarantined);
    let status = match (quarantined, nothing_read && diagnostics.iter().any(|found| found.severity == Severity::Error))
    {
        (_, true) => "refused",
        (true, false) => "quarantined",
        (false, false) => "accepted",
    };
    FileVerdict {
        sha256: file.sha256,
        side: Side::Bank,
        name: file.name.clone(),
        size: file.bytes.len() as u64,
        pinned: file.pinned.as_ref().map(ToString::to_string),
        format: read.format.map(|format| Format::name(format).to_owned()),
        status,
        waiting,
        diagnostics: shown(&diagnostics),
        judged_by: judged_by.to_owned(),
    }
}

async fn store(
    session: &mut PgConnection,
    file: &Arrived,
    verdict: &FileVerdict,
    chains: &[Chained],
) -> Result<(), DbError> {
    files::store(&mut *session, verdict).await?;
    if verdict.waiting {
        files::keep_bytes(&mut *session, &file.sha256, &file.bytes).await?;
    }
    let mut settled = Vec::new();
    for chain in chains {
        accounts::enter(&mut *session, chain.account.as_str()).await?;
        for (seq, (offer, accepted)) in (chain.first_seq..).zip(&chain.accepted) {
            bank::store(&mut *session, &row(chain, offer, bank::Outcome::Accepted { seq, accepted })).await?;
        }
        for (offer, reason) in &chain.held {
            bank::store(&mut *session, &row(chain, offer, bank::Outcome::Held { reason })).await?;
        }
        for (offer, code, reason) in &chain.quarantined {
            bank::store(&mut *session, &row(chain, offer, bank::Outcome::Quarantined { code, reason })).await?;
        }
        let moved = chain.accepted.iter().map(|(offer, _)| offer);
        let moved = moved.chain(chain.quarantined.iter().map(|(offer, ..)| offer));
        settled.extend(moved.filter(|offer| offer.held_before).map(|offer| offer.sha256.clone()));
    }
    if !verdict.waiting {
        settled.push(file.sha256.to_vec());
    }
    files::settle(session, &settled).await
}

fn row<'a>(chain: &'a Chained, offer: &'a Offer, outcome: bank::Outcome<'a>) -> StatementRow<'a> {
    StatementRow {
        account: &chain.account,
        sha256: &offer.sha256,
        ordinal: offer.ordinal,
        format: Format::name(offer.format),
        statement: &offer.statement,
        proofs: &offer.proofs,
        outcome,
    }
}

/// Counts and logs what became of a file.
fn tell(file: &Arrived, verdict: &FileVerdict, chains: &[Chained]) {
    let (mut new, mut known) = (0, 0);
    for (_, accepted) in chains.iter().flat_map(|chain| &chain.accepted) {
        new += accepted.new.len() as u64;
        known += accepted.known as u64;
    }
    metrics::lines(Side::Bank, LineOutcome::New, new);
    metrics::lines(Side::Bank, LineOutcome::Known, known);
    let outcome = match verdict.status {
        "refused" => FileOutcome::Refused,
        "quarantined" => FileOutcome::Quarantined,
        _ if verdict.waiting => FileOutcome::Held,
        _ => FileOutcome::Accepted,
    };
    metrics::file(Side::Bank, outcome);
    let sha256 = hex(&file.sha256);
    if verdict.status == "accepted" && !verdict.waiting {
        tracing::info!(event = event::FILE_TAKEN, side = "bank", %sha256, status = verdict.status, new, known, "statement file taken");
    } else {
        let codes = codes(&verdict.diagnostics);
        tracing::warn!(event = event::FILE_NOT_TAKEN, side = "bank", %sha256, status = verdict.status, waiting = verdict.waiting, %codes, "statement file not taken, or not whole");
    }
}

/// The codes of findings, each once: what a log may say of a file.
pub(super) fn codes(diagnostics: &Value) -> String {
    let found = diagnostics.as_array().into_iter().flatten().filter_map(|found| found.get("code")?.as_str());
    let codes: std::collections::BTreeSet<&str> = found.collect();
    codes.into_iter().collect::<Vec<_>>().join(",")
}

/// Findings as they are stored.
pub(super) fn shown(diagnostics: &[Diagnostic]) -> Value {
    let mut shown = json!(diagnostics);
    // The one thing that `jsonb` cannot hold.
    if let Value::Array(found) = &mut shown {
        for message in found.iter_mut().filter_map(|found| found.get_mut("message")) {
            if let Some(text) = message.as_str().filter(|text| text.contains('\0')) {
                *message = Value::String(text.replace('\0', "\u{fffd}"));
            }
        }
    }
    shown
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn ordinal(offer: &Offer) -> i32 {
    i32::try_from(offer.ordinal).unwrap_or(i32::MAX)
}
