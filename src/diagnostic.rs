//! What was odd or wrong in an input, and where: the one shape in which every reader of files reports.

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; changes nothing.
    Info,
    /// Accepted, but a careful person would look.
    Warning,
    /// The file, statement or row was not taken.
    Error,
}

/// One finding, located.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// A stable, upper-case word for it: `AMOUNT`, `TRUNCATED`, `CHARSET`, …
    pub code: &'static str,
    /// A sentence that names the field, what was found and what was expected.
    pub message: String,
    /// Line in the file, from 1. Absent where the finding is about the whole file.
    pub line: Option<u32>,
    /// Column in that line, from 1, in characters of the decoded text.
    pub column: Option<u32>,
}

/// Collects findings, and stops taking them at [`Diagnostics::CAP`]: a broken file of a million lines must not answer
/// with a million sentences. Errors are counted apart, so that no number of remarks can crowd out the reason why a file
/// is refused.
#[derive(Debug, Default)]
pub struct Diagnostics {
    found: Vec<Diagnostic>,
    errors: usize,
    dropped: usize,
}

// === impl Diagnostic ===

impl Diagnostic {
    /// A finding about the whole file.
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Self { severity, code, message: message.into(), line: None, column: None }
    }

    /// The same, at a line.
    #[must_use]
    pub fn at_line(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }

    /// The same, at a line and column.
    #[must_use]
    pub fn at(mut self, line: u32, column: u32) -> Self {
        self.line = Some(line);
        self.column = Some(column);
        self
    }
}

// === impl Diagnostics ===

impl Diagnostics {
    /// How many errors are kept, and how many other findings.
    pub const CAP: usize = 100;

    /// Takes a finding, unless there are [`Self::CAP`] of its sort already.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let is_error = diagnostic.severity == Severity::Error;
        let kept = if is_error { self.errors } else { self.found.len() - self.errors };
        if kept < Self::CAP {
            self.errors += usize::from(is_error);
            self.found.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// Takes an error about the whole file.
    pub fn error(&mut self, code: &'static str, message: impl Into<String>) {
        self.push(Diagnostic::new(Severity::Error, code, message));
    }

    /// Is there an error among them?
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// All that was kept, in the order found; a last one says how many were not kept.
    pub fn into_vec(mut self) -> Vec<Diagnostic> {
        if self.dropped > 0 {
            self.found.push(Diagnostic::new(
                Severity::Info,
                "MORE",
                format!("{} more findings of this file are not shown", self.dropped),
            ));
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_of_remarks_crowds_out_an_error() {
        let mut found = Diagnostics::default();
        for _ in 0..Diagnostics::CAP * 2 {
            found.push(Diagnostic::new(Severity::Warning, "ODD", "odd"));
        }
        found.error("AMOUNT", "wrong");
        assert!(found.has_errors());
        let all = found.into_vec();
        assert_eq!(all.iter().filter(|finding| finding.severity == Severity::Error).count(), 1);
        assert_eq!(all.len(), Diagnostics::CAP + 2);
        assert!(all.last().unwrap().message.starts_with("100 more"));
    }
}
