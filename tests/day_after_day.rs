//! Day after day: carried lines, late lines, entries that change, gaps that fill. One account, on a real Postgres.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

mod support;

use std::time::Duration;

use support::day::Site;
use support::download::ofx;
use support::one_account::{ITEMS, SETTINGS, balance, book};

async fn site() -> Site {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["inbox/bank", "inbox/book"] {
        std::fs::create_dir_all(folder.path().join(name)).expect("made");
    }
    std::fs::write(folder.path().join("counterfoil.toml"), SETTINGS).expect("written");
    std::fs::write(folder.path().join("items.csv"), ITEMS).expect("written");
    let database = counterfoil::scratch::postgres::migrated().await.expect("a migrated database");
    Site::over(folder, database, "2026-11-09T05:00:00Z")
}

fn put(site: &Site, name: &str, text: &str) {
    std::fs::write(site.path("inbox").join(name), text).expect("written");
}

/// The morning after `date`, under a leader of its own.
async fn morning(site: &Site, number: u64, now: &str) {
    site.clock.set_wall(now.parse().expect("an instant"));
    let mut runner = site.lead(number, "a").await;
    site.day(&mut runner).await;
}

async fn statuses(site: &Site) -> Vec<(String, String)> {
    site.states().await.into_iter().map(|(_, date, status, _)| (date, status)).collect()
}

/// Open lines of a day: side, line's text, class, first seen, late.
async fn open(site: &Site) -> Vec<(String, String, String, String, bool)> {
    site.rows(
        "SELECT b.business_date::text, coalesce(l.description, e.description, b.line), b.class, b.first_seen::text, b.late \
         FROM counterfoil.break b LEFT JOIN counterfoil.bank_line l ON b.side = 'bank' AND l.id = b.line \
         LEFT JOIN (SELECT DISTINCT ON (id) * FROM counterfoil.book_line ORDER BY id, revision DESC) e \
           ON b.side = 'book' AND e.id = b.line \
         ORDER BY 1, 2",
    )
    .await
}

/// Proofs that failed, and those of the day that could not be made. (An OFX file states no opening: P1 of it never can.)
async fn failed_proofs(site: &Site) -> Vec<(String, String, String, String)> {
    site.rows("SELECT business_date::text, id, left_side, right_side FROM counterfoil.proof WHERE status = 'failed' OR status = 'unprovable' AND id <> 'P1'")
        .await
}

