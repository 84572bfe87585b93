//! The beat of a step during one long statement: what its server process does, seen from another session.
//!
//! A step beats per chunk; but within one statement there are no chunks, and whoever waits for Postgres cannot tell work
//! from nothing. So while a transaction of a step is under way, its backend is looked at now and then, and what shows
//! that it gets on is a beat:
//!
//! | it is | gets on? |
//! |---|---|
//! | computing, reading, writing, or asleep of its own | yes: a statement that never ends is `statement_timeout`'s affair |
//! | waiting for a lock | no: whoever holds it may be the one who is stuck. `lock_timeout` ends the wait |
//! | waiting for its client, in a COPY, while it sends rows, or idle in a transaction | no: that would be us |
//! | at another statement than at the last look, or further in its COPY | yes, whatever it waits for this instant |
//! | gone, or not to be seen | no |
//!
//! Short transactions are never looked at: the first look comes after a quarter of `lease.stall_limit`, on a session
//! that is opened for it.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgConnection;

use super::DbError;
use super::connect::{Connector, Limits, Purpose};

/// A finger on one backend's pulse, for as long as something is asked of it.
#[derive(Debug)]
pub struct Pulse {
    connector: Connector,
    backend: i32,
    every: Duration,
    eye: Option<PgConnection>,
    seen: Option<Seen>,
}

/// What a look sees.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    /// When the session began: a process id alone may come again.
    began: DateTime<Utc>,
    /// When its statement began.
    statement: Option<DateTime<Utc>>,
    /// What its COPY has taken so far, in bytes.
    copied: Option<i64>,
    /// It runs, and waits neither for its client nor for a lock.
    running: bool,
}

// === impl Pulse ===

impl Pulse {
    /// Of the backend with this process id, felt so often. A quarter of `lease.stall_limit` leaves three looks that may
    /// fail, or fall between two statements, before a step counts as stalled.
    pub fn new(backend: i32, connector: Connector, every: Duration) -> Self {
        Self { connector, backend, every, eye: None, seen: None }
    }

    /// Waits for `work`, which asks something of the backend, and calls `beat` for each look that shows it getting on.
    /// The work is boxed, since it is large and would be moved.
    pub async fn during<T>(mut self, beat: impl Fn(), mut work: Pin<Box<impl Future<Output = T>>>) -> T {
        loop {
            let felt = async {
                tokio::time::sleep(self.every).await;
                self.felt().await
            };
            tokio::select! {
                biased;
                done = &mut work => return done,
                felt = felt => if felt {
                    beat();
                },
            }
        }
    }

    /// One look. One that fails, or takes as long as the next would, shows nothing.
    async fn felt(&mut self) -> bool {
        match tokio::time::timeout(self.every, self.look()).await {
            Ok(Ok(Some(now))) => {
                let gets_on = now.gets_on_since(self.seen.as_ref());
                self.seen = Some(now);
                gets_on
            }
            Ok(Ok(None)) => false,
            Ok(Err(_)) | Err(_) => {
                self.eye = None;
                false
            }
        }
    }

    async fn look(&mut self) -> Result<Option<Seen>, DbError> {
        let mut eye = if let Some(eye) = self.eye.take() {
            eye
        } else {
            let limits = Limits { connect: self.every, ..Purpose::Read.limits() };
            let opened = self.connector.connect_within(Purpose::Read, limits).await;
            opened.map_err(|error| DbError::Reach(error.to_string()))?
        };
        let seen = sqlx::query_as!(
            Seen,
            r#"SELECT a.backend_start AS "began!", a.query_start AS statement, c.bytes_processed AS copied,
                      (a.state = 'active' AND coalesce(a.wait_event_type NOT IN ('Client', 'Lock'), true)) AS "running!"
               FROM pg_stat_activity a LEFT JOIN pg_stat_progress_copy c USING (pid)
               WHERE a.pid = $1 AND a.state IS NOT NULL"#,
            self.backend
        )
        .fetch_optional(&mut eye)
        .await?;
        self.eye = Some(eye);
        Ok(seen)
    }
}

// === impl Seen ===

