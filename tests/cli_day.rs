//! The commands about the day: what people ask for, and what they read.

#![expect(clippy::expect_used, reason = "a test says what it could not go on without")]

mod support;

use std::process::Output;

use assert_cmd::Command;
use counterfoil::db::requests;
use serde_json::Value;
use support::day::{DATE, Site};
use support::session;

/// Runs the binary on a site. Not on this runtime's threads: the leader works on them meanwhile.
async fn counterfoil(site: &Site, arguments: &[&str]) -> Output {
    let mut command = Command::cargo_bin("counterfoil").expect("the binary");
    command
        .current_dir(site.folder.path())
        .env_clear()
        .env("USER", "somebody")
        .env("COUNTERFOIL__POSTGRES__URL", site.database.url())
        .args(arguments);
    counterfoil::supervisor::blocking(move || command.output().expect("it ran")).await
}

/// The same, with whoever reads it gone before the first line (`counterfoil … | true`): its exit code, and what it said on
/// stderr.
async fn unread(site: &Site, arguments: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_counterfoil"));
    command
        .current_dir(site.folder.path())
        .env_clear()
        .env("COUNTERFOIL__POSTGRES__URL", site.database.url())
        .args(arguments)
        .stdout(writer);
    let output = counterfoil::supervisor::blocking(move || command.output().expect("it ran")).await;
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&text(output)).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_day_is_read_as_text_and_as_json() {
    let site = Site::of_the_example().await;
    assert_eq!(text(&counterfoil(&site, &["runs"]).await), "No date was recorded yet.\n");
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;

    let runs = json(&counterfoil(&site, &["runs", "--json"]).await);
    assert_eq!(runs[0]["business_date"], DATE);
    assert_eq!(runs[0]["status"], "complete");
    assert_eq!(runs[0]["digest"], site.in_memory().digest.to_string());
    assert_eq!(runs[0]["accounts"][0]["account"], "europe");
    let told = text(&counterfoil(&site, &["runs", "--date", DATE]).await);
    assert!(told.starts_with(&format!("{DATE}  complete")), "{told}");
    assert!(told.contains("    operating    closed    "), "{told}");

    let breaks = json(&counterfoil(&site, &["breaks", "--json"]).await);
    let breaks = breaks.as_array().expect("an array");
    assert_eq!(i64::try_from(breaks.len()).expect("few"), site.count("SELECT count(*) FROM counterfoil.break").await);
    let ages: Vec<i64> = breaks.iter().filter_map(|open| open["age_business_days"].as_i64()).collect();
    assert!(ages.is_sorted_by(|a, b| a >= b), "oldest first: {ages:?}");
    assert!(breaks.iter().all(|open| open["amount"].as_str().is_some_and(|amount| amount.contains('.'))));
    let fees =
        json(&counterfoil(&site, &["breaks", "--json", "--account", "europe", "--class", "missing-in-bank"]).await);
    for open in fees.as_array().expect("an array") {
        assert_eq!((&open["account"], &open["class"]), (&"europe".into(), &"MISSING_IN_BANK".into()));
    }
    let wrong = counterfoil(&site, &["breaks", "--class", "nonsense"]).await;
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("MISSING_IN_BANK, MISSING_IN_BOOK, AMOUNT, "), "{wrong:?}");
    every_open_line_says_what_it_is(&site, breaks).await;

    let report = counterfoil(&site, &["report", "--date", DATE, "--account", "europe"]).await;
    let published = std::fs::read(site.path(&format!("outbox/{DATE}/europe/r0.txt"))).expect("published");
    assert_eq!(report.stdout, published);
    let summary = json(&counterfoil(&site, &["report", "--json"]).await);
    assert_eq!(summary["counts"]["closed"], 3);
    let none = counterfoil(&site, &["report", "--date", "2026-11-20"]).await;
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&none.stderr).contains("counterfoil runs --date 2026-11-20"), "{none:?}");
    what_is_not_there_is_told_with_what_is(&site).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_left_changes_neither_the_outcome_nor_the_exit_code() {
    let site = Site::of_the_example().await;
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    let reads: [&[&str]; 13] = [
        &["--help"],
        &["status"],
        &["status", "--json"],
        &["runs"],
        &["runs", "--json"],
        &["breaks"],
        &["breaks", "--json"],
        &["report"],
        &["history"],
        &["history", "--json"],
        &["pause"],
        &["resume", "--json"],
        &["resign"],
    ];
    for arguments in reads {
        assert_eq!(unread(&site, arguments).await, (Some(0), String::new()), "{arguments:?}");
    }
    std::fs::write(site.path("no.ofx"), "no statement").expect("written");
    let (code, said) = unread(&site, &["inspect", "no.ofx", "inbox/bank"]).await;
    assert_eq!(code, Some(3), "one was refused, and every other one was still read: {said}");
    let (code, said) = unread(
        &site,
        &[
            "reconcile",
            "--bank",
            "inbox/bank",
            "--book",
            "inbox/book",
            "--config",
            "counterfoil.toml",
            "--fail-on-breaks",
        ],
    )
    .await;
    assert_eq!((code, said.as_str()), (Some(1), ""), "something is open");
    let (code, said) = unread(&site, &["run", "--date", DATE, "--wait", "--timeout", "1s", "--json"]).await;
    assert!(
        code == Some(1) && said.contains("nobody answered"),
        "nobody leads, and nobody is told that it is done: {said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_of_no_declared_account_is_named_with_its_bank_and_currency() {
    let mut site = Site::of_the_example().await;
    let settings = std::fs::read_to_string(site.path("counterfoil.toml")).expect("settings");
    let (here, elsewhere) = ("id = \"operating\"\nbank = \"0999\"", "id = \"operating\"\nbank = \"0777\"");
    assert!(settings.contains(here));
    std::fs::write(site.path("counterfoil.toml"), settings.replace(here, elsewhere)).expect("written");
    site.reload();
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;
    let told = text(&counterfoil(&site, &["runs"]).await);
    assert!(told.contains("0999 / 0042 / 00012345-6 in BRL is no declared account: the statement waits"), "{told}");
}

/// In text, at a terminal's width, and in JSON.
async fn every_open_line_says_what_it_is(site: &Site, breaks: &[Value]) {
    let told = text(&counterfoil(site, &["breaks"]).await);
    assert!(told.lines().all(|line| line.chars().count() <= 100), "{told}");
    let letters: String = told.split_whitespace().collect();
    for open in breaks {
        for key in ["date", "description", "reference"] {
            let Some(value) = open[key].as_str() else {
                assert!(key == "reference", "{key} is missing: {open}");
                continue;
            };
            let value: String = value.split_whitespace().collect();
            assert!(letters.contains(&value), "{key} {value:?} of {} is not in\n{told}", open["line"]);
        }
        assert!(open["origin"]["file"].is_string(), "{open}");
    }
}

async fn what_is_not_there_is_told_with_what_is(site: &Site) {
    for (arguments, told) in [
        (&["breaks", "--account", "operatin"][..], "no account \"operatin\": known are operating, "),
        (&["report", "--account", "operatin"], "no account \"operatin\": known are operating, "),
        (&["breaks", "--date", "2026-11-20"], "no account was closed on 2026-11-20: "),
        (&["breaks", "--date", "2026-11-20", "--account", "europe"], "europe was not closed on 2026-11-20: "),
        (&["runs", "--date", "2026-11-20"], "2026-11-20 is not in the ledger: "),
        (&["report", "--date", "2026-11-20"], "newest first: 2026-11-27"),
        (&["report", "--account", "europe", "--revision", "1"], "2026-11-27 has no report of revision 1"),
    ] {
        let output = counterfoil(site, arguments).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(told) && output.stdout.is_empty(), "{arguments:?}: {said}");
    }
    // A newer date is due, and has no report: the newest that has one is shown, and that is said.
    let report = text(&counterfoil(site, &["report", "--account", "europe"]).await);
    let ahead = "SELECT count(*) FROM counterfoil.run WHERE business_date > '2026-11-27'";
    assert_eq!(site.count(ahead).await, 0);
    let mut runner = site.lead(2, "b").await;
    site.clock.advance(std::time::Duration::from_hours(72));
    runner.pass().await.expect("a pass");
    assert_eq!(site.count(ahead).await, 1, "the next business date is due");
    let newest = counterfoil(site, &["report", "--account", "europe"]).await;
    assert_eq!(text(&newest), report);
    let said = String::from_utf8_lossy(&newest.stderr).into_owned();
    assert!(said.contains("2026-11-30 has no report yet") && said.contains("this is 2026-11-27"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_date_is_asked_for_answered_and_waited_for() {
    let site = Site::of_the_example().await;
    let paused = json(&counterfoil(&site, &["pause", "--reason", "audit", "--json"]).await);
    assert_eq!(paused, serde_json::json!({ "paused": true, "changed": true }));
    assert_eq!(text(&counterfoil(&site, &["pause"]).await), "The planner rests already.\n");
    let status = text(&counterfoil(&site, &["status"]).await);
    assert!(status.contains("until counterfoil resume, except those asked for by counterfoil run.\n"), "{status}");
    let next = status.lines().find(|line| line.starts_with("Next: ")).expect("what is due next");
    assert!(next.contains("T06:00:00-03:00, deadline 20"), "in the schedule's zone: {next}");

    let nobody = counterfoil(&site, &["run", "--date", DATE, "--wait", "--timeout", "1s"]).await;
    assert_eq!(nobody.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("does a replica lead?"), "{nobody:?}");

    let mut runner = site.lead(1, "a").await;
    let asked = async {
        let mut asked = vec![counterfoil(&site, &["run", "--date", DATE, "--wait", "--json"]).await];
        // And what is done already is no failure, whether it is waited for or not.
        for more in [&["--wait"][..], &["--wait", "--json"], &[]] {
            asked.push(counterfoil(&site, &[&["run", "--date", DATE], more].concat()).await);
        }
        asked
    };
    let work = async {
        loop {
            runner.pass().await.expect("a pass");
            site.clock.advance(std::time::Duration::from_secs(11));
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    };
    let asked = tokio::select! {
        asked = asked => asked,
        () = work => unreachable!("it works for ever"),
    };
    for asked in [&asked[0], &asked[2]].map(json) {
        assert_eq!((&asked["accepted"], &asked["status"]), (&true.into(), &"complete".into()));
    }
    let shows = format!("{DATE} is complete: `counterfoil report --date {DATE}` shows it");
    assert!(String::from_utf8_lossy(&asked[1].stderr).contains(&shows), "{:?}", asked[1]);
    assert!(text(&asked[1]).starts_with(&format!("{DATE}  complete")), "{:?}", asked[1]);
    assert_eq!(text(&asked[3]), format!("{shows} (answered by term 1)\n"));
    let unreasoned = counterfoil(&site, &["run", "--date", DATE, "--skip", "--account", "europe"]).await;
    assert_eq!(unreasoned.status.code(), Some(2), "a reason is needed");
    for word in [["--reason", "done\n2026-11-27  complete"], ["--actor", "eve\u{1b}[2J"]] {
        let forged = counterfoil(&site, &[&["pause"], &word[..]].concat()).await;
        assert_eq!(forged.status.code(), Some(2), "{forged:?}");
    }
    // Past the command line, by a session of somebody's own: shown as it is, in the one line that it has.
    let forged = "2026-11-27\n2026-11-27T00:00:00.000Z  term  9  eve\u{1b}[2J";
    requests::set_pause(&mut session(&site.database).await, &support::lease(), true, Some(forged), "else")
        .await
        .expect("inserted");
    let history = text(&counterfoil(&site, &["history"]).await);
    let shown = r"else  2026-11-27\n2026-11-27T00:00:00.000Z  term  9  eve\u{1b}[2J";
    assert!(history.contains(shown) && !history.contains('\u{1b}'), "{history}");
    assert_eq!(text(&counterfoil(&site, &["resume"]).await), "The planner works again.\n");

    let stale = counterfoil(&site, &["resign", "--token", "7"]).await;
    assert_eq!(stale.status.code(), Some(1), "it could have been the installed one: {stale:?}");
    text(&counterfoil(&site, &["resign", "--token", "1", "--reason", "a new machine"]).await);
    let history = text(&counterfoil(&site, &["history"]).await);
    let places: Vec<usize> = ["  pause ", "  run ", "  resume ", "  request "]
        .iter()
        .map(|kind| history.find(kind).unwrap_or_else(|| panic!("no {kind} in\n{history}")))
        .collect();
    assert!(places.is_sorted(), "in the order in which they were asked:\n{history}");
    for told in ["somebody  audit", "somebody  2026-11-27", "a new machine"] {
        assert!(history.contains(told), "{told} is not in\n{history}");
    }
    let terms = json(&counterfoil(&site, &["history", "--terms", "--json"]).await);
    assert!(terms.as_array().expect("an array").iter().all(|event| event["kind"] == "term"), "{terms}");
    assert_eq!(site.count("SELECT count(*) FROM counterfoil.planner_pause WHERE actor = 'somebody'").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_that_fails_is_seen_wherever_somebody_looks() {
    let site = Site::of_the_example().await;
    let balances = site.path("inbox/book/balances-2026-11-27.csv");
    let stated = std::fs::read_to_string(&balances).expect("the ledger's balances");
    assert!(stated.contains("330249.09"), "{stated}");
    std::fs::write(&balances, stated.replace("330249.09", "330249.08")).expect("a cent less");
    let mut runner = site.lead(1, "a").await;
    site.day(&mut runner).await;

    let runs = text(&counterfoil(&site, &["runs"]).await);
    let operating = runs.lines().find(|line| line.contains("operating")).expect("its line");
    assert!(operating.contains("closed") && operating.contains("PROOF FAILED: P4"), "{runs}");
    assert_eq!(runs.matches("PROOF FAILED").count(), 1, "{runs}");
    let runs = json(&counterfoil(&site, &["runs", "--json"]).await);
    let failed: Vec<&Value> =
        runs[0]["accounts"].as_array().expect("accounts").iter().map(|it| &it["failed_proofs"]).collect();
    assert_eq!(failed.iter().filter(|proofs| **proofs != &serde_json::json!([])).count(), 1, "{failed:?}");
    // As of `run --wait`: a script that reads the report alone is told as well.
    for (arguments, code) in
        [(&["report"][..], 1), (&["report", "--account", "operating"], 1), (&["report", "--account", "europe"], 0)]
    {
        assert_eq!(counterfoil(&site, arguments).await.status.code(), Some(code), "{arguments:?}");
    }
    let summary = String::from_utf8(counterfoil(&site, &["report"]).await.stdout).expect("text");
    let mut lines = summary.lines();
    let title = lines.next().expect("a title");
    assert!(title.ends_with("3 of 3 accounts closed, 1 of them with a PROOF THAT FAILED"), "{title}");
    assert!(lines.nth(2).is_some_and(|line| line.starts_with("operating")), "it comes first:\n{summary}");
    assert!(lines.next().is_some_and(|line| line.contains("FAILED") && line.contains("off by")), "{summary}");
}
