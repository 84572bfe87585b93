//! The election's calls of Postgres, on two sessions: one for what an election waits for, one for what may take its
//! time. Neither is ever waited for by a renewal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::News;
use super::inbox_line::Verdict;
use crate::election::elector::{Attempt, Event, Installed};
use crate::election::reason::Ineligible;
use crate::election::term::{self, EventKind, Installation, Obstacle, TermError, TermStore};
use crate::election::timing::Timings;
use crate::election::{FencingToken, LeaseName, Owner};
use crate::telemetry::{self, Dependency, ErrorKind, event};

/// A call that an election waits for.
#[derive(Debug)]
pub(super) enum Call {
    Ask { attempt: Attempt, count_peers: bool },
    Install { attempt: Attempt, owner: Owner, token: FencingToken },
    Evict { attempt: Attempt, token: FencingToken },
}

/// Something to write down.
#[derive(Debug)]
pub(super) enum Entry {
    Event(Box<term::Event>),
    /// Nothing comes after it: say when all before it is done.
    Last(oneshot::Sender<()>),
}

/// Answers [`Call`]s.
pub(super) struct Asker {
    pub(super) store: TermStore,
    pub(super) lease: LeaseName,
    /// How long an install waits for writers in flight.
    pub(super) bound: Duration,
    pub(super) inbox: Verdict,
    /// Tenures alive in this process.
    pub(super) alive: Arc<AtomicUsize>,
    /// The self-test was passed: by this login, which does not change.
    pub(super) sound: bool,
}

/// Looks at the installed term once a heartbeat, leader or not, and writes history.
pub(super) struct Look {
    pub(super) store: TermStore,
    pub(super) lease: LeaseName,
    pub(super) timings: Timings,
}

/// Why it may not campaign, and the sentence to it.
struct Unfit(Ineligible, Option<String>);

/// Answers until nobody asks any more.
pub(super) async fn run(
    mut asker: Asker,
    mut calls: mpsc::UnboundedReceiver<Call>,
    news: mpsc::UnboundedSender<News>,
) -> &'static str {
    while let Some(call) = calls.recv().await {
        // The receiver is gone only when the keeper has ended.
        let told = match call {
            Call::Ask { attempt, count_peers } => {
                let (answer, detail) = match asker.ask(&news).await {
                    Ok(floor) => (Ok(floor), None),
                    Err(Unfit(why, detail)) => (Err(why), detail),
                };
                News::Asked { attempt, answer, detail, count_peers }
            }
            Call::Install { attempt, owner, token } => {
                let answer = asker.store.install(&asker.lease, token, &owner, asker.bound).await;
                tell_silence(&answer, &news);
                let (answer, term) = installed(answer);
                News::Installed { attempt, answer, term }
            }
            Call::Evict { attempt, token } => {
                asker.evict(token, &news).await;
                News::Event(Event::Evicted { attempt })
            }
        };
        let _ = news.send(told);
    }
    "postgres"
}

fn installed(answer: Result<Installation, TermError>) -> (Installed, Option<term::Term>) {
    match answer {
        Ok(Installation::Installed(term)) => (Installed::Done, Some(term)),
        Ok(Installation::Refused { installed }) => {
            tracing::warn!(
                event = event::INSTALL_REFUSED,
                installed = installed.token.get(),
                "the term was refused: one as high is installed"
            );
            (Installed::Refused, None)
        }
        Ok(Installation::Blocked) => (Installed::Blocked, None),
        Ok(Installation::Impossible(sentence)) => {
            tracing::error!(event = event::INSTALL_IMPOSSIBLE, "{sentence}");
            (Installed::Refused, None)
        }
        Err(error) => {
            tracing::warn!(event = event::INSTALL_FAILED, error = %error, "the term could not be installed");
            (Installed::Failed, None)
        }
    }
}

// === impl Asker ===

impl Asker {
    /// May this replica campaign? The floor, if so. The cheapest question first, and Redis in none of them.
    async fn ask(&mut self, news: &mpsc::UnboundedSender<News>) -> Result<u64, Unfit> {
        if self.alive.load(Ordering::SeqCst) > 0 {
            return Err(Unfit(Ineligible::OldWorkAlive, None));
        }
        let obstacle = self.store.eligibility().await;
        tell_verdict(&obstacle, news);
        obstacle.map_err(|obstacle| {
            let why = match &obstacle {
                Obstacle::Unreachable(_) => Ineligible::PostgresUnreachable,
                Obstacle::InRecovery => Ineligible::PostgresInRecovery,
                Obstacle::ReadOnly => Ineligible::PostgresReadOnly,
                Obstacle::Schema(_) => Ineligible::SchemaUnknown,
            };
            Unfit(why, Some(obstacle.to_string()))
        })?;
        if !self.sound {
            let unfit = self.store.self_test().await.map_err(|error| unreachable(&error))?;
            if !unfit.is_empty() {
                let sentences: Vec<String> = unfit.into_iter().map(|unfit| unfit.0).collect();
                return Err(Unfit(Ineligible::PrivilegesUnsound, Some(sentences.join("; "))));
            }
            self.sound = true;
        }
        self.inbox().await.map_err(|why| Unfit(Ineligible::InboxUnreadable, Some(why)))?;
        let term = self.store.installed(&self.lease).await;
        tell_silence(&term, news);
        let term = term.map_err(|error| unreachable(&error))?;
        let floor = term.as_ref().map_or(0, |term| term.token.get());
        let _ = news.send(News::Term(term));
        Ok(floor)
    }

