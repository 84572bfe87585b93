//! The keeper: drives the elector on a thread of its own.
//!
//! Own thread, own runtime, own connections: neither CPU-bound matching nor a pool that the work has emptied can delay
//! a heartbeat. Inside, lines of work that never wait for each other: Redis' answers ([`redis_line`]), the election's
//! calls of Postgres ([`postgres_line`]), what may take its time there (history, and looking at who leads), the inbox
//! ([`inbox_line`]), and one that listens for releases ([`subscription`]). Everything they learn is an event for the elector, and
//! everything that it answers is carried out here, in its order.
//!
//! Who decides is said in [`super::elector`]. This room only carries questions and answers, and tells what happened:
//! first the trust that others read, then the effects, and the observers last.

mod inbox_line;
mod postgres_line;
mod redis_line;
mod subscription;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::address::RedisAddress;
use super::elector::{Attempt, Change, Effect, Elector, Event, Fit, Installed, Standing};
use super::lease::Lease;
use super::reason::{Ineligible, Reason, Role};
use super::tenure::{AtWork, Progress, Said, Tenure, Trust};
use super::term::{self, EventKind, InstalledTerm, Term, TermStore};
use super::timing::Timings;
use super::{FencingToken, LeaseName, StoreId};
use crate::clock::Clock;
use crate::db::connect::Connector;
use crate::telemetry::{self, event};

/// Says whether the inbox can be read: part of eligibility, and of readiness. May block, even for ever; it is asked off
/// the keeper's thread, once a heartbeat.
pub type InboxCheck = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// What a keeper is made of.
pub struct KeeperSettings {
    /// This replica's name.
    pub node: String,
    /// What is contended for.
    pub lease: LeaseName,
    /// The lease's timings; they must obey [`Timings::check`].
    pub timings: Timings,
    /// May this replica lead?
    pub eligible: bool,
    /// Redis.
    pub redis: RedisAddress,
    /// On how many of its replicas a lease must be, to count as won.
    pub wait_replicas: u32,
    /// Postgres, as the worker.
    pub postgres: Connector,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Whether the inbox can be read.
    pub inbox: InboxCheck,
}

/// Not yet running: [`Keeper::run`] takes a thread for itself.
pub struct Keeper {
    settings: KeeperSettings,
    progress: Progress,
    lease: Lease,
    snapshots: watch::Sender<Snapshot>,
    tenures: mpsc::UnboundedSender<Tenure>,
    orders: mpsc::UnboundedReceiver<Order>,
}

/// How others see a keeper, and speak to it. Cheap to clone; usable from any thread.
#[derive(Debug, Clone)]
pub struct KeeperHandle {
    snapshots: watch::Receiver<Snapshot>,
    orders: mpsc::UnboundedSender<Order>,
    progress: Progress,
}

/// How the election stands, as this replica knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// What it is. Compare the clock with `trusted_until`; believe no role.
    pub standing: Standing,
    /// The installed term, as Postgres last told.
    pub installed: Option<InstalledTerm>,
    /// Why the latest call of Redis failed.
    pub redis_fault: Option<String>,
    /// Why it cannot listen for releases; then it campaigns when the holder's lease ends.
    pub listening_fault: Option<String>,
    /// Why the latest call of Postgres failed.
    pub postgres_fault: Option<String>,
    /// Why the inbox cannot be read.
    pub inbox_fault: Option<String>,
    /// What is wrong with the schema, or that nobody could look yet.
    pub schema_fault: Option<String>,
    /// Whom it waits for, where that takes longer than it should.
    pub waits: Option<LongWait>,
    /// The sentence behind `standing.held_back`, where there is more to say.
    pub held_back_detail: Option<String>,
}

/// A lease that lives far longer than this replica's own would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongWait {
    /// `"<owner> <token>"`.
    pub holder: String,
    /// For how long, and what to do.
    pub says: String,
}

/// What is asked of a keeper from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Resign(FencingToken),
}

/// Why a keeper ended, if not because it was told to.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The process must end, so that what is left of the work ends with it.
    #[error(
        "the work of the ended term did not stop within {} (lease.drain); the lease was not released, and this process \
         must end so that the work does", humantime::format_duration(*.0)
    )]
    WorkDidNotStop(Duration),
    /// No runtime could be built.
    #[error("the keeper's runtime could not be made: {0}")]
    Runtime(std::io::Error),
    /// One of its own lines ended: a fault of this program.
    #[error("a line of the keeper ended by itself: {0}")]
    LineEnded(String),
}

