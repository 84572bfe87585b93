//! What a person wants to know of an account-day first, computed once for every face that people read: the closed
//! position as a bridge, what matched by which rule, what is open by class and age, and the proofs that are not proved.

use std::collections::BTreeMap;

use super::{AccountOutcome, Break, Bucket, Taken};
use crate::matching::{BreakClass, MatchStatus, OpenLine, Rule, Side};
use crate::money::{Currency, Total};
use crate::proof::{Proof, ProofId, ProofStatus};
use crate::reference::Reference;

/// An account-day, as people read it.
#[derive(Debug)]
pub struct Overview<'a> {
    /// What it was made from.
    pub outcome: &'a AccountOutcome,
    /// P5, term by term.
    pub bridge: Bridge,
    /// What matched, strongest rule first.
    pub matched: Vec<Matched>,
    /// All of it; absent if nothing matched.
    pub matched_total: Option<Matched>,
    /// What is only suggested. Its lines are open, and among the open ones.
    pub suggested: Vec<Matched>,
    /// What is open, by class, side and age.
    pub classes: Vec<ClassRow>,
    /// Every open line: oldest first, then the largest amount, then canonical order.
    pub open: Vec<OpenRow<'a>>,
    /// How many proofs are proved.
    pub proved: usize,
    /// Those that are not, worst first.
    pub unproved: Vec<&'a Proof>,
}

/// P5 as a bridge: bank closing − book closing, and the terms that explain it.
#[derive(Debug)]
pub struct Bridge {
    /// The bank's balance.
    pub bank_closing: Total,
    /// Did the bank state it, or did we add it up?
    pub bank_stated: bool,
    /// The books' balance: as stated, else by our sum.
    pub book_closing: Total,
    /// Did the ledger state it?
    pub book_stated: bool,
    /// bank − book.
    pub to_explain: Total,
    /// The terms, with their signs in them.
    pub terms: Vec<Term>,
    /// Their sum.
    pub explained: Total,
    /// What P5 came to; absent if it was not evaluated.
    pub status: Option<ProofStatus>,
}

/// One term of a bridge.
#[derive(Debug)]
pub struct Term {
    /// What it is: `open at the bank`, `less open in the books`.
    pub name: &'static str,
    /// How many lines.
    pub lines: u64,
    /// Signed as it enters the sum: the amounts of all terms add up to what they explain.
    pub amount: Total,
    /// What the lines themselves sum to, where they are taken off: the opposite of `amount`.
    pub of: Option<Total>,
}

/// What one rule matched.
#[derive(Debug, Clone, Copy)]
pub struct Matched {
    /// The rule; absent of several.
    pub rule: Option<Rule>,
    /// How many matches.
    pub matches: u64,
    /// How many bank lines are in them.
    pub bank_lines: u64,
    /// How many book lines.
    pub book_lines: u64,
    /// Money in, of the bank lines.
    pub money_in: Total,
    /// Money out, of the bank lines: negative.
    pub money_out: Total,
}

/// Open lines of one class, side and age.
#[derive(Debug, Clone, Copy)]
pub struct ClassRow {
    /// Why they are open.
    pub class: BreakClass,
    /// Which side.
    pub side: Side,
    /// How old.
    pub bucket: Bucket,
    /// How many, and their sum.
    pub open: Taken,
}

/// An open line.
#[derive(Debug)]
pub struct OpenRow<'a> {
    /// Its class, age and nearest miss.
    pub of: &'a Break,
    /// The line, where the outcome has it.
    pub line: Option<&'a OpenLine>,
}

// === impl Overview ===

impl<'a> Overview<'a> {
    /// Of an outcome.
    pub fn of(outcome: &'a AccountOutcome) -> Self {
        let mut open: Vec<_> =
            outcome.breaks.iter().map(|of| OpenRow { of, line: outcome.line(of.side, &of.line) }).collect();
        // Stable: what is equal keeps canonical order.
        open.sort_by_key(|row| {
            (std::cmp::Reverse(row.of.age_business_days), std::cmp::Reverse(row.of.amount.minor().unsigned_abs()))
        });
        let mut unproved: Vec<_> = outcome.proofs.iter().filter(|proof| proof.status != ProofStatus::Proved).collect();
        unproved.sort_by_key(|proof| std::cmp::Reverse(proof.status));
        let matched = matched(outcome, MatchStatus::Confirmed);
        Self {
            bridge: Bridge::of(outcome),
            matched_total: Matched::sum(&matched),
            matched,
            suggested: self::matched(outcome, MatchStatus::Suggested),
            classes: classes(&outcome.breaks, outcome.currency),
            open,
            proved: outcome.proofs.len() - unproved.len(),
            unproved,
            outcome,
        }
    }

    /// Confirmed matches: how many.
    pub fn confirmed(&self) -> u64 {
        self.matched.iter().map(|row| row.matches).sum()
    }
}

// === impl Bridge ===

