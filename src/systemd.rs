//! What systemd is told, where it started this replica (`Type=notify`): ready, how it stands, alive, stopping.
//!
//! The watchdog is fed only while `/livez` would be true: a process that answers its timer, and whose elector has not
//! noticed that its trust ended, is one that systemd should end. Elsewhere nothing is told, and nothing is waited for.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

use crate::http::{Status, StatusSource};

/// How often the one-line status is looked at where no watchdog asks for more.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Tells systemd, until it is stopped. Returns at once where systemd did not start us.
pub async fn tell(replica: Arc<dyn StatusSource>, stop: CancellationToken) {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        stop.cancelled().await;
        return;
    }
    let watchdog = sd_notify::watchdog_enabled();
    // Twice in each span, so that one late turn is no death.
    let every = watchdog.map_or(LOOK_EVERY, |span| (span / 2).min(LOOK_EVERY));
    // Ready is: settings read, ports bound, parts running. A Redis that is away is no reason to start us again.
    say(&[NotifyState::Ready]);
    let mut told = String::new();
    loop {
        let status = replica.status();
        let words = words(&status);
        if words != told {
            say(&[NotifyState::Status(&words)]);
            told = words;
        }
        if watchdog.is_some() && status.dead().is_none() {
            say(&[NotifyState::Watchdog]);
        }
        if stop.run_until_cancelled(tokio::time::sleep(every)).await.is_none() {
            break;
        }
    }
    say(&[NotifyState::Stopping]);
}

/// What `systemctl status` shows: the role, or what keeps it from being ready.
fn words(status: &Status) -> String {
    let faults: Vec<String> =
        status.checks().into_iter().filter_map(|check| Some(format!("{}: {}", check.name, check.fault?))).collect();
    if faults.is_empty() { status.role().to_string() } else { format!("{}; {}", status.role(), faults.join("; ")) }
}

/// A socket that is gone is systemd's affair.
fn say(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}
