//! `counterfoil reconcile` on files: the faces, and the exit codes that a script relies on.

#![expect(clippy::unwrap_used, reason = "a test that cannot prepare its files has failed")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

fn counterfoil() -> Command {
    let mut command = Command::cargo_bin("counterfoil").unwrap();
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env_clear();
    command
}

/// The example day, by its settings.
fn example(more: &[&str]) -> Command {
    let mut command = counterfoil();
    command.args(["reconcile", "--config", "examples/counterfoil.toml"]);
    command.args(["--bank", "examples/inbox/bank", "--book", "examples/inbox/book"]).args(more);
    command
}

#[test]
fn a_date_on_which_nothing_is_closed_and_a_place_that_cannot_be_written_are_faults_of_the_words() {
    for (date, why) in [
        ("2026-11-28", "no business day of calendar"),
        ("2026-11-26", "not later than 2026-11-26, the earliest opening of any account"),
    ] {
        let told = example(&["--date", date]).assert().code(2);
        let told = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
        assert!(told.contains(&format!("--date {date}: {why}")), "{told}");
    }
    let folder = tempfile::tempdir().unwrap();
    for place in [folder.path().join("none/report.txt"), folder.path().to_owned()] {
        let told = example(&["--out", place.to_str().unwrap()]).assert().code(2);
        let told = String::from_utf8_lossy(&told.get_output().stderr).into_owned();
        assert!(told.contains("name a place that can be written"), "{told}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no half of a file is left");
}

/// A statement of one account of one day: opening 100.00, one credit of 50.00 with a reference, closing 150.00; and the
/// books that hold it.
fn quiet_day() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let balance = |code: &str, amount: &str, date: &str| {
        format!(
            "<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy=\"EUR\">{amount}</Amt>\
             <CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>{date}</Dt></Dt></Bal>"
        )
    };
    let statement = format!(
        "<Document><BkToCstmrStmt><GrpHdr/><Stmt><Id>S-1</Id><Acct><Id><IBAN>NL02ABNA0123456789</IBAN></Id>\
         <Ccy>EUR</Ccy></Acct>{}{}<Ntry><Amt Ccy=\"EUR\">50.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts>\
         <BookgDt><Dt>2026-11-10</Dt></BookgDt><NtryDtls><TxDtls><Refs><EndToEndId>INV-2026-001</EndToEndId></Refs>\
         </TxDtls></NtryDtls></Ntry></Stmt></BkToCstmrStmt></Document>",
        balance("PRCD", "100.00", "2026-11-09"),
        balance("CLBD", "150.00", "2026-11-10"),
    );
    fs::create_dir(folder.path().join("bank")).unwrap();
    fs::create_dir(folder.path().join("book")).unwrap();
    fs::write(folder.path().join("bank/s1.xml"), statement).unwrap();
    fs::write(
        folder.path().join("book/ledger.csv"),
        "id,account,date,amount,currency,reference\nL-1,NL02ABNA0123456789,2026-11-10,50.00,EUR,INV-2026-001\n",
    )
    .unwrap();
    folder
}

fn of_folder(folder: &Path, more: &[&str]) -> Command {
    let mut command = counterfoil();
    command.arg("reconcile").arg("--bank").arg(folder.join("bank")).arg("--book").arg(folder.join("book")).args(more);
    command
}

