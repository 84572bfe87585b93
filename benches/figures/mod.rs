//! What the measurements share: samples without floats, and the rows that `scripts/bench` puts into
//! `docs/performance.md`. Rows go to standard output, progress to standard error.

#![expect(clippy::print_stdout, reason = "what was measured is this program's outcome")]

use std::time::Duration;

/// How long some repetitions of one thing took.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

/// Whether this was called to measure. `cargo test --all-targets` runs benches too, without this word: then nothing is
/// measured.
pub(crate) fn wanted() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// A number of repetitions from the environment.
pub(crate) fn repetitions(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).filter(|count| *count > 0).unwrap_or(usual)
}

/// One row of the table: what, beside what, the figure, the goal, and whether it is met.
pub(crate) fn row(what: &str, reference: &str, figure: &str, goal: &str, met: bool) {
    println!("| {what} | {reference} | {figure} | {goal} | {} |", if met { "met" } else { "**missed**" });
}

/// `1.234 ms`.
pub(crate) fn millis(time: Duration) -> String {
    format!("{}.{:03} ms", time.as_millis(), time.subsec_micros() % 1000)
}

/// `1.04`: how many times `reference` a time is, rounded up so that no goal is met by rounding.
pub(crate) fn ratio(time: Duration, reference: Duration) -> String {
    let hundredths = (time.as_nanos() * 100).div_ceil(reference.as_nanos().max(1));
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

// === impl Samples ===

impl Samples {
    pub(crate) fn push(&mut self, sample: Duration) {
        let at = self.0.partition_point(|other| *other <= sample);
        self.0.insert(at, sample);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// The sample that `percent` of a hundred do not exceed, so the longest at 100; zero of no samples.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }
}
