//! The scraped half of `/metrics`, in the text format: families whose series may be absent, which a recorder of
//! counters cannot express.

use std::fmt::{Display, Write};
use std::time::Duration;

use super::catalogue::{self, Kind, Metric};
use super::facts::{ClusterFacts, FACTS_LIFE, Local};
use super::labels::{AccountDayState, Dependency, Label};
use super::process;
use crate::election::LeaseName;
use crate::election::reason::Ineligible;
use crate::matching::BreakClass;
use crate::report::left::WhyLeft;

/// A page under way.
pub(super) struct Page<'a> {
    text: String,
    lease: &'a LeaseName,
}

/// Milliseconds, written as seconds.
struct Seconds(i128);

// === impl Page ===

impl<'a> Page<'a> {
    /// Goes on after what the recorder has rendered.
    pub(super) fn after(text: String, lease: &'a LeaseName) -> Self {
        Self { text, lease }
    }

    /// The finished page.
    pub(super) fn finish(self) -> String {
        self.text
    }

    /// What this replica knows of itself.
    pub(super) fn local(&mut self, local: &Local) {
        self.single(&catalogue::LEADER_STATUS, u8::from(local.leads()));
        self.single(&catalogue::TRUST_REMAINING, Seconds::of(local.trust_remaining));
        self.family(
            &catalogue::INELIGIBLE,
            Ineligible::ALL.iter().map(|one| (one.value(), u8::from(local.ineligible == Some(*one)))),
        );
        self.family(
            &catalogue::DEPENDENCY_UP,
            Dependency::ALL.iter().map(|one| (one.value(), u8::from(local.up(*one)))),
        );
    }

    /// The facts of the cluster, unless they are too old to be told.
    pub(super) fn cluster(&mut self, facts: &ClusterFacts, age: Duration) {
        if age > FACTS_LIFE {
            return;
        }
        self.single(&catalogue::FACTS_AGE, Seconds::of(age));
        if let Some(token) = facts.token {
            self.single(&catalogue::FENCING_TOKEN, token);
        }
        if let Some(at) = facts.next_due {
            self.single(&catalogue::NEXT_DUE, at);
        }
        if let Some(skew) = facts.clock_skew_ms {
            self.single(&catalogue::CLOCK_SKEW, Seconds(i128::from(skew)));
        }
        self.single(&catalogue::RUN_DEADLINE, facts.pending_deadline.unwrap_or(0));
        self.single(&catalogue::RUN_LAST_SUCCESS, facts.last_success.unwrap_or(0));
        self.single(&catalogue::RUN_LAST_FAILURE, facts.last_failure.unwrap_or(0));
        self.single(&catalogue::RUN_LAST_DATE, facts.last_complete_date.unwrap_or(0));
        self.single(&catalogue::RUN_LAST_DURATION, Seconds::of(facts.last_duration.unwrap_or_default()));
        let run = facts.run.clone().unwrap_or_default();
        self.single(&catalogue::RUN_IN_PROGRESS, u8::from(run.in_progress));
        self.single(&catalogue::RUN_STARTED, run.started);
        self.single(&catalogue::RUN_LAST_PROGRESS, run.last_progress);
        self.single(&catalogue::RUN_STEPS_DONE, run.steps_done);
        self.single(&catalogue::RUN_STEPS_PLANNED, run.steps_planned);
        self.family(
            &catalogue::RUN_ACCOUNTS,
            AccountDayState::ALL.iter().map(|state| (state.value(), run.accounts.get(state).copied().unwrap_or(0))),
        );
        self.family(
            &catalogue::FILES_LEFT,
            WhyLeft::ALL.iter().map(|why| (why.name(), facts.files_left.get(why).copied().unwrap_or(0))),
        );
        self.family(
            &catalogue::BREAKS_OPEN,
            BreakClass::ALL.iter().map(|class| (class.value(), facts.breaks_open.get(class).copied().unwrap_or(0))),
        );
        self.single(&catalogue::BREAKS_OLDEST, facts.oldest_break.unwrap_or(0));
    }

    /// The process, where the operating system tells of it.
    pub(super) fn process(&mut self, usage: &process::Usage) {
        self.single(&catalogue::PROCESS_START, Seconds(i128::from(usage.start_ms)));
        self.single(&catalogue::PROCESS_CPU, Seconds(i128::from(usage.cpu_ms)));
        self.single(&catalogue::PROCESS_MEMORY, usage.resident_bytes);
        self.single(&catalogue::PROCESS_FDS, usage.open_fds);
    }

    /// A family of one series.
    fn single(&mut self, metric: &Metric, value: impl Display) {
        self.head(metric);
        let Self { text, lease } = self;
        write_line(text, format_args!("{}{{lease=\"{lease}\"}} {value}", metric.name));
    }

    /// A family with one label of its own.
    fn family<V: Display>(&mut self, metric: &Metric, series: impl IntoIterator<Item = (&'static str, V)>) {
        self.head(metric);
        let Self { text, lease } = self;
        let label = metric.labels.first().map_or("", |label| label.name);
        for (of, value) in series {
            write_line(text, format_args!("{}{{lease=\"{lease}\",{label}=\"{of}\"}} {value}", metric.name));
        }
    }

    fn head(&mut self, metric: &Metric) {
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        };
        write_line(&mut self.text, format_args!("# HELP {} {}", metric.name, metric.help));
        write_line(&mut self.text, format_args!("# TYPE {} {kind}", metric.name));
    }
}

/// A String takes whatever is written to it: the result says nothing.
fn write_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{line}");
}

// === impl Seconds ===

impl Seconds {
    fn of(duration: Duration) -> Self {
        // A duration's milliseconds are below 2⁷⁴: they fit.
        Self(i128::try_from(duration.as_millis()).unwrap_or(i128::MAX))
    }
}

impl Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ms = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:03}", ms / 1000, ms % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_written_as_seconds_with_their_sign() {
        assert_eq!(Seconds(12_345).to_string(), "12.345");
        assert_eq!(Seconds(-7).to_string(), "-0.007");
        assert_eq!(Seconds(0).to_string(), "0.000");
    }
}
