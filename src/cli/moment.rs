//! Moments as people read them: in the schedule's zone, with its offset. JSON has them in UTC.

use chrono::{DateTime, SecondsFormat, Utc};
use chrono_tz::Tz;

/// To the second, such as `2026-11-28T06:00:00-03:00`.
pub(super) fn second(at: DateTime<Utc>, zone: Tz) -> String {
    at.with_timezone(&zone).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// To the millisecond.
pub(super) fn millisecond(at: DateTime<Utc>, zone: Tz) -> String {
    at.with_timezone(&zone).to_rfc3339_opts(SecondsFormat::Millis, true)
}