impl Seen {
    fn gets_on_since(&self, before: Option<&Self>) -> bool {
        match before {
            None => self.running,
            // Another session: ours is gone.
            Some(before) if before.began != self.began => false,
            Some(before) => self.running || (&self.statement, self.copied) != (&before.statement, before.copied),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use sqlx::{Connection, Executor};

    use super::*;
    use crate::scratch::postgres::{self, Database};

    const EVERY: Duration = Duration::from_millis(50);
    /// As many looks as make up a stall, and one more.
    const LOOKS: u32 = 5;

    /// A database with a table, a session in a transaction, and the pulse of it.
    async fn patient() -> (Database, PgConnection, Pulse) {
        let database = postgres::database().await.unwrap();
        let mut owner = PgConnection::connect(&database.owner_url()).await.unwrap();
        owner.execute("CREATE TABLE public.word (word text); GRANT ALL ON public.word TO PUBLIC").await.unwrap();
        let mut session = PgConnection::connect(&database.url()).await.unwrap();
        let backend = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut session).await.unwrap();
        session.execute("BEGIN").await.unwrap();
        let pulse = Pulse::new(backend, Connector::new(&database.url(), "a").unwrap(), EVERY);
        (database, session, pulse)
    }

    /// The beats until the work was done.
    async fn beats(pulse: Pulse, work: impl Future<Output = ()>) -> u32 {
        let beats = AtomicU32::new(0);
        pulse
            .during(
                || {
                    beats.fetch_add(1, Ordering::SeqCst);
                },
                Box::pin(work),
            )
            .await;
        beats.load(Ordering::SeqCst)
    }

    /// Long enough for so many looks.
    async fn stuck() {
        tokio::time::sleep(EVERY * (2 * LOOKS)).await;
    }

    #[tokio::test]
    async fn one_long_statement_beats() {
        let (_database, mut session, pulse) = patient().await;
        let found = beats(pulse, async {
            session.execute("SELECT pg_sleep(0.7)").await.unwrap();
        })
        .await;
        assert!(found >= LOOKS, "{found}");
    }

    #[tokio::test]
    async fn a_client_that_is_stuck_in_its_transaction_does_not_beat() {
        let (_database, mut session, pulse) = patient().await;
        session.execute("SELECT 1").await.unwrap();
        assert_eq!(beats(pulse, stuck()).await, 0, "its backend is idle in transaction");
    }

    #[tokio::test]
    async fn a_wait_for_a_lock_does_not_beat() {
        let (database, mut session, pulse) = patient().await;
        let mut owner = PgConnection::connect(&database.owner_url()).await.unwrap();
        owner.execute("BEGIN; LOCK TABLE public.word IN SHARE MODE").await.unwrap();
        let found = beats(pulse, async {
            tokio::select! {
                _ = session.execute("INSERT INTO public.word VALUES ('x')") => unreachable!("the table is locked"),
                () = stuck() => {}
            }
        })
        .await;
        assert_eq!(found, 0);
    }

    #[tokio::test]
    async fn a_copy_beats_while_rows_come_and_not_while_its_client_is_stuck() {
        let (_database, mut session, pulse) = patient().await;
        let connector = pulse.connector.clone();
        let backend = pulse.backend;
        let mut copy = session.copy_in_raw("COPY public.word FROM STDIN").await.unwrap();
        let rows = "a word\n".repeat(20_000);
        let fed = beats(pulse, async {
            for _ in 0..20 {
                copy.send(rows.as_bytes()).await.unwrap();
                tokio::time::sleep(EVERY).await;
            }
        })
        .await;
        assert!(fed >= LOOKS, "{fed}");
        let still = beats(Pulse::new(backend, connector, EVERY), stuck()).await;
        // What was sent last may still be on its way at the first of them.
        assert!(still <= 1, "{still}");
    }

    #[tokio::test]
    async fn many_short_statements_beat_though_each_look_falls_between_two() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        let idle = Seen { began: at(1), statement: Some(at(2)), copied: None, running: false };
        let later = Seen { statement: Some(at(3)), ..idle.clone() };
        assert!(later.gets_on_since(Some(&idle)));
        assert!(!later.gets_on_since(Some(&later)));
        let another = Seen { began: at(9), running: true, ..later.clone() };
        assert!(!another.gets_on_since(Some(&later)), "the process id came again");
    }
}
