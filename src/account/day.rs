//! One account-day: what it takes, what is open, and the proofs P4–P7 that close it.
//!
//! Everything here is a function of what the day's manifest names and of where the account stood before, so that the
//! worker, whoever leads, and `counterfoil reconcile` in memory come to the same digest.

use std::collections::BTreeSet;

use chrono::NaiveDate;

use super::Account;
use super::ledger::{Anchor, Closing};
use crate::matching::{self, MatchStatus, OpenLine, Outcome, RuleSet, Side};
use crate::money::{Currency, Money, Total};
use crate::proof::{Proof, ProofId};
use crate::report::{AccountOutcome, Break, Bucket, Lines, Position, SidePosition, Taken};

/// Where an account stands at the end of a day, and what is open there: the settings' opening, or the last closed day.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The end of this day.
    pub date: NaiveDate,
    /// Sums since the account's start.
    pub position: Position,
    /// Open bank lines.
    pub bank: Vec<OpenLine>,
    /// Open book lines.
    pub book: Vec<OpenLine>,
    /// Does the account start from a position that the settings state? If not, both sides were made to start alike, and
    /// P5 is `derived`.
    pub stated_start: bool,
    /// Is it a closed account-day (not the start)? Only then can a line be late.
    pub closed: bool,
}

/// What an account-day is computed from.
#[derive(Debug)]
pub struct DayInput<'a> {
    /// The account.
    pub account: &'a Account,
    /// The business date.
    pub date: NaiveDate,
    /// 0 unless reopened.
    pub revision: u32,
    /// The rules.
    pub rules: &'a RuleSet,
    /// Where the account stood before.
    pub standing: &'a Standing,
    /// The bank's balance at the end of the date.
    pub bank_closing: Closing,
    /// The ledger's own balance at the end of the date, if it came.
    pub book_stated: Option<Money>,
    /// Bank lines that this day takes.
    pub bank: &'a [OpenLine],
    /// Book lines that this day takes.
    pub book: &'a [OpenLine],
    /// Book entries that changed after they were taken.
    pub changed: &'a Changed,
    /// P1 and P3 of each statement that the day was taken from. Statements that prove the same count as one.
    pub door_proofs: &'a [Vec<Proof>],
    /// P2 of the anchors that the day touches.
    pub anchor_proofs: &'a [Proof],
}

/// Book entries that came again with other content: the old ones leave the population, and their matches are undone.
/// The new content is among the lines taken.
#[derive(Debug, Clone, Default)]
pub struct Changed {
    /// The old entries, whether they were open or matched.
    pub withdrawn: Vec<OpenLine>,
    /// Bank lines released by undone matches, open again.
    pub released_bank: Vec<OpenLine>,
    /// Book lines released by undone matches, the withdrawn ones among them.
    pub released_book: Vec<OpenLine>,
}

/// Does a day take a line?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// It is later than the date, and waits.
    Later,
    /// It lies at or before the account's start, outside every proof.
    BeforeStart,
    /// Taken; `late` if its own day is closed already.
    Now {
        /// It came after its own day was closed.
        late: bool,
    },
}

// === impl Standing ===