/// What Postgres says that a candidate has to go by.
#[derive(Debug, Clone, Copy)]
struct Floor {
    /// The token of the installed term; 0 before the first.
    token: u64,
    /// The Redis in which its leader won, while that leader is alive.
    incumbent: Option<StoreId>,
    /// How many other leases this node leads.
    load: u32,
}

/// What the lines tell the keeper.
#[derive(Debug)]
enum News {
    /// For the elector.
    Event(Event),
    /// The same, with the sentence that says what is in the way.
    Obstructed(Event, String),
    /// The answer to an install, with the term if there is one.
    Installed { attempt: Attempt, answer: Installed, term: Option<Term> },
    /// Postgres' half of an eligibility question.
    Asked { attempt: Attempt, answer: Result<Floor, Ineligible>, detail: Option<String>, count_peers: bool },
    /// Redis' half: whether others listen.
    Peers { attempt: Attempt, floor: Floor, alone: bool },
    /// Another holds the lease, for longer than any of us would; or nobody does, or as usual.
    Waits(Option<LongWait>),
    /// The installed term was read.
    Term(Option<InstalledTerm>),
    /// A call of Redis succeeded or failed.
    Redis(Result<(), String>),
    /// The subscription stands, or was lost.
    Listening(Result<(), String>),
    /// Postgres serves an election, or does not.
    Postgres(Result<(), String>),
    /// Postgres answers, and no leader could do its work there.
    Unfit(String),
    /// The inbox can be read, or cannot.
    Inbox(Result<(), String>),
    /// The schema was looked at.
    Schema(Result<(), String>),
}

/// What stands for a fault before anything was asked.
const NOT_ASKED: &str = "not asked yet";
/// The pause between two looks at the clock of a replica that leads: progress is read, and sleep noticed, this often.
const LEADER_LOOK: Duration = Duration::from_secs(1);

/// Makes a keeper, its handle, and the place where tenures appear.
pub fn keeper(settings: KeeperSettings) -> (Keeper, KeeperHandle, mpsc::UnboundedReceiver<Tenure>) {
    let limit = settings.timings.attempt_timeout;
    let lease = Lease::new(settings.redis.clone(), &settings.lease, limit).waiting_for(settings.wait_replicas);
    let unknown = || Some(NOT_ASKED.to_owned());
    let first = Snapshot {
        redis_fault: unknown(),
        postgres_fault: unknown(),
        inbox_fault: unknown(),
        schema_fault: unknown(),
        ..Snapshot::default()
    };
    let (snapshots, seen) = watch::channel(first);
    let (tenures, begun) = mpsc::unbounded_channel();
    let (orders, ordered) = mpsc::unbounded_channel();
    let progress = Progress::new(Arc::clone(&settings.clock));
    let handle = KeeperHandle { snapshots: seen, orders, progress: progress.clone() };
    (Keeper { settings, progress, lease, snapshots, tenures, orders: ordered }, handle, begun)
}

// === impl KeeperHandle ===

impl KeeperHandle {
    /// How things stand now. Does not wait.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshots.borrow().clone()
    }

    /// Waits until things stand so. `None` if the keeper ended before.
    pub async fn wait_for(&self, wanted: impl FnMut(&Snapshot) -> bool) -> Option<Snapshot> {
        self.snapshots.clone().wait_for(wanted).await.ok().map(|snapshot| snapshot.clone())
    }

    /// A receiver of each new snapshot.
    pub fn watch(&self) -> watch::Receiver<Snapshot> {
        self.snapshots.clone()
    }

    /// Which step is at work here.
    pub fn at_work(&self) -> Option<AtWork> {
        self.progress.at_work()
    }

    /// Asks the leader of this term to step down, if that is this replica. Another term is not touched.
    pub fn resign(&self, token: FencingToken) {
        // The keeper is gone only when the process ends; then the term ends too.
        let _ = self.orders.send(Order::Resign(token));
    }
}

// === impl Keeper ===

