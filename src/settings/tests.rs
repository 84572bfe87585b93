//! What the settings promise: every fault told at once, nothing unknown let through, no secret shown.

use std::path::PathBuf;
use std::time::Duration;

use super::keys::{Initial, KEYS};
use super::*;

fn sources(text: &str, variables: &[(&str, &str)]) -> Sources {
    Sources {
        file: Some(SettingsFile { path: PathBuf::from("counterfoil.toml"), text: text.to_owned() }),
        variables: variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        folder: PathBuf::from("/srv/reconciliation"),
        host: "replica-1".to_owned(),
    }
}

fn load(text: &str, variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    Settings::load(&sources(text, variables), &[])
}

/// Every fault as a line.
fn faults(text: &str, variables: &[(&str, &str)]) -> Vec<String> {
    load(text, variables).unwrap_err().faults.iter().map(ToString::to_string).collect()
}

/// The one fault.
fn fault(text: &str) -> String {
    let mut all = faults(text, &[]);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

#[test]
fn without_a_file_and_variables_everything_has_its_declared_default() {
    let settings = Settings::load(&Sources { file: None, ..sources("", &[]) }, &[]).unwrap();
    assert_eq!(settings.node.id, "replica-1");
    assert_eq!(settings.lease.name.as_str(), "reconciliation");
    assert_eq!(settings.lease.timings.ttl, Duration::from_secs(15));
    assert_eq!(settings.lease.timings.heartbeat, Duration::from_secs(4));
    assert_eq!(settings.lease.timings.stall_limit, Duration::from_mins(2));
    assert!(settings.lease.eligible);
    assert_eq!(settings.schedule.cron, "0 6 * * *");
    assert_eq!(settings.schedule.timezone, chrono_tz::America::Sao_Paulo);
    assert_eq!(*settings.schedule.calendar, Calendar::weekdays());
    assert_eq!(settings.schedule.catch_up, 5);
    assert_eq!(settings.schedule.deadline.to_string(), "10:00:00");
    assert_eq!(settings.inbox.url.as_str(), "file:///srv/reconciliation/inbox/");
    assert_eq!(settings.outbox.url.as_str(), "file:///srv/reconciliation/outbox/");
    assert_eq!(settings.http.listen.to_string(), "0.0.0.0:9464");
    assert_eq!(settings.log, Log { format: LogFormat::Json, level: "info".into() });
    assert_eq!(settings.run, Run { parallel: 2, step_attempts: 5 });
    assert_eq!(settings.rules, RuleSet::default());
    assert!(matches!(settings.book.source, BookSource::Files));
}

#[test]
fn the_environment_wins_over_the_file_and_the_file_over_the_default() {
    let text = "[lease]\nttl = \"30s\"\nheartbeat = \"5s\"\n[run]\nparallel = 4";
    let settings =
        load(text, &[("COUNTERFOIL__LEASE__TTL", "20s"), ("COUNTERFOIL__LEASE__ELIGIBLE", "false")]).unwrap();
    assert_eq!(settings.lease.timings.ttl, Duration::from_secs(20));
    assert_eq!(settings.lease.timings.heartbeat, Duration::from_secs(5));
    assert_eq!(settings.lease.timings.margin, Duration::from_secs(1));
    assert!(!settings.lease.eligible);
    assert_eq!(settings.run.parallel, 4);
}

#[test]
fn all_faults_are_told_in_one_message() {
    let text = r#"
[lease]
ttl = "15"
heartbaet = "4s"

[schedule]
cron = "0 6 * *"
timezone = "Brazil/Nowhere"
calendar = "br"

[[accounts]]
id = "main account"
currency = "REAL"
"#;
    let error = load(text, &[("COUNTERFOIL__RUN__PARALLEL", "none"), ("COUNTERFOIL__HTTP__PORT", "80")]).unwrap_err();
    let message = error.to_string();
    let expected = [
        "10 settings are wrong:",
        "  schedule.cron (counterfoil.toml:7): \"0 6 * *\" is no cron expression",
        "  schedule.timezone (counterfoil.toml:8): found \"Brazil/Nowhere\", expected an IANA time zone such as America/Sao_Paulo",
        "  COUNTERFOIL__HTTP__PORT: there is no such setting; expected one of COUNTERFOIL__HTTP__LISTEN",
        "  accounts[0].currency (counterfoil.toml:13): found \"REAL\", expected an ISO 4217 code such as BRL",
        "  accounts[0].id (counterfoil.toml:12): found \"main account\", expected letters, digits, '-', '_' and '.', at most 64, not beginning with '.'",
        "  accounts[0].number (counterfoil.toml:11): missing, expected a text in quotes, not empty",
        "  lease.heartbaet (counterfoil.toml:4): there is no such setting; expected one of name, ttl, heartbeat, attempt_timeout, margin, drain, stall_limit, eligible",
        "  lease.ttl (counterfoil.toml:3): found \"15\", expected a duration such as 15s, 500ms or 2m",
        "  run.parallel (COUNTERFOIL__RUN__PARALLEL): found \"none\", expected a whole number from 1",
        "  schedule.calendar (counterfoil.toml:9): found \"br\", expected the name of one of [calendars.<name>], and there is none",
    ];
    for line in expected {
        assert!(message.contains(line), "{line}\nis not in\n{message}");
    }
}

#[test]
fn a_heartbeat_too_slow_for_its_ttl_is_refused_with_the_numbers() {
    let told = fault("[lease]\nttl = \"12s\"\nheartbeat = \"4s\"");
    assert!(told.starts_with("lease (counterfoil.toml:3): lease.heartbeat (4s) × 3 is 12s"), "{told}");
    let told = fault("[lease]\nttl = \"13s\"\nmargin = \"5s\"");
    assert!(told.contains("is 13s 800ms, which is above lease.ttl (13s)"), "{told}");
}

#[test]
fn a_wrong_value_is_one_fault_at_its_own_key_and_line() {
    assert_eq!(
        fault("[lease]\nheartbeat = \"3s\"\nttl = \"0s\""),
        "lease.ttl (counterfoil.toml:3): is 0s: it must lie between 500ms and 1h"
    );
    let told = fault("[lease]\nheartbeat = \"3s\"\ndrain = \"1h\"");
    assert!(told.starts_with("lease (counterfoil.toml:3): lease.drain (1h) is above lease.stall_limit (2m)"), "{told}");
}

#[test]
fn of_a_file_that_is_no_toml_nothing_else_is_called_missing() {
    let needs = [Need::Redis, Need::Postgres, Need::Accounts];
    let error = Settings::load(&sources("[lease\nttl = 15s", &[]), &needs).unwrap_err();
    let told: Vec<String> = error.faults.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["counterfoil.toml:1: this is not TOML: unclosed table, expected `]`"]);
}

