//! The sections, one function each, and the rules between their values.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{NaiveDate, NaiveTime};
use config::ValueKind;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::fault::{Fault, Faults, SettingsError};
use super::keys::{FILE_ONLY, KEYS, Key};
use super::reader::{FromSetting, Section};
use super::sources::{Layers, Sources};
use super::tables::{self, Tables, known, named_calendar};
use super::{
    Book, BookMode, BookSource, Connections, Http, Inbox, Lease, Log, LogFormat, Need, Node, Outbox, Run, Schedule,
    Settings, rules,
};
use crate::account::{Account, BookComplete};
use crate::calendar::Calendar;
use crate::db::book_query::Bounds;
use crate::election::LeaseName;
use crate::election::address::{BadRedisUrl, RedisAddress};
use crate::election::timing::Timings;
use crate::matching::RuleSet;
use crate::schedule::planner::{BadTimetable, Timetable};

/// Reads and checks everything; an error has every fault.
pub(super) fn load(sources: &Sources, needs: &[Need]) -> Result<Settings, SettingsError> {
    let mut faults = Faults::default();
    let layers = sources.layers(&mut faults);
    unknown_sections(&layers, &mut faults);
    for need in needs.iter().filter(|_| !layers.unreadable) {
        check_need(*need, &layers, &mut faults);
    }
    let tables = tables::read(&layers, &mut faults);
    let settings = read(sources, &layers, tables, &mut faults);
    match (faults.into_error(), settings) {
        (None, Some(settings)) => Ok(settings),
        (Some(error), _) => Err(error),
        // A value is absent only beside its fault; if that were ever untrue, this is no reason to start.
        (None, None) => Err(one(Fault {
            key: "settings".to_owned(),
            place: None,
            problem: "could not be read, and nobody said why: please report this".to_owned(),
        })),
    }
}

fn one(fault: Fault) -> SettingsError {
    SettingsError { faults: vec![fault] }
}

/// The error of a setting that a command needs and nobody gave.
pub(super) fn missing(section: &str, name: &str) -> SettingsError {
    let fault = Key::find(section, name).map(Layers::missing);
    one(fault.unwrap_or_else(|| Fault { key: format!("{section}.{name}"), place: None, problem: "missing".to_owned() }))
}

fn unknown_sections(layers: &Layers, faults: &mut Faults) {
    let known: Vec<&str> =
        FILE_ONLY.iter().map(|(table, _)| *table).chain(KEYS.iter().map(|key| key.section)).collect();
    for name in layers.root.keys().filter(|name| !known.contains(&name.as_str())) {
        let mut sections = known.clone();
        sections.dedup();
        faults.push(
            name,
            layers.place(name),
            format!("there is no such section; expected one of {}", sections.join(", ")),
        );
    }
}

fn check_need(need: Need, layers: &Layers, faults: &mut Faults) {
    let (section, name) = match need {
        Need::Redis => ("redis", "url"),
        Need::Postgres => ("postgres", "url"),
        Need::PostgresOwner => ("postgres", "owner_url"),
        Need::Accounts => {
            if !layers.is_given("accounts") {
                faults.push("accounts", None, "missing; declare each account as [[accounts]] in the settings file");
            }
            return;
        }
    };
    if !layers.is_given(&format!("{section}.{name}")) && !layers.is_given(&format!("{section}.{name}_file")) {
        for fault in missing(section, name).faults {
            faults.push(fault.key, fault.place, fault.problem);
        }
    }
}

/// Every section is read before any is missed, so that all faults are found.
fn read(sources: &Sources, layers: &Layers, tables: Tables, faults: &mut Faults) -> Option<Settings> {
    let node = node(sources, layers, faults);
    let connections = connections(layers, faults);
    let lease = lease(layers, faults);
    let schedule = schedule(layers, &tables, faults);
    let inbox = inbox(sources, layers, faults);
    let outbox = outbox(sources, layers, faults);
    if let (Some(inbox), Some(outbox)) = (&inbox, &outbox) {
        apart(&inbox.url, &outbox.url, layers, faults);
    }
    let book = book(layers, &tables, faults);
    let rules = matching_rules(layers, faults);
    let run = run(layers, faults);
    let http = http(layers, faults);
    let log = log(layers, faults);
    let Tables { calendars, profiles, registry, account_profiles } = tables;
    Some(Settings {
        node: node?,
        connections,
        lease: lease?,
        schedule: schedule?,
        inbox: inbox?,
        outbox: outbox?,
        book: book?,
        registry,
        calendars,
        profiles,
        account_profiles,
        rules: rules?,
        run: run?,
        http: http?,
        log: log?,
    })
}

