//! Recording, and serving what was recorded.
//!
//! The functions here are what the rest of the house calls. Each does nothing where no recorder is installed, so that
//! commands which serve no `/metrics` can run the same code. None is meant for a loop over lines: count first, say it
//! once.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use metrics::{counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use super::catalogue::{self, CATALOGUE, Kind, Metric};
use super::exposition::Page;
use super::facts::{ClusterFacts, Local, RunFacts};
use super::labels::{
    AccountDayOutcome, CronTick, Dependency, ErrorKind, FileOutcome, Label, LineOutcome, LogLevel, RunOutcome,
    ScheduledDate, StepOutcome, WorkPass, WriteOperation,
};
use super::process;
use crate::election::LeaseName;
use crate::election::reason::{ElectionOutcome, Reason, RenewalOutcome};
use crate::election::timing::Timings;
use crate::instant::Boot;
use crate::matching::{BreakClass, Rule, Side};
use crate::proof::{ProofId, ProofStatus};
use crate::run::plan::Step;

/// What is served at `/metrics`. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Telemetry {
    handle: PrometheusHandle,
    lease: Arc<LeaseName>,
    facts: Arc<RwLock<Option<Reading>>>,
}

/// Cluster facts, and when they were read.
struct Reading {
    facts: ClusterFacts,
    at: Boot,
}

/// Which build this is.
#[derive(Debug, Clone, Copy)]
pub struct BuildInfo {
    /// The version.
    pub version: &'static str,
    /// The commit, where the build knew it.
    pub revision: &'static str,
}

/// The recorder could not be installed.
#[derive(Debug, thiserror::Error)]
#[error("metrics cannot be recorded: {0}")]
pub struct InstallError(#[from] metrics_exporter_prometheus::BuildError);

/// Installs the recorder of this process, describes every metric, and sets every series that is recorded to zero:
/// `increase()` cannot see a counter that is born at 1. Once a process.
pub fn install(lease: &LeaseName, node: &str, build: BuildInfo) -> Result<Telemetry, InstallError> {
    let handle = builder(lease)?.install_recorder()?;
    begin(node, build);
    Ok(Telemetry { handle, lease: Arc::new(lease.clone()), facts: Arc::default() })
}

fn builder(lease: &LeaseName) -> Result<PrometheusBuilder, InstallError> {
    let mut builder = PrometheusBuilder::new().add_global_label("lease", lease.as_str());
    for metric in CATALOGUE {
        if let Kind::Histogram(bounds) = metric.kind {
            builder = builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), bounds)?;
        }
    }
    Ok(builder)
}

/// Describes every recorded metric, and makes its series exist.
fn begin(node: &str, build: BuildInfo) {
    for metric in CATALOGUE.iter().filter(|metric| metric.is_recorded()) {
        for labels in metric.label_sets() {
            match metric.kind {
                Kind::Counter => {
                    metrics::describe_counter!(metric.name, metric.help);
                    counter!(metric.name, &labels).increment(0);
                }
                Kind::Gauge => {}
                Kind::Histogram(_) => {
                    metrics::describe_histogram!(metric.name, metric.help);
                    let _ = histogram!(metric.name, &labels);
                }
            }
        }
    }
    for metric in CATALOGUE.iter().filter(|metric| metric.kind == Kind::Gauge) {
        metrics::describe_gauge!(metric.name, metric.help);
    }
    gauge!(catalogue::BUILD_INFO.name, "version" => build.version, "revision" => build.revision).set(1);
    gauge!(catalogue::WORK_LAST_PASS.name).set(0);
    gauge!(catalogue::NODE_INFO.name, "node" => node.to_owned()).set(1);
}

// === impl BuildInfo ===

impl BuildInfo {
    /// The build that runs. The commit comes from `COUNTERFOIL_REVISION`, where the build was given it.
    pub const THIS: Self = Self {
        version: env!("CARGO_PKG_VERSION"),
        revision: match option_env!("COUNTERFOIL_REVISION") {
            Some(revision) => revision,
            None => "unknown",
        },
    };
}

// === impl Telemetry ===