#[test]
fn an_outbox_that_is_the_inbox_or_in_it_or_around_it_is_refused_by_whatever_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| format!("file://{}/{name}", folder.path().display());
    std::fs::create_dir_all(folder.path().join("inbox/bank")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("inbox"), folder.path().join("link")).unwrap();
    let load = |inbox: &str, outbox: &str| {
        load(&format!("[inbox]\nurl = \"{}\"\n[outbox]\nurl = \"{}\"", at(inbox), at(outbox)), &[])
    };
    for (inbox, outbox, how) in [
        ("inbox", "inbox", "is the inbox"),
        ("inbox", "inbox/", "is the inbox"),
        ("inbox", "link", "is the inbox"),
        ("inbox", "bank/../inbox", "is the inbox"),
        ("inbox", "inbox/out", "lies in the inbox"),
        ("inbox", "link/not/yet/there", "lies in the inbox"),
        ("link/bank", "inbox", "has the inbox in it"),
        ("inbox", "", "has the inbox in it"),
    ] {
        let error = load(inbox, outbox).unwrap_err();
        assert_eq!(error.faults.len(), 1, "{inbox} and {outbox}: {error}");
        let fault = error.faults[0].to_string();
        assert!(fault.starts_with("outbox.url (counterfoil.toml:4): ") && fault.contains(how), "{fault}");
    }
    load("inbox", "outbox").unwrap();
    load("inbox", "inbox-of-reports").unwrap();
}

