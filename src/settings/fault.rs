//! What is wrong with the settings: every fault, told at once.

use std::fmt;

use config::{Value, ValueKind};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Which setting: `lease.ttl`, `accounts[2].number`; empty for a whole file.
    pub key: String,
    /// Where it was given: `counterfoil.toml:12`, or a variable.
    pub place: Option<String>,
    /// A sentence: what was found, and what was expected. No secret is ever in it.
    pub problem: String,
}

/// Settings that cannot be used, with every fault that was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SettingsError {
    /// At least one, ordered by key.
    pub faults: Vec<Fault>,
}

/// Collects faults.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

// === impl Fault ===

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.key.as_str(), &self.place) {
            ("", Some(place)) => write!(f, "{place}: {}", self.problem),
            (key, Some(place)) => write!(f, "{key} ({place}): {}", self.problem),
            (key, None) => write!(f, "{key}: {}", self.problem),
        }
    }
}

// === impl SettingsError ===

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.faults.len() {
            1 => f.write_str("one setting is wrong:")?,
            several => write!(f, "{several} settings are wrong:")?,
        }
        for fault in &self.faults {
            write!(f, "\n  {fault}")?;
        }
        Ok(())
    }
}

// === impl Faults ===

impl Faults {
    pub(super) fn push(&mut self, key: impl Into<String>, place: Option<String>, problem: impl Into<String>) {
        self.0.push(Fault { key: key.into(), place, problem: problem.into() });
    }

    /// The error, if there is a fault. Ordered by key, since tables of the file have no order of their own.
    pub(super) fn into_error(mut self) -> Option<SettingsError> {
        self.0.sort();
        self.0.dedup();
        if self.0.is_empty() { None } else { Some(SettingsError { faults: self.0 }) }
    }
}

/// A value as it is shown in a fault.
pub(super) fn shown(value: &Value) -> String {
    match &value.kind {
        ValueKind::Nil => "nothing".to_owned(),
        ValueKind::String(text) => format!("{text:?}"),
        ValueKind::Table(_) => "a table".to_owned(),
        ValueKind::Array(_) => "a list".to_owned(),
        scalar => scalar.to_string(),
    }
}

/// Only what kind of value it is: for places where it may hold a secret.
pub(super) fn kind(value: &Value) -> &'static str {
    match &value.kind {
        ValueKind::Nil => "nothing",
        ValueKind::String(_) => "a text",
        ValueKind::Table(_) => "a table",
        ValueKind::Array(_) => "a list",
        ValueKind::Boolean(_) => "true or false",
        _ => "a number",
    }
}
