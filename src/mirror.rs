//! Keeps the facts of the cluster fresh for `/metrics`, on every replica, leader or not: a rule about the run must outlive
//! the leader that ran it.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tokio_util::sync::CancellationToken;

use crate::account::AccountId;
use crate::clock::{Boot, Clock};
use crate::db::connect::{Connector, Purpose};
use crate::db::{DbError, accounts, facts};
use crate::election::LeaseName;
use crate::schedule::planner::Timetable;
use crate::telemetry::{ClusterFacts, Telemetry};

/// How often they are read: a scrape interval of 15 s finds them at most ten seconds old.
const EVERY: Duration = Duration::from_secs(10);
/// What a look may take. One that takes longer is left to the server's own limit, and the facts age.
const LIMIT: Duration = Duration::from_secs(5);

/// Reads the facts and hands them to the metrics.
#[derive(Debug)]
pub struct Mirror {
    /// The way to Postgres.
    pub postgres: Connector,
    /// The lease.
    pub lease: LeaseName,
    /// When runs are due.
    pub timetable: Timetable,
    /// The accounts that the settings declare.
    pub accounts: Vec<AccountId>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where they go.
    pub telemetry: Telemetry,
}

// === impl Mirror ===

impl Mirror {
    /// Reads until told to stop. A look that fails is tried again at the next turn: that Postgres is away is said elsewhere.
    pub async fn run(self, stop: CancellationToken) {
        let mut session = None;
        loop {
            let look = tokio::time::timeout(LIMIT, self.look(&mut session));
            match stop.run_until_cancelled(look).await {
                None => break,
                Some(Ok(Ok((facts, at)))) => self.telemetry.publish(facts, at),
                Some(Ok(Err(error))) => {
                    tracing::debug!(error = %error, "the facts of the cluster were not read");
                    session = None;
                }
                Some(Err(_)) => session = None,
            }
            if stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_none() {
                break;
            }
        }
        if let Some(session) = session {
            // It is closed either way; a farewell spares the server a line in its log.
            let _ = tokio::time::timeout(LIMIT, session.close()).await;
        }
    }

    /// One look, with the instant at which it was begun: facts are never younger than they are said to be.
    pub async fn look(&self, session: &mut Option<PgConnection>) -> Result<(ClusterFacts, Boot), DbError> {
        let open = if let Some(open) = session.take() {
            open
        } else {
            let reached = self.postgres.connect(Purpose::Read).await;
            reached.map_err(|error| DbError::Reach(error.to_string()))?
        };
        let open = session.insert(open);
        let at = self.clock.now();
        let before = self.clock.wall();
        let (mut facts, asked_at) = facts::read(open, &self.lease, self.accounts.len() as u64).await?;
        let declared: Vec<&str> = self.accounts.iter().map(AccountId::as_str).collect();
        let rows = accounts::of(open, &self.lease, &declared).await?;
        facts.no_account = accounts::none_is_own(&rows, &declared, &self.lease);
        facts.clock_skew_ms = Some(skew_ms(before, asked_at, self.clock.now().since(at)));
        facts.next_due = self.timetable.next(before).map(|next| next.due.timestamp());
        Ok((facts, at))
    }
}

/// Our wall clock minus theirs, in milliseconds. Their answer was made some time between our question and the end of the
/// look: what lies within that span is no skew.
fn skew_ms(asked: DateTime<Utc>, theirs: DateTime<Utc>, took: Duration) -> i64 {
    let ahead = (asked - theirs).num_milliseconds();
    let took = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
    // Theirs lies in asked … asked + took if the clocks agree, so that `ahead` lies in -took … 0.
    if ahead > 0 { ahead } else { ahead.saturating_add(took).min(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(ms).unwrap()
    }

    #[test]
    fn what_an_answer_took_is_no_skew() {
        let took = Duration::from_millis(40);
        assert_eq!(skew_ms(at(1000), at(1000), took), 0);
        assert_eq!(skew_ms(at(1000), at(1040), took), 0);
        assert_eq!(skew_ms(at(1000), at(1100), took), -60, "we are behind");
        assert_eq!(skew_ms(at(1000), at(990), took), 10, "we are ahead");
    }
}
