//! What comes before the `OFX` element: `KEY:VALUE` lines, `KEY: value`, all on one line with or without spaces, inside a
//! comment, or XML declarations. Only the charset is of use; a file without any header is read as well.

use crate::statement::charset;

/// How much of a file is searched for a header.
const HEAD: usize = 4 * 1024;

/// The keys, so that a value ends where the next key begins even on one line without spaces.
const KEYS: [&str; 9] =
    ["OFXHEADER", "DATA", "VERSION", "SECURITY", "ENCODING", "CHARSET", "COMPRESSION", "OLDFILEUID", "NEWFILEUID"];

/// The charset that a file's header names, if it names one: XML's encoding, else CHARSET, else ENCODING.
pub(super) fn charset(bytes: &[u8]) -> Option<String> {
    let head: String = bytes.iter().take(HEAD).map(|byte| byte.to_ascii_uppercase() as char).collect();
    let head = &head[..element(&head, 0).unwrap_or(head.len())];
    if let Some(declaration) = charset::xml_declaration(head) {
        return charset::named_in(declaration).map(str::to_owned);
    }
    // ENCODING:USASCII says nothing beside CHARSET:1252, but ENCODING:UTF-8 does beside CHARSET:NONE.
    let named = |key| field(head, key).filter(|value| !matches!(value.as_str(), "" | "NONE"));
    named("CHARSET").or_else(|| named("ENCODING"))
}

/// The value of a key, in upper case.
fn field(head: &str, key: &str) -> Option<String> {
    let (_, rest) = head.split_once(&format!("{key}:"))?;
    let rest = rest.trim_start_matches([' ', '\t']);
    let end = rest.find(|c: char| c.is_whitespace() || c == '<').unwrap_or(rest.len());
    let value = &rest[..end];
    let next = KEYS.iter().filter_map(|key| value.find(&format!("{key}:"))).min().unwrap_or(value.len());
    Some(value[..next].to_owned())
}

/// Where a document type declaration begins in a header.
pub(super) fn doctype(header: &str) -> Option<usize> {
    header
        .match_indices("<!")
        .map(|(at, _)| at)
        .find(|at| header.get(at + 2..at + 9).is_some_and(|word| word.eq_ignore_ascii_case("doctype")))
}

/// Where the next `OFX` element begins, at or after an offset.
pub(super) fn element(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut position = from;
    while let Some(found) = text[position..].find('<') {
        let at = position + found;
        let named = bytes.get(at + 1..at + 4).is_some_and(|name| name.eq_ignore_ascii_case(b"OFX"));
        if named && bytes.get(at + 4).is_some_and(|after| *after == b'>' || after.is_ascii_whitespace()) {
            return Some(at);
        }
        position = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charset_is_found_in_every_form_of_header() {
        for (head, found) in [
            ("OFXHEADER:100\r\nENCODING:USASCII\r\nCHARSET:1252\r\nCOMPRESSION:NONE\r\n\r\n<OFX>", Some("1252")),
            ("OFXHEADER: 100\nENCODING: UTF-8\nCHARSET: NONE\n<OFX>", Some("UTF-8")),
            ("OFXHEADER:100DATA:OFXSGMLENCODING:USASCIICHARSET:1252COMPRESSION:NONE<OFX>", Some("1252")),
            ("OFXHEADER:100 ENCODING:UTF-8 COMPRESSION:NONE <OFX>", Some("UTF-8")),
            ("<!-- OFXHEADER:100\nCHARSET:8859-1 --><OFX>", Some("8859-1")),
            ("<?xml version=\"1.0\" encoding=\"utf-8\"?><?OFX OFXHEADER=\"200\"?><OFX>", Some("UTF-8")),
            ("<?xml version='1.0'?><OFX>", None),
            ("OFXHEADER:100\nCHARSET:NONE\n<OFX>", None),
            ("<OFX><MEMO>CHARSET:1252", None),
        ] {
            assert_eq!(charset(head.as_bytes()).as_deref(), found, "{head}");
        }
    }
}
