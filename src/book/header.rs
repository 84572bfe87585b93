//! Which column holds which field: from the file's own header, or from the profile's `columns`.

use super::profile::{Column, Field, Profile};
use super::table::Row;
use crate::diagnostic::{Diagnostic, Severity};

/// What a file may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A book file: postings or ledger balances.
    Book,
    /// The items of an account's opening: postings of either side.
    Items,
}

/// Columns by field, and what the file is.
#[derive(Debug)]
pub(super) struct Layout {
    /// The column of each field, from 0.
    pub(super) columns: [Option<usize>; Field::ALL.len()],
    /// Balances of the ledger, not postings.
    pub(super) balances: bool,
}

// === impl Layout ===

impl Layout {
    /// From the first record (a header, unless the profile says that there is none). Findings name every column that is
    /// missing or unknown.
    pub(super) fn of(first: &Row<'_>, profile: &Profile, shape: Shape) -> Result<Self, Vec<Diagnostic>> {
        let mut found = Vec::new();
        let mut say = |index: usize, problem: String| {
            let (line, column) = first.place(index);
            found.push(Diagnostic::new(Severity::Error, "HEADER", problem).at(line, column));
        };
        let mut columns = [None; Field::ALL.len()];
        if profile.columns.is_empty() {
            let known = |name: &str| Field::from_name(name).is_some_and(|field| shape.fields().any(|of| of == field));
            if !(0..first.len()).any(|index| known(first.field(index))) {
                // Nothing of it is a header: that each cell is no column and each column is missing says no more.
                say(
                    0,
                    "found no header: the first line names none of the columns, such as id, account, date, amount, currency; \
                     a file without one is read by a profile with header = false and columns = { id = 1, account = 2, … }"
                        .to_owned(),
                );
                return Err(found);
            }
            for index in 0..first.len() {
                let name = first.field(index);
                match Field::from_name(name).filter(|field| shape.fields().any(|known| known == *field)) {
                    None => {
                        let known: Vec<_> = shape.fields().map(Field::name).collect();
                        say(index, format!("found the column {name:?}, expected one of {}", known.join(", ")));
                    }
                    Some(field) if columns[field as usize].is_some() => {
                        say(index, format!("found the column {field} twice"));
                    }
                    Some(field) => columns[field as usize] = Some(index),
                }
            }
        } else {
            for (field, column) in &profile.columns {
                let index = match column {
                    Column::Number(number) => usize::try_from(*number).ok().map(|number| number.wrapping_sub(1)),
                    Column::Name(name) => {
                        let mut named = (0..first.len()).filter(|index| first.field(*index) == name.trim());
                        let index = named.next();
                        if let Some(again) = named.next() {
                            say(again, format!("found the column {name:?} twice, expected once, for {field}"));
                        }
                        index
                    }
                };
                match index.filter(|index| *index < first.len()) {
                    Some(index) => columns[*field as usize] = Some(index),
                    // Postings and balances may share a profile: each has only its own columns.
                    None if *field == Field::Closing => {}
                    None => {
                        let shown = match column {
                            Column::Number(number) => {
                                format!("{number}, and the first record has {} fields", first.len())
                            }
                            Column::Name(name) => format!("{name:?}"),
                        };
                        say(0, format!("found no column {shown}, expected it for {field}"));
                    }
                }
            }
        }
        let has = |field: Field| columns[field as usize].is_some();
        let amount = has(Field::Amount) || has(Field::Debit) || has(Field::Credit);
        let balances = has(Field::Closing) && !amount;
        if has(Field::Closing) && amount {
            say(0, "found closing beside amounts: a file has postings or balances, not both".to_owned());
        }
        let mut required = vec![Field::Date];
        if profile.account.is_none() {
            required.push(Field::Account);
        }
        if profile.currency.is_none() {
            required.push(Field::Currency);
        }
        if shape == Shape::Items {
            required.push(Field::Side);
        }
        if !balances {
            required.push(Field::Id);
            match (has(Field::Amount), has(Field::Debit), has(Field::Credit)) {
                (false, false, false) => required.push(Field::Amount),
                (false, true, false) => required.push(Field::Credit),
                (false, false, true) => required.push(Field::Debit),
                (true, false, false) | (false, true, true) => {}
                (true, _, _) => say(0, "found amount beside debit or credit, expected one of them".to_owned()),
            }
        }
        for field in required.into_iter().filter(|field| !has(*field)) {
            say(0, format!("found no column for {field}"));
        }
        if found.is_empty() { Ok(Self { columns, balances }) } else { Err(found) }
    }

    /// Is this the header of plain ledger balances?
    pub(super) fn is_plain_balances(line: &str) -> bool {
        let mut names: Vec<_> = line.split(',').map(|name| Field::from_name(name.trim())).collect();
        names.sort();
        names == [Some(Field::Account), Some(Field::Date), Some(Field::Currency), Some(Field::Closing)]
    }
}

// === impl Shape ===

impl Shape {
    /// The columns that a file of this shape may have.
    pub(super) fn fields(self) -> impl Iterator<Item = Field> {
        Field::ALL.into_iter().filter(move |field| match self {
            Self::Book => !matches!(field, Field::Indicator | Field::Side),
            Self::Items => !matches!(field, Field::Indicator | Field::Account | Field::Currency | Field::Closing),
        })
    }
}
