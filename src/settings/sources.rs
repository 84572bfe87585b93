//! Where settings come from: `counterfoil.toml`, the environment, `.env` — and the layers that they make together.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use config::{Config, Environment, File, FileFormat, Value, ValueKind};

use super::fault::{Fault, Faults, SettingsError};
use super::keys::{self, FILE_ONLY, KEYS, Key, PREFIX};

/// The file that is read where no other is named, if it is there.
pub const DEFAULT_FILE: &str = "counterfoil.toml";

/// Everything that settings are made of, read but not yet judged.
#[derive(Clone, Default)]
pub struct Sources {
    /// The settings file, if there is one.
    pub file: Option<SettingsFile>,
    /// Variables that begin with [`PREFIX`].
    pub variables: BTreeMap<String, String>,
    /// The folder in which the process was started: `inbox` and `outbox` lie there by default.
    pub folder: PathBuf,
    /// The host's name.
    pub host: String,
}

/// A settings file's text.
#[derive(Clone)]
pub struct SettingsFile {
    /// Its path, as named.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
}

/// The merged layers, and where each value came from.
pub(super) struct Layers {
    pub(super) root: HashMap<String, Value>,
    /// What the file alone has, to tell its secrets from the environment's.
    variables: BTreeMap<String, String>,
    lines: BTreeMap<String, usize>,
    file: Option<String>,
    /// The file is no TOML: what it gives is not known, so that nothing can be called missing.
    pub(super) unreadable: bool,
    /// The folder that relative paths in the file start from.
    pub(super) base: PathBuf,
}

// === impl Sources ===

impl Sources {
    /// Those of this process: `config`, which must exist, or else [`DEFAULT_FILE`], if it exists; the environment; and
    /// `.env` in the current folder, whose variables never replace real ones.
    pub fn of_process(config: Option<&Path>) -> Result<Self, SettingsError> {
        let mut faults = Faults::default();
        let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let mut variables = dotenv(&folder.join(".env"), &mut faults);
        for (name, value) in std::env::vars_os() {
            let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
            match value.into_string() {
                Ok(value) => {
                    variables.insert(name.to_owned(), value);
                }
                Err(_) => faults.push("", Some(name.to_owned()), "its value is not UTF-8"),
            }
        }
        let path = config.unwrap_or(Path::new(DEFAULT_FILE));
        let file = match std::fs::read_to_string(path) {
            Ok(text) => Some(SettingsFile { path: path.to_owned(), text }),
            Err(error) if config.is_none() && error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                faults.push("", Some(path.display().to_string()), format!("the settings file cannot be read: {error}"));
                None
            }
        };
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        match faults.into_error() {
            Some(error) => Err(error),
            None => Ok(Self { file, variables, folder, host }),
        }
    }

    /// Merges defaults ← file ← environment. What is not known is a fault, and left out.
    pub(super) fn layers(&self, faults: &mut Faults) -> Layers {
        let name = self.file.as_ref().map(|file| file.path.display().to_string());
        let base = match self.file.as_ref().and_then(|file| file.path.parent()) {
            Some(parent) => self.folder.join(parent),
            None => self.folder.clone(),
        };
        let mut lines = BTreeMap::new();
        let mut text = "";
        let mut unreadable = false;
        if let Some(file) = &self.file {
            // Our own parse comes first: the message of `config` quotes the line, and a line may hold a password.
            match toml::de::DeTable::parse(&file.text) {
                Ok(table) => {
                    text = &file.text;
                    line_numbers(table.get_ref(), "", text, &mut lines);
                }
                Err(error) => {
                    unreadable = true;
                    let place = name.as_deref().unwrap_or_default();
                    let place = match error.span() {
                        Some(span) => format!("{place}:{}", line_of(&file.text, span.start)),
                        None => place.to_owned(),
                    };
                    faults.push("", Some(place), format!("this is not TOML: {}", error.message().trim()));
                }
            }
        }
        let (known, variables) = self.known_variables(faults);
        let root = match merged(text, known) {
            Ok(root) => root,
            Err(error) => {
                faults.push("", name.clone(), error.to_string());
                HashMap::new()
            }
        };
        Layers { root, variables, lines, file: name, unreadable, base }
    }

    /// The variables that are settings, and their names by path; the others are faults.
    fn known_variables(&self, faults: &mut Faults) -> (HashMap<String, String>, BTreeMap<String, String>) {
        let mut known = HashMap::new();
        let mut by_path = BTreeMap::new();
        for (variable, value) in &self.variables {
            let Some(rest) = variable.strip_prefix(PREFIX) else { continue };
            let rest = rest.to_lowercase();
            let (section, name) = rest.split_once("__").unwrap_or((&rest, ""));
            if let Some((table, shape)) = FILE_ONLY.iter().find(|(table, _)| *table == section) {
                let problem =
                    format!("{table} come from the settings file alone, as {shape}; no variable can hold them");
                faults.push(*table, Some(variable.clone()), problem);
                continue;
            }
            let setting = KEYS.iter().find(|key| {
                key.section == section && (key.name == name || key.file_name().is_some_and(|file| file == name))
            });
            if setting.is_some() {
                by_path.insert(format!("{section}.{name}"), variable.clone());
                known.insert(variable.clone(), value.clone());
            } else {
                faults.push("", Some(variable.clone()), unknown_variable(section, name));
            }
        }
        (known, by_path)
    }
}