fn node(sources: &Sources, layers: &Layers, faults: &mut Faults) -> Option<Node> {
    const EXPECTED: &str = "letters, digits, '-', '_' and '.', 1 to 64 of them";
    let fits = |id: &str| {
        (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    let mut section = Section::top("node", layers, faults);
    let id = if layers.is_given("node.id") {
        section.read("id", EXPECTED, |kind| String::read(kind).filter(|id| fits(id)))
    } else {
        let host = Some(sources.host.clone()).filter(|host| fits(host));
        if host.is_none() {
            section.fault(
                "id",
                format!("missing, and the host name {:?} cannot stand for it: expected {EXPECTED}", sources.host),
            );
        }
        section.take("id");
        host
    };
    section.finish();
    Some(Node { id: id? })
}

fn connections(layers: &Layers, faults: &mut Faults) -> Connections {
    let mut section = Section::top("redis", layers, faults);
    let url = section.secret("url");
    let authority = section.get::<String>("ca_file").map(PathBuf::from);
    let redis = url.and_then(|url| {
        RedisAddress::new(url.expose_secret(), authority.as_deref())
            .map_err(|bad| {
                let name = if matches!(bad, BadRedisUrl::Authority { .. }) { "ca_file" } else { "url" };
                section.fault(name, bad.to_string());
            })
            .ok()
    });
    section.finish();
    let mut section = Section::top("postgres", layers, faults);
    let postgres = connection(&mut section, "url", &["postgres", "postgresql"]);
    let postgres_owner = connection(&mut section, "owner_url", &["postgres", "postgresql"]);
    section.finish();
    Connections { redis, postgres, postgres_owner }
}

/// A secret URL of one of these schemes. A fault shows no more of it than its scheme.
fn connection(section: &mut Section<'_>, name: &str, schemes: &[&str]) -> Option<SecretString> {
    let secret = section.secret(name)?;
    let expected = format!("expected a URL that begins with {}://", schemes.join(":// or "));
    let problem = match Url::parse(secret.expose_secret()) {
        Ok(url) if schemes.contains(&url.scheme()) => return Some(secret),
        Ok(url) => format!("found a URL of the scheme {:?} (the rest is not shown), {expected}", url.scheme()),
        Err(_) => format!("found something that is no URL (it is not shown), {expected}"),
    };
    section.fault(name, problem);
    None
}

fn lease(layers: &Layers, faults: &mut Faults) -> Option<Lease> {
    let mut section = Section::top("lease", layers, faults);
    let name = section.get::<LeaseName>("name");
    let ttl = section.get::<Duration>("ttl");
    let heartbeat = section.get::<Duration>("heartbeat");
    let attempt_timeout = section.get::<Duration>("attempt_timeout");
    let margin = section.get::<Duration>("margin");
    let drain = section.get::<Duration>("drain");
    let stall_limit = section.get::<Duration>("stall_limit");
    let eligible = section.get::<bool>("eligible");
    let wait_replicas = section.get::<u32>("wait_replicas");
    section.finish();
    let (name, eligible, wait_replicas) = (name?, eligible?, wait_replicas?);
    let timings = Timings {
        ttl: ttl?,
        heartbeat: heartbeat?,
        attempt_timeout: attempt_timeout?,
        margin: margin?,
        drain: drain?,
        stall_limit: stall_limit?,
    };
    for sentence in timings.check() {
        if let Some((key, problem)) = sentence.split_once(" is ").filter(|(key, _)| !key.contains(' ')) {
            // The rule is about one key, which stands before it already.
            faults.push(key, layers.place(key), format!("is {problem}"));
            continue;
        }
        // The rule is about several keys; its place is that of the first one that was given.
        let given = ["heartbeat", "ttl", "attempt_timeout", "margin", "drain", "stall_limit"];
        let given = given.iter().map(|key| format!("lease.{key}")).filter(|key| sentence.contains(key));
        let place = given.into_iter().find_map(|key| layers.place(&key));
        faults.push("lease", place, sentence);
    }
    Some(Lease { name, timings, eligible, wait_replicas })
}

fn schedule(layers: &Layers, tables: &Tables, faults: &mut Faults) -> Option<Schedule> {
    let mut section = Section::top("schedule", layers, faults);
    let cron = section.get::<String>("cron");
    let timezone = section.get::<chrono_tz::Tz>("timezone");
    let calendar = named_calendar(&mut section, "calendar", &tables.calendars);
    let catch_up = section.read("catch_up", "a number of business days such as \"5 business days\" or 5", |kind| {
        let bare = match kind {
            ValueKind::String(text) => {
                let text = text.trim();
                let number = text.strip_suffix("business days").or_else(|| text.strip_suffix("business day"));
                ValueKind::String(number.unwrap_or(text).trim().to_owned())
            }
            other => other.clone(),
        };
        u32::read(&bare)
    });
    let deadline = section.get::<NaiveTime>("deadline");
    let start = section.get::<NaiveDate>("start");
    section.finish();
    let mut say = |key: &str, problem: &str| {
        let path = format!("schedule.{key}");
        let place = layers.place(&path);
        // The sentence begins with the key, which stands before it already.
        let problem = problem.strip_prefix(&format!("{path} ")).unwrap_or(problem);
        faults.push(path, place, problem);
    };
    let cron = cron?;
    // The expression alone first, so that it is judged even where its neighbours cannot be read.
    let latest = NaiveTime::from_hms_milli_opt(23, 59, 59, 999).unwrap_or_default();
    let alone = Timetable::new(&cron, "UTC", Arc::new(Calendar::weekdays()), 1, latest, None);
    if let Err(error @ (BadTimetable::Cron { .. } | BadTimetable::Never(_))) = alone {
        say("cron", &error.to_string());
        return None;
    }
    let (timezone, calendar, catch_up, deadline) = (timezone?, calendar?, catch_up?, deadline?);
    match Timetable::new(&cron, timezone.name(), Arc::clone(&calendar), catch_up, deadline, start) {
        Ok(timetable) => Some(Schedule { timetable, cron, timezone, calendar, catch_up, deadline, start }),
        Err(error) => {
            let key = match &error {
                BadTimetable::Cron { .. } | BadTimetable::Never(_) => "cron",
                BadTimetable::Zone(_) => "timezone",
                BadTimetable::Deadline { .. } => "deadline",
                BadTimetable::CatchUp => "catch_up",
            };
            say(key, &error.to_string());
            None
        }
    }
}

/// A file that has not settled within a day is late whatever happens.
const LONGEST_SETTLE: Duration = Duration::from_hours(24);

fn inbox(sources: &Sources, layers: &Layers, faults: &mut Faults) -> Option<Inbox> {
    let mut section = Section::top("inbox", layers, faults);
    let url = folder(&mut section, sources, "inbox");
    let settle = section.get::<Duration>("settle");
    if settle.is_some_and(|settle| settle > LONGEST_SETTLE) {
        section.fault("settle", "is longer than a day: no file would be read in time".to_owned());
    }
    section.finish();
    Some(Inbox { url: url?, settle: settle? })
}

fn outbox(sources: &Sources, layers: &Layers, faults: &mut Faults) -> Option<Outbox> {
    let mut section = Section::top("outbox", layers, faults);
    let url = folder(&mut section, sources, "outbox");
    section.finish();
    Some(Outbox { url: url? })
}

/// Reports in the inbox would be read as statements, and an outbox around the inbox would let a report replace one. Links
/// are followed: two names of one folder are one folder.
fn apart(inbox: &Url, outbox: &Url, layers: &Layers, faults: &mut Faults) {
    let (Ok(inbox), Ok(outbox)) = (inbox.to_file_path(), outbox.to_file_path()) else { return };
    let (in_truth, out_truth) = (real(&inbox), real(&outbox));
    let how = if in_truth == out_truth {
        "is the inbox"
    } else if out_truth.starts_with(&in_truth) {
        "lies in the inbox"
    } else if in_truth.starts_with(&out_truth) {
        "has the inbox in it"
    } else {
        return;
    };
    let place = layers.place("outbox.url").or_else(|| layers.place("inbox.url"));
    let shown = |folder: &Path, truth: &Path| {
        let told = folder.components().eq(truth.components());
        if told { folder.display().to_string() } else { format!("{} ({})", folder.display(), truth.display()) }
    };
    faults.push(
        "outbox.url",
        place,
        format!(
            "{} {how}, {}: reports would be taken for statements; name two folders beside each other",
            shown(&outbox, &out_truth),
            shown(&inbox, &in_truth)
        ),
    );
}

/// The folder without links. What does not exist yet cannot be a link; it is taken as it is written.
fn real(folder: &Path) -> PathBuf {
    for known in folder.ancestors() {
        if let (Ok(truth), Ok(rest)) = (known.canonicalize(), folder.strip_prefix(known)) {
            return truth.join(rest);
        }
    }
    folder.to_owned()
}

/// `url`, or the folder of that name where the process was started.
fn folder(section: &mut Section<'_>, sources: &Sources, name: &str) -> Option<Url> {
    if section.layers.is_given(&format!("{name}.url")) {
        return section.get("url");
    }
    section.take("url");
    let url = Url::from_directory_path(sources.folder.join(name)).ok();
    if url.is_none() {
        section.fault("url", format!("missing, expected {}", Url::EXPECTED));
    }
    url
}

fn book(layers: &Layers, tables: &Tables, faults: &mut Faults) -> Option<Book> {
    let mut section = Section::top("book", layers, faults);
    let files = section.get::<bool>("files");
    let mode = section.read("mode", "\"append\" or \"snapshot\"", |kind| match kind {
        ValueKind::String(text) if text == "append" => Some(BookMode::Append),
        ValueKind::String(text) if text == "snapshot" => Some(BookMode::Snapshot),
        _ => None,
    });
    let profile = section.get::<String>("profile");
    if let Some(name) = profile.as_ref().filter(|name| !tables.profiles.contains_key(*name)) {
        section.fault("profile", format!("found {name:?}, expected {}", known(tables.profiles.keys(), "profiles")));
    }
    let url = connection(&mut section, "url", &["postgres", "postgresql"]);
    let query = section.get::<String>("query");
    let balance_query = section.get::<String>("balance_query");
    let bounds = section.get::<NonZeroU32>("max_rows").map(NonZeroU32::get).zip(section.get::<Duration>("timeout"));
    let bounds = bounds.map(|(max_rows, timeout)| Bounds { max_rows, timeout });
    let url_given = layers.is_given("book.url") || layers.is_given("book.url_file");
    let source = match (url_given, layers.is_given("book.query")) {
        (false, false) => {
            if files == Some(false) {
                section.fault("files", "found false without url and query: the books must come from somewhere");
            }
            Some(BookSource::Files)
        }
        (true, true) => {
            if layers.is_given("book.files") && files == Some(true) {
                section.fault("files", "found true beside url and query: the books come from one of both");
            }
            let waits = |account: &&Account| account.book_complete == BookComplete::Balance;
            if let Some(account) = tables.registry.accounts().iter().find(waits)
                && !layers.is_given("book.balance_query")
            {
                let id = &account.id;
                section.fault(
                    "balance_query",
                    format!(
                        "missing beside book.query: account {id} waits for the ledger's balance (book_complete = \"balance\"); give the query that reads it, or let the account be complete when its books were \"seen\""
                    ),
                );
            }
            url.zip(query).zip(bounds).map(|((url, query), bounds)| BookSource::Query {
                url,
                query,
                balance_query,
                bounds,
            })
        }
        (true, false) => {
            section.fault("query", "missing beside book.url: expected the SQL that reads the books");
            None
        }
        (false, true) => {
            section.fault("url", "missing beside book.query: expected the database that it reads");
            None
        }
    };
    section.finish();
    Some(Book { source: source?, mode: mode?, profile })
}

fn matching_rules(layers: &Layers, faults: &mut Faults) -> Option<RuleSet> {
    let mut section = Section::top("rules", layers, faults);
    let file = section.get::<String>("file");
    section.finish();
    match file {
        None => Some(RuleSet::default()),
        Some(file) => rules::read_into(&layers.base.join(Path::new(&file)), "rules.file", faults),
    }
}

fn run(layers: &Layers, faults: &mut Faults) -> Option<Run> {
    let mut section = Section::top("run", layers, faults);
    let parallel = section.get::<NonZeroU32>("parallel").map(NonZeroU32::get);
    let step_attempts = section.get::<NonZeroU32>("step_attempts").map(NonZeroU32::get);
    section.finish();
    Some(Run { parallel: parallel?, step_attempts: step_attempts? })
}

fn http(layers: &Layers, faults: &mut Faults) -> Option<Http> {
    let mut section = Section::top("http", layers, faults);
    let listen = section.get("listen");
    section.finish();
    Some(Http { listen: listen? })
}

fn log(layers: &Layers, faults: &mut Faults) -> Option<Log> {
    let mut section = Section::top("log", layers, faults);
    let format = section.read("format", "\"json\" or \"text\"", |kind| match kind {
        ValueKind::String(text) if text == "json" => Some(LogFormat::Json),
        ValueKind::String(text) if text == "text" => Some(LogFormat::Text),
        _ => None,
    });
    let expected = "a level (error, warn, info, debug, trace, off) or filter directives such as info,counterfoil=debug";
    let level = section.read("level", expected, |kind| match kind {
        ValueKind::String(text) => log_level(text.trim()),
        _ => None,
    });
    section.finish();
    Some(Log { format: format?, level: level? })
}

/// A bare word must be a level: the filter would take any other one for the name of a module, and log nothing.
fn log_level(text: &str) -> Option<String> {
    let is_level =
        |word: &str| ["error", "warn", "info", "debug", "trace", "off"].contains(&word.trim().to_lowercase().as_str());
    let fits = text.split(',').all(|directive| match directive.rsplit_once('=') {
        Some((_, level)) => is_level(level),
        None => is_level(directive),
    });
    (fits && tracing_subscriber::EnvFilter::try_new(text).is_ok()).then(|| text.to_owned())
}