#[test]
fn a_deadline_that_is_not_after_the_cron_is_refused() {
    let told = fault("[schedule]\ndeadline = \"06:00\"");
    assert!(told.starts_with("schedule.deadline (counterfoil.toml:2): "), "{told}");
    load("[schedule]\ncron = \"30 0 6 * * *\"\ndeadline = \"06:01\"", &[]).unwrap();
    assert!(fault("[schedule]\ncron = \"0 6 30 2 *\"").contains("never happens"));
}

#[test]
fn a_variable_for_a_table_says_that_tables_come_from_the_file() {
    let told = faults("", &[("COUNTERFOIL__ACCOUNTS__0__ID", "main")]);
    assert_eq!(
        told,
        [
            "accounts (COUNTERFOIL__ACCOUNTS__0__ID): accounts come from the settings file alone, as [[accounts]]; no variable can hold them"
        ]
    );
}

#[test]
fn a_command_is_refused_only_for_what_it_needs_and_hears_of_all_of_it() {
    let sources = sources("", &[]);
    Settings::load(&sources, &[]).unwrap();
    let error = Settings::load(&sources, &[Need::Redis, Need::Postgres, Need::Accounts]).unwrap_err().to_string();
    assert!(error.contains("3 settings are wrong"), "{error}");
    assert!(
        error.contains(
            "redis.url: missing; set COUNTERFOIL__REDIS__URL (or COUNTERFOIL__REDIS__URL_FILE), or `url` under [redis]"
        ),
        "{error}"
    );
    assert!(error.contains("postgres.url: missing"), "{error}");
    assert!(error.contains("accounts: missing; declare each account as [[accounts]]"), "{error}");
}

#[test]
fn a_secret_comes_from_a_file_too_and_the_environment_wins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("url");
    std::fs::write(&path, "redis://:00123@redis:6379\n").unwrap();
    let path = path.to_str().unwrap();
    let settings = load("[redis]\nurl = \"redis://other\"", &[("COUNTERFOIL__REDIS__URL_FILE", path)]).unwrap();
    assert_eq!(settings.redis().unwrap().servers(), ["redis:6379"]);
    let settings = load(&format!("[redis]\nurl_file = \"{path}\""), &[]).unwrap();
    assert_eq!(settings.redis().unwrap().servers(), ["redis:6379"]);
    let told = fault("[redis]\nurl = \"redis://a\"\nurl_file = \"b\"");
    assert!(told.contains("given twice"), "{told}");
    assert!(fault("[redis]\nurl_file = \"/nowhere/at/all\"").contains("cannot be read"));
}

#[test]
fn a_secret_is_never_shown() {
    let secret = "hunter2";
    let text = format!("[redis]\nurl = \"redis://u:{secret}@h\"\n[postgres]\nurl = \"postgres://u:{secret}@h/d\"");
    let variables = [("COUNTERFOIL__POSTGRES__OWNER_URL", "postgres://o:hunter2@h/d")];
    let settings = load(&text, &variables).unwrap();
    assert!(!format!("{settings:?} {:?}", sources(&text, &variables)).contains(secret));
    for wrong in [
        "[redis]\nurl = \"amqp://u:hunter2@h\"",
        "[redis]\nurl = \"hunter2\"",
        "[redis]\nurl = [\"hunter2\"]",
        "[redis]\nurl = \"redis://u:hunter2@h",
        "[postgres]\nurl = \"mysql://u:hunter2@h\"",
        "[book]\nurl = \"hunter2\"\nquery = \"select 1\"",
        "redis = \"hunter2\"",
    ] {
        let error = load(wrong, &[]).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(secret), "{error}");
    }
}

#[test]
fn every_declared_setting_is_read_and_refuses_a_table() {
    for key in &KEYS {
        let text = format!("[{}.{}]\nx = 1", key.section, key.name);
        let told = faults(&text, &[]);
        assert!(told.iter().any(|line| line.starts_with(&key.path())), "{}: {told:?}", key.path());
    }
}

#[test]
fn every_declared_setting_has_a_variable_that_reaches_it() {
    for key in KEYS.iter().filter(|key| !matches!(key.default, Initial::Absent(_))) {
        // A line feed alone is no value of any setting.
        let told = faults("", &[(&key.variable(), "\n")]);
        assert!(told.iter().any(|line| line.contains(&key.variable())), "{}: {told:?}", key.path());
    }
}