    /// The verdict that everybody goes by. Only the first has to be waited for.
    async fn inbox(&mut self) -> Result<(), String> {
        let silent = || Err("the inbox has not answered yet".to_owned());
        match tokio::time::timeout(self.store.limit, self.inbox.wait_for(Option::is_some)).await {
            Ok(Ok(verdict)) => verdict.clone().unwrap_or_else(silent),
            Ok(Err(_)) | Err(_) => silent(),
        }
    }

    async fn evict(&mut self, token: FencingToken, news: &mpsc::UnboundedSender<News>) {
        let answer = self.store.evict(&self.lease).await;
        tell_silence(&answer, news);
        match answer {
            Ok(eviction) => {
                telemetry::evicted(eviction.evicted);
                tracing::warn!(
                    event = event::EVICTED,
                    token = token.get(),
                    evicted = eviction.evicted,
                    out_of_reach = eviction.out_of_reach,
                    "an older term's sessions held the lock past the bound, and were ended"
                );
                let entry = term::Event {
                    lease: self.lease.clone(),
                    kind: EventKind::Eviction,
                    token: Some(token),
                    owner: None,
                    node: self.store.node().to_owned(),
                    reason: None,
                    detail: Some(format!(
                        "{} sessions ended, {} out of reach",
                        eviction.evicted, eviction.out_of_reach
                    )),
                    trust_left: None,
                };
                if let Err(error) = self.store.record(&entry).await {
                    tracing::warn!(event = event::HISTORY_FAILED, kind = entry.kind.as_str(), error = %error, "the eviction could not be written down");
                }
            }
            Err(error) => {
                tracing::warn!(event = event::EVICTION_FAILED, error = %error, "an older term's sessions could not be ended");
            }
        }
    }
}

// === impl Look ===

impl Look {
    /// Until nobody has anything to write down any more.
    pub(super) async fn run(
        mut self,
        mut entries: mpsc::UnboundedReceiver<Entry>,
        news: mpsc::UnboundedSender<News>,
    ) -> &'static str {
        // At once, so that the session is there when something has to be written down.
        self.look(&news).await;
        loop {
            tokio::select! {
                biased;
                entry = entries.recv() => match entry {
                    Some(Entry::Event(entry)) => {
                        if let Err(error) = self.store.record(&entry).await {
                            tracing::warn!(event = event::HISTORY_FAILED, kind = entry.kind.as_str(), error = %error, "history could not be written");
                        }
                    }
                    Some(Entry::Last(done)) => {
                        let _ = done.send(());
                    }
                    None => return "history",
                },
                () = tokio::time::sleep(self.timings.heartbeat) => self.look(&news).await,
            }
        }
    }

    async fn look(&mut self, news: &mpsc::UnboundedSender<News>) {
        let obstacle = self.store.eligibility().await;
        tell_verdict(&obstacle, news);
        if matches!(obstacle, Err(Obstacle::Unreachable(_))) {
            return;
        }
        let term = self.store.installed(&self.lease).await;
        tell_silence(&term, news);
        let Ok(term) = term else { return };
        let token = term.as_ref().map(|term| term.token);
        let _ = news.send(News::Term(term));
        // Asked by every replica, served by the one that leads that term. It needs no answer of its own: the term ends.
        if let Some(token) = token
            && let Ok(true) = self.store.is_asked_to_resign(&self.lease, token).await
        {
            let _ = news.send(News::Event(Event::Resign { token }));
        }
    }
}

fn unreachable(error: &TermError) -> Unfit {
    Unfit(Ineligible::PostgresUnreachable, Some(error.to_string()))
}

/// The one opinion about Postgres, told by whoever asked last. Where it takes no writes a leader makes way; a silent one
/// may answer in a moment, and a schema that is not ours does not end the work of one who knows the tables.
fn tell_verdict(obstacle: &Result<(), Obstacle>, news: &mpsc::UnboundedSender<News>) {
    let (health, schema) = match obstacle {
        Ok(()) => (Ok(()), Some(Ok(()))),
        Err(Obstacle::Unreachable(error)) => (Err(counted(error)), None),
        Err(Obstacle::Schema(error)) => (Ok(()), Some(Err(error.to_string()))),
        Err(takes_no_writes @ (Obstacle::InRecovery | Obstacle::ReadOnly)) => (Err(takes_no_writes.to_string()), None),
    };
    let _ = news.send(News::Postgres(health));
    if let Some(schema) = schema {
        let _ = news.send(News::Schema(schema));
    }
    if let Err(takes_no_writes @ (Obstacle::InRecovery | Obstacle::ReadOnly)) = obstacle {
        let _ = news.send(News::Unfit(takes_no_writes.to_string()));
    }
}

/// Any other call says something of Postgres only where it was not answered. A success does not: a server may read well
/// and take no writes. Nor does a refusal: who refuses is there.
fn tell_silence<T>(answer: &Result<T, TermError>, news: &mpsc::UnboundedSender<News>) {
    let Err(error) = answer else { return };
    let why = counted(error);
    let answered = matches!(error, TermError::BadToken(_))
        || matches!(error, TermError::Sql { source, .. } if source.as_database_error().is_some());
    if !answered {
        let _ = news.send(News::Postgres(Err(why)));
    }
}

/// The fault, counted by its kind.
fn counted(error: &TermError) -> String {
    use crate::db::connect::ConnectError;
    let kind = match error {
        TermError::Late { .. } | TermError::Connect(ConnectError::Late { .. }) => ErrorKind::Timeout,
        TermError::Connect(_) => ErrorKind::Connection,
        TermError::Sql { source, .. } if source.as_database_error().is_none() => ErrorKind::Connection,
        TermError::Sql { .. } | TermError::BadToken(_) => ErrorKind::Server,
    };
    telemetry::dependency_error(Dependency::Postgres, kind);
    error.to_string()
}