impl Standing {
    /// The start of an account: the settings' opening; else both sides at the bank's first anchor, with nothing open.
    pub fn start(account: &Account, first: Anchor) -> Self {
        let currency = account.currency;
        let nothing = Taken { lines: 0, sum: Total::zero(currency) };
        let Some(opening) = &account.opening else {
            let none = SidePosition { taken: nothing, matched: nothing, open: nothing, excluded: nothing };
            let balance = Total::new(first.minor, currency);
            return Self {
                date: first.day,
                position: Position {
                    bank_closing: balance,
                    bank_stated: first.stated,
                    book_closing: balance,
                    book_stated: None,
                    bank: none,
                    book: none,
                    differences: nothing,
                },
                bank: Vec::new(),
                book: Vec::new(),
                stated_start: false,
                closed: false,
            };
        };
        let items = |side| -> Vec<OpenLine> {
            opening.items.iter().filter(|(of, _)| *of == side).map(|(_, line)| line.clone()).collect()
        };
        let (bank, book) = (items(Side::Bank), items(Side::Book));
        let side = |lines: &[OpenLine]| {
            let open = taken(lines, currency);
            SidePosition { taken: open, matched: nothing, open, excluded: nothing }
        };
        Self {
            date: opening.date,
            position: Position {
                bank_closing: opening.bank.into(),
                bank_stated: true,
                book_closing: opening.book.into(),
                book_stated: Some(opening.book),
                bank: side(&bank),
                book: side(&book),
                differences: nothing,
            },
            bank,
            book,
            stated_start: true,
            closed: false,
        }
    }

    /// Does the day `date`, the first one after this standing, take a line of `ledger_day` that no earlier day took?
    /// `start` is the day of the account's start.
    pub fn takes(&self, ledger_day: NaiveDate, date: NaiveDate, start: NaiveDate) -> Take {
        if ledger_day > date {
            Take::Later
        } else if ledger_day <= start {
            Take::BeforeStart
        } else {
            Take::Now { late: self.closed && ledger_day <= self.date }
        }
    }
}

// === impl DayInput ===

