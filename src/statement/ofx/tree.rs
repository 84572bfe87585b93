//! From text to a tree of elements.
//!
//! OFX 1.x is SGML whose elements with a value need no end tag, and OFX 2.x is XML; both, and the mixtures that banks
//! write, are one grammar here. What tells a value from a group is the end tag and the text:
//!
//! - an element with text is a value: `<MEMO>text`, with or without `</MEMO>`;
//! - one without text that is closed around others is a group;
//! - one without text that is never closed is an empty value, and what follows it stands beside it. For a group of the
//!   standard that is an error: what was meant to be in it is not known.
//!
//! The tree is an array in the order of the file. A node knows where its descendants end, so that children are found
//! without pointers, and a group that turns out to be an empty value needs no rearranging.

use super::tag::Tag;
use crate::diagnostic::Severity;

/// How deep groups may nest. The deepest path of a statement has 8 levels.
const MAX_DEPTH: usize = 64;

/// How many bytes one value may have. The longest of the standard has 255 characters.
const MAX_TEXT: usize = 64 * 1024;

/// How many characters a name may have; the longest of the standard has about 30.
const MAX_NAME: usize = 64;

/// What stands within a text and is no tag, by how it begins (after `<`) and ends.
pub(super) const ASIDES: [(&str, &str); 3] = [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>")];

/// How many elements a file may have: some three million lines.
const MAX_ELEMENTS: usize = 1 << 25;

/// An element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) tag: Tag,
    /// Byte offset of its `<`.
    at: u32,
    /// Its text as written, trimmed, as byte offsets; empty for a group.
    text: (u32, u32),
    /// The index after its last descendant.
    end: u32,
}

/// The elements of one `OFX` element, itself first.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

/// What was found while the tree was made, at a byte offset.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    pub(super) at: usize,
    pub(super) message: String,
}

/// An open element: its index, and the bytes of its name.
struct Open<'a> {
    node: usize,
    name: &'a str,
}

/// A tag or a declaration, from the offset of its `<` to the offset after its `>`.
struct Tagged<'a> {
    at: usize,
    markup: Markup<'a>,
    after: usize,
}

/// What begins with `<`.
#[derive(Clone, Copy)]
enum Markup<'a> {
    Start {
        name: &'a str,
        closed: bool,
    },
    End {
        name: &'a str,
    },
    /// A comment, a processing instruction or a CDATA section.
    Aside,
    DocType,
    /// No markup: a character of the text.
    Character,
    /// An aside that does not end.
    Unfinished,
}

// === impl Node ===

impl Node {
    pub(super) fn at(&self) -> usize {
        self.at as usize
    }

    /// Its text as written.
    pub(super) fn raw<'a>(&self, text: &'a str) -> &'a str {
        &text[self.text.0 as usize..self.text.1 as usize]
    }

    /// Byte offset of the first character of its value; of its tag, where it has none.
    pub(super) fn value_at(&self) -> usize {
        if self.text.0 == self.text.1 { self.at() } else { self.text.0 as usize }
    }

    /// Its name as written.
    pub(super) fn name<'a>(&self, text: &'a str) -> &'a str {
        let rest = &text[self.at() + 1..];
        &rest[..name_length(rest.as_bytes())]
    }
}

// === impl Tree ===

impl Tree {
    /// The element at an index.
    pub(super) fn node(&self, index: usize) -> Option<&Node> {
        self.nodes.get(index)
    }

