//! Bytes to text. A file's own label is a hint, since banks write labels by habit; the bytes decide.
//!
//! In order: a byte order mark; then UTF-8, if the bytes are valid in it; then Windows-1252, or another single-byte
//! charset that the label names. A byte that has no meaning there, or a NUL, refuses the file with its place: nothing is
//! replaced by a question mark.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::diagnostic::{Diagnostic, Severity};

/// A file as text.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// Without its byte order mark.
    pub text: Cow<'a, str>,
    /// That the bytes contradict the label, where they do.
    pub finding: Option<Diagnostic>,
}

/// What a label means to us.
enum Label {
    /// None, or one that promises nothing beyond ASCII.
    Silent,
    Utf8,
    Encoding(&'static Encoding),
    Unknown,
}

/// The XML declaration among the first characters of a file, up to its end.
pub(super) fn xml_declaration(head: &str) -> Option<&str> {
    let lower = head.to_ascii_lowercase();
    let start = lower.find("<?xml")?;
    let end = lower[start..].find("?>").map_or(lower.len(), |length| start + length);
    Some(&head[start..end])
}

/// The charset that an XML declaration names, if it names one.
pub(super) fn named_in(declaration: &str) -> Option<&str> {
    let at = declaration.to_ascii_lowercase().find("encoding")?;
    declaration[at..].split(['"', '\'']).nth(1)
}

/// Decodes a file whose own header says `declared`.
///
/// Errors: a NUL, an undefined byte, broken UTF-16, or bytes beyond ASCII under a label that is not read. Each names
/// the byte, its offset from 0, and its line and column.
pub fn decode<'a>(bytes: &'a [u8], declared: Option<&str>) -> Result<Decoded<'a>, Diagnostic> {
    if let Some(rest) = bytes.strip_prefix(b"\xEF\xBB\xBF") {
        refuse_nul(rest, bytes)?;
        let text = std::str::from_utf8(rest).map_err(|error| {
            refused(bytes, 3 + error.valid_up_to(), "breaks the UTF-8 that its byte order mark promises")
        })?;
        return Ok(Decoded { text: Cow::Borrowed(text), finding: None });
    }
    for (mark, encoding) in [(b"\xFF\xFE", UTF_16LE), (b"\xFE\xFF", UTF_16BE)] {
        if let Some(rest) = bytes.strip_prefix(mark) {
            let text = encoding.decode_without_bom_handling_and_without_replacement(rest);
            let text = text.filter(|text| !text.contains('\0'));
            return text.map(|text| Decoded { text, finding: None }).ok_or_else(|| {
                let message = format!("the file begins as {} and is not valid in it", encoding.name());
                Diagnostic::new(Severity::Error, "CHARSET", message)
            });
        }
    }
    refuse_nul(bytes, bytes)?;
    let label = Label::of(declared);
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let mislabelled = matches!(label, Label::Encoding(_) | Label::Unknown) && !text.is_ascii();
            let finding = mislabelled.then(|| {
                let at = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
                let message = format!("labelled {}, but valid UTF-8: read as UTF-8", declared.unwrap_or("otherwise"));
                located(Diagnostic::new(Severity::Info, "CHARSET", message), bytes, at)
            });
            Ok(Decoded { text: Cow::Borrowed(text), finding })
        }
        Err(broken) => labelled(bytes, &label, declared, broken.valid_up_to()),
    }
}

/// Bytes that are not UTF-8; `first` is where that shows.
fn labelled<'a>(
    bytes: &'a [u8],
    label: &Label,
    declared: Option<&str>,
    first: usize,
) -> Result<Decoded<'a>, Diagnostic> {
    let encoding = match label {
        Label::Encoding(encoding) => encoding,
        Label::Silent | Label::Utf8 => WINDOWS_1252,
        Label::Unknown => {
            let why = format!(
                "is beyond ASCII, and the file's label {:?} is no charset that is read",
                declared.unwrap_or("")
            );
            return Err(refused(bytes, first, &why));
        }
    };
    if encoding == WINDOWS_1252
        && let Some(at) = bytes.iter().position(|byte| matches!(byte, 0x81 | 0x8D | 0x8F | 0x90 | 0x9D))
    {
        return Err(refused(bytes, at, "has no meaning in Windows-1252, and the file is not UTF-8 either"));
    }
    let text = encoding
        .decode_without_bom_handling_and_without_replacement(bytes)
        .ok_or_else(|| refused(bytes, first, &format!("or a later one has no meaning in {}", encoding.name())))?;
    let finding = (!matches!(label, Label::Encoding(_))).then(|| {
        let message = format!(
            "byte {first} (0x{:02X}) is not what the label {} promises: read as Windows-1252",
            bytes[first],
            declared.unwrap_or("(none)")
        );
        located(Diagnostic::new(Severity::Warning, "CHARSET", message), bytes, first)
    });
    Ok(Decoded { text, finding })
}

fn refuse_nul(rest: &[u8], bytes: &[u8]) -> Result<(), Diagnostic> {
    // `contains` is the fast one; where the NUL stands is asked only if there is one.
    match rest.contains(&0).then(|| rest.iter().position(|byte| *byte == 0)).flatten() {
        Some(at) => Err(refused(bytes, at + bytes.len() - rest.len(), "is a NUL: this is no text, or it was damaged")),
        None => Ok(()),
    }
}

