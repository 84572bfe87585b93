//! Loads what an account-day is computed from: all of it named by the manifest, and the standing that it goes on from.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use sqlx::postgres::PgConnection;

use crate::account::Account;
use crate::account::day::{Changed, DayInput, Standing};
use crate::account::ledger::Closing;
use crate::db::days::{self, ClosedDay, Manifest};
use crate::db::matches::{self, Released};
use crate::db::{DayKey, DbError, Window, bank, books};
use crate::matching::{OpenLine, Outcome, Side};
use crate::money::Money;
use crate::proof::Proof;
use crate::report::AccountOutcome;

/// An account-day, loaded. Plain values: it may be computed on another thread.
#[derive(Debug)]
pub(super) struct LoadedDay {
    account: Account,
    date: NaiveDate,
    revision: u32,
    manifest: Manifest,
    standing: Standing,
    /// The end of the day at which the account starts.
    pub(super) start: NaiveDate,
    bank_closing: Closing,
    book_stated: Option<Money>,
    bank: Vec<OpenLine>,
    book: Vec<OpenLine>,
    changed: Changed,
    /// Matches that the day undoes.
    pub(super) released: Released,
    door_proofs: Vec<Vec<Proof>>,
    anchor_proofs: Vec<Proof>,
}

/// Where an account stands before a day, and where it starts.
pub(super) struct Before {
    pub(super) standing: Standing,
    pub(super) start: NaiveDate,
    pub(super) previous: Option<ClosedDay>,
}

/// Where the account stands before `date`: at its last closed day, else at its start; `None` while it has none.
pub(super) async fn before(
    session: &mut PgConnection,
    account: &Account,
    date: NaiveDate,
    through: Option<i64>,
) -> Result<Option<Before>, DbError> {
    let Some(previous) = days::closed_before(&mut *session, &account.id, date).await? else {
        let ledger = bank::ledger(session, account, through, None).await?;
        return Ok(ledger.start().map(|first| {
            let standing = Standing::start(account, first);
            Before { start: standing.date, standing, previous: None }
        }));
    };
    let mut seen: [BTreeMap<String, (NaiveDate, bool)>; 2] = Default::default();
    for (side, line, first_seen, late) in
        days::carried(&mut *session, &account.id, previous.date, previous.revision).await?
    {
        seen[usize::from(side != Side::Bank.name())].insert(line, (first_seen, late));
    }
    let [bank_seen, book_seen] = seen;
    let bank = bank::by_id(&mut *session, &account.id, &bank_seen).await?;
    let book = books::by_id(session, &account.id, previous.book_seq, &book_seen).await?;
    let standing = Standing {
        date: previous.date,
        position: previous.standing.position(account.currency)?,
        bank: with_opening_items(account, Side::Bank, bank, &bank_seen)?,
        book: with_opening_items(account, Side::Book, book, &book_seen)?,
        stated_start: previous.standing.stated_start,
        closed: true,
    };
    Ok(Some(Before { standing, start: previous.standing.start, previous: Some(previous) }))
}

/// Adds the settings' opening items that are still open: they are no row. A line that is neither is an error: it would be
/// a cent lost.
fn with_opening_items(
    account: &Account,
    side: Side,
    mut lines: Vec<OpenLine>,
    wanted: &BTreeMap<String, (NaiveDate, bool)>,
) -> Result<Vec<OpenLine>, DbError> {
    let items = account.opening.iter().flat_map(|opening| &opening.items).filter(|(of, _)| *of == side);
    lines.extend(items.filter(|(_, item)| wanted.contains_key(&item.id)).map(|(_, item)| item.clone()));
    if lines.len() == wanted.len() {
        return Ok(lines);
    }
    let known: std::collections::BTreeSet<&str> = lines.iter().map(|line| line.id.as_str()).collect();
    let missing: Vec<&str> = wanted.keys().map(String::as_str).filter(|id| !known.contains(id)).take(3).collect();
    Err(DbError::Value(format!(
        "of {} open {side} lines of account {} {} are there; among the others: {}. Were opening items taken out of the settings?",
        wanted.len(),
        account.id,
        lines.len(),
        missing.join(", ")
    )))
}

impl LoadedDay {
    /// Loads what the manifest names. Only reads, in the transaction of the caller.
    pub(super) async fn load(
        session: &mut PgConnection,
        account: &Account,
        day: &DayKey<'_>,
        manifest: Manifest,
    ) -> Result<Self, DbError> {
        let nothing = || DbError::Value(format!("account {} has a manifest and no start", account.id));
        let Before { standing, start, previous } =
            before(&mut *session, account, day.date, Some(manifest.bank_seq)).await?.ok_or_else(nothing)?;
        if previous.as_ref().map(|previous| previous.date) != manifest.previous {
            return Err(DbError::Value(format!(
                "the manifest of {} {} goes on from {:?}, and the last closed day is {:?}",
                account.id,
                day.date,
                manifest.previous,
                previous.map(|previous| previous.date)
            )));
        }
        let window = |seq, previous| Window { date: day.date, seq, previous, start };
        let bank_window = window(manifest.bank_seq, previous.as_ref().map(|day| (day.date, day.bank_seq)));
        let book_window = window(manifest.book_seq, previous.as_ref().map(|day| (day.date, day.book_seq)));
        let ledger = bank::ledger(&mut *session, account, Some(manifest.bank_seq), None).await?;
        let door_proofs =
            bank::door_proofs(&mut *session, &account.id, manifest.bank_seq, standing.date, day.date).await?;
        let stated = books::balance(&mut *session, &account.id, day.date, manifest.book_seq).await?;
        let (changed, released) = matches::changed(&mut *session, &account.id, &book_window).await?;
        Ok(Self {
            bank: bank::taken(&mut *session, &account.id, &bank_window).await?,
            book: books::taken(session, &account.id, &book_window).await?,
            account: account.clone(),
            date: day.date,
            revision: day.revision,
            start,
            bank_closing: ledger.closing(day.date).ok_or_else(nothing)?,
            book_stated: stated.map(|minor| Money::new(minor, account.currency)),
            changed,
            released,
            door_proofs,
            anchor_proofs: ledger.proofs(standing.date, day.date),
            standing,
            manifest,
        })
    }

    fn input(&self) -> DayInput<'_> {
        DayInput {
            account: &self.account,
            date: self.date,
            revision: self.revision,
            rules: &self.manifest.rules,
            standing: &self.standing,
            bank_closing: self.bank_closing,
            book_stated: self.book_stated,
            bank: &self.bank,
            book: &self.book,
            changed: &self.changed,
            door_proofs: &self.door_proofs,
            anchor_proofs: &self.anchor_proofs,
        }
    }

    /// Matches its open lines.
    pub(super) fn matched(&self) -> Outcome {
        let input = self.input();
        let (bank, book) = input.open_lines();
        input.matched(&bank, &book)
    }

    /// Closes it, with what matching made of it.
    pub(super) fn closed(&self, outcome: Outcome) -> AccountOutcome {
        let input = self.input();
        let (bank, book) = input.open_lines();
        input.close(&bank, &book, outcome)
    }

    /// Does the account start from a position that the settings state?
    pub(super) fn stated_start(&self) -> bool {
        self.standing.stated_start
    }
}
