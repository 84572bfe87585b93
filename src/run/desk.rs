//! What the work goes by: the settings that decide about money and about when, and the fingerprints of them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;

use crate::account::registry::Registry;
use crate::account::{Account, AccountId};
use crate::book::profile::Profile;
use crate::matching::RuleSet;
use crate::report::digest;
use crate::schedule::planner::Timetable;
use crate::settings::Settings;

/// The version of the engine: another one begins an unfinished account-day again.
pub const ENGINE: &str = env!("CARGO_PKG_VERSION");

/// The first wait after a step failed.
const BACKOFF: Duration = Duration::from_millis(250);
/// How many looks at a long statement's backend there are before its step would count as stalled.
const LOOKS_A_STALL: u32 = 4;

/// What the work goes by. Read once, at start; a change of settings is a restart.
#[derive(Debug, Clone)]
pub struct Desk {
    /// The accounts that the settings declare.
    pub registry: Arc<Registry>,
    /// Those of them that belong to another book, and why they are not worked on.
    pub elsewhere: Arc<BTreeMap<AccountId, String>>,
    /// The matching rules.
    pub rules: RuleSet,
    /// When.
    pub timetable: Timetable,
    /// How book files are written; plain ones without.
    pub book_profile: Option<Profile>,
    /// How accounts' CSV statements are written.
    pub profiles: BTreeMap<AccountId, Profile>,
    /// Accounts side by side.
    pub parallel: usize,
    /// How often a step is tried.
    pub step_attempts: u32,
    /// Settings and engine, as a fingerprint: a file that was not taken is judged again when it changes.
    pub judged_by: String,
    /// How long a step that failed waits before it is tried again; doubled each time, up to a hundredfold.
    pub backoff: Duration,
    /// How often a transaction's backend is looked at while nothing else shows that its step gets on.
    pub pulse: Duration,
    /// How long work may fail before another replica shall try.
    pub stall_limit: Duration,
}

// === impl Desk ===

impl Desk {
    /// Of the settings.
    pub fn of(settings: &Settings) -> Self {
        let profile = |account: &Account| {
            settings.account_profile(&account.id).map(|profile| (account.id.clone(), profile.clone()))
        };
        let profiles: BTreeMap<_, _> = settings.accounts().iter().filter_map(profile).collect();
        Self {
            judged_by: fingerprint(&(ENGINE, settings.accounts(), settings.book_profile(), &profiles)),
            registry: Arc::new(settings.registry.clone()),
            elsewhere: Arc::default(),
            rules: settings.rules.clone(),
            timetable: settings.schedule.timetable.clone(),
            book_profile: settings.book_profile().cloned(),
            profiles,
            parallel: usize::try_from(settings.run.parallel).unwrap_or(1),
            step_attempts: settings.run.step_attempts,
            backoff: BACKOFF,
            pulse: settings.lease.timings.stall_limit / LOOKS_A_STALL,
            stall_limit: settings.lease.timings.stall_limit,
        }
    }

    /// The same desk, where these of its accounts belong to another book. Files that waited are judged again whenever it
    /// is others: an account may have come.
    #[must_use]
    pub fn without(&self, elsewhere: BTreeMap<AccountId, String>) -> Self {
        let mut desk = self.clone();
        if !elsewhere.is_empty() {
            desk.judged_by = fingerprint(&(&self.judged_by, elsewhere.keys().collect::<Vec<_>>()));
        }
        desk.elsewhere = Arc::new(elsewhere);
        desk
    }

    /// An account's settings, as a fingerprint: part of each manifest.
    pub fn account_fingerprint(account: &Account) -> String {
        fingerprint(account)
    }

    /// The earliest opening, where every account has one: up to it no date is due.
    pub fn opening(&self) -> Option<NaiveDate> {
        self.registry.accounts().iter().filter_map(|account| account.opening.as_ref()).map(|opening| opening.date).min()
    }
}

/// SHA-256 of how a value is shown, 16 hexadecimal digits. The engine's version is part of what it is compared under, so
/// that how values are shown may change with it.
fn fingerprint(value: &impl Debug) -> String {
    let digest = digest::of_bytes(format!("{value:?}").as_bytes()).to_string();
    digest[..16].to_owned()
}
