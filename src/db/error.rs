//! What can go wrong with what is stored.

/// A statement failed, or what it brought back cannot be true.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// Postgres, or the way to it.
    #[error("{}", said(.0))]
    Sql(#[from] sqlx::Error),
    /// No session.
    #[error("{0}")]
    Reach(String),
    /// A stored value that nothing of ours could have stored.
    #[error("the database holds what cannot be: {0}")]
    Value(String),
    /// A stored JSON of another shape.
    #[error("the database holds JSON of another shape: {0}")]
    Json(#[from] serde_json::Error),
}

/// What Postgres said, in its own words; of the way to it, what sqlx said.
///
/// sqlx adds the line of the server's source code at which an error arose (`… does not exist at line 1371`): whoever reads
/// that looks for it in SQL of ours.
pub fn said(error: &sqlx::Error) -> String {
    error.as_database_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
}

// === impl DbError ===

impl DbError {
    /// The SQLSTATE, where Postgres gave one.
    pub fn code(&self) -> Option<String> {
        match self {
            Self::Sql(sqlx::Error::Database(error)) => error.code().map(std::borrow::Cow::into_owned),
            _ => None,
        }
    }
}
