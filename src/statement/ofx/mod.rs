//! Open Financial Exchange: 1.x (SGML) and 2.x (XML), bank and card statements.
//!
//! ```text
//! header → charset → tree (tags, values) → statements → lines → amounts, dates
//! ```
//!
//! The standard is OFX 2.2; what banks write instead is known from their files, and each habit has a test by its name in
//! `tests/ofx.rs`. OFX states a closing balance and no opening one; a balance without a date is absent, not zero.

mod amount;
mod date;
mod header;
mod line;
mod oddity;
mod reading;
mod statement;
mod tag;
mod tree;
mod value;

use chrono::NaiveDate;

use self::reading::{Reading, located};
use self::tag::Tag;
use self::tree::{Found, Tree};
use super::place::Places;
use super::whole::{self, Charset};
use super::{Format, Input, Parsed, Statement};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// The mark with which DOS ended a file.
const DOS_END: char = '\u{1a}';

/// Does a file that begins like this hold OFX?
pub(super) fn knows(head: &str) -> bool {
    let upper = head.to_ascii_uppercase();
    upper.contains("OFXHEADER") || header::element(&upper, 0).is_some()
}

/// Reads an OFX file, with all its statements.
pub fn parse(input: &Input<'_>) -> Parsed {
    let declared = header::charset(input.bytes);
    whole::parse(Format::Ofx, input.bytes, Charset::Labelled(declared.as_deref()), |text, found| {
        let mut places = Places::new(text);
        if let Some(finding) = controls(text, &mut places) {
            found.push(finding);
        }
        let mut statements = Vec::new();
        if let Err(last) = read_all(text, &mut places, found, &mut statements) {
            found.push(located(last, &mut places));
        }
        if statements.is_empty() && !found.has_errors() {
            found.error("EMPTY", "the file holds no statement of a bank account or card (STMTRS, CCSTMTRS)");
        }
        statements
    })
}

/// That control characters are in the text, which are read as spaces. The mark that ends a file of DOS is none.
fn controls(text: &str, places: &mut Places<'_>) -> Option<Diagnostic> {
    let text = text.trim_end_matches(|c: char| c.is_whitespace() || c == DOS_END);
    let is_control = |byte: u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r');
    let first = text.bytes().position(is_control)?;
    let (line, column) = places.of(first);
    let count = text.bytes().filter(|byte| is_control(*byte)).count();
    let message = format!(
        "{count} control characters in the file, the first of them U+{:04X}: read as spaces",
        text.as_bytes()[first]
    );
    Some(Diagnostic::new(Severity::Warning, "CONTROL", message).at(line, column))
}

/// Reads every OFX element of the text: files are joined one after the other, too.
fn read_all<'a>(
    text: &'a str,
    places: &mut Places<'a>,
    found: &mut Diagnostics,
    statements: &mut Vec<Statement>,
) -> Result<(), Found> {
    let mut next = header::element(text, 0);
    if next.is_none() {
        let message = "the file ends without an OFX element: it is cut off, or no OFX";
        return Err(Found::error("TRUNCATED", text.trim_end().len(), message));
    }
    let mut end = 0;
    while let Some(start) = next {
        if let Some(at) = header::doctype(&text[end..start]) {
            return Err(tree::doctype(end + at));
        }
        let mut whole = true;
        let (tree, after) = Tree::read(text, start, &mut |remark| {
            whole &= remark.severity != Severity::Error;
            found.push(located(remark, places));
        })?;
        let mut reading = Reading { text, tree: &tree, places, found };
        // Where a group was left open, what belongs to it is not known: nothing more is said than that.
        if whole {
            read_element(&mut reading, statements);
        }
        end = after;
        next = header::element(text, end);
        trailing(&mut reading, end, next);
    }
    Ok(())
}

/// Reads the statements of one OFX element.
fn read_element(reading: &mut Reading<'_, '_>, statements: &mut Vec<Statement>) {
    let tree = reading.tree;
    let mut server: Option<NaiveDate> = None;
    for (index, node) in tree.all() {
        match node.tag {
            // It stands in for DTASOF; zeros, or what is no date, stand in for nothing.
            Tag::DTSERVER => server = date::read(&reading.value(node)).ok().flatten(),
            Tag::STATUS => status(reading, index),
            Tag::STMTRS | Tag::CCSTMTRS => statements.extend(statement::read(reading, index, server)),
            Tag::INVSTMTRS | Tag::LOANSTMTRS => {
                let message = format!("{}: statements of investments and loans are not read", node.tag.name());
                reading.warning("UNREAD", node.at(), message);
            }
            _ => {}
        }
    }
    if let Some(line) = statement::unlisted(tree) {
        let message = format!("{}: no BANKTRANLIST of a statement holds this line", line.tag.name());
        reading.error("UNLISTED", line.at(), message);
    }
}

/// A STATUS of the bank's server: an error means that what was asked for is not in the file.
fn status(reading: &mut Reading<'_, '_>, element: usize) {
    let [code, severity, message] = [Tag::CODE, Tag::SEVERITY, Tag::MESSAGE].map(|tag| {
        let slot = reading.child(element, tag);
        reading.owned(slot).unwrap_or_default()
    });
    let Some(node) = reading.tree.node(element).copied() else { return };
    let said = format!("the bank's server says {severity} {code} {message}");
    if severity.eq_ignore_ascii_case("ERROR") {
        reading.error("STATUS", node.at(), format!("{}: the file is not what was asked for", said.trim_end()));
    } else if severity.eq_ignore_ascii_case("WARN") {
        reading.warning("STATUS", node.at(), said.trim_end());
    }
}

/// What stands after an OFX element, up to the next one's header or the end.
fn trailing(reading: &mut Reading<'_, '_>, end: usize, next: Option<usize>) {
    let text = reading.text;
    if next.is_some() {
        return;
    }
    // The end of a comment around the whole, and the mark that ends a file of DOS.
    let rest = text[end..].trim_start_matches(|c: char| c.is_whitespace() || matches!(c, DOS_END | '-' | '>'));
    if !rest.is_empty() {
        reading.warning("TRAILING", text.len() - rest.len(), "something stands after the end of OFX, and was not read");
    }
}
