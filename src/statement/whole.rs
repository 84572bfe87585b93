//! What every format of text has in common: a file becomes text, and then whole statements or a refusal, never a part.

use super::{Format, Parsed, Statement, charset};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// The largest file that is read.
const MAX_BYTES: usize = 1 << 30;

/// How a format's files are encoded.
#[derive(Debug, Clone, Copy)]
pub(super) enum Charset<'a> {
    /// The file names it, or should; what contradicts that is said.
    Labelled(Option<&'a str>),
    /// UTF-8 or a single-byte set, as the bytes tell: the format has no label, and both are usual.
    Usual,
}

/// Reads a file's text with `read`, which reports what is wrong. An error refuses the file.
pub(super) fn parse(
    format: Format,
    bytes: &[u8],
    charset: Charset<'_>,
    read: impl FnOnce(&str, &mut Diagnostics) -> Vec<Statement>,
) -> Parsed {
    let refused = |diagnostic| Parsed::refused(Some(format), vec![diagnostic]);
    if bytes.len() > MAX_BYTES {
        let message = format!("a file of {} bytes; no more than {MAX_BYTES} are read", bytes.len());
        return refused(Diagnostic::new(Severity::Error, "LIMIT", message));
    }
    let label = if let Charset::Labelled(label) = charset { label } else { None };
    let decoded = match charset::decode(bytes, label) {
        Ok(decoded) => decoded,
        Err(diagnostic) => return refused(diagnostic),
    };
    let mut found = Diagnostics::default();
    if let (Some(finding), Charset::Labelled(_)) = (decoded.finding, charset) {
        found.push(finding);
    }
    let statements = read(&decoded.text, &mut found);
    let is_refused = found.has_errors();
    let mut diagnostics = found.into_vec();
    diagnostics.sort_by_key(|found| (found.line.is_none() && found.code == "MORE", found.line, found.column));
    if is_refused {
        return Parsed::refused(Some(format), diagnostics);
    }
    Parsed { format: Some(format), statements, diagnostics }
}
