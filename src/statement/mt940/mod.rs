//! SWIFT MT940, the customer statement message.
//!
//! ```text
//! charset → messages of fields → pages → statements
//! ```
//!
//! The standard is SWIFT's category 9; what banks write instead is known from their files, and each habit has a test by its
//! name in `tests/mt940.rs`. An MT940 states both balances, so each statement proves itself; its closing (62F) closes the
//! day.

mod field;
mod information;
mod line;
mod page;
mod statement;
mod value;

use super::covered::say_what_lies_outside;
use super::whole::{self, Charset};
use super::{Format, Input, Parsed};

/// Does a file that begins like this hold SWIFT messages? A field's tag, `:20:` or `:25:`, at the beginning of a line.
pub(super) fn knows(head: &str) -> bool {
    head.lines()
        .map(|line| line.rsplit_once("{4:").map_or(line, |(_, rest)| rest))
        .any(|line| [":20:", ":25:", ":25P:"].iter().any(|tag| line.starts_with(tag)))
        || head.trim_start().starts_with("{1:")
}

/// Reads a file of MT940 messages, with all its statements.
pub fn parse(input: &Input<'_>) -> Parsed {
    whole::parse(Format::Mt940, input.bytes, Charset::Labelled(None), |text, found| {
        let messages = field::messages(text, found);
        let pages = messages.iter().filter_map(|message| page::read(message, found)).collect();
        let statements = statement::bind(pages, found);
        for statement in &statements {
            say_what_lies_outside(statement, found);
        }
        if statements.is_empty() && !found.has_errors() {
            found.error(
                "EMPTY",
                "the file holds no statement: no message has an opening and a closing balance (:60F:, :62F:)",
            );
        }
        statements
    })
}