impl Telemetry {
    /// The page of `/metrics`.
    pub fn render(&self, local: &Local) -> String {
        let mut page = Page::after(self.handle.render(), &self.lease);
        page.local(local);
        if let Some(reading) = self.facts.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
            page.cluster(&reading.facts, local.at.since(reading.at));
        }
        if let Some(usage) = process::usage() {
            page.process(&usage);
        }
        page.finish()
    }

    /// Takes facts read from Postgres at `at`. They are told until newer ones come, or until they
    /// are five minutes old.
    pub fn publish(&self, facts: ClusterFacts, at: Boot) {
        *self.facts.write().unwrap_or_else(PoisonError::into_inner) = Some(Reading { facts, at });
    }

    /// The run that is not finished, as last read.
    pub fn run(&self) -> Option<RunFacts> {
        let facts = self.facts.read().unwrap_or_else(PoisonError::into_inner);
        facts.as_ref().and_then(|reading| reading.facts.run.clone())
    }

    /// Why there is nothing that this replica could do, as last read: every account of its settings is another book's.
    pub fn no_account(&self) -> Option<String> {
        let facts = self.facts.read().unwrap_or_else(PoisonError::into_inner);
        facts.as_ref().and_then(|reading| reading.facts.no_account.clone())
    }

    /// One whose recorder is not the process's: what is recorded goes elsewhere.
    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        let lease = LeaseName::new("reconciliation").unwrap();
        let handle = builder(&lease).unwrap().build_recorder().handle();
        Self { handle, lease: Arc::new(lease), facts: Arc::default() }
    }

    /// Empties the histograms' buffers. Call it every 5 seconds: between scrapes they grow without bound.
    pub fn upkeep(&self) {
        self.handle.run_upkeep();
    }
}

impl std::fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Telemetry").field("lease", &self.lease).finish_non_exhaustive()
    }
}

// === What happens, in the words of those to whom it happens ===

/// The lease's timings, once, at start.
pub fn lease_timings(timings: &Timings) {
    gauge!(catalogue::LEASE_TTL.name).set(timings.ttl.as_secs_f64());
    gauge!(catalogue::LEASE_HEARTBEAT.name).set(timings.heartbeat.as_secs_f64());
    gauge!(catalogue::LEASE_MARGIN.name).set(timings.margin.as_secs_f64());
}

/// An attempt to win the lease was answered, or failed.
pub fn election(outcome: ElectionOutcome) {
    counter!(catalogue::ELECTIONS.name, &label(outcome)).increment(1);
}

/// The installed term changed, as seen by this replica; its own install included.
pub fn leader_changed() {
    counter!(catalogue::LEADER_CHANGES.name).increment(1);
}

/// This replica's state changed.
pub fn transition(reason: Reason) {
    counter!(catalogue::TRANSITIONS.name, &label(reason)).increment(1);
}

/// A term of this replica ended after `lasted`.
pub fn tenure(lasted: Duration) {
    histogram!(catalogue::TENURE_SECONDS.name).record(lasted);
}

/// A renewal was answered, or failed, after `latency`.
pub fn renewal(outcome: RenewalOutcome, latency: Duration) {
    counter!(catalogue::RENEWALS.name, &label(outcome)).increment(1);
    histogram!(catalogue::RENEW_SECONDS.name).record(latency);
}

/// Postgres refused a write because its term is not the installed one.
pub fn fencing_rejection(operation: WriteOperation) {
    counter!(catalogue::FENCING_REJECTIONS.name, &label(operation)).increment(1);
}

/// Sessions of an earlier term were ended to install this one.
pub fn evicted(sessions: u64) {
    counter!(catalogue::EVICTIONS.name).increment(sessions);
}

/// The bell rang.
pub fn cron_tick(outcome: CronTick) {
    counter!(catalogue::CRON_TICKS.name, &label(outcome)).increment(1);
}

/// A business date was entered in the ledger of runs.
pub fn scheduled_date(outcome: ScheduledDate) {
    counter!(catalogue::SCHEDULED_DATES.name, &label(outcome)).increment(1);
}

/// A look at everything there is to do ended.
pub fn pass(outcome: WorkPass) {
    counter!(catalogue::WORK_PASSES.name, &label(outcome)).increment(1);
}

/// Such a look succeeded at this time.
pub fn passed_at(now: DateTime<Utc>) {
    gauge!(catalogue::WORK_LAST_PASS.name)
        .set(Duration::from_secs(u64::try_from(now.timestamp()).unwrap_or(0)).as_secs_f64());
}

