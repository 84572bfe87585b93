//! How fast matching is: a million lines a side, in memory, on one thread, beside a reference in the same run.
//!
//! `cargo bench --bench matching [-- LINES [reference|token|amount]]`. The reference is a bare sort of as many 128-bit keys as there are lines on
//! both sides: what no sort-merge can be faster than by much. `matching` is from lines in memory to decisions, normalising
//! included; ids, words and reasons are made when asked for, and timed apart. Figures: `docs/performance.md`.

#![expect(clippy::print_stdout, reason = "what was measured is this program's outcome")]

#[path = "figures/random.rs"]
mod random;

use std::hint::black_box;
use std::time::Duration;

use chrono::{Days, NaiveDate};
use counterfoil::calendar::Calendar;
use counterfoil::matching::{self, Input, OpenLine, Origin, RuleSet};
use counterfoil::money::Currency;
use counterfoil::reference::{Reference, ReferenceKind};
use random::Random;
use rustix::time::{ClockId, clock_gettime};

/// What connects the two sides of most payments.
#[derive(Clone, Copy)]
enum By {
    /// A Pix end-to-end id on both sides: 96 of 100; then a text, an amount alone, a missing partner.
    Reference,
    /// An invoice number in both texts.
    Token,
    /// Nothing but the amount.
    Amount,
}

fn payment(n: u64, by: By, random: &mut Random) -> (Option<OpenLine>, Option<OpenLine>) {
    let sign = if random.below(2) == 0 { 1 } else { -1 };
    // Two of five amounts are prices that many payments have.
    let minor = if random.below(5) < 2 { random.below(200) * 490 + 490 } else { random.below(500_000) + 1 };
    let date = NaiveDate::from_ymd_opt(2026, 5, 1).unwrap_or_default() + Days::new(random.below(30));
    let line = |id: String, date: NaiveDate| OpenLine {
        id,
        date,
        ledger_day: date,
        minor: sign * i64::try_from(minor).unwrap_or(1),
        references: Vec::new(),
        counterparty: None,
        description: String::new(),
        code: None,
        reversal: false,
        reverses: None,
        group: None,
        origin: Origin::default(),
        first_seen: date,
        late: false,
    };
    let mut bank = line(format!("itau-1:{date}:{:016x}:1", random.next()), date);
    let mut book = line(format!("ERP-{n:09}"), date - Days::new(random.below(3)));
    bank.description = "PIX RECEBIDO".into();
    book.description = "Recebimento de cliente".into();
    let kind = random.below(100);
    match by {
        By::Reference if kind < 96 => {
            let id = format!("E00416968{date}0600{n:011}", date = date.format("%Y%m%d"));
            bank.references.extend(Reference::new(ReferenceKind::Untyped, &id));
            book.references.extend(Reference::new(ReferenceKind::Untyped, &id));
        }
        By::Reference | By::Token if kind < 98 => {
            bank.description = format!("PIX RECEBIDO CLIENTE {} NF {}", names(n), 1_000_000 + n);
            book.description = format!("Fatura {} {}", 1_000_000 + n, names(n));
        }
        By::Reference | By::Token | By::Amount => {}
    }
    match kind {
        98 => (Some(bank), None),
        99 => (None, Some(book)),
        _ => (Some(bank), Some(book)),
    }
}

fn names(n: u64) -> String {
    let syllable = |n: u64| ["KA", "RO", "MI", "TE", "LU", "ZA", "PE", "NO"][usize::try_from(n % 8).unwrap_or(0)];
    (0..6).map(|at| syllable((n / 50) >> (3 * at))).collect()
}

/// With the CPU time that it took on this thread: what else the machine did does not count.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = cpu_time();
    let result = black_box(work());
    (result, cpu_time().saturating_sub(start))
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The best of some rounds: the others were disturbed.
fn best<T>(rounds: usize, mut work: impl FnMut() -> T) -> (T, Duration) {
    let mut kept = timed(&mut work);
    for _ in 1..rounds {
        let next = timed(&mut work);
        if next.1 < kept.1 {
            kept = next;
        }
    }
    kept
}

fn report(what: &str, lines: usize, took: Duration) {
    let nanos = took.as_nanos().max(1);
    let rate = lines as u128 * 1_000_000_000 / nanos;
    println!(
        "  {what:<34} {:>7} ms  {:>4}.{:02} M lines/s",
        took.as_millis(),
        rate / 1_000_000,
        rate % 1_000_000 / 10_000
    );
}

fn main() {
    // `cargo test --all-targets` runs benches too, without this word: then a few lines show that it still works.
    let usual = if std::env::args().any(|argument| argument == "--bench") { 1_000_000 } else { 2_000 };
    let mut words = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let wanted = words.next().and_then(|lines| lines.parse::<u64>().ok()).unwrap_or(usual);
    let calendar = Calendar::weekdays();
    let rules = RuleSet::default();
    let Ok(currency) = Currency::new("BRL") else { return };
    let chosen = words.next();
    for (name, by) in [("reference", By::Reference), ("token", By::Token), ("amount", By::Amount)] {
        if chosen.as_deref().is_some_and(|chosen| chosen != name) {
            continue;
        }
        let mut random = Random(20_260_501);
        let (mut bank, mut book) = (Vec::new(), Vec::new());
        // In no order, but each line's texts where it was made, as whoever loads lines leaves them in memory.
        let mut order: Vec<u64> = (0..wanted).collect();
        random.shuffle(&mut order);
        bank.extend(order.iter().filter_map(|n| payment(*n, by, &mut Random(*n)).0));
        random.shuffle(&mut order);
        book.extend(order.iter().filter_map(|n| payment(*n, by, &mut Random(*n)).1));
        let lines = bank.len() + book.len();
        let input = Input { bank: &bank, book: &book, currency, calendar: &calendar, rules: &rules };
        println!("by {name}: {} bank and {} book lines", bank.len(), book.len());
        let keys: Vec<u128> =
            (0..lines).map(|_| (u128::from(random.next()) << 64) | u128::from(random.next())).collect();
        let (_, took) = best(3, || {
            let mut keys = keys.clone();
            keys.sort_unstable();
            keys
        });
        report("reference: sort of bare keys", lines, took);
        let (decided, took) = best(3, || matching::decide(&input));
        report("matching", lines, took);
        let (residue, took) = timed(|| decided.residue());
        report("  why the rest is open", lines, took);
        let (matches, took) = timed(|| decided.matches().map(|found| found.explanation.keys.len()).sum::<usize>());
        report("  matches with their keys, streamed", lines, took);
        let (outcome, took) = timed(|| matching::reconcile(&input));
        report("reconcile, everything in memory", lines, took);
        println!("  {} matches, {} open, {matches} keys", outcome.matches.len(), residue.len());
    }
}