impl DayInput<'_> {
    /// The lines that may be matched on this day, in canonical order: carried forward, released and taken, without those
    /// that were withdrawn.
    pub fn open_lines(&self) -> (Vec<OpenLine>, Vec<OpenLine>) {
        // A book id is one entry, whatever its revision: the withdrawn one is known by it, and the new one is taken.
        let withdrawn: BTreeSet<&str> = self.changed.withdrawn.iter().map(|line| line.id.as_str()).collect();
        let bank = self.standing.bank.iter().chain(&self.changed.released_bank).chain(self.bank);
        let carried = self.standing.book.iter().chain(&self.changed.released_book);
        let book = carried.filter(|line| !withdrawn.contains(line.id.as_str())).chain(self.book);
        (canonical(bank.cloned()), canonical(book.cloned()))
    }

    /// Matches the day's open lines.
    pub fn matched(&self, bank: &[OpenLine], book: &[OpenLine]) -> Outcome {
        let Account { currency, calendar, .. } = self.account;
        matching::reconcile(&matching::Input { bank, book, currency: *currency, calendar, rules: self.rules })
    }

    /// Closes the day: positions, ages, proofs. `bank` and `book` are [`Self::open_lines`], `outcome` what matching made
    /// of them.
    pub fn close(&self, bank: &[OpenLine], book: &[OpenLine], outcome: Outcome) -> AccountOutcome {
        let currency = self.account.currency;
        let consumed: Vec<_> = outcome.matches.iter().filter(|found| found.status == MatchStatus::Confirmed).collect();
        let consumed_bank: BTreeSet<&str> =
            consumed.iter().flat_map(|found| found.bank.iter().map(String::as_str)).collect();
        let consumed_book: BTreeSet<&str> =
            consumed.iter().flat_map(|found| found.book.iter().map(String::as_str)).collect();
        let bank_side = self.side(bank, &consumed_bank, Side::Bank);
        let book_side = self.side(book, &consumed_book, Side::Book);
        let taken_book = taken(self.book, currency);
        let withdrawn = taken(&self.changed.withdrawn, currency);
        let position = Position {
            bank_closing: self.bank_closing.amount,
            bank_stated: self.bank_closing.stated,
            book_closing: Total::new(
                self.standing.position.book_closing.minor() + taken_book.sum.minor() - withdrawn.sum.minor(),
                currency,
            ),
            book_stated: self.book_stated,
            bank: bank_side,
            book: book_side,
            differences: self.standing.position.differences,
        };
        let index = |lines: &[OpenLine]| lines.iter().map(|line| (line.id.clone(), line.clone())).collect();
        let lines = Lines { bank: index(bank), book: index(book) };
        let breaks = self.breaks(&lines, &outcome);
        let proofs = self.proofs(&position, &breaks, (bank, book), (&consumed_bank, &consumed_book));
        AccountOutcome {
            account: self.account.id.clone(),
            currency,
            date: self.date,
            revision: self.revision,
            rule_set: self.rules.hash(),
            bank: taken(self.bank, currency),
            book: taken_book,
            position,
            matches: outcome.matches,
            breaks,
            proofs,
            lines,
        }
    }

    /// A side's sums since the start, rolled forward from the day before. What is open is counted, not rolled.
    fn side(&self, open_before_matching: &[OpenLine], consumed: &BTreeSet<&str>, side: Side) -> SidePosition {
        let currency = self.account.currency;
        let (before, new, withdrawn, released): (_, _, &[OpenLine], _) = match side {
            Side::Bank => (self.standing.position.bank, self.bank, &[], &self.changed.released_bank),
            Side::Book => {
                let changed = self.changed;
                (self.standing.position.book, self.book, &changed.withdrawn, &changed.released_book)
            }
        };
        let (gone, left): (Vec<_>, Vec<_>) =
            open_before_matching.iter().partition(|line| consumed.contains(line.id.as_str()));
        SidePosition {
            taken: minus(plus(before.taken, taken(new, currency)), taken(withdrawn, currency)),
            matched: minus(plus(before.matched, taken(gone, currency)), taken(released, currency)),
            open: taken(left, currency),
            excluded: before.excluded,
        }
    }

    fn breaks(&self, lines: &Lines, outcome: &Outcome) -> Vec<Break> {
        let breaks = outcome.residue.iter().filter_map(|open| {
            let of_side = match open.side {
                Side::Bank => &lines.bank,
                Side::Book => &lines.book,
            };
            let line = of_side.get(&open.line)?;
            let age = self.account.calendar.business_days_between(line.date, self.date);
            Some(Break {
                class: open.class,
                side: open.side,
                line: open.line.clone(),
                amount: Money::new(line.minor, self.account.currency),
                age_business_days: age,
                bucket: Bucket::of(age),
                first_seen: line.first_seen,
                nearest: open.nearest.clone(),
            })
        });
        breaks.collect()
    }

    fn proofs(
        &self,
        position: &Position,
        breaks: &[Break],
        (bank, book): (&[OpenLine], &[OpenLine]),
        (consumed_bank, consumed_book): (&BTreeSet<&str>, &BTreeSet<&str>),
    ) -> Vec<Proof> {
        let currency = self.account.currency;
        // A file that comes again, under whatever name and ids, proves nothing that was not proved.
        let doors: BTreeSet<&Vec<Proof>> = self.door_proofs.iter().collect();
        let mut proofs: Vec<Proof> = doors.into_iter().flatten().chain(self.anchor_proofs).cloned().collect();
        let book_stated = position.book_stated.map(Total::from);
        if self.bank_closing.known {
            proofs.extend(self.balances(position, book_stated));
        } else {
            proofs.extend([Proof::unprovable(ProofId::P4, "book"), Proof::unprovable(ProofId::P5, "account")]);
        }
        for (side, at) in [(Side::Bank, &position.bank), (Side::Book, &position.book)] {
            // The right side counts what is there: every open line has exactly one break.
            let open = breaks.iter().filter(|found| found.side == side);
            let (count, sum) =
                open.fold((0_i128, 0_i128), |(n, sum), found| (n + 1, sum + i128::from(found.amount.minor())));
            let states = |of: fn(&Taken) -> i128| of(&at.matched) + of(&at.excluded);
            let lines = |at: &Taken| i128::from(at.lines);
            let minor = |at: &Taken| at.sum.minor();
            proofs.push(Proof::of_counts(
                ProofId::P6,
                format!("{side} lines"),
                lines(&at.taken),
                states(|at| i128::from(at.lines)) + count,
                true,
            ));
            proofs.push(Proof::of_amounts(
                ProofId::P6,
                format!("{side} amount"),
                Total::new(minor(&at.taken), currency),
                Total::new(states(|at| at.sum.minor()) + sum, currency),
                true,
            ));
        }
        let standing = &self.standing.position;
        let changed = self.changed;
        let withdrawn = taken(&changed.withdrawn, currency);
        let none = Taken { lines: 0, sum: Total::zero(currency) };
        let sides = [
            (Side::Bank, &position.bank, &standing.bank, self.bank, none, &changed.released_bank, bank, consumed_bank),
            (
                Side::Book,
                &position.book,
                &standing.book,
                self.book,
                withdrawn,
                &changed.released_book,
                book,
                consumed_book,
            ),
        ];
        for (side, now, before, new, withdrawn, released, open, consumed) in sides {
            let gone = taken(open.iter().filter(|line| consumed.contains(line.id.as_str())), currency);
            let (new, released) = (taken(new, currency), taken(released, currency));
            let rolled =
                |of: fn(&Taken) -> i128| of(&before.open) + of(&new) - of(&withdrawn) - of(&gone) + of(&released);
            proofs.push(Proof::of_counts(
                ProofId::P7,
                format!("{side} lines"),
                i128::from(now.open.lines),
                rolled(|at| i128::from(at.lines)),
                true,
            ));
            proofs.push(Proof::of_amounts(
                ProofId::P7,
                format!("{side} amount"),
                now.open.sum,
                Total::new(rolled(|at| at.sum.minor()), currency),
                true,
            ));
        }
        proofs.sort();
        proofs
    }

    /// P4 and P5.
    fn balances(&self, position: &Position, book_stated: Option<Total>) -> [Proof; 2] {
        let currency = self.account.currency;
        let postings = Proof::of_amounts(
            ProofId::P4,
            "book",
            position.book_closing,
            book_stated.unwrap_or(position.book_closing),
            book_stated.is_some(),
        );
        let left = position.bank_closing.minor() - book_stated.unwrap_or(position.book_closing).minor();
        let right = position.bank.open.sum.minor() - position.book.open.sum.minor()
            + position.bank.excluded.sum.minor()
            - position.book.excluded.sum.minor()
            + position.differences.sum.minor();
        let bridge = Proof::of_amounts(
            ProofId::P5,
            "account",
            Total::new(left, currency),
            Total::new(right, currency),
            self.standing.stated_start && position.bank_stated && book_stated.is_some(),
        );
        [postings, bridge]
    }
}

