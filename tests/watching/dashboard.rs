//! The dashboard, held against the rules that Grafana's own linters apply, and against the metrics that exist.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::promtool::check_expressions;
use crate::{declared, metrics_in, read, repository};

const DASHBOARD: &str = "dashboards/counterfoil.json";

fn dashboard() -> Value {
    serde_json::from_str(&read(DASHBOARD)).unwrap()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Every panel that shows something: rows are headings.
fn panels(board: &Value) -> Vec<&Value> {
    board["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] != "row").collect()
}

/// Every expression, with the panel or annotation that it is of.
fn expressions(board: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for panel in panels(board) {
        for target in panel["targets"].as_array().unwrap() {
            found.push((text(panel, "title").to_owned(), text(target, "expr").to_owned()));
        }
    }
    for annotation in board["annotations"]["list"].as_array().unwrap() {
        if let Some(expression) = annotation["expr"].as_str() {
            found.push((text(annotation, "name").to_owned(), expression.to_owned()));
        }
    }
    found
}

#[test]
fn it_can_be_provisioned_as_it_is() {
    let board = dashboard();
    assert!(!read(DASHBOARD).contains("__inputs"), "an export for sharing cannot be provisioned");
    assert_eq!(board["schemaVersion"], 42);
    assert_eq!(board["editable"], false);
    assert!(board["id"].is_null());
    let uid = text(&board, "uid");
    assert!(
        (1..=40).contains(&uid.len()) && uid.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'),
        "{uid}"
    );
    assert!(!text(&board, "title").is_empty() && !text(&board, "description").is_empty());
}

#[test]
fn it_asks_which_data_source_job_lease_and_instance() {
    let board = dashboard();
    let variables = board["templating"]["list"].as_array().unwrap();
    let names: Vec<&str> = variables.iter().map(|variable| text(variable, "name")).collect();
    assert_eq!(names, ["datasource", "job", "lease", "instance"]);
    for variable in &variables[1..] {
        assert_eq!(variable["refresh"], 2, "{variable}: a new replica must show without a reload");
        assert_eq!(variable["datasource"]["uid"], "${datasource}");
        assert_eq!((&variable["multi"], &variable["includeAll"]), (&true.into(), &true.into()));
    }
}

#[test]
fn every_panel_says_what_it_shows_in_which_unit_and_what_it_shows_of_nothing() {
    let board = dashboard();
    for panel in panels(&board) {
        let title = text(panel, "title");
        assert!(!title.is_empty(), "{panel}");
        assert!(text(panel, "description").len() > 40, "{title}: what does it mean, what is normal, what to do?");
        let defaults = &panel["fieldConfig"]["defaults"];
        assert!(!text(defaults, "unit").is_empty(), "{title} has no unit");
        assert!(!text(defaults, "noValue").is_empty(), "{title} does not say what no data means");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{title} asks nothing");
        for target in targets {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
            if ["stat", "table"].contains(&text(panel, "type")) {
                assert_eq!(target["instant"], true, "{title}: a range for one number");
            }
        }
    }
}

#[test]
fn panels_have_an_id_of_their_own_and_do_not_overlap() {
    let board = dashboard();
    let mut ids = BTreeSet::new();
    let mut cells = BTreeSet::new();
    for panel in board["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "two panels have the id {}", panel["id"]);
        let side = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(side("x") + side("w") <= 24, "{} leaves the grid", text(panel, "title"));
        for x in side("x")..side("x") + side("w") {
            for y in side("y")..side("y") + side("h") {
                assert!(cells.insert((x, y)), "{} lies over another panel", text(panel, "title"));
            }
        }
    }
}

#[test]
fn every_expression_is_promql() {
    let board = dashboard();
    let filled: Vec<String> = expressions(&board)
        .into_iter()
        .map(|(_, expression)| {
            expression.replace("$__rate_interval", "1m").replace("$job", ".+").replace("$lease", ".+")
        })
        .map(|expression| expression.replace("$instance", ".+"))
        .collect();
    for expression in &filled {
        assert!(!expression.contains('$'), "a variable that nobody fills: {expression}");
    }
    check_expressions(&filled).unwrap();
}

#[test]
fn every_expression_names_declared_metrics_and_chooses_job_lease_and_instance() {
    let board = dashboard();
    for (of, expression) in expressions(&board) {
        let metrics = metrics_in(&expression);
        assert!(!metrics.is_empty() || expression.contains("ALERTS{"), "{of}: {expression}");
        for metric in &metrics {
            assert!(declared(metric).is_some(), "{of} shows {metric}, which nothing exports");
            let selected = format!("{metric}{{job=~\"$job\",lease=~\"$lease\"");
            assert!(expression.contains(&selected), "{of}: {metric} of which job and lease?");
        }
    }
    for panel in panels(&board) {
        for target in panel["targets"].as_array().unwrap() {
            let expression = text(target, "expr");
            let chosen = expression.matches("instance=~\"$instance\"").count();
            assert_eq!(chosen, metrics_in(expression).len(), "{}: of which instance?", text(panel, "title"));
        }
    }
}

#[test]
fn a_counter_is_shown_only_as_a_rate_or_an_increase() {
    let board = dashboard();
    for (of, expression) in expressions(&board) {
        for metric in metrics_in(&expression)
            .into_iter()
            .filter(|metric| metric.ends_with("_total") || metric.ends_with("_bucket"))
        {
            let wrapped =
                ["rate(", "increase("].iter().any(|function| expression.contains(&format!("{function}{metric}{{")));
            assert!(wrapped, "{of}: {metric} as a bare number means nothing");
        }
    }
}

#[test]
fn each_alert_that_a_panel_speaks_of_exists() {
    let rules = read("deploy/prometheus/rules/counterfoil.yml");
    let board = dashboard();
    for panel in panels(&board) {
        let description = text(panel, "description");
        for word in description.split(|letter: char| !letter.is_ascii_alphanumeric()) {
            if word.len() > "Counterfoil".len() && word.starts_with("Counterfoil") {
                assert!(rules.contains(&format!("- alert: {word}\n")), "{} speaks of {word}", text(panel, "title"));
            }
        }
    }
}

#[test]
fn grafana_finds_it_where_compose_puts_it() {
    let provider = read("deploy/grafana/provisioning/dashboards/counterfoil.yaml");
    let compose = read("docker-compose.yml");
    let path = provider.lines().find_map(|line| line.trim().strip_prefix("path: ")).unwrap();
    assert!(compose.contains(&format!("./dashboards:{path}:ro")), "{path} is not mounted");
    assert!(repository("deploy/grafana/provisioning/datasources/prometheus.yaml").exists());
}
