//! What must hold of matching whatever the lines are, and what a slow and simple reading of the rules says of few lines.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Days, NaiveDate};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;

use super::claims::{day, line, run};
use super::{BreakClass, MatchStatus, OpenLine, Outcome, Rule, Side};
use crate::calendar::Calendar;
use crate::reference::{Reference, ReferenceKind};

/// Few amounts, dates, references and words, so that lines meet in every way.
fn lines(side: &'static str, most: usize) -> impl Strategy<Value = Vec<OpenLine>> {
    vec((any_line(), weighted(0.15, 0..most)), 0..=most).prop_map(move |lines| {
        (0..)
            .zip(lines)
            .map(|(n, (line, reverses))| OpenLine {
                id: format!("{side}{n}"),
                reverses: reverses.filter(|_| side == "k").map(|n| format!("k{n}")),
                ..line
            })
            .collect()
    })
}

fn any_line() -> impl Strategy<Value = OpenLine> {
    let amounts = select(vec![-200_i64, -100, -100, 100, 100, 200]);
    let days = 0..18_u64;
    let texts = select(vec!["", "", "ACME", "Acme north", "ZENITH 10017", "10017", "TARIFA PIX", "10018 acme"]);
    (amounts, days, any_references(), texts, any::<bool>()).prop_map(|(minor, days, references, text, reversal)| {
        let date = day("2026-05-01") + Days::new(days);
        let ledger_day = date.max(day("2026-05-04"));
        OpenLine { date, ledger_day, references, description: text.into(), reversal, ..line("", minor) }
    })
}

fn any_references() -> impl Strategy<Value = Vec<Reference>> {
    let kinds = select(vec![
        ReferenceKind::EndToEnd,
        ReferenceKind::EndToEnd,
        ReferenceKind::Cheque,
        ReferenceKind::Document,
        ReferenceKind::Untyped,
        ReferenceKind::Untyped,
        ReferenceKind::FitId,
        ReferenceKind::Mandate,
    ]);
    let values = select(vec!["7", "007", "8", "PAY-101", "PAY-102", "PAY-103", "123456", "0123456", "CUSTOMER"]);
    vec((kinds, values).prop_map(|(kind, value)| Reference::new(kind, value).unwrap()), 0..=2)
}

/// The same lines in the order that `seed` gives.
fn shuffled(lines: &[OpenLine], seed: u64) -> Vec<OpenLine> {
    let mut keyed: Vec<_> = (0_u64..)
        .zip(lines)
        .map(|(n, line)| ((n + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29), line))
        .collect();
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, line)| line.clone()).collect()
}

fn consumed(outcome: &Outcome, side: Side) -> Vec<&str> {
    let confirmed = outcome.matches.iter().filter(|found| found.status == MatchStatus::Confirmed);
    confirmed.flat_map(|found| if side == Side::Bank { &found.bank } else { &found.book }).map(String::as_str).collect()
}

fn left(outcome: &Outcome, side: Side) -> Vec<&str> {
    outcome.residue.iter().filter(|residue| residue.side == side).map(|residue| residue.line.as_str()).collect()
}

