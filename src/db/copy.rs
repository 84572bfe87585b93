//! COPY in Postgres' binary format: the fast way in for lines, matches and breaks.
//!
//! Values are written as the server keeps them, so nothing is parsed on its side but JSON. One buffer goes out whenever
//! it has filled, so memory does not grow with the number of rows. After an error within a COPY the session is of no
//! further use (the protocol's stream may be out of step, sqlx #2762): the caller drops it.

use chrono::NaiveDate;
use serde::Serialize;
use sqlx::postgres::{PgConnection, PgCopyIn};

use super::DbError;

/// Sent whenever the buffer holds this much.
const CHUNK: usize = 1 << 18;

/// A COPY under way. Ends with [`Copy::finish`]; dropped, it is given up.
pub struct Copy<'s> {
    stream: PgCopyIn<&'s mut PgConnection>,
    row: Row,
    columns: i16,
    rows: u64,
}

/// The row being written: one call a column, in the order of the table's list.
#[derive(Debug, Default)]
pub struct Row {
    buffer: Vec<u8>,
    written: i16,
}

// === impl Copy ===

impl<'s> Copy<'s> {
    /// Begins to fill `columns` of a table of the schema. Both are ours, never a user's.
    pub async fn into(session: &'s mut PgConnection, table: &str, columns: &[&str]) -> Result<Copy<'s>, DbError> {
        let list = columns.join(", ");
        let statement = format!("COPY counterfoil.{table} ({list}) FROM STDIN (FORMAT binary)");
        let stream = session.copy_in_raw(&statement).await?;
        let mut row = Row::default();
        // Signature, flags, length of the header's extension.
        row.buffer.extend_from_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
        let columns = i16::try_from(columns.len()).map_err(|_| DbError::Value("too many columns".to_owned()))?;
        Ok(Self { stream, row, columns, rows: 0 })
    }

    /// Writes one row, and sends what has gathered.
    pub async fn row(&mut self, write: impl FnOnce(&mut Row)) -> Result<(), DbError> {
        self.row.buffer.extend_from_slice(&self.columns.to_be_bytes());
        self.row.written = 0;
        write(&mut self.row);
        debug_assert_eq!(self.row.written, self.columns, "a row has a value for each column");
        self.rows += 1;
        if self.row.buffer.len() >= CHUNK {
            self.stream.send(self.row.buffer.as_slice()).await?;
            self.row.buffer.clear();
        }
        Ok(())
    }

    /// Ends it, and says how many rows went in; an error if the server counted others.
    pub async fn finish(mut self) -> Result<u64, DbError> {
        self.row.buffer.extend_from_slice(&(-1_i16).to_be_bytes());
        self.stream.send(self.row.buffer.as_slice()).await?;
        let stored = self.stream.finish().await?;
        if stored == self.rows {
            Ok(stored)
        } else {
            Err(DbError::Value(format!("{} rows were sent, and {stored} stored", self.rows)))
        }
    }
}

// === impl Row ===

impl Row {
    fn put(&mut self, bytes: &[u8]) {
        // A field of more than two gigabytes does not exist: what is read is bounded far below.
        let length = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
        self.buffer.extend_from_slice(&length.to_be_bytes());
        self.buffer.extend_from_slice(bytes);
        self.written += 1;
    }

    /// NULL.
    pub fn null(&mut self) -> &mut Self {
        self.buffer.extend_from_slice(&(-1_i32).to_be_bytes());
        self.written += 1;
        self
    }

    /// `text`. A NUL, which Postgres cannot hold, becomes U+FFFD.
    pub fn text(&mut self, value: &str) -> &mut Self {
        if value.contains('\0') {
            self.put(value.replace('\0', "\u{fffd}").as_bytes());
        } else {
            self.put(value.as_bytes());
        }
        self
    }

    /// `text`, or NULL.
    pub fn text_or_null(&mut self, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.text(value),
            None => self.null(),
        }
    }

    /// `bytea`.
    pub fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.put(value);
        self
    }

    /// `bigint`.
    pub fn i64(&mut self, value: i64) -> &mut Self {
        self.put(&value.to_be_bytes());
        self
    }

    /// `integer`. What does not fit is stored as the greatest that does: ordinals and counts of one file.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.put(&i32::try_from(value).unwrap_or(i32::MAX).to_be_bytes());
        self
    }

    /// `boolean`.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.put(&[u8::from(value)]);
        self
    }

    /// `date`.
    pub fn date(&mut self, value: NaiveDate) -> &mut Self {
        // Days since 2000-01-01, which is day 730,120 of the common era.
        let days = chrono::Datelike::num_days_from_ce(&value) - 730_120;
        self.put(&days.to_be_bytes());
        self
    }

    /// `date`, or NULL.
    pub fn date_or_null(&mut self, value: Option<NaiveDate>) -> &mut Self {
        match value {
            Some(value) => self.date(value),
            None => self.null(),
        }
    }

    /// `jsonb`. Of a value whose serialising cannot fail; one that did would be NULL, which the tables refuse. A NUL in a
    /// string, which `jsonb` cannot hold, becomes U+FFFD.
    pub fn json(&mut self, value: &impl Serialize) -> &mut Self {
        let at = self.buffer.len();
        self.buffer.extend_from_slice(&[0, 0, 0, 0, 1]); // length, to be filled in; version of the format
        if serde_json::to_writer(&mut self.buffer, value).is_err() {
            self.buffer.truncate(at);
            return self.null();
        }
        without_nul(&mut self.buffer[at + 5..]);
        let length = i32::try_from(self.buffer.len() - at - 4).unwrap_or(i32::MAX);
        self.buffer[at..at + 4].copy_from_slice(&length.to_be_bytes());
        self.written += 1;
        self
    }

    /// `jsonb`, or NULL.
    pub fn json_or_null(&mut self, value: Option<&impl Serialize>) -> &mut Self {
        match value {
            Some(value) => self.json(value),
            None => self.null(),
        }
    }
}

/// Rewrites the escape of NUL in place; both escapes have six bytes.
fn without_nul(json: &mut [u8]) {
    let mut at = 0;
    while at + 1 < json.len() {
        if json[at] == b'\\' {
            if json[at..].starts_with(b"\\u0000") {
                json[at..at + 6].copy_from_slice(b"\\ufffd");
            }
            at += 1; // The byte after a backslash begins no escape of its own.
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_in_json_is_replaced_and_its_look_alike_is_not() {
        let mut json = serde_json::to_vec(&["a\0b", "a\\u0000b"]).unwrap();
        without_nul(&mut json);
        assert_eq!(serde_json::from_slice::<Vec<String>>(&json).unwrap(), ["a\u{fffd}b", "a\\u0000b"]);
    }

    #[test]
    fn a_date_is_counted_from_the_year_2000() {
        let mut row = Row::default();
        row.date("2000-01-01".parse().unwrap()).date("1999-12-31".parse().unwrap());
        assert_eq!(row.buffer, [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff]);
    }
}