impl Keeper {
    /// Keeps until `stop` is cancelled and the term, if there is one, has ended in order. Blocks: give it a thread.
    pub fn run(self, stop: &CancellationToken) -> Result<(), KeeperError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(KeeperError::Runtime)?;
        let outcome = runtime.block_on(self.keep(stop));
        // A check of the inbox that hangs must not keep the process.
        runtime.shutdown_background();
        outcome
    }

    async fn keep(self, stop: &CancellationToken) -> Result<(), KeeperError> {
        let Self { settings, progress, lease, snapshots, tenures, mut orders } = self;
        let timings = settings.timings;
        let clock = Arc::clone(&settings.clock);
        let (news, mut heard) = mpsc::unbounded_channel();
        let (said, mut work_said) = mpsc::unbounded_channel();
        let alive = Arc::new(AtomicUsize::new(0));

        let mut lines: JoinSet<&'static str> = JoinSet::new();
        let (redis, questions) = mpsc::unbounded_channel();
        let (subscription, releases) =
            (settings.redis.clone(), subscription::Listener::new(lease.keys().released.clone(), timings));
        lines.spawn(redis_line::run(lease, timings, Arc::clone(&clock), questions, news.clone()));
        lines.spawn(releases.run(subscription, news.clone()));
        let (looked, inbox) = watch::channel(None);
        let inbox_watch = inbox_line::Watch::new(Arc::clone(&settings.inbox), timings);
        lines.spawn(inbox_watch.run(looked, news.clone()));
        let (postgres, calls) = mpsc::unbounded_channel();
        let store = || TermStore::new(settings.postgres.clone(), timings.attempt_timeout);
        lines.spawn(postgres_line::run(
            postgres_line::Asker {
                store: store(),
                lease: settings.lease.clone(),
                bound: timings.install_bound(),
                inbox,
                alive: Arc::clone(&alive),
                sound: false,
                beyond: false,
                leads: None,
                timings,
            },
            calls,
            news.clone(),
        ));
        let (history, entries) = mpsc::unbounded_channel();
        let look =
            postgres_line::Look { store: store(), lease: settings.lease.clone(), eligible: settings.eligible, timings };
        lines.spawn(look.run(entries, news));

        let seed = u64::from_le_bytes(*Uuid::new_v4().as_bytes().first_chunk().unwrap_or(&[0; 8]));
        let mut desk = Desk {
            elector: Elector::new(&settings.node, timings, !settings.eligible, seed),
            clock: Arc::clone(&clock),
            node: settings.node,
            lease: settings.lease,
            timings,
            trust: Trust::new(Arc::clone(&clock)),
            progress,
            snapshots,
            tenures,
            redis,
            postgres,
            history,
            said,
            alive,
            terms: HashMap::new(),
            stop_work: None,
            unfit: None,
            stopped: None,
            exit: None,
        };
        let mut stopping = false;
        let work_stopped = loop {
            desk.step(Event::Tick);
            if let Some(work_stopped) = desk.exit {
                break work_stopped;
            }
            let pause = desk.pause();
            tokio::select! {
                biased;
                () = stop.cancelled(), if !stopping => {
                    stopping = true;
                    desk.step(Event::Shutdown);
                }
                Some(word) = work_said.recv() => desk.on_said(word),
                Some(news) = heard.recv() => desk.on_news(news),
                Some(order) = orders.recv() => match order {
                    Order::Resign(token) => desk.step(Event::Resign { token }),
                },
                Some(ended) = lines.join_next() => {
                    return Err(KeeperError::LineEnded(ended.map_or_else(|error| error.to_string(), str::to_owned)));
                }
                () = tokio::time::sleep(pause) => {}
            }
        };
        desk.write_down_the_rest().await;
        if work_stopped { Ok(()) } else { Err(KeeperError::WorkDidNotStop(timings.drain)) }
    }
}

/// The elector, and everything that its effects are carried out with.
struct Desk {
    elector: Elector,
    clock: Arc<dyn Clock>,
    node: String,
    lease: LeaseName,
    timings: Timings,
    trust: Trust,
    progress: Progress,
    snapshots: watch::Sender<Snapshot>,
    tenures: mpsc::UnboundedSender<Tenure>,
    redis: mpsc::UnboundedSender<redis_line::Question>,
    postgres: mpsc::UnboundedSender<postgres_line::Call>,
    history: mpsc::UnboundedSender<postgres_line::Entry>,
    said: mpsc::UnboundedSender<Said>,
    alive: Arc<AtomicUsize>,
    /// Terms that Postgres installed for us, until the elector takes them up.
    terms: HashMap<FencingToken, Term>,
    stop_work: Option<CancellationToken>,
    /// Why this replica was last found unfit: the sentence behind the reasons *ineligible* and *failing*.
    unfit: Option<String>,
    /// The term whose work stopped of itself, before it was told to.
    stopped: Option<FencingToken>,
    exit: Option<bool>,
}

// === impl Floor ===