/// A run ended.
pub fn run(outcome: RunOutcome) {
    counter!(catalogue::RUNS.name, &label(outcome)).increment(1);
}

/// An account-day ended.
pub fn account_day(outcome: AccountDayOutcome) {
    counter!(catalogue::ACCOUNT_DAYS.name, &label(outcome)).increment(1);
}

/// An attempt at a step was recorded, and begins.
pub fn attempt(step: Step) {
    counter!(catalogue::ATTEMPTS.name, &label(step)).increment(1);
}

/// An attempt at a step ended, after `took`.
pub fn step(step: Step, outcome: StepOutcome, took: Duration) {
    let labels = [("step", step.value()), ("outcome", outcome.value())];
    counter!(catalogue::STEPS.name, &labels).increment(1);
    if outcome == StepOutcome::Completed {
        histogram!(catalogue::STEP_SECONDS.name, &label(step)).record(took);
    }
}

/// A run that an earlier term had begun goes on at this step.
pub fn resumed(step: Step) {
    counter!(catalogue::RESUMES.name, &label(step)).increment(1);
}

/// A file of the inbox was dealt with.
pub fn file(side: Side, outcome: FileOutcome) {
    let labels = [("side", side.value()), ("outcome", outcome.value())];
    counter!(catalogue::FILES.name, &labels).increment(1);
}

/// Lines were read.
pub fn lines(side: Side, outcome: LineOutcome, count: u64) {
    let labels = [("side", side.value()), ("outcome", outcome.value())];
    counter!(catalogue::LINES.name, &labels).increment(count);
}

/// Matches were committed.
pub fn matches(rule: Rule, count: u64) {
    counter!(catalogue::MATCHES.name, &label(rule)).increment(count);
}

/// Breaks were committed.
pub fn breaks(class: BreakClass, count: u64) {
    counter!(catalogue::BREAKS_DETECTED.name, &label(class)).increment(count);
}

/// A proof was committed.
pub fn proof(id: ProofId, status: ProofStatus) {
    let labels = [("proof", id.value()), ("status", status.value())];
    counter!(catalogue::PROOFS.name, &labels).increment(1);
}

/// A call of a server failed.
pub fn dependency_error(dependency: Dependency, kind: ErrorKind) {
    let labels = [("dependency", dependency.value()), ("kind", kind.value())];
    counter!(catalogue::DEPENDENCY_ERRORS.name, &labels).increment(1);
}

/// A message was logged.
pub fn log_message(level: LogLevel) {
    counter!(catalogue::LOG_MESSAGES.name, &label(level)).increment(1);
}

/// Something panicked.
pub fn panicked() {
    counter!(catalogue::PANICS.name).increment(1);
}

/// One typed label, as the recorder takes it.
fn label<L: Label>(value: L) -> [(&'static str, &'static str); 1] {
    [(L::NAME, value.value())]
}

// === impl Metric ===

impl Metric {
    /// Is it kept by the recorder, and so at zero from the start? The rest is written at each scrape.
    pub fn is_recorded(&self) -> bool {
        !matches!(self.kind, Kind::Gauge) && !self.name.starts_with("process_")
    }

