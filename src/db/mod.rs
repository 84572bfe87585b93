//! All SQL, a file a subject. [`fence`] is the only way to open a writing transaction.

pub mod connect;
pub mod schema;
