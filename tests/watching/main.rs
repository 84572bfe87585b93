//! What watches Counterfoil is held against Counterfoil: rules, dashboard and pages name only metrics that exist, every
//! rule is proved to fire and to stay silent, and the documents say what the code says.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod dashboard;
mod deployment;
mod documents;
mod promtool;
mod rules;

use std::path::{Path, PathBuf};

use counterfoil::telemetry::catalogue::{CATALOGUE, Kind, Metric};

/// A path of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The metrics that an expression names: words with one of our prefixes, without what a histogram appends.
fn metrics_in(expression: &str) -> Vec<&str> {
    expression
        .split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .filter(|word| word.starts_with("counterfoil_") || word.starts_with("process_"))
        .collect()
}

/// The declaration of a series' name.
fn declared(series: &str) -> Option<&'static Metric> {
    let of_histogram = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| series.strip_suffix(suffix));
    CATALOGUE.iter().copied().find(|metric| match metric.kind {
        Kind::Histogram(_) => Some(metric.name) == of_histogram,
        Kind::Counter | Kind::Gauge => metric.name == series,
    })
}

#[test]
fn a_series_of_a_histogram_is_found_by_its_suffix_and_no_other_is() {
    assert!(declared("counterfoil_step_duration_seconds_bucket").is_some());
    assert!(declared("counterfoil_step_duration_seconds").is_none());
    assert!(declared("counterfoil_leader_status").is_some());
    assert!(declared("counterfoil_leader_status_count").is_none());
    assert!(declared("counterfoil_leader_statuses").is_none());
}
