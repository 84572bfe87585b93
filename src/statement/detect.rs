//! Which format a file is: told by its content, never by its name.
//!
//! A format is a line in [`FORMATS`]; the first that knows the beginning of the file reads it. What is not read is
//! named where it can be: "a zip archive" helps more than "unknown".

use super::{Format, Input, Parsed, archive, bai2, camt, cnab240, mt940, ofx};
use crate::book;
use crate::diagnostic::{Diagnostic, Severity};

/// How much of a file is looked at.
const HEAD: usize = 8 * 1024;

/// A format that is read.
struct Reader {
    /// Does a file that begins like this have the format? Given the first [`HEAD`] bytes as text, without a byte order
    /// mark, bytes that are no UTF-8 replaced.
    knows: fn(&str) -> bool,
    parse: fn(&Input<'_>) -> Parsed,
}

/// The formats, in the order in which they are asked.
const FORMATS: [Reader; 5] = [
    Reader { knows: camt::knows, parse: camt::parse },
    Reader { knows: ofx::knows, parse: ofx::parse },
    Reader { knows: bai2::knows, parse: bai2::parse },
    Reader { knows: cnab240::knows, parse: cnab240::parse },
    // Last: a line with `:20:` could stand in the text of any other.
    Reader { knows: mt940::knows, parse: mt940::parse },
];

/// What every camt message has near its beginning.
const CAMT: &[u8] = b":iso:20022:tech:xsd:camt.05";

/// What the formats are called where none of them is found.
const EXPECTED: &str = "expected a statement as camt.053, MT940, OFX, BAI2 or CNAB 240";

/// Beginnings of files that are known, and not read.
const MAGIC: [(&[u8], &str); 3] = [
    (b"PK\x05\x06", "an empty zip archive"),
    (b"%PDF", "a PDF document"),
    (b"\xD0\xCF\x11\xE0", "an old Office document"),
];

/// Reads a statement file of any known format, or an archive of such files.
pub fn parse(input: &Input<'_>) -> Parsed {
    if input.bytes.starts_with(archive::GZIP) || input.bytes.starts_with(archive::ZIP) {
        return archive::parse(input.bytes, |bytes| plain(&Input { bytes }));
    }
    plain(input)
}

/// Reads a file that is no archive.
fn plain(input: &Input<'_>) -> Parsed {
    let refused = |code, at: Option<(u32, u32)>, message: String| {
        let diagnostic = Diagnostic::new(Severity::Error, code, message);
        Parsed::refused(None, vec![at.into_iter().fold(diagnostic, |found, (line, column)| found.at(line, column))])
    };
    if input.bytes.is_empty() {
        return refused("EMPTY", None, format!("the file is empty (0 bytes): {EXPECTED}"));
    }
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| input.bytes.starts_with(magic)) {
        return refused("FORMAT", None, format!("this is {what}; {EXPECTED}"));
    }
    let head = head(input.bytes);
    if let Some(reader) = FORMATS.iter().find(|format| (format.knows)(&head)) {
        let mut parsed = (reader.parse)(input);
        if let Some(foreign) = parsed.format.and_then(|format| foreign(input.bytes, format)) {
            parsed.diagnostics.push(foreign);
            parsed.statements.clear();
        }
        return parsed;
    }
    if input.bytes.iter().all(u8::is_ascii_whitespace) {
        return refused("EMPTY", None, format!("the file is blank: {EXPECTED}"));
    }
    if let Some(at) = head.find('\0') {
        let line = head[..at].matches('\n').count() + 1;
        let column = head[..at].chars().rev().take_while(|c| *c != '\n').count() + 1;
        let place = Some((u32::try_from(line).unwrap_or(1), u32::try_from(column).unwrap_or(1)));
        return refused("FORMAT", place, format!("this is binary data (a NUL here); {EXPECTED}"));
    }
    if book::looks_like_one(&head) {
        let message = format!(
            "this looks like a book file, and not like a statement: `counterfoil reconcile --book` reads it, and in the \
             inbox it belongs into book/; {EXPECTED}"
        );
        return refused("FORMAT", Some((1, 1)), message);
    }
    let what = known_but_unread(&head).map_or_else(
        || format!("no format that is read: it begins with {:?}", beginning(&head)),
        |what| format!("{what}, which is not read yet"),
    );
    refused("FORMAT", Some((1, 1)), format!("this is {what}; {EXPECTED}"))
}

/// A statement of another format in the same file, which its reader would pass over: known by how it begins, at the
/// beginning of a line.
fn foreign(bytes: &[u8], format: Format) -> Option<Diagnostic> {
    let mut lines = (1..).zip(bytes.split(|byte| *byte == b'\n')).peekable();
    while let Some((number, line)) = lines.next() {
        let begins = |start: &[u8]| line.starts_with(start);
        let other = match line.first() {
            Some(b':' | b'{') if begins(b":20:") || begins(b"{1:F") => Format::Mt940,
            Some(b'O') if begins(b"OFXHEADER") => Format::Ofx,
            Some(b'<') if names_camt(line) => Format::Camt053,
            Some(b'0') if begins(b"01,") && lines.peek().is_some_and(|(_, next)| next.starts_with(b"02,")) => {
                Format::Bai2
            }
            _ => continue,
        };
        if other != format {
            let message = format!(
                "the file is {}, and {} begins here: a file holds statements of one format. Put the other into a file of its own",
                format.title(),
                other.title()
            );
            return Some(Diagnostic::new(Severity::Error, "MIXED", message).at_line(number));
        }
    }
    None
}