    /// Every element, in file order, with its index.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().enumerate()
    }

    /// How many elements are within an element.
    pub(super) fn size(&self, parent: usize) -> usize {
        self.nodes.get(parent).map_or(0, |node| (node.end as usize).saturating_sub(parent + 1))
    }

    /// The children of an element, in file order, with their indices.
    pub(super) fn children(&self, parent: usize) -> impl Iterator<Item = (usize, &Node)> {
        let end = self.nodes.get(parent).map_or(0, |node| node.end as usize);
        let mut next = parent + 1;
        std::iter::from_fn(move || {
            let index = next;
            let node = self.nodes[..end].get(index)?;
            next = node.end as usize;
            Some((index, node))
        })
    }

    /// Reads one `OFX` element, whose `<` is at `start`. Returns it with the offset after it. Findings that refuse the
    /// file, but not the reading of its rest, and remarks, go to `report`; an error ends the reading.
    ///
    /// Offsets are 32 bits: the caller bounds the size of the text.
    pub(super) fn read(text: &str, start: usize, report: &mut dyn FnMut(Found)) -> Result<(Self, usize), Found> {
        // Banks write an element for about each 20 bytes. What is not used of this is never touched.
        let mut tree = Self { nodes: Vec::with_capacity((text.len() - start) / 20) };
        let mut open: Vec<Open<'_>> = Vec::new();
        // The value that was read last, as long as its end tag may follow.
        let mut value: Option<&str> = None;
        let mut next = next_tag(text, start)?;
        while let Some(Tagged { at, markup, after }) = next {
            if let Markup::End { name } = markup {
                if value.take().is_some_and(|value| value.eq_ignore_ascii_case(name)) {
                    // The end of the value before it.
                } else if let Some(level) = open.iter().rposition(|open| open.name.eq_ignore_ascii_case(name)) {
                    tree.close(&mut open, level, report);
                    if open.is_empty() {
                        return Ok((tree, after));
                    }
                } else {
                    let message = format!("</{name}> closes nothing that is open");
                    report(Found { severity: Severity::Warning, code: "TAG", at, message });
                }
            }
            next = next_tag(text, after)?;
            let content = &text[after..next.as_ref().map_or(text.len(), |next| next.at)];
            let words = content.trim_start();
            let begins = after + content.len() - words.len();
            let words = words.trim_end();
            match markup {
                Markup::Start { name, closed } => {
                    let tag = Tag::of(name);
                    let is_value = !closed && !words.is_empty() && !tag.holds_elements();
                    if words.len() > MAX_TEXT {
                        let message =
                            format!("{name}: a text of {} bytes; no field has more than {MAX_TEXT}", words.len());
                        return Err(Found::error("LIMIT", at, message));
                    }
                    if tree.nodes.len() == MAX_ELEMENTS {
                        return Err(Found::error("LIMIT", at, format!("more than {MAX_ELEMENTS} elements")));
                    }
                    let node = tree.nodes.len();
                    let ends = if is_value { begins + words.len() } else { begins };
                    let words_at = (offset(begins), offset(ends));
                    tree.nodes.push(Node { tag, at: offset(at), text: words_at, end: offset(node + 1) });
                    value = is_value.then_some(name);
                    if is_value {
                        continue;
                    }
                    if !words.is_empty() {
                        report(Found::stray(begins, words));
                    }
                    if closed && open.is_empty() {
                        return Ok((tree, after));
                    }
                    if open.len() == MAX_DEPTH {
                        return Err(Found::error("LIMIT", at, format!("elements nested more than {MAX_DEPTH} deep")));
                    }
                    if !closed {
                        open.push(Open { node, name });
                    }
                }
                Markup::DocType => return Err(doctype(at)),
                _ if !words.is_empty() => report(Found::stray(begins, words)),
                _ => {}
            }
        }
        let group = open.iter().rev().map(|open| tree.nodes[open.node]).find(|node| node.tag.holds_elements());
        let within = group.map_or("OFX", |node| node.tag.name());
        let message = format!("the file ends within {within}: it is cut off or damaged; fetch it again");
        Err(Found::error("TRUNCATED", text.trim_end().len(), message))
    }

    /// Closes the group at a level, and with it the empty values that were opened in it.
    fn close(&mut self, open: &mut Vec<Open<'_>>, level: usize, report: &mut dyn FnMut(Found)) {
        let end = offset(self.nodes.len());
        if let Some(group) = open.get(level) {
            self.nodes[group.node].end = end;
        }
        for unclosed in open.drain(level..).skip(1) {
            let node = self.nodes[unclosed.node];
            if node.tag.holds_elements() {
                report(Found::error("UNCLOSED", node.at(), format!("{} is never closed", node.tag.name())));
            }
        }
    }
}

