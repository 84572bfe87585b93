//! Reading a table of settings tolerantly: a value that cannot be read is a fault, and the next one is read all the same.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use chrono::{NaiveDate, NaiveTime};
use config::{Value, ValueKind};
use secrecy::SecretString;
use url::Url;

use super::fault::{Faults, kind, shown};
use super::sources::{Layers, table};
use crate::election::LeaseName;

/// A type that one setting can be read as.
pub(super) trait FromSetting: Sized {
    /// What was expected, for the fault.
    const EXPECTED: &'static str;
    /// The value, if it is one. From the environment, everything is a string.
    fn read(kind: &ValueKind) -> Option<Self>;
}

/// A table of the settings, being read. What was not asked for by [`Section::finish`] is unknown.
pub(super) struct Section<'a> {
    pub(super) path: String,
    pub(super) layers: &'a Layers,
    pub(super) faults: &'a mut Faults,
    values: HashMap<String, Value>,
    asked: Vec<String>,
}

// === impl Section ===

impl<'a> Section<'a> {
    /// A table that is at the top of the settings; an absent one is empty.
    pub(super) fn top(name: &str, layers: &'a Layers, faults: &'a mut Faults) -> Self {
        let value = layers.root.get(name).cloned();
        Self::of(name.to_owned(), value, layers, faults)
    }

    /// A table somewhere in the settings.
    pub(super) fn of(path: String, value: Option<Value>, layers: &'a Layers, faults: &'a mut Faults) -> Self {
        let values = match value.map(table) {
            None => HashMap::new(),
            Some(Ok(values)) => values,
            Some(Err(other)) => {
                faults.push(&path, layers.place(&path), format!("found {}, expected a table", kind(&other)));
                HashMap::new()
            }
        };
        Self { path, layers, faults, values, asked: Vec::new() }
    }

    fn full(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The raw value of a key, once.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.asked.push(name.to_owned());
        self.values.remove(name).filter(|value| value.kind != ValueKind::Nil)
    }

    /// A value, or `None` where it is absent or, with a fault, unreadable.
    pub(super) fn get<T: FromSetting>(&mut self, name: &str) -> Option<T> {
        self.read(name, T::EXPECTED, T::read)
    }

    /// As [`Self::get`], by a function of its own.
    pub(super) fn read<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&ValueKind) -> Option<T>,
    ) -> Option<T> {
        let value = self.take(name)?;
        let found = read(&value.kind);
        if found.is_none() {
            self.fault(name, format!("found {}, expected {expected}", shown(&value)));
        }
        found
    }

    /// A value that must be there.
    pub(super) fn need<T: FromSetting>(&mut self, name: &str) -> Option<T> {
        self.need_read(name, T::EXPECTED, T::read)
    }

    /// As [`Self::need`], by a function of its own.
    pub(super) fn need_read<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&ValueKind) -> Option<T>,
    ) -> Option<T> {
        if self.values.contains_key(name) {
            return self.read(name, expected, read);
        }
        self.asked.push(name.to_owned());
        let place = self.layers.place(&self.path);
        self.faults.push(self.full(name), place, format!("missing, expected {expected}"));
        None
    }

    /// A list of values; absent is empty. Each bad item is a fault of its own.
    pub(super) fn list<T: FromSetting>(&mut self, name: &str) -> Vec<T> {
        let Some(value) = self.take(name) else { return Vec::new() };
        let ValueKind::Array(items) = &value.kind else {
            self.fault(name, format!("found {}, expected a list, each item {}", shown(&value), T::EXPECTED));
            return Vec::new();
        };
        let mut found = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            match T::read(&item.kind) {
                Some(item) => found.push(item),
                None => {
                    self.fault(&format!("{name}[{at}]"), format!("found {}, expected {}", shown(item), T::EXPECTED));
                }
            }
        }
        found
    }

    /// A secret, by value or by the file that holds it. The environment's wins over the settings file's; both ways in
    /// one place contradict each other.
    pub(super) fn secret(&mut self, name: &str) -> Option<SecretString> {
        let file_name = format!("{name}_file");
        let (value_path, file_path) = (self.full(name), self.full(&file_name));
        let by_value = self.take(name);
        let by_file = self.take(&file_name);
        let from_environment = |path: &str| self.layers.in_environment(path);
        let use_file = match (&by_value, &by_file) {
            (None, None) => return None,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (Some(_), Some(_)) => match (from_environment(&value_path), from_environment(&file_path)) {
                (true, false) => false,
                (false, true) => true,
                _ => {
                    let place = self.layers.place(&file_path);
                    self.faults.push(value_path, place, format!("given twice: as {name} and as {file_name}; keep one"));
                    return None;
                }
            },
        };
        if !use_file {
            let ValueKind::String(text) = by_value?.kind else {
                self.fault(name, "found something other than a string (not shown)");
                return None;
            };
            return Some(SecretString::from(text));
        }
        let ValueKind::String(path) = by_file?.kind else {
            self.fault(&file_name, "expected the path of a file that holds the secret");
            return None;
        };
        match std::fs::read_to_string(self.layers.base.join(&path)) {
            // An editor or `echo` ends the file with a line end that is no part of the secret.
            Ok(text) => Some(SecretString::from(text.trim_end_matches(['\r', '\n']))),
            Err(error) => {
                self.fault(&file_name, format!("{path:?} cannot be read: {error}"));
                None
            }
        }
    }

    /// A fault of a key of this table.
    pub(super) fn fault(&mut self, name: &str, problem: impl Into<String>) {
        let full = self.full(name);
        let place = self.layers.place(&full).or_else(|| self.layers.place(&self.path));
        self.faults.push(full, place, problem);
    }

    /// The names that are there, in order.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.values.keys().cloned().collect();
        names.sort();
        names
    }

    /// Ends the reading: whatever nobody asked for is unknown.
    pub(super) fn finish(self) {
        for name in self.names() {
            let full = self.full(&name);
            let place = self.layers.place(&full);
            let what = if self.path.is_empty() { "section" } else { "setting" };
            self.faults.push(
                full,
                place,
                format!("there is no such {what}; expected one of {}", self.asked.join(", ")),
            );
        }
    }
}

