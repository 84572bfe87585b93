//! The tables that only the file can hold: calendars, profiles, accounts.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{NaiveDate, Weekday};
use config::{Value, ValueKind};

use super::fault::{Faults, shown};
use super::reader::{FromSetting, Section};
use super::sources::Layers;
use crate::account::clash::{Claim, Clash, clashes};
use crate::account::registry::Registry;
use crate::account::{Account, AccountId, BookComplete, Cadence};
use crate::book::profile::Profile;
use crate::calendar::Calendar;
use crate::money::{Currency, Money};
use crate::statement::DayComplete;

/// What the tables came to.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) calendars: BTreeMap<String, Arc<Calendar>>,
    pub(super) profiles: BTreeMap<String, Profile>,
    pub(super) registry: Registry,
    pub(super) account_profiles: BTreeMap<AccountId, String>,
}

/// Reads all three; what is wrong becomes faults, and is left out.
pub(super) fn read(layers: &Layers, faults: &mut Faults) -> Tables {
    let mut tables = Tables::default();
    for (name, value) in named(layers, "calendars", faults) {
        if let Some(calendar) = calendar(&name, value, layers, faults) {
            tables.calendars.insert(name, Arc::new(calendar));
        }
    }
    for (name, value) in named(layers, "profiles", faults) {
        if let Some(profile) = profile(&name, value, layers, faults) {
            tables.profiles.insert(name, profile);
        }
    }
    accounts(layers, faults, &mut tables);
    tables
}

/// The entries of a table of tables, in the order of their names.
fn named(layers: &Layers, table: &str, faults: &mut Faults) -> Vec<(String, Value)> {
    let mut section = Section::top(table, layers, faults);
    let names = section.names();
    names.into_iter().filter_map(|name| Some((name.clone(), section.take(&name)?))).collect()
}

fn calendar(name: &str, value: Value, layers: &Layers, faults: &mut Faults) -> Option<Calendar> {
    let mut section = Section::of(format!("calendars.{name}"), Some(value), layers, faults);
    let weekend = if section.names().iter().any(|key| key == "weekend") {
        section.list::<Weekday>("weekend")
    } else {
        vec![Weekday::Sat, Weekday::Sun]
    };
    let holidays = section.list::<NaiveDate>("holidays");
    let calendar = Calendar::new(name, weekend, holidays);
    if let Err(error) = &calendar {
        section.fault("weekend", error.to_string());
    }
    section.finish();
    calendar.ok()
}

/// Each key on its own first, so that every wrong one is told; then the whole.
fn profile(name: &str, value: Value, layers: &Layers, faults: &mut Faults) -> Option<Profile> {
    let path = format!("profiles.{name}");
    let mut section = Section::of(path, Some(value), layers, faults);
    let mut values: HashMap<String, Value> = HashMap::new();
    let mut whole = true;
    for key in section.names() {
        let Some(value) = section.take(&key) else { continue };
        let alone = Value::new(None, ValueKind::Table(HashMap::from([(key.clone(), value.clone())])));
        match alone.try_deserialize::<Profile>() {
            Ok(_) => {
                values.insert(key, value);
            }
            Err(error) => {
                whole = false;
                section.fault(&key, format!("found {}: {}", shown(&value), plain(&error)));
            }
        }
    }
    if !whole {
        return None;
    }
    let profile = Value::new(None, ValueKind::Table(values)).try_deserialize::<Profile>().ok()?;
    if let Err(contradictions) = profile.check() {
        let place = layers.place(&section.path);
        for contradiction in contradictions {
            section.faults.push(&section.path, place.clone(), contradiction.to_string());
        }
        return None;
    }
    Some(profile)
}

/// The words of a deserialisation error, without the trail of where it happened: we say that ourselves.
fn plain(error: &config::ConfigError) -> String {
    match error {
        config::ConfigError::At { error, .. } => plain(error),
        config::ConfigError::Message(message) => message.clone(),
        other => other.to_string(),
    }
}

fn accounts(layers: &Layers, faults: &mut Faults, tables: &mut Tables) {
    let Some(value) = layers.root.get("accounts").cloned() else { return };
    let ValueKind::Array(entries) = value.kind else {
        faults.push("accounts", layers.place("accounts"), format!("found {}, expected [[accounts]]", shown(&value)));
        return;
    };
    let (mut accounts, mut claims) = (Vec::new(), Vec::new());
    for (at, entry) in entries.into_iter().enumerate() {
        let mut section = Section::of(format!("accounts[{at}]"), Some(entry), layers, faults);
        let (claim, account) = account(&mut section, tables);
        accounts.extend(account);
        claims.push(claim);
        section.finish();
    }
    // Of all that are declared, those with other faults among them: whoever mends them shall not meet these afterwards.
    for clash in clashes(&claims) {
        let (Clash::Id { at, .. } | Clash::Key { at, .. } | Clash::NoNumber { at, .. }) = &clash;
        let path = format!("accounts[{at}]");
        let place = layers.place(&path);
        faults.push(path, place, clash.to_string());
    }
    // A clash is a fault that was told just now; then there are no settings.
    tables.registry = Registry::new(accounts).unwrap_or_default();
}

