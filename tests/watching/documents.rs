//! Documents that are made from the code. `COUNTERFOIL_WRITE_DOCS=1 cargo test --test watching` renews them.

use std::fmt::Write;

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
         shows what is in it to whoever may read it. At `debug` and `trace` libraries speak too, and promise nothing: \
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
