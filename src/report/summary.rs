//! The morning's summary of a run: which accounts closed, which wait and for what, which failed; what matched by which
//! rule; what is newly open, still open and gone; and the proofs that are not proved (`domain.md` §10).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use chrono::NaiveDate;
use serde::Serialize;

use super::digest::Digest;
use super::left::{self, FileLeft};
use super::text::{grouped_in_text, line};
use super::{AccountOutcome, Bucket, Taken};
use crate::account::AccountId;
use crate::matching::{BreakClass, MatchStatus, Side};
use crate::money::{Currency, Total};
use crate::proof::{Proof, ProofStatus};

/// A run, in one page.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// The business date.
    pub date: NaiveDate,
    /// The run's digest, over the accounts that closed; none where none did.
    pub digest: Option<Digest>,
    /// How many accounts are in which state.
    pub counts: Counts,
    /// Every account, by id.
    pub accounts: Vec<AccountLine>,
    /// Files that lay in the inbox and of which nothing was taken.
    pub files_left: Vec<FileLeft>,
}

/// How many accounts are in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Closed.
    pub closed: u64,
    /// Waiting for a statement or books.
    pub waiting: u64,
    /// Failed.
    pub failed: u64,
    /// Skipped, with a reason.
    pub skipped: u64,
}

/// One account of a run.
#[derive(Debug, Clone, Serialize)]
pub struct AccountLine {
    /// Its id.
    pub account: AccountId,
    /// Its currency.
    pub currency: Currency,
    /// What became of its day.
    #[serde(flatten)]
    pub state: State,
}

/// What became of an account-day.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Closed.
    Closed(Box<Closed>),
    /// Not yet.
    Waiting {
        /// What is missing, as phrases.
        waiting_for: Vec<String>,
    },
    /// Not, in spite of all attempts.
    Failed {
        /// Why, as a sentence.
        cause: String,
    },
    /// Not, by decision.
    Skipped {
        /// Why, as a sentence.
        reason: String,
    },
}

/// A closed account-day, in figures.
#[derive(Debug, Clone, Serialize)]
pub struct Closed {
    /// 0 unless reopened.
    pub revision: u32,
    /// The account's digest.
    pub digest: Digest,
    /// The bank's balance.
    pub bank_closing: Total,
    /// The books' balance: as stated, else by our sum.
    pub book_closing: Total,
    /// Matches of this run by status and rule name.
    pub matched: Vec<RuleCount>,
    /// Lines that this run found open for the first time.
    pub new: Sides,
    /// Lines that were open before, and still are.
    pub aged: Sides,
    /// Lines that were open before, and were matched in this run.
    pub gone: Sides,
    /// Open lines by class.
    pub open: Vec<ClassCount>,
    /// The oldest bucket in which anything is open.
    pub oldest: Option<Bucket>,
    /// The proofs that are not proved, worst first.
    pub unproved: Vec<Proof>,
}

/// How many matches a rule made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleCount {
    /// Its name.
    pub rule: &'static str,
    /// Confirmed or suggested.
    pub status: MatchStatus,
    /// How many.
    pub matches: u64,
}

/// How many lines of a class are open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassCount {
    /// Why they are open.
    pub class: BreakClass,
    /// On which sides.
    #[serde(flatten)]
    pub lines: Sides,
}

/// Lines and money of each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sides {
    /// Of the bank.
    pub bank: Taken,
    /// Of the books.
    pub book: Taken,
}

// === impl Summary ===

impl Summary {
    /// Of a run's accounts, in any order. The digest is over those that closed.
    pub fn new(date: NaiveDate, mut accounts: Vec<AccountLine>) -> Self {
        accounts.sort_by(|a, b| a.account.cmp(&b.account));
        let mut counts = Counts::default();
        let mut digests = Vec::new();
        for line in &accounts {
            match &line.state {
                State::Closed(closed) => {
                    counts.closed += 1;
                    digests.push((line.account.as_str(), closed.digest));
                }
                State::Waiting { .. } => counts.waiting += 1,
                State::Failed { .. } => counts.failed += 1,
                State::Skipped { .. } => counts.skipped += 1,
            }
        }
        let digest = (!digests.is_empty()).then(|| super::digest::of_run(digests));
        Self { date, digest, counts, accounts, files_left: Vec::new() }
    }

