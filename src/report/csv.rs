//! The outcome as three CSV files: `matches.csv`, `breaks.csv`, `proofs.csv`. UTF-8, comma, point, LF.
//!
//! They are opened in spreadsheets, and their texts come from banks, customers and anybody who can send a payment. A
//! text that a spreadsheet would take for a formula is preceded by an apostrophe; numbers and dates are our own, and are
//! written as they are.

use csv::WriterBuilder;

use super::AccountOutcome;
use super::overview::reference;
use crate::matching::{OpenLine, Side};
use crate::money::Money;

/// Why a file could not be written; memory is written to, so that only a fault of ours can be the reason.
#[derive(Debug, thiserror::Error)]
#[error("cannot write a row of CSV: {0}")]
pub struct CsvError(#[from] csv::Error);

/// One row a leg of a match.
pub fn matches<'a>(outcomes: impl IntoIterator<Item = &'a AccountOutcome>) -> Result<Vec<u8>, CsvError> {
    let mut file = File::new(&[
        "account",
        "date",
        "match_id",
        "rule",
        "status",
        "side",
        "line_id",
        "line_date",
        "amount",
        "currency",
        "reference",
        "counterparty",
        "description",
        "difference",
        "candidates",
        "interchangeable",
        "explanation",
    ])?;
    for outcome in outcomes {
        for found in &outcome.matches {
            let sides = [(Side::Bank, &found.bank), (Side::Book, &found.book)];
            let legs = sides.into_iter().flat_map(|(side, ids)| ids.iter().map(move |id| (side, id)));
            let sentence = found.sentence();
            for (side, id) in legs {
                let line = outcome.line(side, id);
                file.row(&[
                    text(outcome.account.as_str()),
                    outcome.date.to_string(),
                    found.id.clone(),
                    found.rule.name().to_owned(),
                    found.status.name().to_owned(),
                    side.name().to_owned(),
                    text(id),
                    line.map_or(String::new(), |line| line.date.to_string()),
                    line.map_or(String::new(), |line| Money::new(line.minor, outcome.currency).to_string()),
                    outcome.currency.to_string(),
                    text(line.and_then(reference).unwrap_or("")),
                    text(counterparty(line)),
                    text(line.map_or("", |line| &line.description)),
                    Money::new(found.difference, outcome.currency).to_string(),
                    found.explanation.candidates.to_string(),
                    found.explanation.interchangeable.to_string(),
                    text(&sentence),
                ])?;
            }
        }
    }
    file.finish()
}

/// One row an open line.
pub fn breaks<'a>(outcomes: impl IntoIterator<Item = &'a AccountOutcome>) -> Result<Vec<u8>, CsvError> {
    let mut file = File::new(&[
        "account",
        "date",
        "class",
        "side",
        "line_id",
        "line_date",
        "amount",
        "currency",
        "age_business_days",
        "bucket",
        "first_seen",
        "reference",
        "counterparty",
        "description",
        "nearest_side",
        "nearest_line_id",
        "nearest_why",
    ])?;
    for outcome in outcomes {
        for open in &outcome.breaks {
            let line = outcome.line(open.side, &open.line);
            let nearest = open.nearest.as_ref();
            file.row(&[
                text(outcome.account.as_str()),
                outcome.date.to_string(),
                open.class.name().to_owned(),
                open.side.name().to_owned(),
                text(&open.line),
                line.map_or(String::new(), |line| line.date.to_string()),
                open.amount.to_string(),
                outcome.currency.to_string(),
                open.age_business_days.to_string(),
                // Not "2-3" alone: spreadsheets read that as a date.
                format!("{} days", open.bucket.name()),
                open.first_seen.to_string(),
                text(line.and_then(reference).unwrap_or("")),
                text(counterparty(line)),
                text(line.map_or("", |line| &line.description)),
                nearest.map_or(String::new(), |nearest| nearest.side.name().to_owned()),
                text(nearest.map_or("", |nearest| &nearest.line)),
                text(nearest.map_or("", |nearest| &nearest.why)),
            ])?;
        }
    }
    file.finish()
}

/// One row a proof.
pub fn proofs<'a>(outcomes: impl IntoIterator<Item = &'a AccountOutcome>) -> Result<Vec<u8>, CsvError> {
    let mut file =
        File::new(&["account", "date", "currency", "proof", "scope", "status", "left", "right", "difference"])?;
    for outcome in outcomes {
        for proof in &outcome.proofs {
            // Sides are numbers of ours; a scope may hold a bank's name of a statement.
            let side = |side: &Option<String>| side.clone().unwrap_or_default();
            file.row(&[
                text(outcome.account.as_str()),
                outcome.date.to_string(),
                outcome.currency.to_string(),
                proof.id.name().to_owned(),
                text(&proof.scope),
                proof.status.name().to_owned(),
                side(&proof.left),
                side(&proof.right),
                side(&proof.difference),
            ])?;
        }
    }
    file.finish()
}

struct File(csv::Writer<Vec<u8>>);

// === impl File ===

impl File {
    fn new(header: &[&str]) -> Result<Self, CsvError> {
        let mut writer = WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
        writer.write_record(header)?;
        Ok(Self(writer))
    }

    fn row(&mut self, cells: &[String]) -> Result<(), CsvError> {
        Ok(self.0.write_record(cells)?)
    }

    fn finish(self) -> Result<Vec<u8>, CsvError> {
        self.0.into_inner().map_err(|error| CsvError(csv::Error::from(error.into_error())))
    }
}

fn counterparty(line: Option<&OpenLine>) -> &str {
    line.and_then(|line| line.counterparty.as_ref()).and_then(|who| who.name.as_deref()).unwrap_or("")
}

/// A text from outside. What a spreadsheet would calculate (`=`, `+`, `-`, `@` and their full-width forms, also behind
/// white space or control characters) is kept from it by an apostrophe, which spreadsheets show as text.
fn text(text: &str) -> String {
    let first = text.chars().find(|c| !c.is_whitespace() && !c.is_control());
    let formula = matches!(first, Some('=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠' | '−'));
    if formula || text.starts_with(['\t', '\r', '\n']) { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_is_text() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "＝1", "\r=1", "\u{1}=1", "−1"] {
            assert_eq!(text(formula), format!("'{formula}"));
        }
        for plain in ["", "Pedido 4471", "a=b", "'quoted'", "R$ -3"] {
            assert_eq!(text(plain), plain);
        }
    }
}