impl Floor {
    /// A candidacy's leave, with a nonce of its own.
    fn fit(self, alone: bool) -> Fit {
        Fit { floor: self.token, incumbent: self.incumbent, load: self.load, nonce: Uuid::new_v4(), alone }
    }
}

// === impl Desk ===

impl Desk {
    /// One event, and everything that follows from it.
    fn step(&mut self, event: Event) {
        if self.elector.standing().role == Role::Leader {
            let beat = Event::Beat(self.progress.oldest());
            self.turn(beat);
        }
        self.turn(event);
    }

    fn turn(&mut self, event: Event) {
        let effects = self.elector.step(event, self.clock.reading());
        // Trust first: whoever asks from now on hears how it stands after this event, and before its effects.
        let standing = self.elector.standing();
        self.trust.set(standing.trusted_until);
        let held_back = self.snapshots.borrow().standing.held_back;
        if standing.held_back != held_back {
            self.tell_why(standing.held_back);
        }
        self.update(|snapshot| {
            if standing.held_back.is_none() {
                snapshot.held_back_detail = None;
            }
            snapshot.standing = standing;
        });
        for effect in effects {
            self.carry_out(effect);
        }
    }

    /// Said once per change of the reason.
    fn tell_why(&self, held_back: Option<Ineligible>) {
        let Some(why) = held_back else {
            tracing::info!(event = event::ELIGIBLE, "this replica campaigns again");
            return;
        };
        let detail = self.snapshots.borrow().held_back_detail.clone();
        let detail = detail.unwrap_or_else(|| why.explain().to_owned());
        tracing::warn!(event = event::INELIGIBLE, reason = why.name(), "this replica does not campaign: {detail}");
        // Written down where a person has to do something, so that who asks Postgres why nobody leads hears it.
        if why.is_standing() {
            self.write_down(term::Event {
                reason: Some(Reason::Ineligible),
                detail: Some(detail),
                ..self.entry(EventKind::Candidacy)
            });
        }
    }

    /// Until when nothing needs to be looked at.
    fn pause(&self) -> Duration {
        let left = self.elector.due().left(self.clock.now());
        let longest = if self.elector.standing().role == Role::Leader {
            LEADER_LOOK.min(self.timings.heartbeat)
        } else {
            Duration::from_mins(1)
        };
        left.min(longest)
    }

    fn on_said(&mut self, word: Said) {
        match word {
            Said::Refused(owner, token, verdict) => {
                self.write_down(term::Event {
                    token: Some(token),
                    owner: Some(owner),
                    detail: Some(verdict),
                    ..self.entry(EventKind::Refusal)
                });
                self.step(Event::WriteRefused { token });
            }
            Said::Failing(token, why) => {
                self.unfit = Some(why);
                self.step(Event::Failing { token });
            }
            Said::Stopped(token) => {
                self.stopped = Some(token);
                self.step(Event::WorkStopped { token });
            }
        }
    }

    fn on_news(&mut self, news: News) {
        match news {
            News::Event(event) => self.step(event),
            News::Obstructed(event, sentence) => {
                self.update(|snapshot| snapshot.held_back_detail = Some(sentence));
                self.step(event);
            }
            News::Installed { attempt, answer, term } => {
                if let Some(term) = term {
                    self.terms.insert(term.token(), term);
                }
                self.step(Event::Installed { attempt, answer });
                // A term that was installed too late is nobody's.
                self.terms.clear();
            }
            News::Asked { attempt, answer: Ok(floor), count_peers: true, .. } => {
                let _ = self.redis.send(redis_line::Question::Peers { attempt, floor });
            }
            News::Asked { attempt, answer, detail, .. } => {
                if detail.is_some() {
                    self.update(|snapshot| snapshot.held_back_detail = detail);
                }
                let answer = answer.map(|floor| floor.fit(false));
                self.step(Event::Eligibility { attempt, answer });
            }
            News::Peers { attempt, floor, alone } => {
                let fit = floor.fit(alone);
                self.step(Event::Eligibility { attempt, answer: Ok(fit) });
            }
            News::Waits(waits) => self.on_waits(waits),
            News::Term(installed) => self.on_term(installed),
            News::Redis(outcome) => self.on_health("redis", outcome, |snapshot| &mut snapshot.redis_fault),
            // That Redis is away was said already; what is left to say is that it is there, and will not let us listen.
            News::Listening(Err(fault)) if self.snapshots.borrow().redis_fault.is_some() => {
                self.update(|snapshot| snapshot.listening_fault = Some(fault));
            }
            News::Listening(outcome) => {
                self.on_health("subscription", outcome, |snapshot| &mut snapshot.listening_fault);
            }
            News::Postgres(outcome) => self.on_health("postgres", outcome, |snapshot| &mut snapshot.postgres_fault),
            News::Unfit(why) => self.on_unfit(why),
            News::Inbox(outcome) => {
                let unfit = outcome.as_ref().err().cloned();
                self.on_health("inbox", outcome, |snapshot| &mut snapshot.inbox_fault);
                if let Some(why) = unfit {
                    self.on_unfit(why);
                }
            }
            News::Schema(outcome) => self.on_health("schema", outcome, |snapshot| &mut snapshot.schema_fault),
        }
    }