fn of<'a>(rows: &'a [(String, String, String, String, bool)], date: &str) -> Vec<(&'a str, &'a str, &'a str, bool)> {
    rows.iter().filter(|row| row.0 == date).map(|row| (row.1.as_str(), row.2.as_str(), row.3.as_str(), row.4)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn open_lines_are_carried_forward_until_they_match_and_every_proof_holds_each_day() {
    let site = site().await;
    // Monday: the bank pays a supplier that the books have; a deposit that they have not; a cheque only they have.
    put(
        &site,
        "bank/mon.ofx",
        &ofx(
            "2026-11-07",
            "2026-11-09",
            "2026-11-10",
            100_000 - 20_000 + 7_500,
            &[
                ("2026-11-09", -20_000, "901001", "PAYMENT SUPPLIER ALPHA"),
                ("2026-11-09", 7_500, "901002", "DEPOSIT BETA"),
            ],
        ),
    );
    put(
        &site,
        "book/mon.csv",
        &book(&[
            ("B1", "2026-11-09", -20_000, "901001", "Supplier Alpha"),
            ("B2", "2026-11-09", -3_000, "901003", "Cheque Gamma"),
        ]),
    );
    put(&site, "book/mon-balance.csv", &balance("2026-11-09", 95_000 - 20_000 - 3_000));
    morning(&site, 1, "2026-11-10T06:00:00Z").await;
    assert_eq!(statuses(&site).await, [("2026-11-09".to_owned(), "closed".to_owned())]);
    let lines = open(&site).await;
    assert_eq!(
        of(&lines, "2026-11-09").iter().map(|row| (row.0, row.2)).collect::<Vec<_>>(),
        [("Cheque Gamma", "2026-11-09"), ("DEPOSIT BETA", "2026-11-09"), ("OPEN-1", "2026-11-06")]
    );

    // Tuesday: the cheque is cashed, the books catch up with the deposit. Another leader.
    put(
        &site,
        "bank/tue.ofx",
        &ofx(
            "2026-11-10",
            "2026-11-10",
            "2026-11-11",
            87_500 - 3_000,
            &[("2026-11-10", -3_000, "901003", "CHEQUE GAMMA")],
        ),
    );
    put(&site, "book/tue.csv", &book(&[("B3", "2026-11-10", 7_500, "901002", "Beta")]));
    put(&site, "book/tue-balance.csv", &balance("2026-11-10", 72_000 + 7_500));
    morning(&site, 2, "2026-11-11T06:00:00Z").await;
    assert_eq!(statuses(&site).await.len(), 2);
    assert_eq!(of(&open(&site).await, "2026-11-10").iter().map(|row| row.0).collect::<Vec<_>>(), ["OPEN-1"]);
    assert_eq!(failed_proofs(&site).await, []);
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.match_leg WHERE consumes").await, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_for_a_closed_day_enters_the_open_one_marked_late() {
    let site = site().await;
    put(
        &site,
        "bank/mon.ofx",
        &ofx("2026-11-07", "2026-11-09", "2026-11-10", 99_000, &[("2026-11-09", -1_000, "901001", "FIRST")]),
    );
    put(&site, "book/mon.csv", &book(&[("B1", "2026-11-09", -1_000, "901001", "First")]));
    put(&site, "book/mon-balance.csv", &balance("2026-11-09", 94_000));
    morning(&site, 1, "2026-11-10T06:00:00Z").await;
    // The bank reworks Monday: another movement, and one that takes it back, in a longer download; the books add one too.
    put(
        &site,
        "bank/tue.ofx",
        &ofx(
            "2026-11-07",
            "2026-11-10",
            "2026-11-11",
            98_500,
            &[
                ("2026-11-09", -1_000, "901001", "FIRST"),
                ("2026-11-09", 700, "901008", "FORGOTTEN IN"),
                ("2026-11-09", -700, "901009", "FORGOTTEN OUT"),
                ("2026-11-10", -500, "901002", "SECOND"),
            ],
        ),
    );
    put(
        &site,
        "book/tue.csv",
        &book(&[("B2", "2026-11-10", -500, "901002", "Second"), ("B9", "2026-11-09", -900, "901010", "Backdated")]),
    );
    put(&site, "book/tue-balance.csv", &balance("2026-11-10", 94_000 - 500 - 900));
    morning(&site, 2, "2026-11-11T06:00:00Z").await;
    let lines = open(&site).await;
    assert_eq!(of(&lines, "2026-11-09"), [("OPEN-1", "MISSING_IN_BOOK", "2026-11-06", false)]);
    let tuesday: Vec<_> = of(&lines, "2026-11-10").into_iter().map(|row| (row.0, row.2, row.3)).collect();
    assert_eq!(
        tuesday,
        [
            ("Backdated", "2026-11-10", true),
            ("FORGOTTEN IN", "2026-11-10", true),
            ("FORGOTTEN OUT", "2026-11-10", true),
            ("OPEN-1", "2026-11-06", false)
        ]
    );
    assert_eq!(failed_proofs(&site).await, []);
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.bank_line").await, 4, "FIRST came twice, and is one line");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_comes_again_with_other_content_undoes_its_match_and_lines_are_matched_anew() {
    let site = site().await;
    put(
        &site,
        "bank/mon.ofx",
        &ofx("2026-11-07", "2026-11-09", "2026-11-10", 99_000, &[("2026-11-09", -1_000, "901001", "FIRST")]),
    );
    put(&site, "book/mon.csv", &book(&[("B1", "2026-11-09", -1_000, "901001", "First")]));
    put(&site, "book/mon-balance.csv", &balance("2026-11-09", 94_000));
    morning(&site, 1, "2026-11-10T06:00:00Z").await;
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.match_leg WHERE consumes").await, 2);
    // The entry was of another amount after all; and another one takes its place.
    put(&site, "bank/tue.ofx", &ofx("2026-11-10", "2026-11-10", "2026-11-11", 99_000, &[]));
    put(
        &site,
        "book/tue.csv",
        &book(&[
            ("B1", "2026-11-10", -1_200, "901777", "First as corrected"),
            ("B2", "2026-11-10", -1_000, "901001", "The payment itself"),
        ]),
    );
    put(&site, "book/tue-balance.csv", &balance("2026-11-10", 94_000 + 1_000 - 1_200 - 1_000));
    site.database.mark_throwaway().await.expect("marked");
    // Killed between the steps, too: what the first one saw, the later ones must see.
    let mut hold = site.database.hold("match:committed").await.expect("held");
    site.clock.set_wall("2026-11-11T06:00:00Z".parse().expect("an instant"));
    let mut runner = site.lead(2, "a").await;
    tokio::select! {
        _ = site.day(&mut runner) => unreachable!("nothing was held"),
        reached = hold.reached(std::time::Duration::from_mins(1)) => assert!(reached.expect("looked").is_some()),
    }
    drop(runner);
    hold.release().await.expect("released");
    morning(&site, 3, "2026-11-11T06:00:20Z").await;
    assert_eq!(statuses(&site).await.len(), 2, "{:?}", site.states().await);
    assert_eq!(failed_proofs(&site).await, []);
    let matches: Vec<(String, String, Option<String>)> = site
        .rows("SELECT business_date::text, status, undone_by::text FROM counterfoil.match WHERE status <> 'suggested' ORDER BY 1")
        .await;
    assert_eq!(
        matches,
        [
            ("2026-11-09".to_owned(), "undone".to_owned(), Some("2026-11-10".to_owned())),
            ("2026-11-10".to_owned(), "confirmed".to_owned(), None)
        ]
    );
    let tuesday: Vec<_> = open(&site).await;
    let tuesday: Vec<_> = of(&tuesday, "2026-11-10").into_iter().map(|row| row.0).collect();
    assert_eq!(tuesday, ["First as corrected", "OPEN-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_came_before_its_predecessor_is_held_and_taken_in_when_the_gap_fills() {
    let site = site().await;
    let tuesday = ofx("2026-11-10", "2026-11-10", "2026-11-11", 98_500, &[("2026-11-10", -500, "901002", "SECOND")]);
    put(&site, "bank/tue.ofx", &tuesday);
    put(
        &site,
        "book/books.csv",
        &book(&[("B1", "2026-11-09", -1_000, "901001", "First"), ("B2", "2026-11-10", -500, "901002", "Second")]),
    );
    put(&site, "book/mon-balance.csv", &balance("2026-11-09", 94_000));
    put(&site, "book/tue-balance.csv", &balance("2026-11-10", 93_500));
    morning(&site, 1, "2026-11-11T06:00:00Z").await;
    let waiting = [("2026-11-09".to_owned(), "waiting".to_owned()), ("2026-11-10".to_owned(), "waiting".to_owned())];
    assert_eq!(statuses(&site).await, waiting);
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.source_bytes").await, 1, "its bytes are kept");
    // The inbox is emptied, as its owner may; then Monday's statement comes.
    std::fs::remove_file(site.path("inbox/bank/tue.ofx")).expect("removed");
    put(
        &site,
        "bank/mon.ofx",
        &ofx("2026-11-07", "2026-11-09", "2026-11-10", 99_000, &[("2026-11-09", -1_000, "901001", "FIRST")]),
    );
    morning(&site, 2, "2026-11-11T06:10:00Z").await;
    let closed = [("2026-11-09".to_owned(), "closed".to_owned()), ("2026-11-10".to_owned(), "closed".to_owned())];
    assert_eq!(statuses(&site).await, closed, "{:?}", site.states().await);
    assert_eq!(failed_proofs(&site).await, []);
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.source_bytes").await, 0, "and go when nothing waits");
}

/// S34: Monday's run lasts until Wednesday, since its statement comes that late. What is due meanwhile is recorded once,
/// waits its turn, and is done after it.
#[tokio::test(flavor = "multi_thread")]
async fn s34_a_run_that_outlasts_the_next_tick_delays_the_next_date_and_neither_is_lost_or_done_beside_the_other() {
    let site = site().await;
    let mut runner = site.lead(1, "a").await;
    let mut planned = Vec::new();
    let statement = |from: &str, to: &str, until: &str, balance: i64, number: &str| {
        ofx(from, to, until, balance, &[(to, -1_000, number, "PAYMENT")])
    };
    // The books are there, each in its time.
    for (day, next, number) in [("2026-11-09", "2026-11-10", 1), ("2026-11-10", "2026-11-11", 2)] {
        put(
            &site,
            &format!("book/{day}.csv"),
            &book(&[(&format!("B{number}"), day, -1_000, &format!("90100{number}"), "Paid")]),
        );
        put(&site, &format!("book/{day}-balance.csv"), &balance(day, 95_000 - 1_000 * number));
        // The tick, and each hour of the day after it.
        for hour in 6..24 {
            site.clock.set_wall(format!("{next}T{hour:02}:00:00Z").parse().expect("an instant"));
            site.clock.advance(Duration::from_secs(11));
            planned.push((next, runner.pass().await.expect("a pass").planned));
        }
    }
    let recorded: Vec<_> = planned.into_iter().filter(|(_, planned)| *planned > 0).collect();
    assert_eq!(recorded, [("2026-11-10", 1), ("2026-11-11", 1)], "each date once, at its tick");
    let runs = "SELECT business_date::text, status FROM counterfoil.run ORDER BY 1";
    let of = |first: &str, second: &str| {
        [("2026-11-09".to_owned(), first.to_owned()), ("2026-11-10".to_owned(), second.to_owned())]
    };
    assert_eq!(site.rows::<(String, String)>(runs).await, of("incomplete", "incomplete"));

    // Tuesday's statement comes first: it chains to nothing, and Tuesday waits for Monday.
    put(&site, "bank/tue.ofx", &statement("2026-11-10", "2026-11-10", "2026-11-11", 98_000, "901002"));
    site.day(&mut runner).await;
    assert_eq!(site.rows::<(String, String)>(runs).await, of("incomplete", "incomplete"));
    put(&site, "bank/mon.ofx", &statement("2026-11-07", "2026-11-09", "2026-11-10", 99_000, "901001"));
    site.day(&mut runner).await;
    site.day(&mut runner).await;
    assert_eq!(site.rows::<(String, String)>(runs).await, of("complete", "complete"));
    let steps: Vec<(String,)> = site
        .rows("SELECT step FROM counterfoil.checkpoint WHERE step IN ('manifest', 'close') ORDER BY transaction::text::bigint")
        .await;
    let steps: Vec<&str> = steps.iter().map(|(step,)| step.as_str()).collect();
    assert_eq!(steps, ["manifest", "close", "manifest", "close"], "Tuesday was begun when Monday was closed");
}