/// A document type declaration, at an offset.
pub(super) fn doctype(at: usize) -> Found {
    let message = "a document type declaration, which a statement never has and which can define entities";
    Found::error("DOCTYPE", at, message)
}

/// The next tag or declaration at or after an offset; `None` at the end of the file. Comments, instructions and CDATA
/// sections are text: [`super::value`] takes them out of it.
fn next_tag(text: &str, from: usize) -> Result<Option<Tagged<'_>>, Found> {
    let mut position = from;
    while let Some(found) = text[position..].find('<') {
        let at = position + found;
        let (markup, after) = Markup::at(text, at);
        match markup {
            Markup::Start { .. } | Markup::End { .. } | Markup::DocType => {
                return Ok(Some(Tagged { at, markup, after }));
            }
            Markup::Aside | Markup::Character => position = after,
            Markup::Unfinished => {
                let message = "a comment, instruction or CDATA section begins here and has no end: the file is cut off";
                return Err(Found::error("TRUNCATED", at, message));
            }
        }
    }
    Ok(None)
}

// === impl Markup ===

impl<'a> Markup<'a> {
    /// What the `<` at an offset begins, and the offset after it.
    fn at(text: &'a str, at: usize) -> (Self, usize) {
        let rest = &text[at + 1..];
        for (begins, ends) in ASIDES {
            if let Some(inner) = rest.strip_prefix(begins) {
                let skipped = at + 1 + begins.len();
                return match inner.find(ends) {
                    Some(end) => (Self::Aside, skipped + end + ends.len()),
                    None => (Self::Unfinished, text.len()),
                };
            }
        }
        if rest.get(..8).is_some_and(|word| word.eq_ignore_ascii_case("!doctype")) {
            return (Self::DocType, at + 9);
        }
        let character = (Self::Character, at + 1);
        let (ends, rest) = match rest.strip_prefix('/') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let length = name_length(rest.as_bytes());
        // A tag is a name and at most attributes, up to a `>` with no `<` before it: `A <B` in a memo is no tag.
        let Some(close) = rest[length..].find(['<', '>']).filter(|_| (1..=MAX_NAME).contains(&length)) else {
            return character;
        };
        let inside = &rest[length..length + close];
        if rest.as_bytes()[length + close] != b'>' {
            return character;
        }
        let closed = inside.ends_with('/');
        let attributes = inside.strip_suffix('/').unwrap_or(inside);
        let well_formed = attributes.trim().is_empty()
            || (!ends && attributes.starts_with(|c: char| c.is_ascii_whitespace()) && attributes.contains('='));
        if !well_formed {
            return character;
        }
        let name = &rest[..length];
        let after = at + 1 + usize::from(ends) + length + close + 1;
        if ends { (Self::End { name }, after) } else { (Self::Start { name, closed }, after) }
    }
}

/// How long the name is that begins here: a letter, then letters, digits, `.`, `-`, `_`, `:`. 0 if none does.
fn name_length(bytes: &[u8]) -> usize {
    if !bytes.first().is_some_and(u8::is_ascii_alphabetic) {
        return 0;
    }
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
    bytes.iter().position(|byte| !name(byte)).unwrap_or(bytes.len())
}

#[expect(clippy::cast_possible_truncation, reason = "the caller bounds the size of the text far below 4 GiB")]
fn offset(at: usize) -> u32 {
    at as u32
}

// === impl Found ===

impl Found {
    pub(super) fn error(code: &'static str, at: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { severity: Severity::Error, code, at, message }
    }

    fn stray(at: usize, words: &str) -> Self {
        let shown: String = words.chars().take(40).collect();
        let message = format!("{shown:?} stands where an element was expected, and was not read");
        Self { severity: Severity::Warning, code: "TEXT", at, message }
    }
}
