//! The little of XML that a statement needs: children, texts and attributes, pulled one at a time from the file's text.
//!
//! Total and bounded: a document type declaration is refused (so no entity can be defined, and none can explode), depth
//! and the length of a text or a tag are limited, and a file that ends early is an error. Names are compared without
//! their prefix.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::diagnostic::{Diagnostic, Severity};
use crate::money::Currency;
use crate::statement::charset::{self, Decoded};
use crate::statement::place::Places;

/// How much of a file is searched for its XML declaration.
const HEAD: usize = 200;

/// How deep elements may nest. The deepest path of camt.053 has 14 levels; business envelopes add a few.
const MAX_DEPTH: u32 = 64;

/// How many bytes one element's text, or one tag, may have. The longest text of the schema has 500 characters.
const MAX_TEXT: usize = 64 * 1024;

/// Why reading stopped: the finding that refuses the file.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) Diagnostic);

/// A pull reader over the file's text.
pub(super) struct Xml<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    /// How many elements are open.
    depth: u32,
    places: Places<'a>,
}

/// An element that was just opened.
pub(super) struct Open<'a> {
    start: BytesStart<'a>,
    /// Byte offset of its `<`.
    pub(super) at: usize,
}

/// An element's text, trimmed, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Text<'a> {
    pub(super) value: Cow<'a, str>,
    /// Byte offset of its first character (of the element, if it is empty).
    pub(super) at: usize,
}

// === impl Xml ===

impl<'a> Xml<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Self { text, reader, depth: 0, places: Places::new(text) }
    }

    /// The next child of the element that is open, or `None` when that element closes. The caller consumes the child
    /// to its end: by [`Self::child`] until `None`, by [`Self::text`] or by [`Self::skip`].
    pub(super) fn child(&mut self) -> Result<Option<Open<'a>>, Refusal> {
        loop {
            let at = self.offset();
            match self.event(at)? {
                Event::Start(start) => return self.open(start, at).map(Some),
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(None);
                }
                Event::Eof => return Err(self.truncated(at)),
                _ => {}
            }
        }
    }

    /// The next element that opens, however deep, or `None` at the end of the file. For looking for an element whose
    /// surroundings do not matter.
    pub(super) fn next_open(&mut self) -> Result<Option<Open<'a>>, Refusal> {
        loop {
            let at = self.offset();
            match self.event(at)? {
                Event::Start(start) => return self.open(start, at).map(Some),
                Event::End(_) => self.depth = self.depth.saturating_sub(1),
                Event::Eof if self.depth > 0 => return Err(self.truncated(at)),
                Event::Eof => return Ok(None),
                _ => {}
            }
        }
    }

    /// Consumes the element that was just opened, with all that is in it.
    pub(super) fn skip(&mut self) -> Result<(), Refusal> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            let at = self.offset();
            match self.event(at)? {
                Event::Start(start) => drop(self.open(start, at)?),
                Event::End(_) => self.depth = self.depth.saturating_sub(1),
                Event::Eof => return Err(self.truncated(at)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The text of the element that was just opened, which is consumed. Elements within it are passed over.
    pub(super) fn text(&mut self) -> Result<Text<'a>, Refusal> {
        self.text_or(&[])
    }

    /// The same; but if a child of one of these names is within, that child's text (the choices of the schema:
    /// `Sts/Cd`, `BookgDt/DtTm`).
    pub(super) fn text_or(&mut self, choices: &[&str]) -> Result<Text<'a>, Refusal> {
        let begins = self.offset();
        let mut chosen = None;
        let mut value: Cow<'a, str> = Cow::Borrowed("");
        loop {
            let at = self.offset();
            match self.event(at)? {
                Event::Text(text) => append(&mut value, text.into_inner()),
                Event::CData(text) => append(&mut value, text.into_inner()),
                Event::GeneralRef(name) => {
                    let resolved = match &*name {
                        "lt" => Some('<'),
                        "gt" => Some('>'),
                        "amp" => Some('&'),
                        "quot" => Some('"'),
                        "apos" => Some('\''),
                        _ => name.resolve_char_ref().ok().flatten().filter(|c| is_xml_char(*c)),
                    };
                    let Some(c) = resolved else {
                        let message = format!(
                            "&{};: found a reference to an entity or character that XML 1.0 does not know, \
                            expected text",
                            excerpt(&name)
                        );
                        return Err(self.refusal("XML", at, message));
                    };
                    value.to_mut().push(c);
                }
                Event::Start(start) => {
                    let child = self.open(start, at)?;
                    if choices.contains(&child.name()) {
                        chosen = Some(self.text()?);
                    } else {
                        self.skip()?;
                    }
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    break;
                }
                Event::Eof => return Err(self.truncated(at)),
                _ => {}
            }
            if value.len() > MAX_TEXT {
                return Err(self.refusal(
                    "LIMIT",
                    begins,
                    format!("a text of more than {MAX_TEXT} bytes: no field of a statement is that long"),
                ));
            }
        }
        if let Some(chosen) = chosen {
            return Ok(chosen);
        }
        let at = begins + value.len() - value.trim_start().len();
        let value = match value {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
        };
        Ok(Text { value, at })
    }

    /// Line and column of a byte offset, both from 1.
    pub(super) fn place(&mut self, at: usize) -> (u32, u32) {
        self.places.of(at)
    }

    /// The finding that ends reading.
    pub(super) fn refusal(&mut self, code: &'static str, at: usize, message: impl Into<String>) -> Refusal {
        let (line, column) = self.place(at);
        Refusal(Diagnostic::new(Severity::Error, code, message).at(line, column))
    }

    fn open(&mut self, start: BytesStart<'a>, at: usize) -> Result<Open<'a>, Refusal> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.refusal("LIMIT", at, format!("elements nested more than {MAX_DEPTH} deep")));
        }
        if start.len() > MAX_TEXT {
            return Err(self.refusal("LIMIT", at, format!("a tag of more than {MAX_TEXT} bytes")));
        }
        Ok(Open { start, at })
    }

    fn event(&mut self, at: usize) -> Result<Event<'a>, Refusal> {
        match self.reader.read_event() {
            Ok(Event::DocType(_)) => Err(self.refusal(
                "DOCTYPE",
                at,
                "a document type declaration, which a statement never has and which can define entities: refused",
            )),
            Ok(event) => Ok(event),
            Err(error) => {
                let at = usize::try_from(self.reader.error_position()).unwrap_or(at).min(self.text.len());
                if at >= self.text.len() || self.offset() >= self.text.len() {
                    return Err(self.truncated(at));
                }
                Err(self.refusal("XML", at, format!("not well-formed XML: {error}")))
            }
        }
    }

    fn truncated(&mut self, at: usize) -> Refusal {
        let open = self.depth;
        self.refusal(
            "TRUNCATED",
            at,
            format!(
                "the file ends here, within the XML ({open} elements are still open): it is cut off or damaged; \
                fetch it again"
            ),
        )
    }

    fn offset(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }
}