const TWO: &str = r#"
[[accounts]]
id = "main"
bank = "001"
branch = "42"
number = "12.345-6"
currency = "BRL"
"#;

#[test]
fn two_accounts_with_one_key_are_refused() {
    let told = fault(&format!(
        "{TWO}[[accounts]]\nid = \"other\"\nbank = \"1\"\nnumber = \"9\"\naliases = [\"0123456\"]\ncurrency = \"BRL\""
    ));
    assert!(
        told.starts_with("accounts[1] (counterfoil.toml:8): main and other are both BRL accounts of the number 123456"),
        "{told}"
    );
    let told = fault(&format!("{TWO}[[accounts]]\nid = \"main\"\nnumber = \"9\"\ncurrency = \"BRL\""));
    assert!(told.ends_with("main is the id of two accounts"), "{told}");
    load(&format!("{TWO}[[accounts]]\nid = \"other\"\nnumber = \"123456\"\ncurrency = \"USD\""), &[]).unwrap();
}

#[test]
fn an_unknown_calendar_or_profile_is_refused_by_name() {
    let told = faults(
        &format!(
            "{TWO}calendar = \"br\"\nprofile = \"erp\"\n[calendars.pt]\n[book]\nprofile = \"led\"\n[profiles.erp2]\n"
        ),
        &[],
    );
    assert_eq!(
        told,
        [
            "accounts[0].calendar (counterfoil.toml:8): found \"br\", expected one of pt",
            "accounts[0].profile (counterfoil.toml:9): found \"erp\", expected one of erp2",
            "book.profile (counterfoil.toml:12): found \"led\", expected one of erp2",
        ]
    );
}

#[test]
fn every_fault_of_a_table_is_told() {
    let told = faults(
        "[calendars.br]\nweekend = [\"domingo\"]\nholidays = [2026-11-20, \"20/11\"]\n[profiles.erp]\ndelimiter = \";;\"\ncolums = {}\ndate = \"DD/MM\"\n",
        &[],
    );
    assert_eq!(told.len(), 5, "{told:#?}");
    assert!(told[0].starts_with("calendars.br.holidays[1] (counterfoil.toml:3): found \"20/11\""), "{told:#?}");
    assert!(told[1].starts_with("calendars.br.weekend[0] (counterfoil.toml:2): found \"domingo\""), "{told:#?}");
    assert!(told[2].contains("unknown field `colums`, expected one of `encoding`"), "{told:#?}");
    assert!(told[3].contains("\"DD/MM\" is no date pattern"), "{told:#?}");
    assert!(told[4].contains("\";;\" is no delimiter"), "{told:#?}");
    let told = fault("[profiles.erp]\ndecimal = \",\"\nthousands = \",\"\n");
    assert!(told.contains("decimal and thousands are both ','"), "{told}");
    let week = "[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"]";
    assert!(fault(&format!("[calendars.none]\nweekend = {week}")).contains("no business day is left"));
}

#[test]
fn calendars_and_profiles_reach_what_names_them() {
    let text = format!(
        "{TWO}calendar = \"br\"\n[schedule]\ncalendar = \"br\"\n[calendars.br]\nholidays = [2026-11-20]\n[book]\nprofile = \"erp\"\nmode = \"snapshot\"\n[profiles.erp]\ndelimiter = \";\"\n"
    );
    let settings = load(&text, &[]).unwrap();
    assert!(!settings.accounts()[0].calendar.is_business_day("2026-11-20".parse().unwrap()));
    assert_eq!(settings.schedule.calendar, settings.accounts()[0].calendar);
    assert_eq!(settings.book_profile().unwrap().delimiter.byte(), b';');
    assert_eq!(settings.book.mode, BookMode::Snapshot);
}