fn refused(bytes: &[u8], at: usize, why: &str) -> Diagnostic {
    let byte = bytes.get(at).copied().unwrap_or(0);
    located(Diagnostic::new(Severity::Error, "CHARSET", format!("byte {at} (0x{byte:02X}) {why}")), bytes, at)
}

/// With the line and column of a byte. Up to it the bytes may be UTF-8 or not: then each byte is a character.
fn located(diagnostic: Diagnostic, bytes: &[u8], at: usize) -> Diagnostic {
    let before = &bytes[..at.min(bytes.len())];
    let line = before.split(|byte| *byte == b'\n').count();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let in_line = before[start..].strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&before[start..]);
    let column = std::str::from_utf8(in_line).map_or(in_line.len(), |text| text.chars().count()) + 1;
    diagnostic.at(u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}

// === impl Label ===

impl Label {
    fn of(declared: Option<&str>) -> Self {
        let Some(label) = declared.map(str::trim).filter(|label| !label.is_empty()) else { return Self::Silent };
        let label = label.to_ascii_uppercase();
        match label.as_str() {
            "NONE" | "USASCII" | "US-ASCII" | "ASCII" => Self::Silent,
            "UTF-8" | "UTF8" | "UNICODE" | "65001" => Self::Utf8,
            // Latin-1 is Windows-1252 without 27 printable characters: whoever labels one means either.
            "1252" | "CP1252" | "WINDOWS-1252" | "8859-1" | "ISO-8859-1" | "ISO8859-1" | "LATIN1" => {
                Self::Encoding(WINDOWS_1252)
            }
            other => {
                let windows = format!("windows-{other}");
                let known = Encoding::for_label(other.as_bytes()).or_else(|| Encoding::for_label(windows.as_bytes()));
                // The label was read as ASCII: in a charset that does not hold ASCII it is no truth.
                known.filter(|encoding| encoding.is_ascii_compatible()).map_or(Self::Unknown, Self::Encoding)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], label: &str) -> (String, Option<Severity>) {
        let decoded = decode(bytes, Some(label)).unwrap();
        (decoded.text.into_owned(), decoded.finding.map(|finding| finding.severity))
    }

    #[test]
    fn the_bytes_decide_and_the_label_is_a_hint() {
        assert_eq!(read("CARTÃO".as_bytes(), "UTF-8"), ("CARTÃO".into(), None));
        assert_eq!(read("CARTÃO".as_bytes(), "1252"), ("CARTÃO".into(), Some(Severity::Info)));
        assert_eq!(read(b"CART\xC3O", "1252"), ("CARTÃO".into(), None));
        assert_eq!(read(b"CART\xC3O", "USASCII"), ("CARTÃO".into(), Some(Severity::Warning)));
        assert_eq!(read(b"CART\xC3O", "UTF-8"), ("CARTÃO".into(), Some(Severity::Warning)));
        assert_eq!(read(b"CARTAO", "1252"), ("CARTAO".into(), None));
        assert_eq!(read(b"\xA3", "1250"), ("Ł".into(), None));
        assert_eq!(read(b"\xD2\xF8\xD0\xD0", "GB18030"), ("银行".into(), None));
        assert_eq!(read("ção".as_bytes(), "UTF-16"), ("ção".into(), Some(Severity::Info)));
        assert_eq!(read(b"\xEF\xBB\xBFa", "1252"), ("a".into(), None));
        assert_eq!(read(b"\xFF\xFEa\0\xE7\0", "NONE"), ("aç".into(), None));
    }

    #[test]
    fn the_charset_of_xml_is_what_its_declaration_names() {
        for (head, found) in [
            ("<?xml version=\"1.0\" encoding = 'ISO-8859-1' ?><a b=\"encoding\">", Some(Some("ISO-8859-1"))),
            ("\n<?XML VERSION=\"1.0\" ENCODING=\"UTF-8\"?>", Some(Some("UTF-8"))),
            ("<?xml version='1.0'?><a encoding='x'>", Some(None)),
            ("<?xml encoding='UTF-", Some(Some("UTF-"))),
            ("<a encoding='x'>", None),
        ] {
            assert_eq!(xml_declaration(head).map(named_in), found, "{head}");
        }
    }

    #[test]
    fn the_contradiction_is_shown_where_it_is() {
        let finding = decode(b"ab\ncd\xC3O", Some("USASCII")).unwrap().finding.unwrap();
        assert_eq!((finding.line, finding.column), (Some(2), Some(3)));
    }

    #[test]
    fn a_byte_without_meaning_refuses_the_file_at_its_place() {
        let place = |bytes: &[u8], label| {
            let refused = decode(bytes, Some(label)).unwrap_err();
            assert_eq!((refused.severity, refused.code), (Severity::Error, "CHARSET"));
            (refused.line, refused.column)
        };
        assert_eq!(place(b"a\nb\x81", "1252"), (Some(2), Some(2)));
        assert_eq!(place(b"a\nbc\0d", "1252"), (Some(2), Some(3)));
        assert_eq!(place(b"\xEF\xBB\xBFab\xC3", "UTF-8"), (Some(1), Some(3)));
        assert_eq!(place(b"a\xC3O", "850"), (Some(1), Some(2)));
        assert_eq!(place(b"\xFF\xFEa", "NONE"), (None, None));
    }
}
