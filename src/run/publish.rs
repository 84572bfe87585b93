//! Publishes what was committed: reports and summaries go from the database to the outbox. Not a step: cut off anywhere,
//! it is simply done again, and equal bytes change nothing.

use std::sync::Arc;

use chrono::NaiveDate;

use super::RunError;
use super::attempts::Hand;
use crate::db::reports;
use crate::outbox::{Outbox, Published};
use crate::supervisor::blocking;
use crate::telemetry::event;

/// Makes the outbox hold everything of a date. What cannot be written is tried again by the next pass, and told if
/// `say` is set.
pub(super) async fn date(hand: &mut Hand, outbox: &Arc<Outbox>, date: NaiveDate, say: bool) -> Result<bool, RunError> {
    let lease = hand.lease();
    let files = hand.read(async |session| reports::of_date(session, &lease, date).await).await?;
    let outbox = Arc::clone(outbox);
    let failure = blocking(move || {
        for (name, bytes) in files {
            match outbox.publish(&name, &bytes, uuid::Uuid::new_v4()) {
                Ok(Published::Written) => tracing::info!(event = event::PUBLISHED, path = name, "published"),
                Ok(Published::Unchanged) => {}
                Err(error) => return Some(error),
            }
        }
        None
    })
    .await;
    if let Some(error) = failure.as_ref().filter(|_| say) {
        tracing::warn!(event = event::NOT_PUBLISHED, business_date = %date, error = %error, "not published; it stays in the database, and is tried again");
    }
    Ok(failure.is_none())
}