#[test]
fn an_opening_must_close_and_its_items_must_be_readable() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("open.csv"), "side,id,date,amount\nbook,L-1,2026-11-20,-300.00\n").unwrap();
    let read = |opening: &str| {
        let text = format!("{TWO}opening = {opening}");
        let path = folder.path().join("counterfoil.toml");
        let sources = Sources { file: Some(SettingsFile { path, text }), ..sources("", &[]) };
        Settings::load(&sources, &[]).map_err(|error| error.to_string())
    };
    let settings = read(r#"{ date = 2026-11-23, bank = "1000.00", book = "700.00", items = "open.csv" }"#).unwrap();
    assert_eq!(settings.accounts()[0].opening.as_ref().unwrap().items.len(), 1);
    let told = read(r#"{ date = 2026-11-23, bank = "1000.00", book = "700.10", items = "open.csv" }"#).unwrap_err();
    assert!(
        told.contains("bank − book is 299.90 and Σ bank items − Σ book items is 300.00: they differ by -0.10"),
        "{told}"
    );
    let told = read(r#"{ date = 2026-11-19, bank = 1000, items = "open.csv", boook = "1" }"#).unwrap_err();
    assert!(told.contains("opening.bank"), "{told}");
    assert!(told.contains("found 1000, expected an amount of BRL in quotes"), "{told}");
    assert!(told.contains("opening.book") && told.contains("missing, expected an amount of BRL"), "{told}");
    assert!(
        told.contains("open.csv:2: date: found 2026-11-20, expected no later than the opening, 2026-11-19"),
        "{told}"
    );
    assert!(told.contains("there is no such setting; expected one of date, bank, book, items"), "{told}");
    let told = read(r#"{ date = 2026-11-23, bank = "1", book = "1", items = "nowhere.csv" }"#).unwrap_err();
    assert!(told.contains("\"nowhere.csv\" cannot be read"), "{told}");
}

#[test]
fn what_is_wrong_with_an_account_hides_nothing_else_that_is() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("open.csv"), "side,id,date,amount\nbook,L-1,20/11/2026,-300.00\n").unwrap();
    let text = r#"
[[accounts]]
id = "no id"
number = "1"
currency = "BRL"
opening = { date = 2026-11-23, bank = "1.00", book = "2.00" }
[[accounts]]
id = "twice"
number = "2"
currency = "REAL"
[[accounts]]
id = "twice"
number = "3"
currency = "BRL"
opening = { date = "monday", bank = "1.00", book = "1.00", items = "open.csv" }
[[accounts]]
id = "key"
number = "003"
currency = "BRL"
calendar = "none"
"#;
    let path = folder.path().join("counterfoil.toml");
    let sources = Sources { file: Some(SettingsFile { path, text: text.to_owned() }), ..sources("", &[]) };
    let error = Settings::load(&sources, &[]).unwrap_err();
    let told: Vec<String> = error.faults.iter().map(|fault| format!("{}: {}", fault.key, fault.problem)).collect();
    for (key, problem) in [
        ("accounts[0].id", "\"no id\""),
        ("accounts[0].opening", "does not close"),
        ("accounts[1].currency", "\"REAL\""),
        ("accounts[2]", "twice is the id of two accounts"),
        ("accounts[2].opening.date", "\"monday\""),
        ("accounts[2].opening.items", "20/11/2026"),
        ("accounts[3]", "twice and key are both BRL accounts of the number 3"),
        ("accounts[3].calendar", "\"none\""),
    ] {
        let found = error.faults.iter().any(|fault| fault.key == key && fault.problem.contains(problem));
        assert!(found, "{key}: {problem}\nis not among\n{}", told.join("\n"));
    }
    assert_eq!(told.len(), 8, "{told:#?}");
}

#[test]
fn the_books_come_from_one_place() {
    assert!(fault("[book]\nquery = \"select 1\"").starts_with("book.url"));
    assert!(fault("[book]\nurl = \"postgres://h/d\"").starts_with("book.query"));
    assert!(fault("[book]\nurl = \"postgres://h/d\"\nquery = \"select 1\"\nfiles = true").contains("one of both"));
    assert!(fault("[book]\nfiles = false").contains("must come from somewhere"));
    let by_query = "[book]\nurl = \"postgres://h/d\"\nquery = \"select 1\"";
    let settings = load(by_query, &[]).unwrap();
    assert!(matches!(settings.book.source, BookSource::Query { .. }));
    let account = format!("{by_query}\n[[accounts]]\nid = \"main\"\nnumber = \"1\"\ncurrency = \"BRL\"");
    assert!(fault(&account).starts_with("book.balance_query"), "the account waits for a balance that nobody reads");
    assert!(load(&format!("{account}\nbook_complete = \"seen\""), &[]).is_ok());
}

#[test]
fn single_values_that_mean_nothing_are_refused() {
    for (text, expected) in [
        ("[inbox]\nurl = \"inbox\"", "expected a file:// URL with an absolute path"),
        ("[outbox]\nurl = \"s3://bucket\"", "expected a file:// URL with an absolute path"),
        ("[http]\nlisten = \"9464\"", "expected an address and port such as 0.0.0.0:9464"),
        ("[log]\nformat = \"xml\"", "expected \"json\" or \"text\""),
        ("[log]\nlevel = \"loud\"", "expected a level"),
        ("[run]\nparallel = 0", "expected a whole number from 1"),
        ("[schedule]\ncatch_up = \"a week\"", "expected a number of business days"),
        ("[schedule]\ndeadline = \"25:00\"", "expected a time of day such as 10:00"),
        ("[node]\nid = \"a b\"", "expected letters, digits"),
        ("[lease]\nname = \"a b\"", "expected letters, digits"),
        ("[rules]\nfile = \"/nowhere/rules.toml\"", "cannot be read"),
        ("leese = 1", "there is no such section; expected one of accounts, profiles, calendars, node"),
        ("accounts = 5", "expected [[accounts]]"),
        ("[lease\n", "this is not TOML"),
    ] {
        let told = fault(text);
        assert!(told.contains(expected), "{text}: {told}");
        assert!(told.contains("counterfoil.toml:") || told.contains("rules.toml"), "{told}");
    }
    assert_eq!(load("[schedule]\ncatch_up = 3", &[]).unwrap().schedule.catch_up, 3);
    assert_eq!(load("", &[("COUNTERFOIL__SCHEDULE__CATCH_UP", "1 business day")]).unwrap().schedule.catch_up, 1);
    assert_eq!(load("[log]\nlevel = \"info,counterfoil=debug\"", &[]).unwrap().log.level, "info,counterfoil=debug");
}

#[test]
fn a_rule_file_is_read_and_its_faults_are_told_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.toml");
    std::fs::write(&path, "book_precedes_bank = 3\n").unwrap();
    assert_eq!(read_rules(&path).unwrap(), RuleSet { book_precedes_bank: 3, ..RuleSet::default() });
    std::fs::write(&path, "\nbook_proceeds_bank = 3\n").unwrap();
    let told = read_rules(&path).unwrap_err().to_string();
    assert!(told.contains("rules.toml:2") && told.contains("unknown field `book_proceeds_bank`"), "{told}");
}

