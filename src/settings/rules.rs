//! Matching rules from a TOML file.

use std::path::Path;

use super::fault::{Faults, SettingsError};
use super::sources::line_of;
use crate::matching::RuleSet;

/// The rules of a file: `rules.file`, or `reconcile --rules`.
pub fn read_rules(path: &Path) -> Result<RuleSet, SettingsError> {
    let mut faults = Faults::default();
    let rules = read_into(path, "", &mut faults);
    match (rules, faults.into_error()) {
        (Some(rules), None) => Ok(rules),
        (_, Some(error)) => Err(error),
        (None, None) => Ok(RuleSet::default()),
    }
}

/// As [`read_rules`], with faults under a key of the settings.
pub(super) fn read_into(path: &Path, key: &str, faults: &mut Faults) -> Option<RuleSet> {
    let place = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            faults.push(key, Some(place), format!("the rules cannot be read: {error}"));
            return None;
        }
    };
    match toml::from_str(&text) {
        Ok(rules) => Some(rules),
        Err(error) => {
            let line = error.span().map(|span| line_of(&text, span.start));
            let place = line.map_or(place.clone(), |line| format!("{place}:{line}"));
            faults.push(key, Some(place), error.message().trim());
            None
        }
    }
}
