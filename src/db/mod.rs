//! All SQL, a file a subject. [`fence`] is the only way to open a writing transaction.

pub mod accounts;
pub mod attempts;
pub mod bank;
pub mod book_query;
pub mod books;
pub mod checkpoint;
pub mod connect;
pub mod copy;
pub mod days;
mod error;
pub mod facts;
pub mod fence;
pub mod files;
pub mod leadership;
pub mod left;
pub mod matches;
pub mod outcome;
pub mod pulse;
pub mod reports;
pub mod requests;
pub mod runs;
pub mod schema;
pub mod stored;
pub mod verdict;
mod window;

pub use error::{DbError, said};
pub use window::{DayKey, Window};