/// Shows where settings come from, and none of them: values may be secrets.
impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources")
            .field("file", &self.file.as_ref().map(|file| &file.path))
            .field("variables", &self.variables.keys().collect::<Vec<_>>())
            .field("folder", &self.folder)
            .field("host", &self.host)
            .finish()
    }
}

fn unknown_variable(section: &str, name: &str) -> String {
    let of_section: Vec<String> = KEYS.iter().filter(|key| key.section == section).map(keys::Key::variable).collect();
    if of_section.is_empty() {
        let mut sections: Vec<&str> = KEYS.iter().map(|key| key.section).collect();
        sections.dedup();
        format!(
            "there is no section {section:?}; expected COUNTERFOIL__SECTION__KEY with one of {}",
            sections.join(", ")
        )
    } else if name.is_empty() {
        format!("a section is no setting; expected one of {}", of_section.join(", "))
    } else {
        format!("there is no such setting; expected one of {}", of_section.join(", "))
    }
}

fn merged(text: &str, variables: HashMap<String, String>) -> Result<HashMap<String, Value>, config::ConfigError> {
    let mut builder = Config::builder();
    for key in &KEYS {
        if let keys::Initial::Text(default) = key.default {
            builder = builder.set_default(key.path(), default)?;
        }
    }
    let environment = Environment::with_prefix(PREFIX.trim_end_matches('_'))
        .prefix_separator("__")
        .separator("__")
        // No `try_parsing`: it would read the password 00123 as the number 123.
        .source(Some(variables));
    builder.add_source(File::from_str(text, FileFormat::Toml)).add_source(environment).build()?.cache.into_table()
}

/// `.env`, if it is there: only variables of ours. A line that cannot be read is named by number, never quoted.
pub(super) fn dotenv(path: &Path, faults: &mut Faults) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return found,
        Err(error) => {
            faults.push("", Some(path.display().to_string()), format!("cannot be read: {error}"));
            return found;
        }
    };
    for item in dotenvy::from_read_iter(text.as_bytes()) {
        match item {
            Ok((name, value)) if name.starts_with(PREFIX) => {
                found.insert(name, value);
            }
            Ok(_) => {}
            Err(dotenvy::Error::LineParse(line, _)) => {
                let number = text.lines().position(|candidate| candidate.trim() == line.trim()).map_or(0, |at| at + 1);
                faults.push("", Some(format!("{}:{number}", path.display())), "expected NAME=value");
            }
            Err(_) => faults.push("", Some(path.display().to_string()), "cannot be read as lines of NAME=value"),
        }
    }
    found
}

/// The line, from 1, of a byte offset.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < offset).filter(|(_, c)| *c == '\n').count() + 1
}

/// The line of every key: `lease.ttl`, `accounts[0].number`.
fn line_numbers(table: &toml::de::DeTable<'_>, path: &str, text: &str, lines: &mut BTreeMap<String, usize>) {
    for (key, value) in table {
        let full = if path.is_empty() { key.get_ref().to_string() } else { format!("{path}.{}", key.get_ref()) };
        lines.insert(full.clone(), line_of(text, key.span().start));
        match value.get_ref() {
            toml::de::DeValue::Table(inner) => line_numbers(inner, &full, text, lines),
            toml::de::DeValue::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    let entry = format!("{full}[{at}]");
                    lines.insert(entry.clone(), line_of(text, item.span().start));
                    if let toml::de::DeValue::Table(inner) = item.get_ref() {
                        line_numbers(inner, &entry, text, lines);
                    }
                }
            }
            _ => {}
        }
    }
}

// === impl Layers ===

impl Layers {
    /// Where a key was given: its variable, or the file with its line, or nowhere (it is a default, or absent).
    pub(super) fn place(&self, path: &str) -> Option<String> {
        if let Some(variable) = self.variables.get(path) {
            return Some(variable.clone());
        }
        let line = self.lines.get(path)?;
        Some(format!("{}:{line}", self.file.as_deref().unwrap_or_default()))
    }

    /// Did the environment give it?
    pub(super) fn in_environment(&self, path: &str) -> bool {
        self.variables.contains_key(path)
    }

    /// Did anybody give it?
    pub(super) fn is_given(&self, path: &str) -> bool {
        self.in_environment(path) || self.lines.contains_key(path)
    }

    /// How its absence is told: which variable or key to set.
    pub(super) fn missing(key: &Key) -> Fault {
        let file = if key.secret { format!(" (or {}_FILE)", key.variable()) } else { String::new() };
        Fault {
            key: key.path(),
            place: None,
            problem: format!(
                "missing; set {}{file}, or `{}` under [{}] in the settings file",
                key.variable(),
                key.name,
                key.section
            ),
        }
    }
}

/// Takes a table out of a value, or says what it is instead.
pub(super) fn table(value: Value) -> Result<HashMap<String, Value>, Value> {
    match value.kind {
        ValueKind::Table(table) => Ok(table),
        _ => Err(value),
    }
}
