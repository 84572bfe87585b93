//! Whether a term could be installed in this Postgres, and whether the worker's login is neither too strong nor too weak.

use std::time::Duration;

use secrecy::ExposeSecret;
use sqlx::postgres::PgConnection;

use super::{Findings, of_clock};
use crate::clock::{Clock, SystemClock};
use crate::db::connect::{Connector, Purpose};
use crate::election::term::TermStore;
use crate::settings::Settings;

const LIMIT: Duration = Duration::from_secs(5);

/// Asks Postgres what a leader depends on.
pub(super) async fn look(settings: &Settings, findings: &mut Findings) {
    // `postgres.url` is needed, so it is there.
    let Ok(url) = settings.postgres() else { return };
    let connector = match Connector::new(url.expose_secret(), &settings.node.id) {
        Ok(connector) => connector,
        Err(error) => {
            findings.problem("postgres", error.to_string());
            return;
        }
    };
    let mut store = TermStore::new(connector.clone(), LIMIT);
    if let Err(obstacle) = store.eligibility().await {
        findings.problem("postgres", obstacle.to_string());
        return;
    }
    findings.good("postgres", format!("{} takes writes, and its schema is this version's", connector.place()));
    match store.self_test().await {
        Ok(unfit) if unfit.is_empty() => findings.good(
            "postgres",
            format!(
                "login {} can neither bypass the fence nor be kept from ending a frozen session",
                connector.login()
            ),
        ),
        Ok(unfit) => unfit.into_iter().for_each(|unfit| findings.problem("postgres", unfit.0)),
        Err(error) => findings.problem("postgres", format!("the self-test did not end: {error}")),
    }
    match store.installed(&settings.lease.name).await {
        Ok(Some(term)) => findings.good(
            "postgres",
            format!("installed term of lease {}: token {}, owner {}", settings.lease.name, term.token, term.owner),
        ),
        Ok(None) => findings.good("postgres", format!("no term of lease {} was ever installed", settings.lease.name)),
        Err(error) => findings.problem("postgres", error.to_string()),
    }
    let Ok(mut session) = connector.connect(Purpose::Read).await else { return };
    of_lease(&mut session, settings, findings).await;
    if let Ok(theirs) = sqlx::query_scalar!(r#"SELECT clock_timestamp() AS "now!""#).fetch_one(&mut session).await {
        of_clock("postgres", theirs - SystemClock.wall(), findings);
    }
}

/// A database belongs to one lease, until several books can share one.
async fn of_lease(session: &mut PgConnection, settings: &Settings, findings: &mut Findings) {
    let other = sqlx::query_scalar!(
        "SELECT lease FROM counterfoil.leader_term WHERE lease <> $1 LIMIT 1",
        settings.lease.name.as_str()
    )
    .fetch_optional(session)
    .await;
    if let Ok(Some(other)) = other {
        findings.problem(
            "postgres",
            format!(
                "this database belongs to lease {other}, not to {}: correct lease.name or postgres.url",
                settings.lease.name
            ),
        );
    }
}
