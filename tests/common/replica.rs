//! A replica as far as the election goes: a keeper on its thread, and work that holds its tenure until told to stop.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use counterfoil::clock::{Clock, SystemClock};
use counterfoil::db::connect::Connector;
use counterfoil::election::FencingToken;
use counterfoil::election::address::RedisAddress;
use counterfoil::election::keeper::{KeeperHandle, KeeperSettings, Snapshot, keeper};
use counterfoil::election::reason::{Reason, Role};
use counterfoil::election::tenure::Tenure;
use counterfoil::election::timing::Timings;
use counterfoil::supervisor::{End, Supervisor};

use super::lease_name;

/// As short as a busy machine bears.
pub(crate) const TIMINGS: Timings = Timings {
    ttl: Duration::from_millis(2500),
    heartbeat: Duration::from_millis(500),
    attempt_timeout: Duration::from_millis(500),
    margin: Duration::from_millis(200),
    drain: Duration::from_secs(1),
    stall_limit: Duration::from_secs(10),
};

/// Longer than anything that is waited for here takes: a wait that reaches it has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// What the work does when it is told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manners {
    Stops,
    Stays,
    /// Stops; but has a step open that shows no progress.
    Stalls,
    /// Stops; but takes no term before its replica already leads.
    ComesLate,
}

pub(crate) struct Replica {
    pub(crate) handle: KeeperHandle,
    supervisor: Supervisor,
    /// Tokens of the terms that it was given, in order.
    pub(crate) given: Arc<Mutex<Vec<FencingToken>>>,
}

impl Replica {
    pub(crate) fn start(node: &str, redis_url: &str, postgres_url: &str) -> Self {
        Self::with(node, redis_url, postgres_url, TIMINGS, Manners::Stops)
    }

    pub(crate) fn with(node: &str, redis_url: &str, postgres_url: &str, timings: Timings, manners: Manners) -> Self {
        Self::by(Arc::new(SystemClock), node, redis_url, postgres_url, timings, manners)
    }

    /// One that lives by a clock of its own.
    pub(crate) fn by(
        clock: Arc<dyn Clock>,
        node: &str,
        redis_url: &str,
        postgres_url: &str,
        timings: Timings,
        manners: Manners,
    ) -> Self {
        assert_eq!(timings.check(), Vec::<String>::new());
        let settings = KeeperSettings {
            node: node.to_owned(),
            lease: lease_name(),
            timings,
            eligible: true,
            redis: RedisAddress::new(redis_url, None).unwrap(),
            wait_replicas: 0,
            postgres: Connector::new(postgres_url, node).unwrap(),
            clock,
            inbox: Arc::new(|| Ok(())),
        };
        let (keeper, handle, mut tenures) = keeper(settings);
        let mut supervisor = Supervisor::new();
        let given: Arc<Mutex<Vec<FencingToken>>> = Arc::default();
        let (noted, seen) = (Arc::clone(&given), handle.clone());
        supervisor.spawn("work", PATIENCE, |stop| async move {
            let mut kept: Vec<Tenure> = Vec::new();
            if manners == Manners::ComesLate {
                let _ = seen.wait_for(|now| now.standing.role == Role::Leader).await;
                tokio::time::sleep(timings.heartbeat).await; // so late is it
            }
            loop {
                tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    tenure = tenures.recv() => {
                        let Some(tenure) = tenure else { return Ok(()) };
                        noted.lock().unwrap().push(tenure.term().token());
                        match manners {
                            Manners::Stops | Manners::Stalls | Manners::ComesLate => {
                                let _step = (manners == Manners::Stalls).then(|| tenure.progress().open());
                                tenure.stop().cancelled().await;
                                assert!(!tenure.leads(), "trust is gone before the work is told");
                            }
                            Manners::Stays => kept.push(tenure),
                        }
                    }
                }
            }
        });
        // Started last, so stopped first, while the work is still there to answer.
        supervisor.thread("keeper", PATIENCE, move |stop| Ok(keeper.run(&stop)?)).unwrap();
        Self { handle, supervisor, given }
    }

    pub(crate) async fn until(&self, what: &str, wanted: impl FnMut(&Snapshot) -> bool) -> Snapshot {
        match tokio::time::timeout(PATIENCE, self.handle.wait_for(wanted)).await {
            Ok(Some(snapshot)) => snapshot,
            Ok(None) => panic!("the keeper ended before: {what}"),
            Err(tokio::time::error::Elapsed { .. }) => {
                panic!("not within {PATIENCE:?}: {what}; it stands at {:?}", self.handle.snapshot())
            }
        }
    }

    /// Waits until it leads; its token.
    pub(crate) async fn leads(&self) -> u64 {
        let snapshot = self.until("it leads", |now| now.standing.role == Role::Leader).await;
        snapshot.standing.token.unwrap().get()
    }

    /// Waits until it leads a term above this one; its token.
    pub(crate) async fn leads_above(&self, token: u64) -> u64 {
        let above = |now: &Snapshot| {
            now.standing.role == Role::Leader && now.standing.token.is_some_and(|found| found.get() > token)
        };
        self.until("it leads a newer term", above).await.standing.token.unwrap().get()
    }

    pub(crate) async fn lost(&self, reason: Reason) -> Snapshot {
        let lost = |now: &Snapshot| now.standing.role == Role::Follower && now.standing.reason == Some(reason);
        self.until(reason.name(), lost).await
    }

    pub(crate) fn is_leader(&self) -> bool {
        self.handle.snapshot().standing.role == Role::Leader
    }

    /// Stops it in order; how the keeper ended.
    pub(crate) async fn stop(self) -> End {
        self.supervisor.stop().await.remove(0)
    }
}

/// Waits until one of them leads, and tells which.
pub(crate) async fn leader_of(replicas: &[&Replica]) -> usize {
    for _ in 0..4000 {
        if let Some(found) = replicas.iter().position(|replica| replica.is_leader()) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody leads");
}
