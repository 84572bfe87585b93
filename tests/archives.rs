//! Statements in gzip and zip: read as if they lay there by themselves.

#![expect(clippy::unwrap_used, reason = "tests: a fixture that cannot be made has failed")]

use std::io::{Cursor, Write};

use counterfoil::diagnostic::Severity;
use counterfoil::statement::{Format, Input, Parsed, detect};
use flate2::Compression;
use flate2::write::GzEncoder;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const CARD: &[u8] = include_bytes!("fixtures/ofx/card.xml.ofx");
const TWO_ACCOUNTS: &[u8] = include_bytes!("fixtures/ofx/two-accounts.ofx");
const MT940: &[u8] = b":20:X\n:25:1/2\n:60F:C261116EUR5,\n:62F:C261116EUR5,\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn parse(bytes: &[u8]) -> Parsed {
    detect::parse(&Input { bytes })
}

/// The one error of a refused file.
fn refused(bytes: &[u8]) -> (&'static str, String) {
    let parsed = parse(bytes);
    assert!(parsed.statements.is_empty(), "nothing partial");
    let mut errors: Vec<_> = parsed.diagnostics.into_iter().filter(|it| it.severity == Severity::Error).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let error = errors.remove(0);
    (error.code, error.message)
}

#[test]
fn a_gzip_file_is_what_it_holds() {
    let packed = parse(&gzip(TWO_ACCOUNTS));
    let plain = parse(TWO_ACCOUNTS);
    assert_eq!((packed.format, packed.statements), (Some(Format::Ofx), plain.statements));
    assert_eq!(packed.diagnostics, plain.diagnostics);
}

#[test]
fn every_file_of_a_zip_archive_is_read_whatever_order_it_was_packed_in() {
    let one =
        parse(&zip(&[("a/two.ofx", TWO_ACCOUNTS), ("b.ofx", CARD), ("__MACOSX/._b.ofx", b"x"), (".DS_Store", b"x")]));
    let other = parse(&zip(&[("b.ofx", CARD), ("a/two.ofx", TWO_ACCOUNTS)]));
    assert_eq!(one.statements.len(), 3);
    assert_eq!(one.statements, other.statements);
}

#[test]
fn a_member_that_is_refused_refuses_the_archive_and_is_named() {
    let (code, message) = refused(&zip(&[("good.ofx", CARD), ("bad.ofx", b"<OFX><STMTRS>")]));
    assert!(message.starts_with("in bad.ofx: "), "{code} {message}");
    let (code, message) = refused(&zip(&[("good.ofx", CARD), ("readme.txt", b"hello")]));
    assert_eq!(code, "FORMAT");
    assert!(message.starts_with("in readme.txt: "), "{message}");
}

#[test]
fn two_members_of_one_name_are_not_one() {
    // The library that packs refuses it; other programs do not: the second name is changed in the bytes.
    let mut packed = zip(&[("a.ofx", TWO_ACCOUNTS), ("b.ofx", CARD)]);
    for at in 0..packed.len() - 5 {
        if &packed[at..at + 5] == b"b.ofx" {
            packed[at] = b'a';
        }
    }
    let (code, message) = refused(&packed);
    assert_eq!(code, "ARCHIVE");
    assert!(message.contains("2 members, 1 of which"), "{message}");
}

#[test]
fn what_no_careful_person_would_open_is_not_opened() {
    let nested = zip(&[("inner.zip", &zip(&[("b.ofx", CARD)]))]);
    assert!(refused(&nested).1.contains("an archive in an archive"));
    assert!(refused(&gzip(&gzip(CARD))).1.contains("an archive in an archive"));
    assert!(refused(&zip(&[("b.ofx", CARD), ("c.sta", MT940)])).1.contains("in OFX and in MT940"));
    assert_eq!(refused(&zip(&[])).0, "FORMAT");
    assert!(refused(&zip(&[("__MACOSX/x", b"x")])).1.contains("holds no file"));
    assert!(refused(&zip(&[("[Content_Types].xml", b"<x/>")])).1.contains("Office"));
    let packed = gzip(TWO_ACCOUNTS);
    assert_eq!(refused(&packed[..packed.len() - 9]).0, "ARCHIVE");
    let mut damaged = zip(&[("b.ofx", CARD)]);
    damaged[60] ^= 0xFF;
    assert_eq!(refused(&damaged).0, "ARCHIVE");
}