fn conserved(outcome: &Outcome, bank: &[OpenLine], book: &[OpenLine]) -> Result<(), TestCaseError> {
    for (side, lines) in [(Side::Bank, bank), (Side::Book, book)] {
        let mut seen = consumed(outcome, side);
        seen.extend(left(outcome, side));
        seen.sort_unstable();
        let mut all: Vec<_> = lines.iter().map(|line| line.id.as_str()).collect();
        all.sort_unstable();
        prop_assert_eq!(seen, all, "every line is consumed once or left once");
    }
    let amounts: BTreeMap<_, _> =
        bank.iter().chain(book).map(|line| (line.id.as_str(), i128::from(line.minor))).collect();
    for found in &outcome.matches {
        let sum = |legs: &[String]| legs.iter().map(|leg| amounts[leg.as_str()]).sum::<i128>();
        prop_assert_eq!(sum(&found.bank) - sum(&found.book), i128::from(found.difference));
        prop_assert!(!found.sentence().is_empty());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_outcome_does_not_depend_on_the_order_of_lines(
        bank in lines("b", 10), book in lines("k", 10), seed in any::<u64>(),
    ) {
        let outcome = run(&bank, &book);
        prop_assert_eq!(&outcome, &run(&shuffled(&bank, seed), &shuffled(&book, seed.rotate_left(7))));
    }

    #[test]
    fn no_line_is_consumed_twice_none_is_lost_and_sums_are_conserved(bank in lines("b", 12), book in lines("k", 12)) {
        conserved(&run(&bank, &book), &bank, &book)?;
    }

    #[test]
    fn a_suggestion_consumes_nothing_and_its_lines_point_at_it(bank in lines("b", 8), book in lines("k", 8)) {
        let outcome = run(&bank, &book);
        let suggested = outcome.matches.iter().filter(|found| found.status == MatchStatus::Suggested);
        let mut of_suggestions: Vec<_> = suggested
            .flat_map(|found| found.bank.iter().chain(&found.book).map(|leg| (leg.as_str(), found.id.as_str())))
            .collect();
        let mut pointing: Vec<_> = outcome
            .residue
            .iter()
            .filter(|residue| residue.class == BreakClass::Unconfirmed)
            .map(|residue| {
                let nearest = residue.nearest.as_ref().unwrap();
                (residue.line.as_str(), nearest.suggestion.as_deref().unwrap())
            })
            .collect();
        of_suggestions.sort_unstable();
        pointing.sort_unstable();
        // A line of a suggestion may be told as a suspected duplicate instead, and nothing else.
        let told: BTreeSet<_> = pointing.iter().copied().collect();
        for (leg, id) in of_suggestions {
            let class = outcome.residue.iter().find(|residue| residue.line == leg).map(|residue| residue.class);
            let duplicate = matches!(class, Some(BreakClass::DupBank | BreakClass::DupBook));
            prop_assert!(duplicate || told.contains(&(leg, id)), "{leg} {class:?}");
        }
    }

    #[test]
    fn an_unrelated_line_changes_nothing_else(
        bank in lines("b", 10), book in lines("k", 10), days in 0..60_u64, of_bank in any::<bool>(),
    ) {
        let before = run(&bank, &book);
        let date = day("2026-04-10") + Days::new(days);
        let stranger = OpenLine { date, ledger_day: date, ..line("stranger", 77_777_777).says("QUITE ANOTHER 55512") };
        let (mut bank, mut book) = (bank, book);
        if of_bank { bank.push(stranger) } else { book.push(stranger) }
        let after = run(&bank, &book);
        prop_assert_eq!(&before.matches, &after.matches);
        let residue: Vec<_> = after.residue.into_iter().filter(|residue| residue.line != "stranger").collect();
        prop_assert_eq!(&before.residue, &residue);
    }

    #[test]
    fn no_amount_and_no_date_breaks_anything(
        bank in vec((select(vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX]), any::<i32>()), 0..12),
        book in vec((select(vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX]), any::<i32>()), 0..12),
        rules in any::<(u32, u32, u32)>(),
    ) {
        let side = |name: &str, lines: &[(i64, i32)]| -> Vec<OpenLine> {
            let date = |n: i32| NaiveDate::from_num_days_from_ce_opt(n).unwrap_or(NaiveDate::MAX);
            (0..).zip(lines).map(|(n, (minor, at))| OpenLine {
                date: date(*at),
                ledger_day: date(at.rotate_left(3)),
                reverses: (n > 0).then(|| format!("{name}{}", n - 1)),
                reversal: n % 2 == 0,
                ..line(&format!("{name}{n}"), *minor).refers(ReferenceKind::Document, "7").says("TARIFA ACME 12345")
            }).collect()
        };
        let (bank, book) = (side("b", &bank), side("k", &book));
        let rules = super::RuleSet {
            book_precedes_bank: rules.0, book_follows_bank: rules.1, rare_token_limit: rules.2,
        };
        conserved(&super::claims::run_with(&bank, &book, &Calendar::weekdays(), &rules), &bank, &book)?;
    }

    #[test]
    fn strong_references_agree_with_a_slow_reading_of_the_rule(bank in lines("b", 8), book in lines("c", 8)) {
        let outcome = run(&bank, &book);
        let found: BTreeSet<_> = pairs(&outcome, Rule::StrongReference);
        prop_assert_eq!(found, slowly(&bank, &book, |b, k| slowly_strong(b, k, &bank, &book)).0);
    }

    #[test]
    fn amount_and_window_agree_with_a_slow_reading_of_the_rule(
        bank in vec((select(vec![-100_i64, 100, 200]), 0..25_u64), 0..=8),
        book in vec((select(vec![-100_i64, 100, 200]), 0..25_u64), 0..=8),
    ) {
        let side = |name: &str, lines: &[(i64, u64)]| -> Vec<OpenLine> {
            (0..).zip(lines).map(|(n, (minor, days))| {
                let date = day("2026-05-01") + Days::new(*days);
                OpenLine { date, ledger_day: date, ..line(&format!("{name}{n}"), *minor) }
            }).collect()
        };
        let (bank, book) = (side("b", &bank), side("k", &book));
        let outcome = run(&bank, &book);
        let (pairs_expected, tied_expected) = slowly(&bank, &book, |b, k| {
            let (from, to, limit) = if k.date <= b.date { (k.date, b.date, 5) } else { (b.date, k.date, 1) };
            let walked = from.iter_days().skip(1).take_while(|date| *date <= to);
            b.minor == k.minor && walked.filter(|date| Calendar::weekdays().is_business_day(*date)).count() <= limit
        });
        prop_assert_eq!(pairs(&outcome, Rule::AmountWindow), pairs_expected);
        let tied = outcome.residue.iter().filter(|residue| residue.class == BreakClass::Ambiguous);
        prop_assert_eq!(tied.map(|residue| residue.line.clone()).collect::<BTreeSet<_>>(), tied_expected);
    }
}