/// An account, if all of it can be read, and what of it tells it from others.
fn account(section: &mut Section<'_>, tables: &mut Tables) -> (Claim, Option<Account>) {
    let id = section.need::<AccountId>("id");
    let bank = section.get::<String>("bank");
    let branch = section.get::<String>("branch");
    let number = section.need::<String>("number");
    let aliases = section.list::<String>("aliases");
    let currency = section.need::<Currency>("currency");
    let calendar = named_calendar(section, "calendar", &tables.calendars);
    let profile = section.get::<String>("profile");
    if let Some(name) = profile {
        if !tables.profiles.contains_key(&name) {
            let known = known(tables.profiles.keys(), "profiles");
            section.fault("profile", format!("found {name:?}, expected {known}"));
        } else if let Some(id) = &id {
            tables.account_profiles.insert(id.clone(), name);
        }
    }
    let statements = section.get::<Cadence>("statements").unwrap_or_default();
    let day_complete = section.get::<DayComplete>("day_complete").unwrap_or_default();
    let book_complete = section.get::<BookComplete>("book_complete").unwrap_or_default();
    let opening = super::opening::read(section, currency);
    let claim = Claim {
        id: id.as_ref().map(ToString::to_string),
        bank: bank.clone(),
        branch: branch.clone(),
        numbers: number.iter().chain(&aliases).cloned().collect(),
        currency,
    };
    let (Some(id), Some(number), Some(currency), Some(calendar)) = (id, number, currency, calendar) else {
        return (claim, None);
    };
    let account = Account {
        id,
        bank,
        branch,
        number,
        aliases,
        currency,
        calendar,
        opening,
        statements,
        day_complete,
        book_complete,
    };
    (claim, Some(account))
}

/// The calendar of that name; where none is named, all days but Saturdays and Sundays.
pub(super) fn named_calendar(
    section: &mut Section<'_>,
    key: &str,
    calendars: &BTreeMap<String, Arc<Calendar>>,
) -> Option<Arc<Calendar>> {
    let Some(name) = section.get::<String>(key) else { return Some(Arc::new(Calendar::weekdays())) };
    let found = calendars.get(&name).cloned();
    if found.is_none() {
        section.fault(key, format!("found {name:?}, expected {}", known(calendars.keys(), "calendars")));
    }
    found
}

/// "one of a, b", or that there is none.
pub(super) fn known<'a>(names: impl Iterator<Item = &'a String>, table: &str) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    if names.is_empty() {
        format!("the name of one of [{table}.<name>], and there is none")
    } else {
        format!("one of {}", names.join(", "))
    }
}

fn word(kind: &ValueKind) -> Option<&str> {
    match kind {
        ValueKind::String(text) => Some(text.as_str()),
        _ => None,
    }
}

impl FromSetting for AccountId {
    const EXPECTED: &'static str = "letters, digits, '-', '_' and '.', at most 64, not beginning with '.'";
    fn read(kind: &ValueKind) -> Option<Self> {
        Self::new(word(kind)?).ok()
    }
}

impl FromSetting for Currency {
    const EXPECTED: &'static str = "an ISO 4217 code such as BRL";
    fn read(kind: &ValueKind) -> Option<Self> {
        Self::new(word(kind)?).ok()
    }
}

impl FromSetting for Weekday {
    const EXPECTED: &'static str = "a day of the week such as \"saturday\"";
    fn read(kind: &ValueKind) -> Option<Self> {
        word(kind)?.parse().ok()
    }
}

impl FromSetting for Cadence {
    const EXPECTED: &'static str = "\"daily\" or \"on_movement\"";
    fn read(kind: &ValueKind) -> Option<Self> {
        match word(kind)? {
            "daily" => Some(Self::Daily),
            "on_movement" => Some(Self::OnMovement),
            _ => None,
        }
    }
}

impl FromSetting for DayComplete {
    const EXPECTED: &'static str = "\"asof\" or \"dtend\"";
    fn read(kind: &ValueKind) -> Option<Self> {
        match word(kind)? {
            "asof" => Some(Self::AsOf),
            "dtend" => Some(Self::DtEnd),
            _ => None,
        }
    }
}

impl FromSetting for BookComplete {
    const EXPECTED: &'static str = "\"balance\" or \"seen\"";
    fn read(kind: &ValueKind) -> Option<Self> {
        match word(kind)? {
            "balance" => Some(Self::Balance),
            "seen" => Some(Self::Seen),
            _ => None,
        }
    }
}

/// An amount needs its currency to be read, so it is kept as text here; a bare number is refused, since a reader of
/// TOML makes a float of it.
pub(super) fn amount(section: &mut Section<'_>, name: &str, currency: Currency) -> Option<Money> {
    let expected = format!("an amount of {currency} in quotes, such as \"1234.56\"");
    section
        .need_read(name, &expected, |kind| Money::parse(word(kind)?, crate::money::DecimalMark::Point, currency).ok())
}
