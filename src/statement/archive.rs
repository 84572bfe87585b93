//! Files in files: gzip and zip, opened in memory and within a limit, so that a small file cannot become a huge one.
//!
//! What an archive holds is read as if it lay there by itself, and what is found in it says in which member.

use std::io::{Cursor, Read};

use flate2::read::MultiGzDecoder;
use zip::ZipArchive;

use super::Parsed;
use crate::diagnostic::{Diagnostic, Severity};

/// How a gzip file begins.
pub(super) const GZIP: &[u8] = b"\x1F\x8B";
/// How a zip archive begins.
pub(super) const ZIP: &[u8] = b"PK\x03\x04";

/// How the record at a zip archive's end begins.
const END: &[u8] = b"PK\x05\x06";

/// How much may be unpacked of one file, in all. What is read by itself may be as large.
const MAX_BYTES: u64 = 1 << 30;
/// How many members an archive may have.
const MAX_MEMBERS: usize = 10_000;

/// A file in an archive.
#[derive(Debug)]
struct Member {
    /// Its path in the archive; none in gzip, which holds one.
    name: Option<String>,
    bytes: Vec<u8>,
}

/// Opens an archive and reads each of its members with `parse`.
///
/// One member that is refused refuses the archive: half of what a bank sent is not what it sent. So do members of several
/// formats, since a file has one.
pub(super) fn parse(bytes: &[u8], parse: impl Fn(&[u8]) -> Parsed) -> Parsed {
    let members = if bytes.starts_with(GZIP) { gunzip(bytes) } else { unzip(bytes) };
    let members = match members {
        Ok(members) => members,
        Err(message) => return Parsed::refused(None, vec![Diagnostic::new(Severity::Error, "ARCHIVE", message)]),
    };
    let mut all = Parsed { format: None, statements: Vec::new(), diagnostics: Vec::new() };
    for member in &members {
        let of_member = |mut found: Diagnostic| {
            if let Some(name) = &member.name {
                found.message = format!("in {name}: {}", found.message);
            }
            found
        };
        if member.bytes.starts_with(GZIP) || member.bytes.starts_with(ZIP) {
            let message = "an archive in an archive, which is not opened: unpack it first";
            all.diagnostics.push(of_member(Diagnostic::new(Severity::Error, "ARCHIVE", message)));
            continue;
        }
        let parsed = parse(&member.bytes);
        all.diagnostics.extend(parsed.diagnostics.into_iter().map(of_member));
        if let (Some(one), Some(other)) = (all.format, parsed.format.filter(|format| Some(*format) != all.format)) {
            let message =
                format!("statements in {} and in {}: an archive has those of one format", one.title(), other.title());
            all.diagnostics.push(of_member(Diagnostic::new(Severity::Error, "ARCHIVE", message)));
        }
        all.format = all.format.or(parsed.format);
        all.statements.extend(parsed.statements);
    }
    if members.is_empty() {
        all.diagnostics.push(Diagnostic::new(Severity::Error, "EMPTY", "the archive holds no file"));
    }
    if all.diagnostics.iter().any(|found| found.severity == Severity::Error) {
        return Parsed::refused(all.format, all.diagnostics);
    }
    all
}

fn gunzip(bytes: &[u8]) -> Result<Vec<Member>, String> {
    let mut left = MAX_BYTES;
    let bytes = take(MultiGzDecoder::new(bytes), &mut left).map_err(|why| format!("gzip data that {why}"))?;
    Ok(vec![Member { name: None, bytes }])
}

fn unzip(bytes: &[u8]) -> Result<Vec<Member>, String> {
    let mut archive =
        ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("a zip archive that cannot be opened: {error}"))?;
    if archive.len() > MAX_MEMBERS {
        return Err(format!("a zip archive of {} members; no more than {MAX_MEMBERS} are opened", archive.len()));
    }
    if let Some(told) = members_told(bytes).filter(|told| *told != archive.len()) {
        return Err(format!(
            "a zip archive of {told} members, {} of which have a name of their own: rename one",
            archive.len()
        ));
    }
    if archive.file_names().any(|name| name.is_ok_and(|name| name == "[Content_Types].xml")) {
        return Err("an Office document: save its table as CSV".to_owned());
    }
    let mut left = MAX_BYTES;
    let mut members = Vec::new();
    for at in 0..archive.len() {
        let file = archive.by_index(at).map_err(|error| format!("member {} of a zip archive: {error}", at + 1))?;
        let name = file.name().map_err(|error| format!("member {} of a zip archive: {error}", at + 1))?.into_owned();
        // What the systems that packed it put beside the files.
        if file.is_dir()
            || name.starts_with("__MACOSX/")
            || name.rsplit('/').next().is_some_and(|name| name.starts_with('.'))
        {
            continue;
        }
        let bytes = take(file, &mut left).map_err(|why| format!("{name} in a zip archive {why}"))?;
        members.push(Member { name: Some(name), bytes });
    }
    // The order in which a tool packed them means nothing.
    members.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(members)
}

/// How many members the archive's own end record tells of; none where they are too many for it. Members of one name are
/// one to the library, which would lose the first.
fn members_told(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(END.len()).rposition(|window| window == END)?;
    let count = u16::from_le_bytes([*bytes.get(end + 10)?, *bytes.get(end + 11)?]);
    (count != u16::MAX).then_some(usize::from(count))
}

/// Unpacks one member; no more than is left.
fn take(packed: impl Read, left: &mut u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    packed.take(*left + 1).read_to_end(&mut bytes).map_err(|error| format!("is damaged or cut off: {error}"))?;
    *left = left
        .checked_sub(bytes.len() as u64)
        .ok_or_else(|| format!("unpacks to more than {MAX_BYTES} bytes, which are the most that is read"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_small_file_that_unpacks_to_a_huge_one_is_stopped_at_the_limit() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&vec![0; 1 << 16]).unwrap();
        let packed = packed.finish().unwrap();
        let mut left = (1 << 16) + 1;
        assert_eq!(take(MultiGzDecoder::new(&packed[..]), &mut left).unwrap().len(), 1 << 16);
        assert_eq!(left, 1, "what one member took is gone for the next");
        let why = take(MultiGzDecoder::new(&packed[..]), &mut left).unwrap_err();
        assert!(why.starts_with("unpacks to more than"), "{why}");
    }
}
