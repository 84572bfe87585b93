//! Whether a term could be installed in this Postgres, and whether the worker's login is neither too strong nor too weak.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::super::accounts;
use super::{Findings, of_clock};
use crate::clock::{Clock, SystemClock};
use crate::db::connect::{Connector, Purpose};
use crate::election::StoreId;
use crate::election::term::{InstalledTerm, TermStore, blocked_by};
use crate::settings::Settings;

const LIMIT: Duration = Duration::from_secs(5);

/// What Postgres knows of the lease, where it could be asked: the installed term, if there ever was one.
pub(super) struct Known {
    pub(super) term: Option<InstalledTerm>,
    /// The Redis in which its leader won, while that leader is alive.
    pub(super) incumbent: Option<StoreId>,
}

/// Asks Postgres what a leader depends on. `None` where it cannot say which term is installed.
pub(super) async fn look(settings: &Settings, findings: &mut Findings) -> Option<Known> {
    // `postgres.url` is needed, so it is there.
    let url = settings.postgres().ok()?;
    let connector = match Connector::new(url.expose_secret(), &settings.node.id) {
        Ok(connector) => connector,
        Err(error) => {
            findings.problem("postgres", error.to_string());
            return None;
        }
    };
    let mut store = TermStore::new(connector.clone(), LIMIT);
    if let Err(obstacle) = store.eligibility().await {
        findings.problem("postgres", obstacle.to_string());
        return None;
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
    let lease = &settings.lease.name;
    let known = match store.installed(lease).await {
        Ok(term) => {
            let says = match &term {
                Some(term) => format!("installed term of lease {lease}: token {}, owner {}", term.token, term.owner),
                None => format!("no term of lease {lease} was ever installed"),
            };
            findings.good("postgres", says);
            Some(Known { term, incumbent: store.incumbent(lease).await.unwrap_or_default() })
        }
        Err(error) => {
            findings.problem("postgres", error.to_string());
            None
        }
    };
    if let Ok(holders) = store.out_of_reach(lease).await
        && !holders.is_empty()
    {
        findings.problem("postgres", blocked_by(lease, &holders));
    }
    if let Ok(mut session) = connector.connect(Purpose::Read).await
        && let Ok(elsewhere) = accounts::elsewhere(&mut session, settings).await
    {
        // One that moved is no fault of the deployment; where none is left the lease was renamed, or the settings mixed up.
        let none_left = elsewhere.len() == settings.accounts().len();
        for (account, why) in elsewhere {
            let says = format!("{account} is not worked on: {why}");
            if none_left { findings.problem("accounts", says) } else { findings.warn("accounts", says) }
        }
    }
    if let Ok(mut session) = connector.connect(Purpose::Read).await
        && let Ok(theirs) = sqlx::query_scalar!(r#"SELECT clock_timestamp() AS "now!""#).fetch_one(&mut session).await
    {
        of_clock("postgres", theirs - SystemClock.wall(), findings);
    }
    known
}