/// Looked for at its colons: nearly every line of markup has none.
fn names_camt(line: &[u8]) -> bool {
    let colons = line.iter().take(HEAD).enumerate().filter(|(_, byte)| **byte == b':');
    colons.into_iter().any(|(at, _)| line[at..].starts_with(CAMT))
}

/// The beginning as text, good enough to tell formats apart.
fn head(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(HEAD)];
    // A byte order mark is removed, and decides; else UTF-8.
    encoding_rs::UTF_8.decode(head).0.into_owned()
}

/// Statement formats that are named and not read, by how their first line looks.
fn known_but_unread(head: &str) -> Option<&'static str> {
    let text = head.trim_start();
    let html = ["<!doctype html", "<html"]
        .iter()
        .any(|tag| text.get(..tag.len()).is_some_and(|at| at.eq_ignore_ascii_case(tag)));
    if html {
        Some("a web page, as banks send in place of a file when a session has ended")
    } else if text.starts_with("<?xml") || text.starts_with('<') {
        Some("markup of another kind")
    } else {
        None
    }
}

fn beginning(head: &str) -> String {
    head.trim_start().chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Parsed {
        parse(&Input { bytes })
    }

    #[test]
    fn what_is_no_statement_is_named_and_refused() {
        for (bytes, code, said) in [
            (&b""[..], "EMPTY", "0 bytes"),
            (b" \r\n\t", "EMPTY", "blank"),
            (b"\x1F\x8B\x08\0", "ARCHIVE", "gzip data that is damaged or cut off"),
            (b"PK\x03\x04\x14", "ARCHIVE", "a zip archive that cannot be opened"),
            (b"%PDF-1.7", "FORMAT", "PDF"),
            (b"ab\n\0\x01\x02", "FORMAT", "binary"),
            (b"<!DOCTYPE HTML><html>", "FORMAT", "web page"),
            (b"date;amount\n2026-01-01;5", "FORMAT", "\"date;amount\\n"),
        ] {
            let parsed = read(bytes);
            assert_eq!((parsed.format, parsed.statements.len()), (None, 0), "{said}");
            let [found] = &parsed.diagnostics[..] else { panic!("{said}: {:?}", parsed.diagnostics) };
            assert_eq!((found.severity, found.code), (Severity::Error, code), "{said}");
            assert!(found.message.contains(said), "{:?} says {said}", found.message);
        }
    }

    #[test]
    fn a_format_is_known_by_what_it_holds() {
        assert_eq!(read(b"OFXHEADER:100\r\n<OFX>").format, Some(Format::Ofx));
        assert_eq!(read(b"\xEF\xBB\xBF\n<ofx></ofx>").format, Some(Format::Ofx));
        assert_eq!(read(b"\xFF\xFE<\0O\0F\0X\0>\0").format, Some(Format::Ofx));
        let binary = read(b"ab\n\0").diagnostics;
        assert_eq!((binary[0].line, binary[0].column), (Some(2), Some(1)));
    }

    #[test]
    fn a_second_format_in_a_file_is_refused_and_never_passed_over() {
        let mt940 = ":20:X\n:25:1/2\n:60F:C261116EUR5,\n:62F:C261116EUR5,\n-\n";
        let ofx = "OFXHEADER:100\n\n<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>BRL<BANKACCTFROM><BANKID>1<ACCTID>2\
                   </BANKACCTFROM><BANKTRANLIST><DTSTART>20261110<DTEND>20261111</BANKTRANLIST></STMTRS></STMTTRNRS>\
                   </BANKMSGSRSV1></OFX>\n";
        let bai2 = "01,A,B,261117,0600,1,,,2/\n02,B,A,1,261116,,USD,/\n03,1,,/\n49,,/\n98,,,/\n99,,,/\n";
        let camt = "<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.08\"><BkToCstmrStmt/></Document>\n";
        for (at, one) in [mt940, ofx, bai2].into_iter().enumerate() {
            assert!(!read(one.as_bytes()).statements.is_empty(), "{one}");
            for (_, other) in [mt940, ofx, bai2, camt].into_iter().enumerate().filter(|(other, _)| *other != at) {
                for both in [[one, other].concat(), [other, one].concat()] {
                    let parsed = read(both.as_bytes());
                    assert!(parsed.statements.is_empty(), "{both}");
                    assert!(parsed.diagnostics.iter().any(|found| found.severity == Severity::Error), "{both}");
                }
            }
        }
    }
}