    /// Every combination of its labels' values. A metric without labels has one, which is empty.
    pub fn label_sets(&self) -> Vec<Vec<(&'static str, &'static str)>> {
        self.labels.iter().fold(vec![vec![]], |sets, label| {
            let extend = |set: &Vec<_>| {
                let set = set.clone();
                label.values.iter().map(move |value| [set.clone(), vec![(label.name, *value)]].concat())
            };
            sets.iter().flat_map(extend).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::election::FencingToken;
    use crate::telemetry::facts::FACTS_LIFE;

    /// A replica's telemetry with a recorder of its own, and what `record` recorded in it.
    fn telemetry(record: impl FnOnce()) -> Telemetry {
        let lease = LeaseName::new("reconciliation").unwrap();
        let recorder = builder(&lease).unwrap().build_recorder();
        let handle = recorder.handle();
        metrics::with_local_recorder(&recorder, || {
            begin("node-1", BuildInfo::THIS);
            lease_timings(&Timings::default());
            record();
        });
        Telemetry { handle, lease: Arc::new(lease), facts: Arc::default() }
    }

    fn facts() -> ClusterFacts {
        ClusterFacts {
            token: FencingToken::new(7),
            next_due: Some(1),
            clock_skew_ms: Some(-3),
            ..ClusterFacts::default()
        }
    }

    fn local(at: u64) -> Local {
        Local { at: boot(at), ..Local::default() }
    }

    fn boot(seconds: u64) -> Boot {
        Boot::from_duration(Duration::from_secs(seconds))
    }

    #[test]
    fn a_scrape_passes_promtool() {
        let telemetry = telemetry(|| {});
        telemetry.publish(facts(), Boot::ZERO);
        let page = telemetry.render(&local(1));
        let mut promtool = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("promtool, of Debian's package `prometheus`, is needed by this test");
        promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
        let said = promtool.wait_with_output().unwrap();
        assert!(
            said.status.success(),
            "{}{}",
            String::from_utf8_lossy(&said.stdout),
            String::from_utf8_lossy(&said.stderr)
        );
    }

    #[test]
    fn every_declared_series_exists_from_the_start_and_counts_from_zero() {
        let telemetry = telemetry(|| {});
        telemetry.publish(facts(), Boot::ZERO);
        let page = telemetry.render(&local(1));
        for metric in CATALOGUE {
            assert!(page.contains(&format!("# HELP {} ", metric.name)), "{} has no help", metric.name);
            let suffix = if matches!(metric.kind, Kind::Histogram(_)) { "_count" } else { "" };
            for labels in metric.label_sets() {
                let series: Vec<_> = page
                    .lines()
                    .filter(|line| line.starts_with(&format!("{}{suffix}{{lease=\"reconciliation\"", metric.name)))
                    .filter(|line| labels.iter().all(|(name, value)| line.contains(&format!("{name}=\"{value}\""))))
                    .collect();
                assert_eq!(series.len(), 1, "{} {labels:?}: {series:?}", metric.name);
                if metric.is_recorded() {
                    assert!(series[0].ends_with(" 0"), "{}", series[0]);
                }
            }
        }
    }

    #[test]
    fn nothing_is_exported_that_the_catalogue_does_not_declare() {
        let telemetry = telemetry(|| {});
        telemetry.publish(facts(), Boot::ZERO);
        for line in telemetry.render(&local(1)).lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
            let name = line.split(' ').next().unwrap();
            assert!(CATALOGUE.iter().any(|metric| metric.name == name), "{name} is not declared");
        }
    }

    #[test]
    fn facts_of_the_cluster_are_absent_until_read_and_dropped_when_old() {
        let telemetry = telemetry(|| {});
        let token = "counterfoil_leader_fencing_token{lease=\"reconciliation\"} 7";
        assert!(!telemetry.render(&local(0)).contains("counterfoil_leader_fencing_token"));
        telemetry.publish(facts(), boot(100));
        assert!(telemetry.render(&local(101)).contains(token));
        let last = 100 + FACTS_LIFE.as_secs();
        assert!(telemetry.render(&local(last)).contains(token));
        assert!(!telemetry.render(&local(last + 1)).contains("counterfoil_leader_fencing_token"));
    }

    #[test]
    fn a_replica_whose_trust_has_ended_does_not_lead_whatever_it_believes() {
        let telemetry = telemetry(|| {});
        let trusting = Local { trust_remaining: Duration::from_millis(1), ..local(0) };
        assert!(telemetry.render(&trusting).contains("counterfoil_leader_status{lease=\"reconciliation\"} 1"));
        assert!(telemetry.render(&local(0)).contains("counterfoil_leader_status{lease=\"reconciliation\"} 0"));
    }

    #[test]
    fn only_a_step_that_was_committed_counts_in_the_durations() {
        let telemetry = telemetry(|| {
            step(Step::Match, StepOutcome::Retried, Duration::from_secs(9));
            step(Step::Match, StepOutcome::Completed, Duration::from_secs(2));
        });
        let page = telemetry.render(&local(0));
        let of = "lease=\"reconciliation\",step=\"match\"";
        assert!(page.contains(&format!("counterfoil_step_duration_seconds_count{{{of}}} 1")), "{page}");
        assert!(page.contains(&format!("counterfoil_steps_total{{{of},outcome=\"retried\"}} 1")), "{page}");
    }
}
