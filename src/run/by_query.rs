//! When the company's database is asked for the books: while a date is due whose books are not complete.
//!
//! Then at once, and again after a minute, two, four and so on up to a quarter of an hour, as long as nothing new comes;
//! from the start whenever something did, another date became due, or somebody asked. Once the books are complete nobody
//! is asked any more: what is posted later is read with the next date, and enters it as late.

use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use sqlx::postgres::PgConnection;

use super::RunError;
use super::attempts::Hand;
use super::ingest::Arrived;
use crate::account::Account;
use crate::account::readiness::lacks_books;
use crate::db::book_query::{BALANCES, BookQuery, Books, ENTRIES, Rows};
use crate::db::{DayKey, DbError, books, days};
use crate::instant::Boot;
use crate::telemetry::event;

/// The wait after an asking that brought something, or failed for the first time.
const SHORTEST: Duration = Duration::from_mins(1);
/// The longest.
const LONGEST: Duration = Duration::from_mins(15);

/// The query, and how it stands with asking.
#[derive(Debug)]
pub(super) struct ByQuery {
    query: Arc<BookQuery>,
    /// The dates that lacked books at the last asking.
    lacking: Vec<NaiveDate>,
    /// What came then.
    came: Option<[Option<[u8; 32]>; 2]>,
    next: Boot,
    wait: Duration,
}

// === impl ByQuery ===

impl ByQuery {
    pub(super) fn new(query: Arc<BookQuery>) -> Self {
        Self { query, lacking: Vec::new(), came: None, next: Boot::ZERO, wait: SHORTEST }
    }

    /// Somebody asked: what was not there may be now.
    pub(super) fn soon(&mut self) {
        self.next = Boot::ZERO;
    }

    /// Asks, if it is time to: the books as files, entries before the balances that sum them up. A failure is told and
    /// ends nothing, since accounts whose books have come go on.
    pub(super) async fn ask(&mut self, hand: &Hand, lacking: Vec<NaiveDate>) -> Result<Vec<Arrived>, RunError> {
        let now = hand.tools().clock.now();
        if lacking != self.lacking {
            self.lacking = lacking;
            self.soon();
        }
        if self.lacking.is_empty() || now < self.next {
            return Ok(Vec::new());
        }
        hand.tools().check()?;
        let read = tokio::select! {
            biased;
            () = hand.tools().reins.stop.cancelled() => return Err(RunError::Stopped),
            read = self.query.read() => read,
        };
        let books = match read {
            Ok(books) => books,
            Err(error) => {
                tracing::warn!(event = event::BOOKS_UNREAD, error = %error, "the books could not be read by query");
                self.came = None;
                self.wait_from(now);
                return Ok(Vec::new());
            }
        };
        let came = [books.entries.as_ref(), books.balances.as_ref()].map(|rows| rows.map(|rows| rows.sha256));
        if self.came.replace(came) != Some(came) {
            self.wait = SHORTEST;
        }
        self.wait_from(now);
        Ok(arrived(books))
    }

    fn wait_from(&mut self, now: Boot) {
        self.next = now + self.wait;
        self.wait = (self.wait * 2).min(LONGEST);
    }
}

fn arrived(books: Books) -> Vec<Arrived> {
    let file = |name: &str, rows: Rows| Arrived {
        name: name.to_owned(),
        pinned: None,
        bytes: Arc::new(rows.bytes),
        sha256: rows.sha256,
        present: true,
    };
    let entries = books.entries.map(|rows| file(ENTRIES, rows));
    entries.into_iter().chain(books.balances.map(|rows| file(BALANCES, rows))).collect()
}

/// Does an account's day still lack its books, so that asking for them may help?
pub(super) async fn lacks(session: &mut PgConnection, account: &Account, date: NaiveDate) -> Result<bool, DbError> {
    if days::manifest(&mut *session, &DayKey::first(&account.id, date)).await?.is_some() {
        return Ok(false);
    }
    Ok(lacks_books(account, date, books::seen(session, &account.id, date).await?))
}
