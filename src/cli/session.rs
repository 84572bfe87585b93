//! What commands that speak to Postgres share: settings, a session, a runtime for the one question.

use std::path::Path;

use secrecy::ExposeSecret;
use sqlx::postgres::PgConnection;

use super::UsageError;
use crate::db::connect::{Connector, Purpose};
use crate::db::schema::{self, SchemaError};
use crate::settings::{Need, Settings};

/// Asks Postgres something, as the worker's login. Needs no other setting.
pub(super) fn ask<T>(
    config: Option<&Path>,
    purpose: Purpose,
    question: impl AsyncFnOnce(&Settings, &mut PgConnection) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let settings = Settings::of_process(config, &[Need::Postgres]).map_err(UsageError::from)?;
    let url = settings.postgres().map_err(UsageError::from)?;
    let connector =
        Connector::new(url.expose_secret(), &settings.node.id).map_err(|error| UsageError(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut session = connector.connect(purpose).await?;
        let error = match question(&settings, &mut session).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        // What a command says of its own is said as it is; what Postgres says needs to be placed, and where the schema is
        // not this version's that is the cause.
        if !error.chain().any(<dyn std::error::Error>::is::<sqlx::Error>) {
            return Err(error);
        }
        Err(match schema::check(&mut session).await {
            Ok(()) | Err(SchemaError::Sql(_)) => error.context(format!("Postgres at {}", connector.place())),
            Err(cause) => anyhow::Error::new(cause).context(format!("Postgres at {}", connector.place())),
        })
    })
}
