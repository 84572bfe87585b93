//! The settings: `counterfoil.toml`, then `COUNTERFOIL__SECTION__KEY` from the environment, then every rule checked.
//!
//! All faults are told at once, each with its key, what was found and what was expected. Every setting with a variable
//! is declared once, in [`keys`]. A command names what it needs ([`Need`]), and is refused nothing else's absence.
//! Secrets are given by value or by file, and never printed.

mod fault;
pub mod keys;
mod opening;
mod reader;
mod rules;
mod sections;
mod sources;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{NaiveDate, NaiveTime};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::account::registry::Registry;
use crate::account::{Account, AccountId};
use crate::book::profile::Profile;
use crate::calendar::Calendar;
use crate::db::book_query::{BookQuery, BookQueryError, Bounds};
use crate::election::LeaseName;
use crate::election::address::RedisAddress;
use crate::election::timing::Timings;
use crate::matching::RuleSet;
use crate::schedule::planner::Timetable;

pub use fault::{Fault, SettingsError};
pub use rules::read_rules;
pub use sources::{DEFAULT_FILE, SettingsFile, Sources};

/// Something that a command cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// `redis.url`.
    Redis,
    /// `postgres.url`.
    Postgres,
    /// `postgres.owner_url`.
    PostgresOwner,
    /// At least one account.
    Accounts,
}

/// Every setting, read and checked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// This replica.
    pub node: Node,
    /// Connections; had through [`Settings::redis`], [`Settings::postgres`] and [`Settings::postgres_owner`].
    connections: Connections,
    /// The lease.
    pub lease: Lease,
    /// When.
    pub schedule: Schedule,
    /// Where files come from.
    pub inbox: Inbox,
    /// Where reports go.
    pub outbox: Outbox,
    /// The books.
    pub book: Book,
    /// The accounts, in the order of the file.
    pub registry: Registry,
    /// Calendars by name.
    pub calendars: BTreeMap<String, Arc<Calendar>>,
    /// Profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// Which profile an account's CSV statements have.
    pub account_profiles: BTreeMap<AccountId, String>,
    /// The matching rules.
    pub rules: RuleSet,
    /// The run.
    pub run: Run,
    /// The HTTP server.
    pub http: Http,
    /// Logs.
    pub log: Log,
}

/// `[node]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Who this replica is.
    pub id: String,
}

#[derive(Debug, Clone, Default)]
struct Connections {
    redis: Option<RedisAddress>,
    postgres: Option<SecretString>,
    postgres_owner: Option<SecretString>,
}

/// `[lease]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What is led.
    pub name: LeaseName,
    /// Its timings; they obey [`Timings::check`].
    pub timings: Timings,
    /// May this replica lead?
    pub eligible: bool,
    /// On how many of Redis' replicas a lease must be to count as won.
    pub wait_replicas: u32,
}

/// `[schedule]`
#[derive(Debug, Clone)]
pub struct Schedule {
    /// What follows from all of these.
    pub timetable: Timetable,
    /// When a run is due, in `timezone`, as written.
    pub cron: String,
    /// The IANA zone of `cron` and `deadline`.
    pub timezone: chrono_tz::Tz,
    /// The business dates.
    pub calendar: Arc<Calendar>,
    /// How many business days back a fleet that was down goes.
    pub catch_up: u32,
    /// When the run must be complete, on the local date of the cron's occurrence, and after it.
    pub deadline: NaiveTime,
    /// The first business date of the ledger of runs.
    pub start: Option<NaiveDate>,
}

/// `[inbox]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbox {
    /// A folder, as a `file://` URL.
    pub url: Url,
    /// How long a file must stay unchanged before it is read.
    pub settle: Duration,
}

/// `[outbox]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outbox {
    /// A folder, as a `file://` URL.
    pub url: Url,
}

/// `[book]`
#[derive(Debug, Clone)]
pub struct Book {
    /// Where the books come from.
    pub source: BookSource,
    /// What absence means.
    pub mode: BookMode,
    /// The profile of book files, by name.
    pub profile: Option<String>,
}

/// Where the books come from.
#[derive(Debug, Clone)]
pub enum BookSource {
    /// Files of the inbox.
    Files,
    /// A query.
    Query {
        /// The database.
        url: SecretString,
        /// SQL; its columns are those of a book file.
        query: String,
        /// SQL; its columns are those of a file of balances.
        balance_query: Option<String>,
        /// How much, and how long.
        bounds: Bounds,
    },
}

/// What it means that a known posting is not in a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BookMode {
    /// Nothing.
    #[default]
    Append,
    /// It is void, if it lies in the file's declared span.
    Snapshot,
}

/// `[run]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// How many accounts side by side; at least 1.
    pub parallel: u32,
    /// How often a step is tried; at least 1.
    pub step_attempts: u32,
}

/// `[http]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Http {
    /// Where to listen.
    pub listen: SocketAddr,
}

/// `[log]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// For whom.
    pub format: LogFormat,
    /// A level, or filter directives.
    pub level: String,
}

/// For whom logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Machines.
    #[default]
    Json,
    /// People.
    Text,
}

// === impl Settings ===

impl Settings {
    /// The settings of this process, which must hold what is needed. `config` names the file; without it,
    /// `counterfoil.toml` in the current folder is read if it is there.
    pub fn of_process(config: Option<&Path>, needs: &[Need]) -> Result<Self, SettingsError> {
        Self::load(&Sources::of_process(config)?, needs)
    }

    /// The settings that these sources make.
    pub fn load(sources: &Sources, needs: &[Need]) -> Result<Self, SettingsError> {
        sections::load(sources, needs)
    }

    /// Redis. An error only where [`Need::Redis`] was not named at loading.
    pub fn redis(&self) -> Result<&RedisAddress, SettingsError> {
        self.connections.redis.as_ref().ok_or_else(|| sections::missing("redis", "url"))
    }

    /// Postgres, as the worker.
    pub fn postgres(&self) -> Result<&SecretString, SettingsError> {
        self.connections.postgres.as_ref().ok_or_else(|| sections::missing("postgres", "url"))
    }

    /// Postgres, as the owner of the schema.
    pub fn postgres_owner(&self) -> Result<&SecretString, SettingsError> {
        self.connections.postgres_owner.as_ref().ok_or_else(|| sections::missing("postgres", "owner_url"))
    }

    /// The accounts, in the order of the file.
    pub fn accounts(&self) -> &[Account] {
        self.registry.accounts()
    }

    /// The books by query, if they come by one.
    pub fn book_query(&self) -> Result<Option<BookQuery>, BookQueryError> {
        let BookSource::Query { url, query, balance_query, bounds } = &self.book.source else { return Ok(None) };
        let url = url.expose_secret();
        BookQuery::new(url, &self.node.id, query, balance_query.as_deref(), *bounds).map(Some)
    }

    /// The profile of book files, if one is named.
    pub fn book_profile(&self) -> Option<&Profile> {
        self.profiles.get(self.book.profile.as_ref()?)
    }

    /// The profile of an account's CSV statements, if one is named.
    pub fn account_profile(&self, account: &AccountId) -> Option<&Profile> {
        self.profiles.get(self.account_profiles.get(account)?)
    }
}