fn output(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_example_day_is_shown_to_a_person() {
    let (code, out, err) = output(&mut example(&[]));
    assert_eq!(code, 0, "{err}\n{out}");
    for expected in ["Bank closing", "Matched by", "strong reference", "Why it is open", "Statements", "3 accounts on"]
    {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
}

#[test]
fn the_json_of_the_example_day_is_as_its_schema_says_and_always_the_same_bytes() {
    let (code, out, err) = output(&mut example(&["--json"]));
    assert_eq!(code, 0, "{err}");
    let value: Value = serde_json::from_str(&out).unwrap();
    let schema: Value = serde_json::from_str(include_str!("../docs/schema/reconcile.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let accounts = value["accounts"].as_array().unwrap();
    assert_eq!(accounts.len(), 3);
    // A statement is what inspect shows, and its schema stands there.
    let mut inspect: Value = serde_json::from_str(include_str!("../docs/schema/inspect.schema.json")).unwrap();
    let of_statement = serde_json::json!({"$ref": "#/$defs/statement", "$defs": inspect["$defs"].take()});
    let of_statement = jsonschema::validator_for(&of_statement).unwrap();
    for account in accounts {
        let statements = account["statements"].as_array().unwrap();
        assert!(!statements.is_empty());
        for statement in statements {
            assert!(of_statement.is_valid(statement), "{}", statement["account"]);
        }
    }
    let (_, again, _) = output(&mut example(&["--format", "json"]));
    assert!(out == again, "equal input, other bytes");
}

#[test]
fn the_files_alone_are_enough() {
    let day = quiet_day();
    let (code, out, err) = output(&mut of_folder(day.path(), &["--json"]));
    assert_eq!(code, 0, "{err}");
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["date"], "2026-11-10");
    let account = &value["accounts"][0];
    assert_eq!((&account["bank"]["lines"], &account["bank"]["sum"]), (&1.into(), &"50.00".into()));
    assert_eq!(account["matches"][0]["rule"], "strong_reference");
    assert!(account["breaks"].as_array().unwrap().is_empty());
    assert_eq!(account["position"]["bank_closing"], "150.00");
}

#[test]
fn csv_is_three_files_in_a_folder_that_must_be_named() {
    let day = quiet_day();
    let (code, _, err) = output(&mut of_folder(day.path(), &["--format", "csv"]));
    assert_eq!(code, 2);
    assert!(err.contains("--out"), "{err}");
    let out = day.path().join("out");
    let (code, _, err) = output(of_folder(day.path(), &["--format", "csv", "--out"]).arg(&out));
    assert_eq!(code, 0, "{err}");
    let mut names: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["breaks.csv", "matches.csv", "proofs.csv"]);
    assert!(fs::read_to_string(out.join("matches.csv")).unwrap().contains("INV-2026-001"));
}

#[test]
fn html_goes_where_out_says() {
    let day = quiet_day();
    let page = day.path().join("page.html");
    let (code, out, err) = output(of_folder(day.path(), &["--format", "html", "--out"]).arg(&page));
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    assert!(fs::read_to_string(page).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_refused_file_is_code_3_and_the_rest_is_still_shown() {
    let day = quiet_day();
    fs::write(day.path().join("bank/garbled.xml"), "<Document><BkToCstmrStmt><Stmt><Id>").unwrap();
    let (code, out, err) = output(&mut of_folder(day.path(), &[]));
    assert_eq!(code, 3, "{err}");
    assert!(out.contains("garbled.xml") && out.contains("TRUNCATED") && out.contains("strong reference"), "{out}");
    assert!(err.contains("not taken"), "{err}");
}

#[test]
fn breaks_are_a_result_unless_the_caller_says_otherwise() {
    let day = quiet_day();
    let ledger = day.path().join("book/ledger.csv");
    let text = fs::read_to_string(&ledger).unwrap() + "L-2,NL02ABNA0123456789,2026-11-10,7.00,EUR,INV-2026-002\n";
    fs::write(&ledger, text).unwrap();
    assert_eq!(output(&mut of_folder(day.path(), &[])).0, 0);
    assert_eq!(output(&mut of_folder(day.path(), &["--fail-on-breaks"])).0, 1);
}

#[test]
fn what_is_not_there_is_code_2_and_named() {
    let day = quiet_day();
    let missing = day.path().join("nowhere");
    let (code, _, err) = output(counterfoil().arg("reconcile").arg("--bank").arg(&missing).arg("--book").arg(&missing));
    assert_eq!(code, 2);
    assert!(err.contains("--bank") && err.contains("nowhere"), "{err}");
    fs::create_dir(&missing).unwrap();
    let (code, _, err) = output(counterfoil().arg("reconcile").arg("--bank").arg(&missing).arg("--book").arg(&missing));
    assert_eq!(code, 2);
    assert!(err.contains("no file"), "{err}");
}
