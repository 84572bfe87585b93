//! Every setting that has a variable, declared once.
//!
//! This list is the defaults layer, decides which variables are known, and is what `.env.example` and the tests are
//! held against. Tables (`accounts`, `profiles`, `calendars`) have no variables: they come from the file alone.

/// The prefix of every variable.
pub const PREFIX: &str = "COUNTERFOIL__";

/// The tables that only the file can hold, with what one entry looks like there.
pub const FILE_ONLY: [(&str, &str); 3] =
    [("accounts", "[[accounts]]"), ("profiles", "[profiles.<name>]"), ("calendars", "[calendars.<name>]")];

/// What a setting is when nobody sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// This text.
    Text(&'static str),
    /// Something that depends on the machine, described here; beside it an example of a value.
    Computed(&'static str, &'static str),
    /// Nothing; an example of a value.
    Absent(&'static str),
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its section.
    pub section: &'static str,
    /// Its name in the section.
    pub name: &'static str,
    /// What it is when nobody sets it.
    pub default: Initial,
    /// Never printed; may be given as `<name>_file` instead, a file that holds it.
    pub secret: bool,
    /// What it is for, in one sentence.
    pub doc: &'static str,
}

const fn key(section: &'static str, name: &'static str, default: Initial, doc: &'static str) -> Key {
    Key { section, name, default, secret: false, doc }
}

const fn secret(section: &'static str, name: &'static str, example: &'static str, doc: &'static str) -> Key {
    Key { section, name, default: Initial::Absent(example), secret: true, doc }
}

use self::Initial::{Absent, Computed, Text};

/// Every setting, in the order in which they are shown.
pub const KEYS: [Key; 37] = [
    key("node", "id", Computed("the host name", "replica-1"), "Who this replica is, in logs and history."),
    secret(
        "redis",
        "url",
        "redis://127.0.0.1:6379/",
        "Redis, where replicas agree on who tries to lead: one server or a Cluster's nodes (redis://host,host), or \
         Sentinels (redis+sentinel://host,host/primary); rediss with TLS.",
    ),
    key(
        "redis",
        "ca_file",
        Absent("/etc/counterfoil/redis-ca.pem"),
        "The authority that signed Redis' certificates, in PEM; without one, the public authorities.",
    ),
    secret(
        "postgres",
        "url",
        "postgres://counterfoil@127.0.0.1/counterfoil",
        "Postgres, as a login that is a member of the role counterfoil_worker.",
    ),
    secret(
        "postgres",
        "owner_url",
        "postgres://owner@127.0.0.1/counterfoil",
        "Postgres, as the owner of the schema; only `counterfoil migrate` uses it.",
    ),
    key(
        "lease",
        "name",
        Text("reconciliation"),
        "The name of what is led: a book, whose accounts are its own. Several may share a database.",
    ),
    key(
        "lease",
        "ttl",
        Text("15s"),
        "How long a lease lives without a renewal: the longest that a dead leader is missed.",
    ),
    key(
        "lease",
        "heartbeat",
        Text("4s"),
        "How often the leader renews; three heartbeats must be shorter than the ttl.",
    ),
    key("lease", "attempt_timeout", Text("2s"), "How long one attempt to reach Redis may take."),
    key(
        "lease",
        "margin",
        Text("1s"),
        "How much before its end a lease is no longer trusted: clocks drift, processes pause.",
    ),
    key(
        "lease",
        "drain",
        Text("5s"),
        "How long work may take to stop when leadership ends; nobody leads meanwhile. At most the stall limit.",
    ),
    key(
        "lease",
        "wait_replicas",
        Text("0"),
        "On how many of Redis' replicas a lease must be to count as won: rarer hand-overs after a failover of Redis.",
    ),
    key("lease", "stall_limit", Text("2m"), "How long an open step may show no progress before its leader steps down."),
    key("lease", "eligible", Text("true"), "May this replica lead at all?"),
    key(
        "schedule",
        "cron",
        Text("0 6 * * *"),
        "When the day's run is due: five fields as in crontab, six with seconds first.",
    ),
    key("schedule", "timezone", Text("America/Sao_Paulo"), "The IANA zone of cron and deadline."),
    key(
        "schedule",
        "calendar",
        Absent("brazil"),
        "The calendar of business dates; without one, all days but Saturdays and Sundays.",
    ),
    key(
        "schedule",
        "catch_up",
        Text("5 business days"),
        "How far back a fleet that was down goes; older dates are recorded as skipped.",
    ),
    key(
        "schedule",
        "deadline",
        Text("10:00"),
        "When the run must be complete, on the local date of the cron's occurrence.",
    ),
    key(
        "schedule",
        "start",
        Absent("2026-11-27"),
        "The first business date of the ledger of runs; without it, the latest at the first start.",
    ),
    key(
        "inbox",
        "url",
        Computed("file://, the folder `inbox` where the worker was started", "file:///var/lib/counterfoil/inbox"),
        "Where statement and book files are found.",
    ),
    key("inbox", "settle", Text("10s"), "How long a file must stay unchanged before it is read."),
    key(
        "outbox",
        "url",
        Computed("file://, the folder `outbox` where the worker was started", "file:///var/lib/counterfoil/outbox"),
        "Where reports are published: a folder beside the inbox, neither in it nor around it.",
    ),
    key("book", "files", Text("true"), "Book files are read from the inbox."),
    key(
        "book",
        "mode",
        Text("append"),
        "`append`: absence means nothing; `snapshot`: a file voids the known ids of its span that it lacks.",
    ),
    key(
        "book",
        "profile",
        Absent("razao"),
        "The profile of the book files; without one, comma, point, ISO dates and UTF-8.",
    ),
    secret(
        "book",
        "url",
        "postgres://reader@127.0.0.1/ledger",
        "A database that the books are read from instead, with `book.query`.",
    ),
    key(
        "book",
        "query",
        Absent("select id, account, date, amount, currency from cash_postings"),
        "The query that reads the books; its columns are those of a book file.",
    ),
    key(
        "book",
        "balance_query",
        Absent("select account, date, currency, closing from cash_balances"),
        "The query that reads the ledger's own balances, in the same transaction.",
    ),
    key("book", "max_rows", Text("1000000"), "How many rows each of the two queries may have; more is refused."),
    key("book", "timeout", Text("2m"), "How long both may take together."),
    key(
        "rules",
        "file",
        Absent("rules.toml"),
        "A TOML file with the matching rules (docs/rules.md); without one, the built-in ones.",
    ),
    key("run", "parallel", Text("2"), "How many accounts run side by side."),
    key("run", "step_attempts", Text("5"), "How often a step that fails is tried before its account-day fails."),
    key("http", "listen", Text("0.0.0.0:9464"), "Where /metrics, /livez, /readyz and /status are served."),
    key("log", "format", Text("json"), "`json` for machines, `text` for people."),
    key(
        "log",
        "level",
        Text("info"),
        "error, warn, info, debug or trace; or filter directives such as info,counterfoil=debug.",
    ),
];

// === impl Key ===

impl Key {
    /// `section.name`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// Its variable: `COUNTERFOIL__SECTION__NAME`.
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}__{}", self.section.to_uppercase(), self.name.to_uppercase())
    }

    /// The name under which a file that holds it is given, for a secret.
    pub fn file_name(&self) -> Option<String> {
        self.secret.then(|| format!("{}_file", self.name))
    }

    /// The setting of that section and name.
    pub fn find(section: &str, name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.section == section && key.name == name)
    }

    /// Its default or, where it has none of its own, an example: a value that the setting can have.
    pub fn sample(&self) -> &'static str {
        match self.default {
            Initial::Text(text) => text,
            Initial::Computed(_, example) | Initial::Absent(example) => example,
        }
    }

    /// What it is when nobody sets it, for people.
    pub fn default_text(&self) -> &'static str {
        match self.default {
            Initial::Text(text) => text,
            Initial::Computed(what, _) => what,
            Initial::Absent(_) => "none",
        }
    }
}
