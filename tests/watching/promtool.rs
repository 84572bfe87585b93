//! Prometheus' own judge of rules and expressions.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Runs promtool; what it says, if it refuses.
pub(crate) fn promtool(arguments: &[&str], folder: &Path) -> Result<(), String> {
    let said = Command::new("promtool").args(arguments).current_dir(folder).output().expect(
        "promtool is needed by this test: install Debian's package `prometheus` (apt-get install prometheus), or \
         run scripts/setup test",
    );
    if said.status.success() {
        return Ok(());
    }
    Err(format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr)))
}

/// Refuses expressions that are no PromQL, by way of a file of recording rules.
pub(crate) fn check_expressions(expressions: &[String]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let mut rules = String::from("groups:\n  - name: expressions\n    rules:\n");
    for (at, expression) in expressions.iter().enumerate() {
        let quoted = serde_json::to_string(expression).unwrap();
        writeln!(rules, "      - record: expression:{at}\n        expr: {quoted}").unwrap();
    }
    std::fs::write(folder.path().join("rules.yml"), rules).unwrap();
    promtool(&["check", "rules", "rules.yml"], folder.path())
}

#[test]
fn an_expression_that_is_none_is_refused() {
    assert!(check_expressions(&["sum(up)".to_owned()]).is_ok());
    assert!(check_expressions(&["sum(up".to_owned()]).is_err());
}
