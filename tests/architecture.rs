//! The house keeps its shape: arrows point down and inward (`lib.rs`), and each rule here says which wall it guards.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the source has failed")]

use std::fs;
use std::path::{Path, PathBuf};

/// Rooms that are functions of their input. A path is a file or a folder under `src/`.
const PURE: [&str; 17] = [
    "money.rs",
    "calendar.rs",
    "reference.rs",
    "diagnostic.rs",
    "proof.rs",
    "statement",
    "book",
    "matching",
    "account",
    "report",
    "instant.rs",
    "election/reason.rs",
    "election/timing.rs",
    "election/elector.rs",
    "election/elector",
    "schedule/planner.rs",
    "run/plan.rs",
];

/// What a pure room may not name: a runtime, a server, a file, a clock, the environment, or a room that has them.
const WORLD: [&str; 14] = [
    "tokio",
    "sqlx",
    "redis::",
    "axum",
    "std::fs",
    "std::net",
    "std::env",
    "std::thread",
    "std::process",
    "Utc::now",
    "SystemTime",
    "Instant",
    "crate::db",
    "crate::clock",
];

/// How a statement is sent that no macro checked against the schema.
const UNCHECKED: [&str; 8] = [
    "query(",
    "query_as(",
    "query_scalar(",
    "query_with(",
    "raw_sql(",
    "QueryBuilder",
    "AssertSqlSafe(",
    "copy_in_raw(",
];

/// Where a statement cannot be checked, and why: how many times the words of [`UNCHECKED`] stand in a file.
const UNCHECKED_FOR_A_REASON: [(&str, usize, &str); 7] = [
    ("db/book_query.rs", 5, "the query is the operator's own, of another database"),
    ("db/copy.rs", 1, "COPY has no parameters: table and columns are written into it, and both are ours"),
    (
        "db/fence.rs",
        7,
        "a message of two statements carries no parameters: what is in it is Postgres' own quoting, or digits; and the \
         function counterfoil.hold is made by scratch alone",
    ),
    (
        "db/schema.rs",
        3,
        "the table of migrations is the migrator's own; GRANT and REVOKE take names, quoted by Postgres",
    ),
    ("election/self_test.rs", 3, "through a pooler nothing that is prepared outlives a transaction"),
    ("scratch/hold.rs", 2, "makes the function counterfoil.hold"),
    ("scratch/postgres.rs", 4, "makes roles and databases"),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn rust_files(path: &Path, into: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            rust_files(&entry.unwrap().path(), into);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        into.push(path.to_owned());
    }
}

/// The code of a file: comments gone, and everything from the first test module on.
fn code(path: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    lines
        .map(|(at, line)| (at + 1, line.split("//").next().unwrap_or("").to_owned()))
        .filter(|(_, line)| !line.trim().is_empty())
        .collect()
}

/// Where any of `words` is named in the files of `rooms`, as `file:line: text`.
fn named(rooms: &[&str], words: &[&str]) -> Vec<String> {
    let mut files = Vec::new();
    for room in rooms {
        rust_files(&source().join(room), &mut files);
    }
    let mut found = Vec::new();
    for file in files {
        for (at, line) in code(&file) {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{at}: {}", file.strip_prefix(source()).unwrap().display(), line.trim()));
            }
        }
    }
    found
}

fn every_room() -> Vec<String> {
    let rooms = fs::read_dir(source()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    rooms.filter(|room| room != "main.rs" && room != "lib.rs").collect()
}

#[test]
fn a_pure_room_names_no_runtime_server_file_or_clock() {
    let elector = ["election/elector.rs", "reconciliation.rs"];
    let rooms: Vec<&str> = PURE.iter().chain(&elector).copied().filter(|room| source().join(room).exists()).collect();
    assert!(rooms.len() >= 10, "the list of pure rooms has gone stale: only {rooms:?} exist");
    assert_eq!(named(&rooms, &WORLD), Vec::<String>::new());
}

#[test]
fn nobody_knows_the_command_line() {
    let rooms = every_room();
    let rooms: Vec<&str> = rooms.iter().map(String::as_str).filter(|room| *room != "cli").collect();
    assert_eq!(named(&rooms, &["crate::cli"]), Vec::<String>::new());
}

#[test]
fn money_is_never_a_float() {
    let rooms = ["money.rs", "statement", "book", "matching", "account", "proof.rs", "report"];
    let mut floats = named(&rooms, &["f64", "f32"]);
    // A reader of JSON must name the visit of a float in order to refuse it.
    floats.retain(|found| !found.contains("fn visit_f64<E>(self, _: f64)"));
    assert_eq!(floats, Vec::<String>::new());
}

#[test]
fn every_query_is_checked_against_the_schema_or_says_why_it_cannot_be() {
    let mut files = Vec::new();
    rust_files(&source(), &mut files);
    for file in files {
        let name = file.strip_prefix(source()).unwrap().display().to_string();
        let is_word =
            |before: &str| before.chars().next_back().is_some_and(|last| last.is_alphanumeric() || last == '_');
        let sent = |line: &str| -> usize {
            // A turbofish hides nothing, and `query_as` ends in no other word.
            let line = line.replace("::<", "(");
            UNCHECKED.iter().map(|word| line.match_indices(word).filter(|(at, _)| !is_word(&line[..*at])).count()).sum()
        };
        let found: Vec<_> = code(&file).into_iter().filter(|(_, line)| sent(line) > 0).collect();
        let count: usize = found.iter().map(|(_, line)| sent(line)).sum();
        let known = UNCHECKED_FOR_A_REASON.iter().find(|(file, ..)| *file == name).map_or(0, |(_, count, _)| *count);
        assert_eq!(count, known, "use sqlx::query! and its kin in {name}, or say here why not: {found:#?}");
    }
    // What `execute` is given as it stands: the borders of a transaction, and a session's settings.
    let rooms = every_room();
    let rooms: Vec<&str> = rooms.iter().map(String::as_str).collect();
    let mut bare = named(&rooms, &[".execute(\""]);
    bare.retain(|line| {
        !["BEGIN", "COMMIT", "ROLLBACK", "RESET"].iter().any(|word| line.contains(&format!(".execute(\"{word}")))
    });
    assert_eq!(bare, Vec::<String>::new());
}

#[test]
fn main_is_short_and_no_file_is_a_warehouse() {
    let mut files = Vec::new();
    rust_files(&source(), &mut files);
    let lines = |path: &Path| fs::read_to_string(path).unwrap().lines().count();
    assert!(lines(&source().join("main.rs")) <= 120);
    let large: Vec<_> = files.iter().filter(|file| lines(file) > 800).collect();
    assert!(large.is_empty(), "over 800 lines; what else lives there? {large:?}");
}

#[test]
fn no_room_is_named_for_what_it_does_not_say() {
    let mut files = Vec::new();
    rust_files(&source(), &mut files);
    let vague = ["util", "helper", "common", "misc", "manager"];
    let named: Vec<_> =
        files.iter().filter(|file| vague.iter().any(|word| file.to_string_lossy().contains(word))).collect();
    assert!(named.is_empty(), "{named:?}");
}
