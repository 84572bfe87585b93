//! `counterfoil inspect`, as it is run: what it shows, what it says to programs, and how it ends.

#![expect(clippy::unwrap_used, reason = "a test that cannot run the command has failed")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use counterfoil::proof::ProofStatus;
use counterfoil::reference::ReferenceKind;
use counterfoil::report::inspect::FileStatus;
use counterfoil::statement::proof::Hypothesis;
use serde_json::{Value, json};

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name).to_str().unwrap().to_owned()
}

/// Exit code, standard output, standard error.
fn inspect(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("counterfoil").unwrap().arg("inspect").args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn schema() -> Value {
    serde_json::from_str(include_str!("../docs/schema/inspect.schema.json")).unwrap()
}

/// The JSON, held against the committed schema.
fn as_json(arguments: &[&str]) -> (i32, Value) {
    let (code, out, _) = inspect(&[&["--json"], arguments].concat());
    let value: Value = serde_json::from_str(&out).unwrap();
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let faults: Vec<String> =
        validator.iter_errors(&value).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert_eq!(faults, Vec::<String>::new());
    (code, value)
}

/// A folder with a good file, one that does not add up, and three that are no statements.
fn mixed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let good = fs::read(fixture("ofx/two-accounts.ofx")).unwrap();
    let text = String::from_utf8_lossy(&good).into_owned();
    fs::write(folder.path().join("b-good.ofx"), &good).unwrap();
    fs::write(folder.path().join("a-wrong.ofx"), text.replace("-12,50", "-12,51").replace("20261112", "20261111"))
        .unwrap();
    fs::write(folder.path().join("c-cut.ofx"), &good[..good.len() / 2]).unwrap();
    fs::create_dir(folder.path().join("deep")).unwrap();
    fs::write(folder.path().join("deep/empty.txt"), "").unwrap();
    fs::write(folder.path().join(".hidden"), "no").unwrap();
    fs::write(folder.path().join("half.part"), "no").unwrap();
    folder
}

#[test]
fn a_person_reads_balances_lines_proof_and_what_was_odd() {
    let (code, out, err) = inspect(&[&fixture("ofx/two-accounts.ofx"), "--lines"]);
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!(out);
}

#[test]
fn a_folder_is_shown_whole_by_name_whatever_is_wrong_with_some_of_it() {
    let folder = mixed();
    let (code, out, _) = inspect(&[folder.path().to_str().unwrap()]);
    assert_eq!(code, 3);
    insta::assert_snapshot!(out);
}

#[test]
fn json_has_every_field_and_null_for_what_is_absent() {
    let (code, value) = as_json(&[&fixture("ofx/two-accounts.ofx")]);
    assert_eq!(code, 0);
    let file = &value["files"][0];
    assert_eq!(
        (&file["name"], &file["format"], &file["status"]),
        (&json!("two-accounts.ofx"), &json!("ofx"), &json!("accepted"))
    );
    let statement = &file["statements"][0];
    assert_eq!(statement["account"], json!("98765-0"));
    assert_eq!((&statement["id"], &statement["opening"]), (&Value::Null, &Value::Null));
    assert_eq!(statement["closing"], json!({ "amount": "1137.90", "date": "2026-11-12" }));
    assert_eq!(
        statement["proof"],
        json!({ "status": "proved", "opening": "1000.00", "movements": "137.90", "closing": "1137.90", "difference": "0.00",
                "hypothesis": null })
    );
    let lines = statement["lines"].as_array().unwrap();
    assert_eq!(
        lines[2],
        json!({ "ordinal": 3, "booking_date": "2026-11-10", "value_date": null, "amount": "-100.00", "status": "booked",
                "reversal": false, "references": { "cheque": ["850076"], "fitid": ["102"] }, "counterparty": null,
                "description": "CHEQUE COMPENSADO" })
    );
    let booked: Vec<_> =
        lines.iter().filter(|line| line["status"] == "booked").map(|line| line["amount"].clone()).collect();
    assert_eq!(booked, [json!("250.40"), json!("-100.00"), json!("-12.50")], "what is booked adds up to the movements");
}

