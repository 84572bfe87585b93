//! Counterfoil: the daily bank-reconciliation worker.
//!
//! Arrows point down and inward: `cli` and `worker` know everybody, the shell knows the pure rooms, a pure room knows
//! only pure rooms, and nobody knows `cli`. `tests/architecture.rs` keeps the rule.
//!
//! Pure rooms (a function of their input: no runtime, no database, no files, no clock):

pub mod account;
pub mod book;
pub mod calendar;
pub mod diagnostic;
pub mod instant;
pub mod matching;
pub mod money;
pub mod proof;
pub mod reconciliation;
pub mod reference;
pub mod report;
pub mod statement;

// The shell, where the world is touched:

pub mod cli;
pub mod clock;
pub mod db;
pub mod election;
pub mod http;
pub mod inbox;
pub mod mirror;
pub mod outbox;
pub mod run;
pub mod schedule;
pub mod scratch;
pub mod settings;
pub mod supervisor;
pub mod systemd;
pub mod telemetry;
pub mod worker;
