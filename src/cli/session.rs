//! What commands that speak to Postgres share: settings, a session, a runtime for the one question.

use std::path::Path;

use secrecy::ExposeSecret;
use sqlx::postgres::PgConnection;

use super::UsageError;
use crate::db::connect::{Connector, Purpose};
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
        question(&settings, &mut session).await.map_err(|error| {
            // What a command says of its own is said as it is; what Postgres says needs to be placed.
            if error.chain().any(<dyn std::error::Error>::is::<sqlx::Error>) {
                error.context(format!(
                    "Postgres at {} (is its schema there? see counterfoil migrate)",
                    connector.place()
                ))
            } else {
                error
            }
        })
    })
}
