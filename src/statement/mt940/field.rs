//! A file as messages of fields: what stands between the tags, with its place, before anything is understood.
//!
//! A message stands in SWIFT's blocks (`{1:…}{2:…}{4:` to `-}`), between lines with a `-`, or simply from one `:20:` to the
//! next: banks send all three, with header lines of their own before it.

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// One field: its tag and the lines of its content, as written.
#[derive(Debug)]
pub(super) struct Field<'a> {
    /// Without its colons: `20`, `60F`, `NS`.
    pub(super) tag: &'a str,
    /// The first stands behind the tag, and may be empty.
    pub(super) lines: Vec<&'a str>,
    /// Line in the file, from 1.
    pub(super) line: u32,
}

/// The fields of one message, in file order; never empty.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) fields: Vec<Field<'a>>,
}

/// Lines before a message that are this short are a bank's own header ("ABNANL2A", "940"), and not told.
const HEADER: usize = 35;
/// Fields whose content is one line.
const ONE_LINE: [&str; 8] = ["20", "21", "28", "60", "62", "64", "65", "13"];
/// The longest field that is read.
const MAX_FIELD: usize = 65_536;

/// Splits a text into its messages.
pub(super) fn messages<'a>(text: &'a str, found: &mut Diagnostics) -> Vec<Message<'a>> {
    let mut messages = Vec::new();
    let mut open: Vec<Field<'a>> = Vec::new();
    for (number, raw) in (1..).zip(text.split('\n')) {
        let mut rest = raw.trim_end_matches(['\r', '\u{1a}']);
        // Several blocks may share a line: `-}{5:}{1:F01…}{2:…}{4:`.
        loop {
            if rest.trim_end() == "-" || rest.starts_with("-}") {
                close(&mut open, &mut messages);
                rest = rest.get(2..).unwrap_or_default();
                if rest.is_empty() {
                    break;
                }
            } else if let Some(after) = block(rest) {
                close(&mut open, &mut messages);
                rest = after;
                if rest.is_empty() {
                    break;
                }
            } else {
                take(rest, number, &mut open, &mut messages, found);
                break;
            }
        }
    }
    close(&mut open, &mut messages);
    for field in messages.iter().flat_map(|message| &message.fields) {
        sound(field, found);
    }
    messages
}

/// A field of one line has one, and none is longer than a statement could mean: else something else follows, which would be
/// left out without a word.
fn sound(field: &Field<'_>, found: &mut Diagnostics) {
    let more = field.lines.iter().skip(1).position(|line| !line.trim().is_empty());
    if let Some(more) = more.filter(|_| ONE_LINE.iter().any(|tag| field.tag.starts_with(tag))) {
        let line = field.line.saturating_add(u32::try_from(more).unwrap_or(u32::MAX)).saturating_add(1);
        let message = format!("field {} has one line, and this follows it: no part of a message", field.tag);
        found.push(Diagnostic::new(Severity::Error, "CONTENT", message).at_line(line));
    }
    let length: usize = field.lines.iter().map(|line| line.len()).sum();
    if length > MAX_FIELD {
        let message = format!("field {} of {length} bytes; no field has more than {MAX_FIELD}", field.tag);
        found.push(Diagnostic::new(Severity::Error, "LIMIT", message).at_line(field.line));
    }
}

/// Is it a field's tag? Two digits and perhaps a letter, or the `NS` of files for private customers.
pub(super) fn tag(line: &str) -> Option<(&str, &str)> {
    let (tag, content) = line.strip_prefix(':')?.split_once(':')?;
    let bytes = tag.as_bytes();
    let swift = matches!(bytes, [a, b] | [a, b, b'A'..=b'Z'] if a.is_ascii_digit() && b.is_ascii_digit());
    (swift || tag == "NS").then_some((tag, content))
}