#[test]
fn an_env_file_gives_our_variables_and_its_broken_lines_are_named_and_never_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".env");
    let mut faults = super::fault::Faults::default();
    assert!(super::sources::dotenv(&path, &mut faults).is_empty());
    let text =
        "# comment\nPOSTGRES_PASSWORD=hunter2\nCOUNTERFOIL__SCHEDULE__CRON=\"0 7 * * *\"\nhunter2 without a name\n";
    std::fs::write(&path, text).unwrap();
    let found = super::sources::dotenv(&path, &mut faults);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [("COUNTERFOIL__SCHEDULE__CRON".into(), "0 7 * * *".into())]);
    let told = faults.into_error().unwrap().to_string();
    assert!(told.contains(".env:4: expected NAME=value") && !told.contains("hunter2"), "{told}");
}

#[test]
fn a_settings_file_that_was_named_must_be_there() {
    let error = Sources::of_process(Some(std::path::Path::new("/nowhere/counterfoil.toml"))).unwrap_err();
    assert!(error.to_string().contains("/nowhere/counterfoil.toml: the settings file cannot be read"), "{error}");
}

#[test]
fn a_settle_time_beyond_a_day_is_a_fault() {
    let told = fault("[inbox]\nsettle = \"25h\"");
    assert!(told.contains("inbox.settle") && told.contains("longer than a day"), "{told}");
    assert!(fault("[inbox]\nsettle = \"300000000000y\"").contains("inbox.settle"));
}