type Pairs = BTreeSet<(String, String)>;

fn pairs(outcome: &Outcome, rule: Rule) -> Pairs {
    let of_rule = outcome.matches.iter().filter(|found| found.rule == rule);
    of_rule.map(|found| (found.bank[0].clone(), found.book[0].clone())).collect()
}

/// Pairs and ties of one pass over everything, by comparing sets of neighbours.
fn slowly(
    bank: &[OpenLine],
    book: &[OpenLine],
    edge: impl Fn(&OpenLine, &OpenLine) -> bool,
) -> (Pairs, BTreeSet<String>) {
    let canonical = |lines: &[OpenLine]| {
        let mut lines = lines.to_vec();
        lines.sort_by(|a, b| (a.ledger_day, a.minor, &a.id).cmp(&(b.ledger_day, b.minor, &b.id)));
        lines
    };
    let (bank, book) = (canonical(bank), canonical(book));
    let of_bank = |b: &OpenLine| book.iter().filter(|k| edge(b, k)).collect::<Vec<_>>();
    let of_book = |k: &OpenLine| bank.iter().filter(|b| edge(b, k)).collect::<Vec<_>>();
    let alike = |lines: &[&OpenLine]| {
        lines.iter().all(|line| {
            let first = lines[0];
            let texts = |line: &OpenLine| (line.description.to_uppercase(), line.references.clone(), line.reversal);
            line.date == first.date && texts(line) == texts(first)
        })
    };
    let (mut found, mut tied) = (Pairs::new(), BTreeSet::new());
    for b in &bank {
        let neighbours = of_bank(b);
        let Some(first) = neighbours.first() else { continue };
        let claimants = of_book(first);
        let block =
            neighbours.iter().all(|k| of_book(k) == claimants) && claimants.iter().all(|b| of_bank(b) == neighbours);
        if block && claimants.len() == neighbours.len() && alike(&claimants) && alike(&neighbours) {
            let at = claimants.iter().position(|claimant| claimant.id == b.id).unwrap();
            found.insert((b.id.clone(), neighbours[at].id.clone()));
        } else {
            tied.insert(b.id.clone());
            tied.extend(neighbours.iter().map(|k| k.id.clone()));
        }
    }
    (found, tied)
}

/// Is a reference shared by these two lines, and by no other line of either side in the same direction; are the amounts
/// equal; and does no typed kind contradict?
fn slowly_strong(b: &OpenLine, k: &OpenLine, bank: &[OpenLine], book: &[OpenLine]) -> bool {
    let value = |reference: &Reference| reference.value().trim_start_matches('0').to_owned();
    let long =
        |reference: &Reference| value(reference).len() >= 6 && value(reference).contains(|c: char| c.is_ascii_digit());
    let alone = |kind: ReferenceKind| kind.is_typed() || kind.is_bank_assigned();
    let many = |kind: ReferenceKind| kind == ReferenceKind::Mandate;
    let once = |lines: &[OpenLine], has: &dyn Fn(&Reference) -> bool| {
        lines.iter().filter(|line| line.minor.signum() == b.minor.signum() && line.references.iter().any(has)).count()
            == 1
    };
    let shared = b.references.iter().any(|a| {
        let same_kind = |other: &Reference| alone(a.kind()) && other.kind() == a.kind() && value(other) == value(a);
        let exact = |other: &Reference| {
            long(a)
                && ![a, other].iter().any(|r| r.kind().is_bank_assigned() || many(r.kind()))
                && value(other) == value(a)
        };
        let strong =
            |has: &dyn Fn(&Reference) -> bool| k.references.iter().any(has) && once(bank, has) && once(book, has);
        strong(&same_kind) || strong(&exact)
    });
    let contradicts = ReferenceKind::ALL.into_iter().filter(|kind| kind.is_typed()).any(|kind| {
        let values = |line: &OpenLine| -> BTreeSet<String> {
            line.references.iter().filter(|reference| reference.kind() == kind).map(value).collect()
        };
        let (a, b) = (values(b), values(k));
        !a.is_empty() && !b.is_empty() && a.is_disjoint(&b)
    });
    shared && b.minor == k.minor && !contradicts
}
