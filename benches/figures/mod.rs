//! What the measurements share: samples without floats, and the rows that `scripts/bench` puts into
//! `docs/performance.md`. Rows go to standard output, progress to standard error.

#![expect(clippy::print_stdout, reason = "what was measured is this program's outcome")]
#![expect(dead_code, reason = "each bench uses its part of it")]

pub(crate) mod random;

use std::path::Path;
use std::time::Duration;

/// How long some repetitions of one thing took.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

/// The ttl of the workers that are measured, and a heartbeat in the proportion to it that the defaults have, 4 s of 15 s.
pub(crate) const TTL: Duration = Duration::from_secs(2);
pub(crate) const HEARTBEAT: Duration = Duration::from_millis(533);

/// The variables of a worker that has nothing to do: its addresses, the short lease, and its folders.
pub(crate) fn worker(redis: String, postgres: String, http: String, folder: &Path) -> Vec<(&'static str, String)> {
    let at = |inner: &str| format!("file://{}", folder.join(inner).display());
    vec![
        ("HTTP__LISTEN", http),
        ("REDIS__URL", redis),
        ("POSTGRES__URL", postgres),
        ("LEASE__TTL", format!("{}ms", TTL.as_millis())),
        ("LEASE__HEARTBEAT", format!("{}ms", HEARTBEAT.as_millis())),
        ("LEASE__ATTEMPT_TIMEOUT", "266ms".to_owned()),
        ("LEASE__MARGIN", "133ms".to_owned()),
        ("LEASE__DRAIN", "1s".to_owned()),
        ("SCHEDULE__START", "9999-01-01".to_owned()),
        ("INBOX__URL", at("inbox")),
        ("OUTBOX__URL", at("outbox")),
    ]
}

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
pub(crate) fn row(what: &str, reference: &str, figure: &str, goal: &str, verdict: Verdict) {
    let verdict = match verdict {
        Verdict::Missed(0, _) => "met".to_owned(),
        Verdict::Missed(missed, of) if missed < of => format!("**missed** in {missed} of {of}"),
        Verdict::Missed(..) => "**missed**".to_owned(),
        Verdict::NoGoal => "—".to_owned(),
    };
    println!("| {what} | {reference} | {figure} | {goal} | {verdict} |");
}

/// Whether a goal is met. One round that missed it is enough for a miss.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Verdict {
    /// So many rounds of so many missed it.
    Missed(usize, usize),
    /// There is none: the figure is only told.
    NoGoal,
}

impl From<bool> for Verdict {
    /// Of one round: is it met?
    fn from(met: bool) -> Self {
        Self::Missed(usize::from(!met), 1)
    }
}

/// `1.234 ms`.
pub(crate) fn millis(time: Duration) -> String {
    format!("{}.{:03} ms", time.as_millis(), time.subsec_micros() % 1000)
}

/// `+0.254 ms`, of nanoseconds.
pub(crate) fn signed_millis(nanos: i64) -> String {
    format!("{}{}", if nanos < 0 { "−" } else { "+" }, millis(Duration::from_nanos(nanos.unsigned_abs())))
}

/// The middle one of an odd number of values, the lower middle one of an even number.
pub(crate) fn middle<T: Ord + Copy + Default>(values: &[T]) -> T {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or_default()
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
