//! The alert rules: sound, documented, tested both ways.

use std::collections::{BTreeMap, BTreeSet};

use crate::promtool::promtool;
use crate::{declared, metrics_in, read, repository};

const RULES: &str = "deploy/prometheus/rules/counterfoil.yml";
const TESTS: &str = "deploy/prometheus/tests";

/// One alert, as far as these tests look at it. The file is ours, and laid out one key a line.
#[derive(Debug, Default)]
struct Alert {
    name: String,
    expression: String,
    severity: String,
    summary: String,
    description: String,
    runbook: String,
}

fn alerts() -> Vec<Alert> {
    let mut alerts: Vec<Alert> = Vec::new();
    let mut in_expression = false;
    for line in read(RULES).lines().filter(|line| !line.trim_start().starts_with('#')) {
        let text = line.trim();
        if let Some(name) = text.strip_prefix("- alert: ") {
            alerts.push(Alert { name: name.to_owned(), ..Alert::default() });
            continue;
        }
        let Some(alert) = alerts.last_mut() else { continue };
        let value = |key: &str| text.strip_prefix(key).map(|value| value.trim().trim_matches('\'').to_owned());
        if text == "expr: |" {
            in_expression = true;
        } else if let Some(severity) = value("severity:") {
            alert.severity = severity;
        } else if let Some(summary) = value("summary:") {
            alert.summary = summary;
        } else if let Some(description) = value("description:") {
            alert.description = description;
        } else if let Some(runbook) = value("runbook_url:") {
            alert.runbook = runbook;
        } else if ["for:", "labels:", "annotations:"].iter().any(|key| text.starts_with(key)) {
            in_expression = false;
        } else if in_expression {
            alert.expression.push_str(text);
            alert.expression.push(' ');
        }
    }
    alerts
}

/// The files of unit tests.
fn test_files() -> Vec<String> {
    let mut files: Vec<String> = std::fs::read_dir(repository(TESTS))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with("_test.yml"))
        .collect();
    files.sort();
    files
}

#[test]
fn promtool_finds_no_fault_in_rules_and_configuration() {
    promtool(&["check", "rules", "--lint=all", "--lint-fatal", RULES], &repository("")).unwrap();
    promtool(&["check", "config", "prometheus.yml"], &repository("deploy/prometheus")).unwrap();
}

#[test]
fn every_rule_fires_where_it_should_and_is_silent_just_beside_it() {
    let files = test_files();
    let mut arguments = vec!["test", "rules"];
    arguments.extend(files.iter().map(String::as_str));
    promtool(&arguments, &repository(TESTS)).unwrap();
}

#[test]
fn every_alert_has_a_test_in_which_it_fires_and_one_in_which_it_never_does() {
    // Of each test (an entry of `tests:`), which alerts it expects to fire, and which it only expects to be silent.
    let mut firing = BTreeSet::new();
    let mut silent = BTreeSet::new();
    for file in test_files() {
        let text = read(&format!("{TESTS}/{file}"));
        for test in text.split("\n  - name: ").skip(1) {
            let mut expects: BTreeMap<&str, bool> = BTreeMap::new();
            let mut current = "";
            for line in test.lines() {
                if let Some((_, name)) = line.split_once("alertname: ") {
                    current = name.split([',', '}']).next().unwrap().trim();
                    expects.entry(current).or_insert(false);
                }
                if line.contains("- exp_labels:") {
                    expects.insert(current, true);
                }
            }
            for (alert, fires) in expects {
                if fires {
                    firing.insert(alert.to_owned())
                } else {
                    silent.insert(alert.to_owned())
                };
            }
        }
    }
    for alert in alerts() {
        assert!(firing.contains(&alert.name), "no test makes {} fire", alert.name);
        assert!(silent.contains(&alert.name), "no test keeps {} silent", alert.name);
    }
}

#[test]
fn every_alert_says_what_it_is_how_bad_and_what_to_do() {
    let alerts = alerts();
    assert!(alerts.len() >= 12, "the rules were read wrongly: {alerts:?}");
    for alert in alerts {
        let name = &alert.name;
        assert!(name.starts_with("Counterfoil") && name.len() <= 40, "{name}");
        assert!(["critical", "warning"].contains(&alert.severity.as_str()), "{name}: severity {:?}", alert.severity);
        let summary = &alert.summary;
        assert!(
            summary.ends_with('.') && !summary.contains("{{"),
            "{name}: a summary is one fixed sentence: {summary:?}"
        );
        assert!(summary.starts_with(|letter: char| letter.is_uppercase()), "{name}: {summary:?}");
        assert!(alert.description.contains("{{ $labels.job }}"), "{name}: which deployment? {:?}", alert.description);
        assert_eq!(alert.runbook, format!("docs/runbooks/{name}.md"));
        let page = read(&alert.runbook);
        assert!(page.starts_with(&format!("# {name}\n")), "{name}: its page has another title");
        for section in ["## Meaning", "## Impact", "## Diagnosis", "## Mitigation"] {
            let text = page.split(section).nth(1).unwrap_or_else(|| panic!("{name}: no section {section}"));
            assert!(text.split("\n## ").next().unwrap().trim().len() > 20, "{name}: {section} is empty");
        }
    }
}

#[test]
fn every_page_belongs_to_an_alert() {
    let names: BTreeSet<String> = alerts().into_iter().map(|alert| format!("{}.md", alert.name)).collect();
    for entry in std::fs::read_dir(repository("docs/runbooks")).unwrap() {
        let page = entry.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&page), "docs/runbooks/{page} explains no alert");
    }
}

#[test]
fn every_metric_that_a_rule_a_test_or_a_page_names_is_declared() {
    let mut texts: Vec<(String, String)> = alerts().into_iter().map(|alert| (alert.name, alert.expression)).collect();
    texts.extend(test_files().into_iter().map(|file| (file.clone(), read(&format!("{TESTS}/{file}")))));
    for entry in std::fs::read_dir(repository("docs/runbooks")).unwrap() {
        let page = entry.unwrap().file_name().into_string().unwrap();
        let text = read(&format!("docs/runbooks/{page}"));
        texts.push((page, text));
    }
    for (of, text) in texts {
        assert!(!of.starts_with("Counterfoil") || !text.is_empty(), "{of} has no expression");
        for metric in metrics_in(&text) {
            assert!(declared(metric).is_some(), "{of} names {metric}, which nothing exports");
        }
    }
}

#[test]
fn a_fact_of_the_cluster_is_never_added_up_over_replicas() {
    for alert in alerts() {
        for metric in metrics_in(&alert.expression) {
            let cluster = declared(metric)
                .is_some_and(|metric| metric.scope == counterfoil::telemetry::catalogue::Scope::Cluster);
            let summed = alert.expression.contains(&format!("sum by (job, lease) ({metric}"));
            assert!(!(cluster && summed), "{} adds up {metric}, which every replica tells alike", alert.name);
        }
    }
}