// === impl Open ===

impl Open<'_> {
    /// Its name, without prefix.
    pub(super) fn name(&self) -> &str {
        self.start.local_name().into_inner()
    }

    /// What the attribute `Ccy` says: a currency, or a text that is none; empty where it is absent or not readable.
    pub(super) fn currency(&self) -> Result<Currency, String> {
        let attribute = self.start.try_get_attribute("Ccy").ok().flatten();
        let code = attribute.as_ref().map_or("", |attribute| attribute.value.trim());
        Currency::new(code).map_err(|unknown| unknown.0)
    }

    /// The version in its namespace's name (`8` of `urn:iso:std:iso:20022:tech:xsd:camt.053.001.08`), if it declares a
    /// camt.053 namespace under any prefix.
    pub(super) fn version(&self) -> Option<u32> {
        let declared = self.start.attributes_raw();
        let after = &declared[declared.find("camt.053.001.")? + "camt.053.001.".len()..];
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    }
}

fn append<'a>(value: &mut Cow<'a, str>, more: Cow<'a, str>) {
    if value.is_empty() {
        *value = more;
    } else {
        value.to_mut().push_str(&more);
    }
}

/// The beginning of a text, for a message.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn is_xml_char(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// The file's bytes as text, by the rule that holds for every format ([`charset`]), without what XML forbids.
pub(super) fn decode(bytes: &[u8]) -> Result<Decoded<'_>, Diagnostic> {
    let head: String = bytes.iter().take(HEAD).map(|byte| char::from(*byte)).collect();
    let declared = charset::xml_declaration(&head).and_then(charset::named_in);
    let decoded = charset::decode(bytes, declared)?;
    let text = &decoded.text;
    if let Some(at) = text.bytes().position(|byte| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')) {
        let (line, column) = Places::new(text).of(at);
        let message =
            format!("a control character (U+{:04X}), which XML forbids: the file is damaged", text.as_bytes()[at]);
        return Err(Diagnostic::new(Severity::Error, "XML", message).at(line, column));
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_whole_whatever_it_is_made_of() {
        let mut xml = Xml::new("<a> x &amp; <![CDATA[<y>]]><!-- no --> &#233;<b>not this</b> z </a>");
        xml.child().unwrap();
        let text = xml.text().unwrap();
        assert_eq!((&*text.value, text.at), ("x & <y> é z", 4));
    }

    #[test]
    fn the_character_set_is_the_one_that_the_file_declares() {
        let read = |bytes: &[u8]| decode(bytes).map(|decoded| (decoded.text.contains('ç'), decoded.finding.is_some()));
        assert_eq!(read(b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe7</a>"), Ok((true, false)));
        let utf16: Vec<u8> = "\u{feff}<?xml version='1.0' encoding='UTF-16'?><a>ç</a>"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        assert_eq!(read(&utf16), Ok((true, false)));
        assert_eq!(read(b"<?xml version='1.0' encoding='UTF-8'?><a>\xe7</a>"), Ok((true, true)));
        let refused = |bytes: &[u8]| read(bytes).map_err(|refused| (refused.code, refused.line, refused.column));
        assert_eq!(refused(b"<?xml encoding='klingon'?>\n<a>\xe7</a>"), Err(("CHARSET", Some(2), Some(4))));
        assert_eq!(refused(b"<a>\0</a>"), Err(("CHARSET", Some(1), Some(4))));
        assert_eq!(refused(b"<a>\n\x1b</a>"), Err(("XML", Some(2), Some(1))));
    }
}