impl Bridge {
    fn of(outcome: &AccountOutcome) -> Self {
        let position = &outcome.position;
        let currency = outcome.currency;
        let book_closing = position.book_stated.map_or(position.book_closing, Total::from);
        let plus = |name, taken: Taken| Term { name, lines: taken.lines, amount: taken.sum, of: None };
        let less = |name, taken: Taken| Term {
            name,
            lines: taken.lines,
            amount: Total::new(-taken.sum.minor(), currency),
            of: (taken.lines > 0).then_some(taken.sum),
        };
        let terms = vec![
            plus("open at the bank", position.bank.open),
            less("less open in the books", position.book.open),
            plus("excluded at the bank", position.bank.excluded),
            less("less excluded in the books", position.book.excluded),
            plus("open differences", position.differences),
        ];
        Self {
            bank_closing: position.bank_closing,
            bank_stated: position.bank_stated,
            book_closing,
            book_stated: position.book_stated.is_some(),
            to_explain: Total::new(position.bank_closing.minor() - book_closing.minor(), currency),
            explained: Total::new(terms.iter().map(|term| term.amount.minor()).sum(), currency),
            terms,
            status: outcome.proofs.iter().find(|proof| proof.id == ProofId::P5).map(|proof| proof.status),
        }
    }
}

// === impl OpenRow ===

impl OpenRow<'_> {
    /// Who, and for what: counterparty and prose.
    pub fn who(&self) -> String {
        self.line.map_or_else(String::new, who)
    }

    /// The strongest reference.
    pub fn reference(&self) -> &str {
        self.line.and_then(reference).unwrap_or("")
    }
}

// === impl AccountOutcome ===

impl AccountOutcome {
    /// A line that the outcome names.
    pub fn line(&self, side: Side, id: &str) -> Option<&OpenLine> {
        match side {
            Side::Bank => self.lines.bank.get(id),
            Side::Book => self.lines.book.get(id),
        }
    }
}

/// Who a line is with, and for what: counterparty and prose.
pub fn who(line: &OpenLine) -> String {
    let name = line.counterparty.as_ref().and_then(|counterparty| counterparty.name.as_deref()).unwrap_or("");
    match (name.is_empty(), line.description.is_empty()) {
        (true, _) => line.description.clone(),
        (false, true) => name.to_owned(),
        (false, false) => format!("{name} · {}", line.description),
    }
}

/// The reference that says most about which payment a line is: the first in the order of kinds.
pub fn reference(line: &OpenLine) -> Option<&str> {
    line.references.iter().min().map(Reference::value)
}

// === impl Matched ===

impl Matched {
    fn none(rule: Option<Rule>, currency: Currency) -> Self {
        let zero = Total::zero(currency);
        Self { rule, matches: 0, bank_lines: 0, book_lines: 0, money_in: zero, money_out: zero }
    }

    fn sum(rows: &[Self]) -> Option<Self> {
        let mut total = Self::none(None, rows.first()?.money_in.currency());
        let add = |sum: &mut Total, more: Total| *sum = Total::new(sum.minor() + more.minor(), sum.currency());
        for row in rows {
            total.matches += row.matches;
            total.bank_lines += row.bank_lines;
            total.book_lines += row.book_lines;
            add(&mut total.money_in, row.money_in);
            add(&mut total.money_out, row.money_out);
        }
        Some(total)
    }

    /// What made the matches, for people.
    pub fn name(&self) -> String {
        self.rule.map_or_else(|| "all".to_owned(), |rule| rule.name().replace('_', " "))
    }
}

/// By rule, strongest first: the matches of this status.
fn matched(outcome: &AccountOutcome, status: MatchStatus) -> Vec<Matched> {
    let mut rows: BTreeMap<Rule, Matched> = BTreeMap::new();
    for found in outcome.matches.iter().filter(|found| found.status == status) {
        let row = rows.entry(found.rule).or_insert_with(|| Matched::none(Some(found.rule), outcome.currency));
        row.matches += 1;
        row.bank_lines += found.bank.len() as u64;
        row.book_lines += found.book.len() as u64;
        for line in found.bank.iter().filter_map(|id| outcome.lines.bank.get(id)) {
            let side = if line.minor < 0 { &mut row.money_out } else { &mut row.money_in };
            *side = Total::new(side.minor() + i128::from(line.minor), outcome.currency);
        }
    }
    rows.into_values().collect()
}

fn classes(breaks: &[Break], currency: Currency) -> Vec<ClassRow> {
    let mut rows: BTreeMap<(BreakClass, Side, Bucket), Taken> = BTreeMap::new();
    for open in breaks {
        let row =
            rows.entry((open.class, open.side, open.bucket)).or_insert(Taken { lines: 0, sum: Total::zero(currency) });
        row.lines += 1;
        row.sum = Total::new(row.sum.minor() + i128::from(open.amount.minor()), currency);
    }
    rows.into_iter().map(|((class, side, bucket), open)| ClassRow { class, side, bucket, open }).collect()
}

/// A decimal string with its whole digits in groups of three, by a space: read the same in every country.
pub fn grouped(amount: &str) -> String {
    let (sign, digits) = match amount.strip_prefix('-') {
        Some(digits) => ("−", digits),
        None => ("", amount),
    };
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut out = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// As [`grouped`], with its sign in any case: a term of a sum. Zero has none.
pub fn signed(amount: Total) -> String {
    let plus = if amount.minor() > 0 { "+" } else { "" };
    format!("{plus}{}", grouped(&amount.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_grouped_by_threes_from_the_point() {
        assert_eq!(grouped("1234567.80").replace('\u{202f}', " "), "1 234 567.80");
        assert_eq!(grouped("-530.86"), "−530.86");
        assert_eq!(grouped("1000").replace('\u{202f}', " "), "1 000");
        assert_eq!(grouped("0.005"), "0.005");
    }
}
