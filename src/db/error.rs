//! What can go wrong with what is stored.

/// A statement failed, or what it brought back cannot be true.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// Postgres, or the way to it.
    #[error(transparent)]
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