    fn on_term(&mut self, installed: Option<InstalledTerm>) {
        let token = installed.as_ref().map(|term| term.token);
        let before = self.snapshots.borrow().installed.as_ref().map(|term| term.token);
        if token < before {
            return; // read before our own install, and told after it: tokens only rise
        }
        let known = token == before;
        if !known && before.is_some() {
            telemetry::leader_changed();
        }
        if let Some(term) = installed.as_ref().filter(|_| !known) {
            tracing::info!(
                event = event::TERM_CHANGED,
                token = term.token.get(),
                owner = term.owner.as_str(),
                "a term is installed"
            );
        }
        // Postgres' own words replace ours also where the token is the same: it says when.
        self.update(|snapshot| snapshot.installed = installed);
        if let Some(token) = token.filter(|_| !known) {
            self.step(Event::TermSeen { token });
        }
    }

    /// Said once a holder.
    fn on_waits(&mut self, waits: Option<LongWait>) {
        let holder = |waits: &Option<LongWait>| waits.as_ref().map(|waits| waits.holder.clone());
        let before = holder(&self.snapshots.borrow().waits);
        if let Some(LongWait { holder, says }) = waits.as_ref().filter(|waits| before.as_ref() != Some(&waits.holder)) {
            tracing::warn!(event = event::LEASE_LONG, holder, "{says}");
        }
        self.update(|snapshot| snapshot.waits = waits);
    }

    /// Whoever leads makes way for one that can do the work.
    fn on_unfit(&mut self, why: String) {
        self.unfit = Some(why);
        self.step(Event::Unfit);
    }

