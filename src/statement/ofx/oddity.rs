//! What is odd about the lines of a statement: said once a kind, with how many and where the first is.

use super::reading::Reading;
use crate::diagnostic::{Diagnostic, Severity};

/// A kind of oddity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Oddity {
    /// FITID is empty, or zeros.
    FitIdMissing,
    /// FITID of an earlier line that says something else.
    FitIdReused,
    /// FITID of an earlier line that says the same.
    FitIdRepeated,
    /// TRNTYPE is none of the standard's.
    TrnType,
    /// TRNTYPE says one direction, the sign the other.
    Direction,
    /// DTAVAIL is no date.
    DtAvail,
    /// CORRECTFITID: it corrects an earlier line.
    Correction,
    /// An amount that could have thousands in it (`1.000`).
    Thousands,
    /// An element that the standard does not have.
    Element,
    /// A date outside the period that the statement names.
    OutsidePeriod,
}

/// How often each kind was seen.
#[derive(Debug, Default)]
pub(super) struct Oddities {
    seen: [Option<Seen>; Oddity::ALL.len()],
}

#[derive(Debug)]
struct Seen {
    count: u64,
    line: u32,
    column: Option<u32>,
    sample: String,
}

// === impl Oddity ===

impl Oddity {
    const ALL: [Self; 10] = [
        Self::FitIdMissing,
        Self::FitIdReused,
        Self::FitIdRepeated,
        Self::TrnType,
        Self::Direction,
        Self::DtAvail,
        Self::Correction,
        Self::Thousands,
        Self::Element,
        Self::OutsidePeriod,
    ];

    fn report(self, seen: &Seen) -> (Severity, &'static str, String) {
        let Seen { count, sample, .. } = seen;
        let lines =
            if *count == 1 { "1 line".to_owned() } else { format!("{count} lines, of which this is the first") };
        match self {
            Self::FitIdMissing => (
                Severity::Info,
                "FITID",
                format!("FITID is empty or zero in {lines}: kept, and told apart by what they say"),
            ),
            Self::FitIdReused => (
                Severity::Warning,
                "FITID",
                format!(
                    "FITID {sample} was given to an earlier line that says something else; so in {lines}: all are kept"
                ),
            ),
            Self::FitIdRepeated => (
                Severity::Warning,
                "FITID",
                format!("FITID {sample} and all else are as in an earlier line; so in {lines}: all are kept"),
            ),
            Self::TrnType => (
                Severity::Info,
                "TRNTYPE",
                format!("TRNTYPE {sample} is none that OFX defines; so in {lines}: kept as written"),
            ),
            Self::Direction => (
                Severity::Warning,
                "TRNAMT",
                format!("{sample}: the type says the other direction; so in {lines}. The sign of TRNAMT counts"),
            ),
            Self::DtAvail => (Severity::Warning, "DTAVAIL", format!("{sample}; so in {lines}: without a value date")),
            Self::Correction => (
                Severity::Warning,
                "CORRECTION",
                format!("corrects an earlier line (CORRECTFITID {sample}); so in {lines}: kept as a line of its own"),
            ),
            Self::Thousands => (
                Severity::Warning,
                "TRNAMT",
                format!(
                    "{sample:?} was read with a decimal mark, as OFX has it; so in {lines}. Thousands would be another amount"
                ),
            ),
            Self::Element => {
                (Severity::Info, "ELEMENT", format!("{sample} is no element of a line in OFX; so in {lines}: not read"))
            }
            Self::OutsidePeriod => (
                Severity::Info,
                "PERIOD",
                format!("dated {sample}, outside the period that the statement names; so in {lines}"),
            ),
        }
    }
}

// === impl Oddities ===

impl Oddities {
    /// Counts one, at an offset.
    pub(super) fn note<'a, S>(&mut self, oddity: Oddity, reading: &mut Reading<'a, '_>, at: usize, sample: S)
    where
        S: FnOnce(&Reading<'a, '_>) -> String,
    {
        match &mut self.seen[oddity as usize] {
            Some(seen) => seen.count += 1,
            first => {
                let sample = sample(reading).chars().take(80).collect();
                let (line, column) = reading.place(at);
                *first = Some(Seen { count: 1, line, column: Some(column), sample });
            }
        }
    }

    /// Counts one at a line that was read already.
    pub(super) fn note_at_line(&mut self, oddity: Oddity, line: u32, sample: impl FnOnce() -> String) {
        match &mut self.seen[oddity as usize] {
            Some(seen) => seen.count += 1,
            first => *first = Some(Seen { count: 1, line, column: None, sample: sample() }),
        }
    }

    /// Says what was seen.
    pub(super) fn tell(self, reading: &mut Reading<'_, '_>) {
        for (oddity, seen) in Oddity::ALL.into_iter().zip(&self.seen) {
            if let Some(seen) = seen {
                let (severity, code, message) = oddity.report(seen);
                let found = Diagnostic::new(severity, code, message).at_line(seen.line);
                reading.found.push(Diagnostic { column: seen.column, ..found });
            }
        }
    }
}
