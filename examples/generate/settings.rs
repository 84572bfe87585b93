//! The texts that list every setting: `.env.example` and `docs/settings.md`, from the one list of the code.

use std::fmt::Write;

use counterfoil::settings::keys::{FILE_ONLY, Initial, KEYS, Key};

/// `.env.example`: every variable, with its sentence and its default.
pub(crate) fn env_example() -> String {
    let mut out = String::from(
        "# Every variable of Counterfoil: COUNTERFOIL__SECTION__KEY. They win over counterfoil.toml; real ones win over .env.\n\
         # A line that is commented out shows the default or, where there is none, an example.\n\
         # Tables (accounts, profiles, calendars) come from counterfoil.toml alone: see examples/counterfoil.toml.\n\
         # Written by `cargo run --example generate`.\n",
    );
    let mut section = "";
    for key in &KEYS {
        if key.section != section {
            section = key.section;
            let _ = writeln!(out, "\n# [{section}]");
        }
        let _ = writeln!(out, "\n# {}\n# Default: {}.", key.doc, key.default_text());
        let value =
            if key.sample().contains([' ', '*']) { format!("{:?}", key.sample()) } else { key.sample().to_owned() };
        // What a worker cannot do without is set, to what a server on this machine has.
        let mark = if is_required(key) { "" } else { "# " };
        let _ = writeln!(out, "{mark}{}={value}", key.variable());
        if key.secret {
            let _ = writeln!(out, "# {}_FILE=/run/secrets/{}_{}", key.variable(), key.section, key.name);
        }
    }
    out
}

fn is_required(key: &Key) -> bool {
    matches!(key.path().as_str(), "redis.url" | "postgres.url")
}

/// `docs/settings.md`.
pub(crate) fn reference() -> String {
    let mut out = String::from(
        "# Settings\n\n\
         `counterfoil.toml`, then `COUNTERFOIL__SECTION__KEY` from the environment (`.env` in development; real variables\n\
         win). Unknown keys are refused, and all faults are told in one message. Durations are written `15s`, `500ms`,\n\
         `2m`. A secret is given by value, or as `<key>_file` (`…_FILE`): the path of a file that holds it; it is never\n\
         printed. Paths in the file are relative to the file.\n\n\
         The complete file, with every table, is [`examples/counterfoil.toml`](../examples/counterfoil.toml); every\n\
         variable is in [`.env.example`](../.env.example). Both are held against the code by tests, and this page is\n\
         written by `cargo run --example generate`.\n\n\
         | key | variable | default | |\n|---|---|---|---|\n",
    );
    for key in &KEYS {
        let default = match key.default {
            Initial::Text(text) => format!("`{text}`"),
            Initial::Computed(what, _) => what.to_owned(),
            Initial::Absent(_) => "—".to_owned(),
        };
        let secret = if key.secret { " *Secret.*" } else { "" };
        let _ = writeln!(out, "| `{}` | `{}` | {default} | {}{secret} |", key.path(), key.variable(), key.doc);
    }
    out.push_str("\nFrom the file alone:\n\n");
    for (table, shape) in FILE_ONLY {
        let what = match table {
            "accounts" => {
                "`id`, `bank`, `branch`, `number`, `aliases`, `currency`, `calendar`, `profile`, `statements`, \
                 `day_complete`, `book_complete`, `opening = { date, bank, book, items }`"
            }
            "profiles" => {
                "`encoding`, `delimiter`, `quote`, `header`, `columns`, `account`, `currency`, `date`, `decimal`, \
                 `thousands`, `sign`, `indicator_in`, `indicator_out`, `skip`, `footer`"
            }
            _ => "`weekend`, `holidays`",
        };
        let _ = writeln!(out, "- `{shape}`: {what}");
    }
    out
}
