//! All SQL, a file a subject. [`fence`] is the only way to open a writing transaction.

pub mod checkpoint;
pub mod connect;
pub mod fence;
pub mod schema;
pub mod verdict;
