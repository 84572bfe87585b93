//! JSON lines: one object a line, with the names of a book file's header.
//!
//! Amounts are strings: many readers and writers make a float of a JSON number, and a cent is lost before we see it.

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

use super::cells::Cells;
use super::header::Shape;
use super::profile::Field;
use crate::diagnostic::{Diagnostic, Severity};

/// One object.
pub(super) struct Object {
    cells: [Cell; Field::ALL.len()],
    line: u32,
}

#[derive(Default)]
enum Cell {
    #[default]
    Absent,
    Text(String),
    /// A whole number, exact; good for ids, not for amounts.
    Integer(String),
    /// Something that no field can be.
    Wrong(&'static str),
}

/// Reads a line; unknown and repeated names are errors.
pub(super) fn object(text: &str, line: u32) -> Result<Object, Vec<Diagnostic>> {
    let cells: Named = serde_json::from_str(text).map_err(|error| {
        let column = u32::try_from(error.column()).unwrap_or(u32::MAX);
        let full = error.to_string();
        // The place is told by line and column; the words alone are the message.
        let words = full.rsplit_once(" at line ").map_or(full.as_str(), |(words, _)| words);
        vec![Diagnostic::new(Severity::Error, "JSON", format!("{words}; expected one object a line")).at(line, column)]
    })?;
    let mut wrong = Vec::new();
    for (field, cell) in Field::ALL.into_iter().zip(&cells.0) {
        let problem = match cell {
            Cell::Wrong(what) => format!("{field}: found {what}, expected a string"),
            Cell::Integer(_) if is_amount(field) => {
                format!(
                    "{field}: found a number, expected a string such as \"-530.86\": numbers become floats on the way"
                )
            }
            _ => continue,
        };
        wrong.push(Diagnostic::new(Severity::Error, "JSON", problem).at_line(line));
    }
    if wrong.is_empty() { Ok(Object { cells: cells.0, line }) } else { Err(wrong) }
}

fn is_amount(field: Field) -> bool {
    matches!(field, Field::Amount | Field::Debit | Field::Credit | Field::Closing)
}

impl Object {
    /// Is it a ledger balance?
    pub(super) fn is_balance(&self) -> bool {
        !matches!(self.cells[Field::Closing as usize], Cell::Absent)
    }
}

impl Cells for Object {
    fn get(&self, field: Field) -> Option<&str> {
        match &self.cells[field as usize] {
            Cell::Text(text) | Cell::Integer(text) => Some(text.trim()).filter(|text| !text.is_empty()),
            Cell::Absent | Cell::Wrong(_) => None,
        }
    }

    fn place(&self, _: Field) -> (u32, Option<u32>) {
        (self.line, None)
    }

    fn line(&self) -> u32 {
        self.line
    }
}

/// The cells of an object, by field.
struct Named([Cell; Field::ALL.len()]);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Named;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named, A::Error> {
                let mut cells: [Cell; Field::ALL.len()] = Default::default();
                let mut seen = [false; Field::ALL.len()];
                while let Some(name) = map.next_key::<String>()? {
                    let Some(field) = Shape::Book.fields().find(|field| field.name() == name) else {
                        let known: Vec<_> = Shape::Book.fields().map(Field::name).collect();
                        return Err(de::Error::custom(format!(
                            "unknown name {name:?}, known are {}",
                            known.join(", ")
                        )));
                    };
                    if std::mem::replace(&mut seen[field as usize], true) {
                        return Err(de::Error::custom(format!("the name {name:?} twice")));
                    }
                    cells[field as usize] = map.next_value()?;
                }
                Ok(Named(cells))
            }
        }
        deserializer.deserialize_map(Names)
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = Cell;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E>(self, text: &str) -> Result<Cell, E> {
                Ok(Cell::Text(text.to_owned()))
            }
            fn visit_string<E>(self, text: String) -> Result<Cell, E> {
                Ok(Cell::Text(text))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Cell, E> {
                Ok(Cell::Integer(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Cell, E> {
                Ok(Cell::Integer(number.to_string()))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Cell, E> {
                Ok(Cell::Wrong("a number with a fraction"))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Cell, E> {
                Ok(Cell::Wrong("true or false"))
            }
            fn visit_unit<E>(self) -> Result<Cell, E> {
                Ok(Cell::Absent)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Cell, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Cell::Wrong("a list"))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Cell::Wrong("an object"))
            }
        }
        deserializer.deserialize_any(Values)
    }
}
