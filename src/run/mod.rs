//! What: a run and its steps.
//!
//! A run is one business date; its unit of work is the account-day. [`plan`] says, as data, which steps there are, what
//! each is keyed by, and what must have been committed before it.

pub mod plan;