fn take<'a>(
    line: &'a str,
    number: u32,
    open: &mut Vec<Field<'a>>,
    messages: &mut Vec<Message<'a>>,
    found: &mut Diagnostics,
) {
    if let Some((tag, content)) = tag(line) {
        let has = |wanted: &str| open.iter().any(|field| field.tag.starts_with(wanted));
        // A message begins with its reference, or, where a bank leaves that out, with its account.
        if tag == "20" || (tag.starts_with("25") && has("25") && has("62")) {
            close(open, messages);
        }
        // Some write a line and what explains it on one line.
        let swallowed = (tag == "61").then(|| content.find(":86:")).flatten();
        let (content, explained) = swallowed.map_or((content, None), |at| (&content[..at], content.get(at + 4..)));
        open.push(Field { tag, lines: vec![content], line: number });
        open.extend(explained.map(|text| Field { tag: "86", lines: vec![text], line: number }));
    } else if let Some(field) = open.last_mut() {
        field.lines.push(line);
    } else if line.trim().len() > HEADER {
        let message = "a line that belongs to no message";
        found.push(Diagnostic::new(Severity::Error, "CONTENT", message).at_line(number));
    }
}

/// What follows the block that a line begins with: behind `{4:` itself, since the fields are in it.
fn block(line: &str) -> Option<&str> {
    let number = line.strip_prefix('{')?;
    if let Some(fields) = number.strip_prefix("4:") {
        return Some(fields);
    }
    if !number.starts_with(['1', '2', '3', '5', 'S']) || !number[1..].starts_with(':') {
        return None;
    }
    let mut depth = 0_u32;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return line.get(at + 1..);
        }
    }
    // A block that its line does not close.
    Some("")
}

fn close<'a>(open: &mut Vec<Field<'a>>, messages: &mut Vec<Message<'a>>) {
    if !open.is_empty() {
        messages.push(Message { fields: std::mem::take(open) });
    }
}

// === impl Field ===

impl<'a> Field<'a> {
    /// The content's first line, without the spaces around it.
    pub(super) fn first(&self) -> &'a str {
        self.lines.first().map_or("", |line| line.trim())
    }
}

// === impl Message ===

impl<'a> Message<'a> {
    /// The field of a tag. Its letter is its own affair: `60` finds `60F` and `60M`.
    pub(super) fn find(&self, tag: &str) -> Option<&Field<'a>> {
        self.fields.iter().find(|field| field.tag.starts_with(tag))
    }

    /// The second field of a tag that comes once, if it is there.
    pub(super) fn again(&self, tag: &str) -> Option<&Field<'a>> {
        self.fields.iter().filter(|field| field.tag.starts_with(tag)).nth(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(text: &str) -> Vec<String> {
        let mut found = Diagnostics::default();
        let messages = messages(text, &mut found);
        assert_eq!(found.into_vec(), []);
        let of = |message: &Message<'_>| {
            message.fields.iter().map(|field| field.tag.to_owned()).collect::<Vec<_>>().join(" ")
        };
        messages.iter().map(of).collect()
    }

    #[test]
    fn messages_are_found_in_blocks_between_dashes_and_by_their_reference_alone() {
        assert_eq!(tags("{1:F01X}{2:O940X}{3:}{4:\r\n:20:A\r\n:25:1\r\n-}{5:}{1:F01X}{4:\n:20:B\n-}"), ["20 25", "20"]);
        assert_eq!(
            tags("ABNANL2A\n940\nABNANL2A\n:20:A\n:25:1\n-\nABNANL2A\n940\nABNANL2A\n:20:B\n-\n"),
            ["20 25", "20"]
        );
        assert_eq!(tags(":20:A\n:25:1\n:62F:x\n:20:B\n:25:1"), ["20 25 62F", "20 25"]);
        assert_eq!(tags(":25:1\n:60F:x\n:62F:x\n:25:2\n:60F:x\n"), ["25 60F 62F", "25 60F"]);
        assert_eq!(tags("{1:F01X}\n{2:I940X}\n{4:\n:20:A\n:86:B\n-}"), ["20 86"]);
    }

    #[test]
    fn what_continues_a_field_stays_with_it_whatever_it_looks_like() {
        let mut found = Diagnostics::default();
        let messages = messages(":20:A\n:86:one\n:two\n 12:30\n:61:swallowed:86:text\nmore\n", &mut found);
        let [_, text, line, explained] = &messages[0].fields[..] else { panic!("{messages:?}") };
        assert_eq!(text.lines, ["one", ":two", " 12:30"]);
        assert_eq!((line.tag, &line.lines[..], line.line), ("61", &["swallowed"][..], 5));
        assert_eq!((explained.tag, &explained.lines[..]), ("86", &["text", "more", ""][..]));
    }
}