// === impl FromSetting ===

fn text(kind: &ValueKind) -> Option<&str> {
    match kind {
        ValueKind::String(text) => Some(text.trim()),
        _ => None,
    }
}

impl FromSetting for String {
    const EXPECTED: &'static str = "a text in quotes, not empty";
    fn read(kind: &ValueKind) -> Option<Self> {
        text(kind).filter(|text| !text.is_empty()).map(str::to_owned)
    }
}

impl FromSetting for bool {
    const EXPECTED: &'static str = "true or false";
    fn read(kind: &ValueKind) -> Option<Self> {
        match kind {
            ValueKind::Boolean(value) => Some(*value),
            _ => text(kind)?.parse().ok(),
        }
    }
}

/// How many: none, too.
impl FromSetting for u32 {
    const EXPECTED: &'static str = "a whole number from 0";
    fn read(kind: &ValueKind) -> Option<Self> {
        match kind {
            ValueKind::I64(value) => Self::try_from(*value).ok(),
            ValueKind::U64(value) => Self::try_from(*value).ok(),
            _ => text(kind)?.parse().ok(),
        }
    }
}

impl FromSetting for NonZeroU32 {
    const EXPECTED: &'static str = "a whole number from 1";
    fn read(kind: &ValueKind) -> Option<Self> {
        Self::new(u32::read(kind)?)
    }
}

impl FromSetting for Duration {
    const EXPECTED: &'static str = "a duration such as 15s, 500ms or 2m";
    fn read(kind: &ValueKind) -> Option<Self> {
        // humantime reads a bare 0, and nothing else, without a unit.
        let text = text(kind)?;
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        humantime::parse_duration(text).ok()
    }
}

impl FromSetting for NaiveDate {
    const EXPECTED: &'static str = "a date such as 2026-11-27";
    fn read(kind: &ValueKind) -> Option<Self> {
        text(kind)?.parse().ok()
    }
}

impl FromSetting for NaiveTime {
    const EXPECTED: &'static str = "a time of day such as 10:00";
    fn read(kind: &ValueKind) -> Option<Self> {
        let text = text(kind)?;
        Self::parse_from_str(text, "%H:%M").or_else(|_| Self::parse_from_str(text, "%H:%M:%S")).ok()
    }
}

impl FromSetting for chrono_tz::Tz {
    const EXPECTED: &'static str = "an IANA time zone such as America/Sao_Paulo";
    fn read(kind: &ValueKind) -> Option<Self> {
        text(kind)?.parse().ok()
    }
}

impl FromSetting for SocketAddr {
    const EXPECTED: &'static str = "an address and port such as 0.0.0.0:9464";
    fn read(kind: &ValueKind) -> Option<Self> {
        text(kind)?.parse().ok()
    }
}

impl FromSetting for LeaseName {
    const EXPECTED: &'static str = "letters, digits, '-', '_' and '.', 1 to 64 of them";
    fn read(kind: &ValueKind) -> Option<Self> {
        Self::new(text(kind)?).ok()
    }
}

/// A folder, as a URL.
impl FromSetting for Url {
    const EXPECTED: &'static str = "a file:// URL with an absolute path, such as file:///var/lib/counterfoil/inbox";
    fn read(kind: &ValueKind) -> Option<Self> {
        let url = Self::parse(text(kind)?).ok()?;
        (url.scheme() == "file" && url.host().is_none() && text(kind)?.starts_with("file:///")).then_some(url)
    }
}
