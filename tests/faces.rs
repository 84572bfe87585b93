//! The faces of an outcome: what a person and a program are shown, and that it is safe to open.

#![expect(clippy::unwrap_used, reason = "a test that cannot build its outcome has failed")]

use std::collections::BTreeMap;

use chrono::NaiveDate;
use counterfoil::account::AccountId;
use counterfoil::diagnostic::{Diagnostic, Severity};
use counterfoil::matching::{BreakClass, Explanation, Match, MatchStatus, Nearest, OpenLine, Origin, Rule, Side};
use counterfoil::money::{Currency, Money, Total};
use counterfoil::proof::{Proof, ProofId, ProofStatus};
use counterfoil::reference::{Reference, ReferenceKind};
use counterfoil::report::summary::{AccountLine, State, Summary};
use counterfoil::report::text::StatementRow;
use counterfoil::report::{
    AccountOutcome, Break, Bucket, Lines, Position, SidePosition, Taken, csv, digest, html, json, text,
};
use serde_json::Value;

fn brl() -> Currency {
    Currency::new("BRL").unwrap()
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn total(minor: i128) -> Total {
    Total::new(minor, brl())
}

fn taken(lines: u64, minor: i128) -> Taken {
    Taken { lines, sum: total(minor) }
}

fn line(id: &str, date: &str, minor: i64, description: &str) -> OpenLine {
    OpenLine {
        id: id.to_owned(),
        date: day(date),
        ledger_day: day(date),
        minor,
        references: vec![
            Reference::new(ReferenceKind::Entry, "N-1").unwrap(),
            Reference::new(ReferenceKind::EndToEnd, &format!("E2E-{id}")).unwrap(),
        ],
        counterparty: None,
        description: description.to_owned(),
        code: None,
        reversal: false,
        reverses: None,
        group: None,
        origin: Origin { file: "extrato.xml".into(), statement: Some("0417-20261110".into()), ordinal: 1 },
        first_seen: day(date),
        late: false,
    }
}

/// Bank 1 234.56 − 800.00 open; a fee of 5.00; one match. Its texts attack.
fn outcome() -> AccountOutcome {
    let attack = "=HYPERLINK(\"http://evil\")<script>alert(1)</script>";
    let bank = [
        line("conta:2026-11-10:aa:1", "2026-11-10", 123_456, "Pedido 1"),
        line("conta:2026-11-03:bb:1", "2026-11-03", 80_000, attack),
        line("conta:2026-11-10:cc:1", "2026-11-10", -500, "TARIFA PIX"),
    ];
    let book = [line("L-1", "2026-11-10", 123_456, "Pedido 1"), line("-L2", "2026-11-09", 80_001, "Pedido 2")];
    let index = |lines: &[OpenLine]| lines.iter().map(|line| (line.id.clone(), line.clone())).collect();
    let open = |class, side, line: &str, minor, age, first_seen, nearest| Break {
        class,
        side,
        line: line.to_owned(),
        amount: Money::new(minor, brl()),
        age_business_days: age,
        bucket: Bucket::of(age),
        first_seen: day(first_seen),
        nearest,
    };
    let nearest = |side, line: &str| {
        Some(Nearest { side, line: line.to_owned(), why: "0.01 apart".to_owned(), suggestion: None })
    };
    AccountOutcome {
        account: AccountId::new("conta").unwrap(),
        currency: brl(),
        date: day("2026-11-10"),
        revision: 0,
        rule_set: "ab".repeat(32),
        bank: taken(2, 122_956),
        book: taken(2, 203_457),
        position: Position {
            bank_closing: total(302_956),
            bank_stated: true,
            book_closing: total(303_457),
            book_stated: None,
            bank: SidePosition {
                taken: taken(3, 202_956),
                matched: taken(1, 123_456),
                open: taken(2, 79_500),
                excluded: taken(0, 0),
            },
            book: SidePosition {
                taken: taken(2, 203_457),
                matched: taken(1, 123_456),
                open: taken(1, 80_001),
                excluded: taken(0, 0),
            },
            differences: taken(0, 0),
        },
        matches: vec![Match {
            id: "0123456789abcdef".into(),
            rule: Rule::StrongReference,
            status: MatchStatus::Confirmed,
            bank: vec!["conta:2026-11-10:aa:1".into()],
            book: vec!["L-1".into()],
            difference: 0,
            explanation: Explanation::default(),
        }],
        breaks: vec![
            open(
                BreakClass::Amount,
                Side::Bank,
                "conta:2026-11-03:bb:1",
                80_000,
                5,
                "2026-11-03",
                nearest(Side::Book, "-L2"),
            ),
            open(BreakClass::FeeUnbooked, Side::Bank, "conta:2026-11-10:cc:1", -500, 0, "2026-11-10", None),
            open(
                BreakClass::Amount,
                Side::Book,
                "-L2",
                80_001,
                1,
                "2026-11-10",
                nearest(Side::Bank, "conta:2026-11-03:bb:1"),
            ),
        ],
        proofs: vec![
            Proof::of_amounts(ProofId::P1, "0417-20261110", total(302_956), total(302_956), true),
            Proof::of_amounts(ProofId::P4, "book", total(303_457), total(303_457), false),
            Proof::of_amounts(ProofId::P5, "account", total(-501), total(-501), true),
            Proof::of_counts(ProofId::P6, "bank lines", 3, 2, true),
        ],
        lines: Lines { bank: index(&bank), book: index(&book) },
    }
}

fn findings() -> Vec<(String, Diagnostic)> {
    vec![
        ("a.xml".into(), Diagnostic::new(Severity::Info, "VERSION", "newer").at(2, 3)),
        (String::new(), Diagnostic::new(Severity::Warning, "INCOMPLETE", "without the ledger's balance")),
        ("<b>.xml".into(), Diagnostic::new(Severity::Error, "AMOUNT", "found \"12..34\"").at(17, 20)),
    ]
}

fn statements() -> Vec<StatementRow> {
    vec![StatementRow {
        file: "extrato.xml".into(),
        id: "0417-20261110".into(),
        days: "2026-11-10".into(),
        movements: 2,
        verdict: "accepted",
        proof: "proved".into(),
    }]
}

/// The rendering of a run by `report::json`, without statements.
fn run_json(outcome: &AccountOutcome) -> Value {
    let hash = digest::of_account(outcome).unwrap();
    let found = findings();
    let run = json::Run {
        date: Some(outcome.date),
        digest: digest::of_run([(outcome.account.as_str(), hash)]),
        accounts: vec![json::AccountDay::<Value>::new(outcome, hash, Vec::new())],
        diagnostics: json::Found::all(&found),
    };
    serde_json::to_value(&run).unwrap()
}

#[test]
fn the_text_shows_the_position_as_a_bridge_and_what_is_open_first() {
    let outcome = outcome();
    let mut out = text::account_day(&outcome, "0f0f", &statements());
    text::findings(&mut out, &findings());
    let expected = "\
conta · BRL · 2026-11-10
════════════════════════

  Position                      Lines    Amount
  Bank closing                         3 029.56  stated
  Book closing                         3 034.57  added up
  Bank − book                             −5.01
    open at the bank                2   +795.00
    less open in the books          1   −800.01  they sum to 800.01
    excluded at the bank            0      0.00
    less excluded in the books      0      0.00
    open differences                0      0.00
  Explained                               −5.01  proved

Taken on this day: bank 2 lines, 1 229.56; books 2 lines, 2 034.57.

  Matched by        Matches  Bank lines  Book lines  Money in  Money out
  strong reference        1           1           1  1 234.56       0.00

  Open          Side  Business days  Lines  Amount
  AMOUNT        bank  4-7                1  800.00
  AMOUNT        book  0-1                1  800.01
  FEE_UNBOOKED  bank  0-1                1   −5.00

";
    assert!(out.starts_with(expected), "{out}");
    let rest = &out[expected.len()..];
    assert!(rest.contains("2 proofs are proved; these are not:"), "{rest}");
    assert!(rest.contains("P6     bank lines  failed "), "{rest}");
    assert!(rest.contains("AMOUNT: 0.01 apart"), "{rest}");
    assert!(rest.contains("accepted  extrato.xml"), "{rest}");
    assert!(rest.find("error   AMOUNT: <b>.xml:17:20").unwrap() < rest.find("warning INCOMPLETE").unwrap(), "{rest}");
    // The oldest open line comes first.
    assert!(rest.find("2026-11-03").unwrap() < rest.find("2026-11-09").unwrap());
}

#[test]
fn advice_that_is_to_be_pasted_stays_a_block() {
    let advice = "these lines would read it:\n[profiles.ledger]\ncolumns = { id = \"n\\u001b\" }\n\n[book]\nprofile = \"ledger\"";
    let mut out = String::new();
    text::findings(&mut out, &[("a.csv".to_owned(), Diagnostic::new(Severity::Info, "PROFILE", advice.to_owned()))]);
    let block = out.split_once("would read it:\n").unwrap().1;
    let pasted: toml::Table = block.parse().unwrap();
    assert_eq!(pasted["book"]["profile"].as_str(), Some("ledger"));
    assert!(block.starts_with("      [profiles.ledger]\n      columns"), "{block}");
}

/// Two rules and a suggestion.
fn of_several_rules() -> AccountOutcome {
    let mut outcome = outcome();
    let by = |rule, status, bank: &str, book: &str| Match {
        rule,
        status,
        bank: vec![bank.to_owned()],
        book: vec![book.to_owned()],
        ..outcome.matches[0].clone()
    };
    let bank = ["conta:2026-11-10:aa:1", "conta:2026-11-10:cc:1", "conta:2026-11-03:bb:1"];
    outcome.matches = vec![
        by(Rule::StrongReference, MatchStatus::Confirmed, bank[0], "L-1"),
        by(Rule::RareToken, MatchStatus::Confirmed, bank[1], "-L2"),
        by(Rule::AmountWindow, MatchStatus::Suggested, bank[2], "-L2"),
    ];
    outcome
}

#[test]
fn suggestions_are_no_matches_and_the_totals_of_the_matches_add_up() {
    let outcome = of_several_rules();
    let told = text::account_day(&outcome, "0f0f", &[]);
    let expected = "\
  Matched by        Matches  Bank lines  Book lines  Money in  Money out
  strong reference        1           1           1  1 234.56       0.00
  rare token              1           1           1      0.00      −5.00
  all                     2           2           2  1 234.56      −5.00

  Suggested by   Matches  Bank lines  Book lines  Money in  Money out
  amount window        1           1           1    800.00       0.00

Suggested lines stay open: each is counted below, as UNCONFIRMED.
";
    assert!(told.contains(expected), "{told}");
    let section = [html::Section { outcome: &outcome, digest: digest::of_account(&outcome).unwrap(), statements: &[] }];
    let page = html::page("2026-11-10", digest::of_run([]), &section, &[], &[]).unwrap();
    assert!(page.contains("<tr class=\"sum\"><td>all</td><td class=\"n\">2</td>"), "{page}");
    assert!(
        page.contains("<td>less open in the books</td><td class=\"n\">1</td><td class=\"n\">−800.01</td>"),
        "{page}"
    );
    let summary = Summary::new(outcome.date, vec![AccountLine::closed(&outcome, digest::of_run([]))]).text();
    assert!(summary.contains("\n  matched   1 by strong reference, 1 by rare token\n"), "{summary}");
    assert!(summary.contains("\n  suggested 1 by amount window; their lines are open, as UNCONFIRMED\n"), "{summary}");
}

#[test]
fn a_long_list_of_open_lines_says_how_many_are_not_shown() {
    let mut many = outcome();
    many.breaks = std::iter::repeat_n(many.breaks[0].clone(), text::OPEN_LINES_SHOWN + 7).collect();
    assert!(text::account_day(&many, "0f0f", &[]).contains("… and 7 more open lines"));
}

#[test]
fn the_json_is_as_its_schema_says() {
    let schema: Value = serde_json::from_str(include_str!("../docs/schema/reconcile.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let value = run_json(&outcome());
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?}");
    // The schema is not one that anything satisfies.
    for (path, wrong) in [
        ("/accounts/0/matches/0/difference", Value::from(0)),
        ("/accounts/0/breaks/0/class", Value::from("ODD")),
        ("/accounts/0/proofs/0/status", Value::Null),
        ("/accounts/0/breaks/0/lines", Value::Array(Vec::new())),
        ("/date", Value::from("10.11.2026")),
    ] {
        let mut bad = value.clone();
        *bad.pointer_mut(path).unwrap() = wrong;
        assert!(!validator.is_valid(&bad), "{path}");
    }
}

#[test]
fn the_json_names_every_leg_by_its_strongest_reference_and_origin() {
    let value = run_json(&outcome());
    let leg = &value["accounts"][0]["matches"][0]["bank"][0];
    assert_eq!(leg["amount"], "1234.56");
    assert_eq!(leg["reference"], "E2E-CONTA:2026-11-10:AA:1");
    assert_eq!(leg["origin"]["statement"], "0417-20261110");
    let open = &value["accounts"][0]["breaks"][0];
    assert_eq!(
        (&open["lines"][0]["id"], &open["nearest"]["leg"]["id"]),
        (&"conta:2026-11-03:bb:1".into(), &"-L2".into())
    );
    assert_eq!(open["bucket"], "4-7");
    assert_eq!(value["diagnostics"][1]["file"], Value::Null);
    // A leg whose line was not loaded is still named.
    let mut bare = outcome();
    bare.lines = Lines { bank: BTreeMap::new(), book: BTreeMap::new() };
    assert_eq!(run_json(&bare)["accounts"][0]["matches"][0]["book"][0]["amount"], Value::Null);
}

#[test]
fn no_csv_cell_is_a_formula_and_numbers_stay_numbers() {
    let outcome = outcome();
    let breaks = String::from_utf8(csv::breaks([&outcome]).unwrap()).unwrap();
    let rows: Vec<&str> = breaks.lines().collect();
    assert_eq!(rows.len(), 4);
    assert!(rows[1].contains("\"'=HYPERLINK("), "{breaks}");
    assert!(rows[2].contains(",-5.00,BRL,0,0-1 days,"), "{breaks}");
    assert!(rows[3].contains(",book,'-L2,2026-11-09,800.01,"), "{breaks}");
    let matches = String::from_utf8(csv::matches([&outcome]).unwrap()).unwrap();
    assert_eq!(matches.lines().count(), 3, "a row a leg: {matches}");
    let proofs = String::from_utf8(csv::proofs([&outcome]).unwrap()).unwrap();
    assert!(proofs.contains("conta,2026-11-10,BRL,P6,bank lines,failed,3,2,1\n"), "{proofs}");
}

#[test]
fn the_page_escapes_all_text_and_fetches_nothing() {
    let outcome = outcome();
    let hash = digest::of_account(&outcome).unwrap();
    let rows = statements();
    let section = html::Section { outcome: &outcome, digest: hash, statements: &rows };
    let page = html::page("2026-11-10", hash, &[section], &["b2 waits for <books>".into()], &findings()).unwrap();
    assert!(!page.contains("<script") && !page.contains("<b>.xml") && !page.contains("<books>"));
    assert!(page.contains("&#60;script&#62;") || page.contains("&lt;script&gt;"), "escaped, not dropped");
    for fetched in ["src=", "href=", "url(", "@import", "http://www", "https://"] {
        assert!(!page.contains(fetched), "{fetched}");
    }
    assert!(page.contains("−5.01") && page.contains("AMOUNT: 0.01 apart"));
}

#[test]
fn the_summary_tells_new_from_aged_and_gone_and_puts_what_needs_a_person_first() {
    let mut closed = outcome();
    closed.lines.book.get_mut("L-1").unwrap().first_seen = day("2026-11-05");
    let hash = digest::of_account(&closed).unwrap();
    let other = |id: &str, state| AccountLine { account: AccountId::new(id).unwrap(), currency: brl(), state };
    let summary = Summary::new(
        day("2026-11-10"),
        vec![
            AccountLine::closed(&closed, hash),
            other("b2", State::Waiting { waiting_for: vec!["a statement that covers 2026-11-10".into()] }),
            other("z9", State::Failed { cause: "its report could not be written".into() }),
        ],
    );
    let text = summary.text();
    assert!(
        text.starts_with(
            "2026-11-10 · 1 of 3 accounts closed, 1 of them with a PROOF THAT FAILED, 1 failed, 1 waiting\n"
        ),
        "{text}"
    );
    let (failed, waiting) = (text.find("z9 ·").unwrap(), text.find("b2 ·").unwrap());
    let disproved = text.find("conta ·").unwrap();
    assert!(failed < disproved && disproved < waiting, "{text}");
    for expected in [
        "b2 · BRL: waiting for a statement that covers 2026-11-10",
        "conta · BRL: closed; bank 3 029.56, books 3 034.57",
        "  matched   1 by strong reference",
        "  new       bank 1 of −5.00, books 1 of 800.01",
        "  aged      bank 1 of 800.00",
        "  gone      books 1 of 1 234.56",
        "  open      AMOUNT: bank 1 of 800.00, books 1 of 800.01",
        "  oldest    4-7 business days",
        "  FAILED    P6 of bank lines, off by 1",
        "  derived   P4 of book",
    ] {
        assert!(text.contains(&format!("\n{expected}\n")), "{expected}\n{text}");
    }
    let value = serde_json::to_value(&summary).unwrap();
    assert_eq!(value["counts"]["failed"], 1);
    assert_eq!(value["accounts"][1]["state"], "closed");
    assert_eq!(value["accounts"][1]["gone"]["book"]["sum"], "1234.56");
    assert_eq!(value["digest"], digest::of_run([("conta", hash)]).to_string());
}

#[test]
fn where_nothing_is_closed_there_is_no_digest() {
    let state = State::Waiting { waiting_for: vec!["the books".into()] };
    let account = AccountLine { account: AccountId::new("b2").unwrap(), currency: brl(), state };
    let summary = Summary::new(day("2026-11-10"), vec![account]);
    assert!(summary.text().ends_with("\nNo digest: nothing is closed\n"), "{}", summary.text());
    assert_eq!(serde_json::to_value(&summary).unwrap()["digest"], Value::Null);
}

#[test]
fn every_class_of_breaks_every_proof_and_every_word_of_a_report_is_in_the_glossary() {
    let glossary = include_str!("../docs/glossary.md");
    let classes = BreakClass::ALL.map(BreakClass::name);
    let proofs = ProofId::ALL.map(ProofId::name);
    let statuses = ProofStatus::ALL.map(ProofStatus::name);
    for word in classes.iter().chain(&proofs).chain(&statuses).chain(&["held", "quarantined", "waiting"]) {
        assert_eq!(glossary.matches(&format!("\n| `{word}` | ")).count(), 1, "{word}");
    }
}