    /// With the files of which nothing was taken.
    #[must_use]
    pub fn with_files_left(self, files_left: Vec<FileLeft>) -> Self {
        Self { files_left, ..self }
    }

    /// As text: what needs a person first.
    pub fn text(&self) -> String {
        let Counts { closed, waiting, failed, skipped } = self.counts;
        let mut out = String::new();
        let mut title = format!("{} · {closed} of {} accounts closed", self.date, self.accounts.len());
        let disproved = self.accounts.iter().filter(|line| line.disproved()).count();
        if disproved > 0 {
            let _ = write!(title, ", {disproved} of them with a PROOF THAT FAILED");
        }
        for (count, word) in [(failed, "failed"), (waiting, "waiting"), (skipped, "skipped")] {
            if count > 0 {
                let _ = write!(title, ", {count} {word}");
            }
        }
        line(&mut out, &title);
        line(&mut out, &"═".repeat(title.chars().count()));
        let rank = |line: &&AccountLine| match line.state {
            State::Failed { .. } => 0,
            State::Closed(_) if line.disproved() => 1,
            State::Waiting { .. } => 2,
            State::Skipped { .. } => 3,
            State::Closed(_) => 4,
        };
        let mut ordered: Vec<_> = self.accounts.iter().collect();
        ordered.sort_by_key(rank);
        for account in ordered {
            line(&mut out, "");
            let name = format!("{} · {}", account.account, account.currency);
            match &account.state {
                State::Failed { cause } => line(&mut out, &format!("{name}: failed: {cause}")),
                State::Waiting { waiting_for } => {
                    line(&mut out, &format!("{name}: waiting for {}", waiting_for.join(", and ")));
                }
                State::Skipped { reason } => line(&mut out, &format!("{name}: skipped: {reason}")),
                State::Closed(closed) => closed.write(&mut out, &name),
            }
        }
        if !self.files_left.is_empty() {
            line(&mut out, "");
            for told in left::lines(&self.files_left) {
                line(&mut out, &told);
            }
        }
        line(&mut out, "");
        let digest = self.digest.map_or("No digest: nothing is closed".to_owned(), |digest| format!("Digest {digest}"));
        line(&mut out, &digest);
        out
    }
}

// === impl AccountLine ===

impl AccountLine {
    /// Of a closed account-day.
    pub fn closed(outcome: &AccountOutcome, digest: Digest) -> Self {
        Self {
            account: outcome.account.clone(),
            currency: outcome.currency,
            state: State::Closed(Box::new(Closed::of(outcome, digest))),
        }
    }

    /// Closed, and one of its proofs failed: nothing of it should be relied on before the cause is found.
    fn disproved(&self) -> bool {
        matches!(&self.state, State::Closed(closed) if closed.failed().next().is_some())
    }
}

// === impl Closed ===