    /// Said once per change: an outage of an hour is two lines in the log.
    fn on_health(
        &mut self,
        what: &'static str,
        outcome: Result<(), String>,
        field: impl Fn(&mut Snapshot) -> &mut Option<String>,
    ) {
        let fault = outcome.err();
        let mut before = None;
        self.snapshots.send_if_modified(|snapshot| {
            let current = field(snapshot);
            before.clone_from(current);
            let changed = *current != fault;
            current.clone_from(&fault);
            changed
        });
        match (before, fault) {
            (Some(_), None) => tracing::info!(event = event::DEPENDENCY_UP, dependency = what, "{what}: well"),
            (None, Some(fault)) => tracing::warn!(event = event::DEPENDENCY_DOWN, dependency = what, "{what}: {fault}"),
            // At the start nothing has been asked yet, and the first fault is news too.
            (Some(before), Some(fault)) if before == NOT_ASKED => {
                tracing::warn!(event = event::DEPENDENCY_DOWN, dependency = what, "{what}: {fault}");
            }
            _ => {}
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        use postgres_line::Call;
        use redis_line::Question;
        // A line that is gone is noticed by the loop, and ends the keeper.
        match effect {
            Effect::Ask { attempt, count_peers } => {
                let _ = self.postgres.send(Call::Ask { attempt, count_peers });
            }
            Effect::Acquire { attempt, owner, floor, incumbent } => {
                let _ = self.redis.send(Question::Acquire { attempt, owner, floor, incumbent });
            }
            Effect::Renew { attempt, owner, token } => {
                let _ = self.redis.send(Question::Renew { attempt, owner, token });
            }
            Effect::Release { attempt, owner, token, publish } => {
                let _ = self.redis.send(Question::Release { attempt, owner, token, publish });
            }
            Effect::Install { attempt, owner, token, store } => {
                let _ = self.postgres.send(Call::Install { attempt, owner, token, store });
            }
            Effect::Evict { attempt, token } => {
                let _ = self.postgres.send(Call::Evict { attempt, token });
            }
            Effect::Lead { token, .. } => self.hand_over(token),
            Effect::StopWork { owner, token, reason, trust_left } => {
                let detail = self.behind(reason);
                let because = detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
                tracing::info!(
                    event = event::STEPPING_DOWN,
                    token = token.get(),
                    reason = reason.name(),
                    "stepping down{because}: the work is told to stop"
                );
                // Written now and not with the announcement: the successor's install copies the reason, and is fast.
                self.write_down(term::Event {
                    token: Some(token),
                    owner: Some(owner),
                    reason: Some(reason),
                    detail,
                    trust_left: Some(trust_left),
                    ..self.entry(EventKind::StepDown)
                });
                if let Some(stop) = self.stop_work.take() {
                    stop.cancel();
                }
                // Who lost the lease makes way at once, also for a Redis that is not his; who leaves of his own will is
                // there until he has released it, so that the next one comes out of the same Redis.
                if reason.is_involuntary() {
                    let _ = self.postgres.send(Call::StandDown);
                }
                if self.stopped == Some(token) {
                    self.turn(Event::WorkStopped { token });
                }
            }
            Effect::Announce(change) => self.announce(&change),
            Effect::Exit { work_stopped } => self.exit = Some(work_stopped),
        }
    }

    fn hand_over(&mut self, token: FencingToken) {
        // There is none only if the elector took up a term whose install was never answered, and it does not.
        let Some(term) = self.terms.remove(&token) else { return };
        let installed = InstalledTerm { token, owner: term.owner().clone(), at: self.clock.wall() };
        self.update(|snapshot| snapshot.installed = Some(installed));
        telemetry::leader_changed();
        let alive = Arc::clone(&self.alive);
        let tenure = Tenure::new(term, self.trust.clone(), self.progress.clone(), self.said.clone(), alive);
        self.stop_work = Some(tenure.stop().clone());
        self.stopped = None;
        // Where nobody takes it, it is dropped, and says so.
        let _ = self.tenures.send(tenure);
    }

    fn announce(&mut self, change: &Change) {
        telemetry::transition(change.reason);
        if change.to == Role::Follower {
            let _ = self.postgres.send(postgres_line::Call::StandDown);
        }
        let lasted = self.clock.now().since(change.since);
        tracing::info!(
            event = event::TRANSITION,
            from = change.from.name(),
            to = change.to.name(),
            reason = change.reason.name(),
            token = change.token.get(),
            owner = change.owner.as_str(),
            lasted_seconds = lasted.as_secs(),
            "role changed"
        );
        match (change.from, change.to) {
            (Role::Leader, _) => {
                telemetry::tenure(lasted);
                if !change.work_stopped {
                    let detail = "the work did not stop in time: the lease was not released";
                    self.write_down_change(change, EventKind::StepDown, Some(detail));
                }
            }
            (Role::Candidate, Role::Follower) => {
                let detail = self.behind(change.reason);
                self.write_down_change(change, EventKind::Candidacy, detail.as_deref());
            }
            _ => {}
        }
    }

    /// The sentence behind a reason, where there is one.
    fn behind(&self, reason: Reason) -> Option<String> {
        matches!(reason, Reason::Ineligible | Reason::Failing).then(|| self.unfit.clone()).flatten()
    }

    fn entry(&self, kind: EventKind) -> term::Event {
        term::Event {
            lease: self.lease.clone(),
            kind,
            token: None,
            owner: None,
            node: self.node.clone(),
            reason: None,
            detail: None,
            trust_left: None,
        }
    }

    fn write_down_change(&self, change: &Change, kind: EventKind, detail: Option<&str>) {
        self.write_down(term::Event {
            token: Some(change.token),
            owner: Some(change.owner.clone()),
            reason: Some(change.reason),
            detail: detail.map(str::to_owned),
            trust_left: Some(change.trust_left),
            ..self.entry(kind)
        });
    }

    fn write_down(&self, entry: term::Event) {
        let _ = self.history.send(postgres_line::Entry::Event(Box::new(entry)));
    }

    /// Waits until what was to be written down is, or could not be.
    async fn write_down_the_rest(&self) {
        let (done, written) = oneshot::channel();
        let _ = self.history.send(postgres_line::Entry::Last(done));
        let _ = tokio::time::timeout(self.timings.attempt_timeout * 2, written).await;
    }

    /// Publishes a change, if it is one.
    fn update(&self, change: impl FnOnce(&mut Snapshot)) {
        self.snapshots.send_if_modified(|snapshot| {
            let before = snapshot.clone();
            change(snapshot);
            *snapshot != before
        });
    }
}
