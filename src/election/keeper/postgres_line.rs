//! The election's calls of Postgres, on two sessions: one for what an election waits for, one for what may take its
//! time. Neither is ever waited for by a renewal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::inbox_line::Verdict;
use super::{Floor, News};
use crate::election::elector::{Attempt, Event, Installed};
use crate::election::reason::Ineligible;
use crate::election::term::{self, EventKind, Installation, Obstacle, TermError, TermStore, blocked_by};
use crate::election::timing::Timings;
use crate::election::{FencingToken, LeaseName, Owner, StoreId};
use crate::telemetry::{self, Dependency, ErrorKind, event};

/// A call that an election waits for.
#[derive(Debug)]
pub(super) enum Call {
    Ask {
        attempt: Attempt,
        count_peers: bool,
    },
    Install {
        attempt: Attempt,
        owner: Owner,
        token: FencingToken,
        store: StoreId,
    },
    Evict {
        attempt: Attempt,
        token: FencingToken,
    },
    /// The term has ended, or the candidacy: no other replica need wait for this one.
    StandDown,
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
    /// The last install waited for somebody whom this login may not end: looked for before the next candidacy.
    pub(super) beyond: bool,
    /// The owner of the term that was installed here last, until it has ended: each heartbeat says that he is there.
    pub(super) leads: Option<Owner>,
    pub(super) timings: Timings,
}

/// Looks at the installed term once a heartbeat, leader or not, and writes history.
pub(super) struct Look {
    pub(super) store: TermStore,
    pub(super) lease: LeaseName,
    /// It may lead (`lease.eligible`): others that lead more may leave the lease to it.
    pub(super) eligible: bool,
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
    while let Some(call) = asker.next(&mut calls).await {
        // The receiver is gone only when the keeper has ended.
        let told = match call {
            Call::Ask { attempt, count_peers } => {
                let (answer, detail) = match asker.ask(&news).await {
                    Ok(floor) => (Ok(floor), None),
                    Err(Unfit(why, detail)) => (Err(why), detail),
                };
                News::Asked { attempt, answer, detail, count_peers }
            }
            Call::Install { attempt, owner, token, store } => {
                let answer = asker.store.install_won_in(&asker.lease, token, &owner, Some(store), asker.bound).await;
                tell_silence(&answer, &news);
                let (answer, term) = installed(answer);
                asker.leads = term.as_ref().map(|_| owner);
                News::Installed { attempt, answer, term }
            }
            Call::StandDown => {
                asker.stand_down().await;
                continue;
            }
            Call::Evict { attempt, token } => {
                asker.evict(token, &news).await;
                News::Event(if asker.beyond { Event::OutOfReach { attempt } } else { Event::Evicted { attempt } })
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
        Ok(Installation::Elsewhere(sentence)) => {
            tracing::warn!(event = event::INSTALL_REFUSED, "the term was refused: {sentence}");
            (Installed::Refused, None)
        }
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
    async fn ask(&mut self, news: &mpsc::UnboundedSender<News>) -> Result<Floor, Unfit> {
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
        self.way_is_clear().await?;
        let incumbent = self.store.incumbent(&self.lease).await.map_err(|error| unreachable(&error))?;
        let picture = self.store.picture().await.map_err(|error| unreachable(&error))?;
        let load = picture.load(self.store.node(), &self.lease);
        Ok(Floor { token: floor, incumbent, load })
    }

    /// The next call. Meanwhile, while a term of this replica's stands, each heartbeat says that its leader is there.
    async fn next(&mut self, calls: &mut mpsc::UnboundedReceiver<Call>) -> Option<Call> {
        loop {
            let Some(owner) = &self.leads else { return calls.recv().await };
            if let Ok(call) = tokio::time::timeout(self.timings.heartbeat, calls.recv()).await {
                return call;
            }
            // A server that is away is told of by the looks at it; this is said again in a moment, on a new session.
            let _ = self.store.stand(owner, self.timings.ttl).await;
        }
    }

    async fn stand_down(&mut self) {
        if self.leads.take().is_some() {
            self.store.stand_down().await;
        }
    }

    /// What would make an install fail for good is looked for here, where it costs a question and not a candidacy: a
    /// lease that is won in vain keeps the others waiting, and again and again.
    async fn way_is_clear(&mut self) -> Result<(), Unfit> {
        let obstructed = |sentence| Unfit(Ineligible::Obstructed, Some(sentence));
        // Not asked of everybody at each turn: a migration that holds the lock for a moment obstructs nobody.
        if self.beyond {
            let holders = self.store.out_of_reach(&self.lease).await.map_err(|error| unreachable(&error))?;
            if !holders.is_empty() {
                return Err(obstructed(blocked_by(&self.lease, &holders)));
            }
            self.beyond = false;
        }
        Ok(())
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
        self.beyond = false;
        let answer = self.store.evict(&self.lease).await;
        tell_silence(&answer, news);
        let eviction = match answer {
            Ok(eviction) => eviction,
            Err(error) => {
                tracing::warn!(event = event::EVICTION_FAILED, error = %error, "the sessions that hold the lock could not be ended");
                return;
            }
        };
        let ended = eviction.evicted;
        if ended > 0 {
            telemetry::evicted(ended);
            tracing::warn!(
                event = event::EVICTED,
                token = token.get(),
                evicted = ended,
                out_of_reach = eviction.out_of_reach,
                "sessions of an older term held the lock past the bound, and were ended: {ended}"
            );
        }
        let mut told = format!("{ended} sessions ended");
        if eviction.out_of_reach > 0 {
            // Whoever has gone since then is no obstacle.
            let holders = self.store.out_of_reach(&self.lease).await.unwrap_or_default();
            self.beyond = ended == 0 && !holders.is_empty();
            if !holders.is_empty() {
                let who = blocked_by(&self.lease, &holders);
                tracing::warn!(event = event::EVICTION_FAILED, error = %who, "no session could be ended: {who}");
                told = format!("{told}; {who}");
            }
        }
        // They may all have gone by themselves: then there is nothing to tell.
        if ended == 0 && !self.beyond {
            return;
        }
        let entry = term::Event {
            lease: self.lease.clone(),
            kind: EventKind::Eviction,
            token: Some(token),
            owner: None,
            node: self.store.node().to_owned(),
            reason: None,
            detail: Some(told),
            trust_left: None,
        };
        if let Err(error) = self.store.record(&entry).await {
            tracing::warn!(event = event::HISTORY_FAILED, kind = entry.kind.as_str(), error = %error, "the eviction could not be written down");
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
        let own = term.as_ref().is_some_and(|term| term.owner.node() == self.store.node());
        let _ = news.send(News::Term(term));
        // Asked by every replica, served by the one that leads that term. It needs no answer of its own: the term ends.
        if let Some(token) = token
            && let Ok(true) = self.store.is_asked_to_resign(&self.lease, token).await
        {
            let _ = news.send(News::Event(Event::Resign { token }));
        }
        if self.eligible && obstacle.is_ok() {
            self.share(token.filter(|_| own), news).await;
        }
    }

    /// Says that this replica would lead, and, where its node leads, asks whether that is more than its part. A silent
    /// Postgres is told of by the looks before this one.
    async fn share(&mut self, own: Option<FencingToken>, news: &mpsc::UnboundedSender<News>) {
        if self.store.attend(&self.lease).await.is_err() {
            return;
        }
        if let Some(token) = own
            && let Ok(picture) = self.store.picture().await
            && picture.gives_up(self.store.node(), &self.lease)
        {
            let _ = news.send(News::Event(Event::Crowded { token }));
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