impl Closed {
    fn of(outcome: &AccountOutcome, digest: Digest) -> Self {
        let currency = outcome.currency;
        let none = Sides::none(currency);
        let (mut new, mut aged, mut gone) = (none, none, none);
        let mut open: BTreeMap<BreakClass, Sides> = BTreeMap::new();
        for found in &outcome.breaks {
            let when = if found.first_seen < outcome.date { &mut aged } else { &mut new };
            when.add(found.side, found.amount.minor());
            open.entry(found.class).or_insert(none).add(found.side, found.amount.minor());
        }
        for found in outcome.matches.iter().filter(|found| found.status == MatchStatus::Confirmed) {
            for (side, ids) in [(Side::Bank, &found.bank), (Side::Book, &found.book)] {
                let lines = ids.iter().filter_map(|id| outcome.line(side, id));
                lines.filter(|line| line.first_seen < outcome.date).for_each(|line| gone.add(side, line.minor));
            }
        }
        let mut matched: BTreeMap<_, u64> = BTreeMap::new();
        for found in &outcome.matches {
            *matched.entry((found.status != MatchStatus::Confirmed, found.status, found.rule)).or_default() += 1;
        }
        let mut unproved: Vec<Proof> =
            outcome.proofs.iter().filter(|proof| proof.status != ProofStatus::Proved).cloned().collect();
        unproved.sort_by_key(|proof| std::cmp::Reverse(proof.status));
        Self {
            revision: outcome.revision,
            digest,
            bank_closing: outcome.position.bank_closing,
            book_closing: outcome.position.book_stated.map_or(outcome.position.book_closing, Total::from),
            matched: matched
                .into_iter()
                .map(|((_, status, rule), matches)| RuleCount { rule: rule.name(), status, matches })
                .collect(),
            new,
            aged,
            gone,
            open: open.into_iter().map(|(class, lines)| ClassCount { class, lines }).collect(),
            oldest: outcome.breaks.iter().map(|found| found.bucket).max(),
            unproved,
        }
    }

    fn write(&self, out: &mut String, name: &str) {
        let revision = if self.revision == 0 { String::new() } else { format!(" (revision {})", self.revision) };
        line(
            out,
            &format!("{name}: closed{revision}; bank {}, books {}", shown(self.bank_closing), shown(self.book_closing)),
        );
        for proof in self.failed() {
            let by =
                proof.difference.as_ref().map(|off| format!(", off by {}", grouped_in_text(off))).unwrap_or_default();
            line(out, &format!("  FAILED    {} of {}{by}", proof.id.name(), proof.scope));
        }
        let by_rule = |confirmed: bool| {
            let rows = self.matched.iter().filter(|row| (row.status == MatchStatus::Confirmed) == confirmed);
            rows.map(|row| format!("{} by {}", row.matches, row.rule.replace('_', " "))).collect::<Vec<_>>().join(", ")
        };
        let (matched, suggested) = (by_rule(true), by_rule(false));
        line(out, &format!("  matched   {}", if matched.is_empty() { "nothing" } else { &matched }));
        if !suggested.is_empty() {
            line(out, &format!("  suggested {suggested}; their lines are open, as UNCONFIRMED"));
        }
        for (word, sides) in [("new", &self.new), ("aged", &self.aged), ("gone", &self.gone)] {
            line(out, &format!("  {word:<9} {sides}"));
        }
        for row in &self.open {
            line(out, &format!("  open      {}: {}", row.class.name(), row.lines));
        }
        if let Some(oldest) = self.oldest {
            line(out, &format!("  oldest    {} business days", oldest.name()));
        }
        for proof in self.unproved.iter().filter(|proof| proof.status != ProofStatus::Failed) {
            line(out, &format!("  {:<9} {} of {}", proof.status.name(), proof.id.name(), proof.scope));
        }
    }

    /// The proofs that failed.
    fn failed(&self) -> impl Iterator<Item = &Proof> {
        self.unproved.iter().filter(|proof| proof.status == ProofStatus::Failed)
    }
}

// === impl Sides ===

impl Sides {
    fn none(currency: Currency) -> Self {
        let none = Taken { lines: 0, sum: Total::zero(currency) };
        Self { bank: none, book: none }
    }

    fn add(&mut self, side: Side, minor: i64) {
        let taken = match side {
            Side::Bank => &mut self.bank,
            Side::Book => &mut self.book,
        };
        taken.lines += 1;
        taken.sum = Total::new(taken.sum.minor() + i128::from(minor), taken.sum.currency());
    }
}

impl std::fmt::Display for Sides {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut gap = "";
        for (word, taken) in [("bank", self.bank), ("books", self.book)] {
            if taken.lines > 0 {
                write!(f, "{gap}{word} {} of {}", taken.lines, shown(taken.sum))?;
                gap = ", ";
            }
        }
        if gap.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}

fn shown(amount: Total) -> String {
    grouped_in_text(&amount.to_string())
}