#[test]
fn json_of_every_kind_of_file_fits_the_schema() {
    let folder = mixed();
    let (code, value) = as_json(&[
        folder.path().to_str().unwrap(),
        &fixture("ofx/card.xml.ofx"),
        &fixture("camt/day.v02.xml"),
        &fixture("camt/day.v08.xml"),
    ]);
    assert_eq!(code, 3);
    let told: Vec<_> =
        value["files"].as_array().unwrap().iter().map(|file| (file["name"].clone(), file["status"].clone())).collect();
    let expected = [
        ("a-wrong.ofx", "quarantined"),
        ("b-good.ofx", "accepted"),
        ("c-cut.ofx", "refused"),
        ("card.xml.ofx", "accepted"),
        ("day.v02.xml", "accepted"),
        ("day.v08.xml", "accepted"),
        ("deep/empty.txt", "refused"),
    ];
    assert_eq!(told, expected.map(|(name, status)| (json!(name), json!(status))));
    assert_eq!(value["files"][6]["sha256"], json!("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
}

#[test]
fn the_schema_names_the_words_that_the_code_has() {
    let schema = schema();
    let words = |pointer: &str| {
        let words = schema.pointer(pointer).unwrap().as_array().unwrap();
        words.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let statuses = [FileStatus::Accepted, FileStatus::Quarantined, FileStatus::Refused].map(FileStatus::name);
    assert_eq!(words("/$defs/file/properties/status/enum"), statuses);
    assert_eq!(words("/$defs/proof/properties/hypothesis/enum"), Hypothesis::ALL.map(Hypothesis::name));
    let proofs = [ProofStatus::Proved, ProofStatus::Failed, ProofStatus::Unprovable].map(ProofStatus::name);
    assert_eq!(words("/$defs/proof/properties/status/enum"), proofs);
    let kinds = ReferenceKind::ALL.map(ReferenceKind::name);
    assert_eq!(words("/$defs/line/properties/references/propertyNames/enum"), kinds);
}

#[test]
fn a_failure_is_told_once() {
    let folder = mixed();
    let (_, out, _) = inspect(&[folder.path().join("a-wrong.ofx").to_str().unwrap()]);
    assert_eq!(out.matches("is stated:").count(), 1, "{out}");
    assert!(out.contains("error STMT_ARITH: a-wrong.ofx:"), "{out}");
}

#[test]
fn a_book_file_is_called_one_and_the_command_that_reads_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let csv = "id,account,date,amount,currency\nL-1,main,2026-11-27,1.00,BRL\n";
    let json =
        "{\"id\":\"L-1\",\"account\":\"main\",\"date\":\"2026-11-27\",\"amount\":\"1.00\",\"currency\":\"BRL\"}\n";
    for (name, text, a_book) in [
        ("ledger.csv", csv.to_owned(), true),
        ("ledger-excel.csv", format!("\u{feff}{}", csv.replace(',', ";")), true),
        ("ledger.jsonl", json.to_owned(), true),
        ("balances.csv", "account,date,currency,closing\nmain,2026-11-27,BRL,1.00\n".to_owned(), true),
        ("bank.csv", "Data;Historico;Valor\n27/11/2026;TED;1,00\n".to_owned(), false),
        ("other.json", "{\"date\":1}\n".to_owned(), false),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let (code, out, _) = inspect(&[path.to_str().unwrap()]);
        assert_eq!((code, out.contains("counterfoil reconcile --book")), (3, a_book), "{out}");
    }
}

#[test]
fn what_is_no_file_is_refused_and_a_link_is_followed_only_where_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    let (code, out, err) = inspect(&[&path("pipe")]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("is a named pipe"), "{err}");
    std::os::unix::fs::symlink(fixture("ofx/two-accounts.ofx"), path("link.ofx")).unwrap();
    assert_eq!(inspect(&[&path("link.ofx")]).0, 0, "whoever names a link means what it points at");
    let (code, _, err) = inspect(&[&path("")]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("1 link and 1 special file"), "{err}");
    fs::copy(fixture("ofx/two-accounts.ofx"), path("a.ofx")).unwrap();
    let (code, out, err) = inspect(&[&path("")]);
    assert_eq!((code, err.matches("1 link and 1 special file").count()), (0, 1), "{err}");
    assert!(out.contains("1 file: 1 accepted"), "{out}");
}

#[test]
fn a_path_that_is_not_there_is_usage() {
    let empty = tempfile::tempdir().unwrap();
    for path in ["/nowhere/statement.ofx", empty.path().to_str().unwrap()] {
        let (code, out, err) = inspect(&[path]);
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains(path), "{err}");
    }
    assert_eq!(inspect(&[]).0, 2);
}
