//! When: which business dates are due.
//!
//! [`planner`] decides, and is pure: a cron expression in its IANA zone, the business calendar, the ledger of runs and
//! now. [`bell`] only wakes it: at the schedule's second, and every minute. A bell that rings late, twice or not at all
//! changes nothing but the moment at which the planner is asked, and the planner answers the same whoever asks.

pub mod bell;
pub mod planner;
