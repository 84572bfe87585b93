//! Documents that are made from the code. `COUNTERFOIL_WRITE_DOCS=1 cargo test --test watching` renews them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use counterfoil::telemetry::catalogue::{CATALOGUE, Kind, Scope};
use counterfoil::telemetry::event::EVENTS;

use crate::{read, repository};

/// Holds a document against what the code makes of it, or renews it.
fn is_current(path: &str, made: &str) {
    if std::env::var_os("COUNTERFOIL_WRITE_DOCS").is_some() {
        std::fs::write(repository(path), made).unwrap();
    }
    assert!(read(path) == made, "{path} is not current: COUNTERFOIL_WRITE_DOCS=1 cargo test --test watching renews it");
}

#[test]
fn the_page_of_metrics_is_current() {
    let mut page = String::from(
        "# Metrics\n\n\
         What a replica serves at `/metrics`. Made from `src/telemetry/catalogue.rs`; a test keeps it current.\n\n\
         Every series of ours also carries the label `lease`, so that several books can be scraped as one job. *Replica*: \
         what this replica did or sees; add up over replicas. *Cluster*: a fact that every replica reads from Postgres and \
         tells alike; `max by (job, lease)`, never a sum. Facts are absent until they were read once, and dropped when they \
         are five minutes old. Every other series is there, at zero, from the start.\n\n\
         | metric | kind | of | labels | says |\n|---|---|---|---|---|\n",
    );
    for metric in CATALOGUE {
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        };
        let scope = match metric.scope {
            Scope::Replica => "replica",
            Scope::Cluster => "cluster",
        };
        let labels: Vec<String> = metric
            .labels
            .iter()
            .map(|label| match label.values {
                [] => format!("`{}`", label.name),
                values => format!("`{}`: {}", label.name, values.join(", ")),
            })
            .collect();
        writeln!(page, "| `{}` | {kind} | {scope} | {} | {} |", metric.name, labels.join("; "), metric.help).unwrap();
    }
    is_current("docs/metrics.md", &page);
}

#[test]
fn the_page_of_log_events_is_current() {
    let mut page = String::from(
        "# Logs\n\n\
         One line a message, on stderr: JSON (`log.format = \"json\"`) or text for people (`\"text\"`). `log.level` takes a \
         level or filter directives (`info,counterfoil=debug`). Messages are counted by level in \
         `counterfoil_log_messages_total`. This page is made from `src/telemetry/event.rs`; a test keeps it current.\n\n\
         **What is never logged:** account numbers, names of people or companies, the text or amount of a line, secrets, URLs \
         that may hold one. An account is named by the `id` that the settings give it. A file is named by its SHA-256, \
         since banks write account numbers into file names; `sha256sum` in the inbox finds it, and `counterfoil inspect` \
         shows what is in it to whoever may read it. One exception: an error of the operating system about a file, in \
         `error`, names its path. At `debug` and `trace` libraries speak too, and promise nothing: \
         not for production.\n\n\
         Fields of every message: `timestamp`, `level`, `target`, `message`; and `event` with a name of this list, where \
         machines should look.\n\n\
         | event | level | fields | means |\n|---|---|---|---|\n",
    );
    for event in EVENTS {
        let fields: Vec<String> = event.fields.iter().map(|field| format!("`{field}`")).collect();
        writeln!(page, "| `{}` | {} | {} | {} |", event.name, event.level, fields.join(", "), event.says).unwrap();
    }
    is_current("docs/logging.md", &page);
}

/// Every call that logs at a level meant for production, as `file:line`, and what it is called with.
fn log_calls() -> Vec<(String, String)> {
    fn visit(folder: &Path, calls: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, calls);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap();
                for level in ["info", "warn", "error"] {
                    for (at, _) in code.match_indices(&format!("tracing::{level}!(")) {
                        let line = code[..at].lines().count();
                        let call = code[at..].split(");").next().unwrap();
                        calls.push((format!("{}:{line}", path.display()), call.to_owned()));
                    }
                }
            }
        }
    }
    let mut calls = Vec::new();
    visit(&repository("src"), &mut calls);
    calls
}

#[test]
fn every_message_is_a_declared_event_at_its_level_and_every_event_is_said_somewhere() {
    let calls = log_calls();
    let names = read("src/telemetry/event.rs");
    let mut said = BTreeSet::new();
    for (place, call) in &calls {
        let Some((_, rest)) = call.split_once("event = event::") else { panic!("{place} logs no event: {call}") };
        let id = rest.split(|letter: char| !(letter.is_ascii_uppercase() || letter == '_')).next().unwrap();
        let declaration = names.lines().find(|line| line.trim().starts_with(&format!("{id} = \""))).unwrap();
        let event = EVENTS.iter().find(|event| declaration.contains(&format!("\"{}\"", event.name))).unwrap();
        assert!(call.starts_with(&format!("tracing::{}!", event.level)), "{place}: {} is {}", event.name, event.level);
        said.insert(event.name);
    }
    for event in EVENTS {
        assert!(said.contains(event.name), "{} is declared, and never said", event.name);
    }
}

#[test]
fn no_message_names_a_file_as_its_sender_named_it() {
    for (place, call) in log_calls() {
        for private in ["file.name", ".description", ".counterparty", ".number", "expose_secret"] {
            assert!(!call.contains(private), "{place} logs {private}");
        }
    }
}

#[test]
fn whatever_can_be_recorded_is_recorded_by_somebody() {
    let recording = read("src/telemetry/metrics.rs");
    let functions: Vec<&str> = recording
        .lines()
        .filter_map(|line| line.strip_prefix("pub fn "))
        .filter_map(|line| line.split('(').next())
        .collect();
    assert!(functions.len() > 20, "{functions:?}");
    let code = source_text(&repository("src"));
    for function in functions {
        let called = ["telemetry::", "metrics::"].iter().any(|path| code.contains(&format!("{path}{function}(")));
        let at_home = read("src/telemetry/logging.rs").contains(&format!("{function}("));
        assert!(called || at_home, "nothing calls telemetry::{function}: its metric says 0 for ever");
    }
}

/// All of the source, one file after another.
fn source_text(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&source_text(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
    text
}