/// The order in which lines stand everywhere: ledger day, amount, id; bytes, never a collation.
pub fn canonical(lines: impl IntoIterator<Item = OpenLine>) -> Vec<OpenLine> {
    let mut lines: Vec<OpenLine> = lines.into_iter().collect();
    lines.sort_by(|a, b| (a.ledger_day, a.minor, &a.id).cmp(&(b.ledger_day, b.minor, &b.id)));
    lines
}

fn taken<'a>(lines: impl IntoIterator<Item = &'a OpenLine>, currency: Currency) -> Taken {
    let (count, sum) = lines.into_iter().fold((0, 0), |(n, sum), line| (n + 1, sum + i128::from(line.minor)));
    Taken { lines: count, sum: Total::new(sum, currency) }
}

fn plus(a: Taken, b: Taken) -> Taken {
    Taken { lines: a.lines + b.lines, sum: Total::new(a.sum.minor() + b.sum.minor(), a.sum.currency()) }
}

/// Counts that would go below zero stop at zero: then P6 and P7 fail and say so, instead of a panic.
fn minus(a: Taken, b: Taken) -> Taken {
    Taken { lines: a.lines.saturating_sub(b.lines), sum: Total::new(a.sum.minor() - b.sum.minor(), a.sum.currency()) }
}
