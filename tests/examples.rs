//! The example day and the lists of settings: the committed files are what the code says, and they tell the story that
//! they were made to tell.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

#[path = "../examples/generate/books.rs"]
mod books;
#[path = "../examples/generate/camt.rs"]
mod camt;
#[path = "../examples/generate/chance.rs"]
mod chance;
#[path = "../examples/generate/day.rs"]
mod day;
#[path = "../examples/generate/europe.rs"]
mod europe;
#[path = "../examples/generate/ofx.rs"]
mod ofx;
#[path = "../examples/generate/operating.rs"]
mod operating;
#[path = "../examples/generate/receivables.rs"]
mod receivables;
#[path = "../examples/generate/settings.rs"]
mod settings;

use std::path::{Path, PathBuf};

use counterfoil::book::profile::Profile;
use counterfoil::matching::RuleSet;
use counterfoil::settings::keys::{FILE_ONLY, KEYS};
use counterfoil::settings::{Need, Settings, SettingsFile, Sources, read_rules};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn example_text() -> String {
    std::fs::read_to_string(root().join("examples/counterfoil.toml")).unwrap()
}

/// The example's settings, with these variables.
fn sources(variables: impl IntoIterator<Item = (String, String)>) -> Sources {
    let file = SettingsFile { path: root().join("examples/counterfoil.toml"), text: example_text() };
    Sources {
        file: Some(file),
        variables: variables.into_iter().collect(),
        folder: PathBuf::from("/srv"),
        host: "replica-1".to_owned(),
    }
}

fn example() -> Settings {
    Settings::load(&sources([]), &[Need::Redis, Need::Postgres, Need::Accounts]).unwrap()
}

#[test]
fn the_committed_files_are_what_the_generator_writes() {
    for (name, bytes) in day::files() {
        let committed = std::fs::read(root().join(name)).unwrap_or_default();
        assert!(committed == bytes, "{name} differs: run `cargo run --example generate`");
    }
}

#[test]
fn the_example_settings_start_where_the_example_day_starts() {
    let text = example_text();
    for account in day::accounts() {
        let line = books::opening(&account);
        assert!(text.lines().any(|found| found == line), "{}: expected {line}", account.id);
        let declared = example();
        let declared = declared.accounts().iter().find(|declared| declared.id.as_str() == account.id).unwrap().clone();
        assert_eq!(declared.currency.code(), account.currency);
        let opening = declared.opening.unwrap();
        assert_eq!(opening.items.len(), account.open_bank.len() + account.open_book.len());
        assert_eq!(opening.check(), Ok(()));
    }
}

#[test]
fn the_example_settings_name_every_setting_and_every_table() {
    let text = example_text();
    // A key stands in its section, set or commented out.
    let mut section = "";
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
            section = name.trim_start_matches('[');
        }
        let line = line.strip_prefix("# ").unwrap_or(line);
        if let Some((name, _)) = line.split_once(" = ") {
            found.push(format!("{section}.{}", name.trim()));
        }
    }
    for key in &KEYS {
        assert!(found.contains(&key.path()), "{} is not in examples/counterfoil.toml", key.path());
    }
    for (table, _) in FILE_ONLY {
        assert!(found.iter().any(|key| key.starts_with(table)), "{table}");
    }
    let profile = serde_json::to_value(Profile::default()).unwrap();
    for key in profile.as_object().unwrap().keys() {
        assert!(found.contains(&format!("profiles.razao.{key}")), "profile key {key}");
    }
    let account = ["id", "bank", "branch", "number", "aliases", "currency", "calendar", "profile", "opening"];
    for key in account.into_iter().chain(["statements", "day_complete", "book_complete"]) {
        assert!(found.contains(&format!("accounts.{key}")), "account key {key}");
    }
}

#[test]
fn what_the_example_settings_show_as_defaults_are_the_defaults() {
    let example = example();
    let plain = Settings::load(&Sources { file: None, ..sources([]) }, &[]).unwrap();
    assert_eq!(example.lease, plain.lease);
    assert_eq!(example.run, plain.run);
    assert_eq!(example.http, plain.http);
    assert_eq!(example.log, plain.log);
    assert_eq!(example.inbox.settle, plain.inbox.settle);
    assert_eq!(example.book.mode, plain.book.mode);
    assert_eq!((&example.schedule.cron, example.schedule.catch_up), (&plain.schedule.cron, plain.schedule.catch_up));
    assert_eq!(
        (example.schedule.timezone, example.schedule.deadline),
        (plain.schedule.timezone, plain.schedule.deadline)
    );
}

/// Every variable of `.env.example`, those that are commented out as well.
fn variables() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join(".env.example")).unwrap();
    let set: String = text
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|line| line.starts_with("COUNTERFOIL__")).unwrap_or(line))
        .fold(String::new(), |text, line| text + line + "\n");
    dotenvy::from_read_iter(set.as_bytes()).collect::<Result<_, _>>().unwrap()
}

#[test]
fn every_variable_is_in_the_example_environment_and_can_be_set_as_it_stands_there() {
    let variables = variables();
    for key in &KEYS {
        assert!(variables.iter().any(|(name, _)| *name == key.variable()), "{}", key.variable());
    }
    // The two ways to give a secret, and the two sources of books, exclude each other; no rule file lies there.
    let together = variables.into_iter().filter(|(name, _)| {
        !name.ends_with("_FILE") && !["BOOK__URL", "BOOK__QUERY", "RULES__FILE"].iter().any(|key| name.ends_with(key))
    });
    let settings = Settings::load(&sources(together), &[Need::PostgresOwner]).unwrap();
    assert_eq!(settings.book_profile(), settings.profiles.get("razao"));
    assert!(settings.schedule.start.is_some());
}

#[test]
fn the_profile_of_the_example_reads_what_its_comment_shows() {
    let text = "Lançamento;Conta;Data;Valor;Moeda;Documento;Histórico\n1001;operating;27/11/2026;-1.355,90;BRL;552093;Aluguel\n";
    let bytes = encoding_rs::WINDOWS_1252.encode(text).0.into_owned();
    let settings = example();
    let parsed =
        counterfoil::book::parse(&counterfoil::book::Input { bytes: &bytes, profile: settings.profiles.get("razao") });
    assert!(!parsed.is_refused(), "{parsed:#?}");
    assert_eq!(parsed.lines[0].amount.minor(), -135_590);
}

#[test]
fn the_page_of_the_rules_has_every_key_with_its_default_and_its_example_is_read() {
    let page = std::fs::read_to_string(root().join("docs/rules.md")).unwrap();
    let defaults = serde_json::to_value(RuleSet::default()).unwrap();
    let rows: Vec<(&str, &str)> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | `"))
        .map(|(key, rest)| (key, rest.split_once('`').unwrap().0))
        .collect();
    let documented: serde_json::Map<String, serde_json::Value> =
        rows.iter().map(|(key, default)| ((*key).to_owned(), serde_json::from_str(default).unwrap())).collect();
    assert_eq!(serde_json::Value::from(documented), defaults);
    let example = page.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0;
    let given: toml::Table = example.parse().unwrap();
    assert!(rows.iter().all(|(key, _)| given.contains_key(*key)), "{example}");
    toml::from_str::<RuleSet>(example).unwrap();
    let committed = root().join("examples/rules.toml");
    assert_eq!(read_rules(&committed).unwrap(), RuleSet::default());
    let commented: toml::Table = std::fs::read_to_string(committed).unwrap().parse().unwrap();
    assert_eq!(commented.len(), rows.len(), "every key is there");
}
