//! `docs/verification.md` names tests and numbers: they are those of the code.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the repository has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn page() -> String {
    fs::read_to_string(repository("docs/verification.md")).unwrap()
}

/// The tests that the page names, as (file, function).
fn named() -> BTreeSet<(String, String)> {
    let page = page();
    let quoted = page.split('`').filter_map(|word| word.split_once("::"));
    quoted
        .filter(|(file, _)| file.contains('/') && !file.contains(' '))
        .map(|(file, test)| (file.into(), test.into()))
        .collect()
}

fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Whether a name begins with a scenario's number: `s12_…`, `r3_…`.
fn is_numbered(test: &str) -> bool {
    let number = test.strip_prefix(['s', 'r']).and_then(|rest| rest.split_once('_'));
    number.is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Functions that bear a scenario's number, as (file, function).
fn numbered() -> BTreeSet<(String, String)> {
    let mut files = Vec::new();
    for folder in ["src", "tests"] {
        rust_files(&repository(folder), &mut files);
    }
    let mut found = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let names = text.lines().filter_map(|line| line.trim_start().trim_start_matches("async ").strip_prefix("fn "));
        for name in names.filter_map(|rest| rest.split_once('(')).map(|(name, _)| name).filter(|name| is_numbered(name))
        {
            let file = file.strip_prefix(repository("")).unwrap().to_string_lossy().into_owned();
            found.insert((file, name.to_owned()));
        }
    }
    found
}

#[test]
fn every_test_that_the_page_names_exists() {
    let named = named();
    assert!(named.len() > 40, "the page names tests: {named:?}");
    for (file, test) in named {
        let text = fs::read_to_string(repository(&file)).unwrap_or_default();
        assert!(text.contains(&format!("fn {test}(")), "{file} has no test {test}");
    }
}

#[test]
fn every_test_that_bears_a_scenarios_number_is_on_the_page() {
    let missing: Vec<_> = numbered().difference(&named()).cloned().collect();
    assert!(missing.is_empty(), "not in docs/verification.md: {missing:?}");
}

#[test]
fn every_scenario_has_its_row() {
    let page = page();
    let scenarios = (1..=35).map(|number| format!("S{number}")).chain((1..=5).map(|number| format!("R{number}")));
    for scenario in scenarios {
        let rows: Vec<_> = page.lines().filter(|line| line.starts_with(&format!("| {scenario} |"))).collect();
        assert_eq!(rows.len(), 1, "{scenario}");
        let is_told = rows[0].contains(".rs::") || rows[0].contains("the simulation") || rows[0].contains("*none yet*");
        assert!(is_told, "{scenario} has neither a test nor the word that there is none");
    }
}

#[test]
fn the_sizes_of_the_model_are_those_that_its_tests_assert() {
    let model = fs::read_to_string(repository("src/election/elector/model/mod.rs")).unwrap().replace('_', "");
    let page = page();
    let table = page.split("| size | states |").nth(1).unwrap().split("\n\n").next().unwrap();
    let sizes: Vec<&str> = table.lines().skip(2).filter_map(|row| row.rsplit('|').nth(1)).map(str::trim).collect();
    assert_eq!(sizes.len(), 2, "{table}");
    for size in sizes {
        assert!(model.contains(&format!(", {size},")), "no test asserts {size} states");
    }
}

/// A patch of `tests/mutants`: a way to break the product, and the check that goes red.
struct Mutant {
    name: String,
    breaks: String,
    caught_by: String,
    patch: String,
}

fn mutants() -> Vec<Mutant> {
    let paths = fs::read_dir(repository("tests/mutants")).unwrap().map(|entry| entry.unwrap().path());
    paths
        .map(|path| {
            let patch = fs::read_to_string(&path).unwrap();
            let (breaks, caught_by) = patch.lines().next().unwrap().split_once(". Caught by ").unwrap();
            let (breaks, caught_by) = (breaks.to_owned(), caught_by.to_owned());
            Mutant { name: path.file_stem().unwrap().to_string_lossy().into_owned(), breaks, caught_by, patch }
        })
        .collect()
}

/// What a patch's hunks expect to find, as (file, lines).
fn expected(patch: &str) -> Vec<(&str, String)> {
    let mut hunks: Vec<(&str, String)> = Vec::new();
    let mut file = "";
    for line in patch.lines() {
        if let Some(path) = line.strip_prefix("--- a/") {
            file = path;
        } else if line.starts_with("@@ ") {
            hunks.push((file, String::new()));
        } else if line.starts_with("diff ") {
            file = "";
        } else if let (Some((_, lines)), Some(kept)) = (hunks.last_mut(), line.strip_prefix([' ', '-']))
            && !file.is_empty()
        {
            lines.push_str(kept);
            lines.push('\n');
        }
    }
    hunks
}

#[test]
fn every_mutant_still_finds_what_it_breaks() {
    for Mutant { name, patch, .. } in mutants() {
        let hunks = expected(&patch);
        assert!(!hunks.is_empty(), "{name} changes nothing");
        for (file, lines) in hunks {
            let text = fs::read_to_string(repository(file)).unwrap();
            assert!(text.contains(&lines), "{name} does not apply to {file} any more; there is no\n{lines}");
        }
    }
}

#[test]
fn the_table_of_mutants_is_that_of_their_patches() {
    let page = page();
    let table = page.split("| mutant | what it breaks | caught by |").nth(1).unwrap().split("\n\n").next().unwrap();
    let told: BTreeSet<String> = table.lines().skip(2).map(str::to_owned).collect();
    let expected = mutants()
        .iter()
        .map(|mutant| format!("| {} | {} | `{}` |", mutant.name, mutant.breaks, mutant.caught_by))
        .collect();
    assert_eq!(told, expected);
}
