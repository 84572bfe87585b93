//! One replica, put together: started in order, stopped in the reverse order, and its end explained.
//!
//! ```text
//! started:  http → upkeep → mirror → work → keeper            (so that whoever asks is answered from the first moment)
//! stopped:  keeper → work → mirror → upkeep → http            (the keeper ends its term first: the work stops, then the lease
//!                                                     is released; the others still answer meanwhile)
//! ```
//!
//! What cannot be had at the start (Redis, Postgres, a schema) is waited for: the worker stands, says once what it waits
//! for, and `/readyz` is false with the reason. What can never be right (settings, an address that is taken) ends it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::account::AccountId;
use crate::clock::{Clock, SystemClock};
use crate::db::book_query::BookQueryError;
use crate::db::connect::{ConnectError, Connector};
use crate::election::LeaseName;
use crate::election::keeper::{InboxCheck, KeeperHandle, KeeperSettings, keeper};
use crate::election::reason::Ineligible;
use crate::election::tenure::AtWork;
use crate::election::timing::Timings;
use crate::http::{self, HttpError, RunStatus, Status, StatusSource};
use crate::inbox::Folder;
use crate::mirror::Mirror;
use crate::outbox::Outbox;
use crate::run::desk::Desk;
use crate::run::runner::Bench;
use crate::run::work;
use crate::schedule::bell::Bell;
use crate::settings::{BookSource, Settings, SettingsError};
use crate::supervisor::{End, Supervisor};
use crate::systemd;
use crate::telemetry::{self, BuildInfo, InstallError, Telemetry, event};

/// Why a worker ended that was not told to, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A setting is missing.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// `postgres.url` is none.
    #[error(transparent)]
    Postgres(#[from] ConnectError),
    /// `inbox.url` leads to no folder.
    #[error("inbox.url {0} is no folder of this machine (file:///…)")]
    Inbox(url::Url),
    /// `outbox.url` leads to no folder.
    #[error("outbox.url {0} is no folder of this machine (file:///…)")]
    Outbox(url::Url),
    /// `book.url` is none.
    #[error(transparent)]
    Books(#[from] BookQueryError),
    /// The bell could not be hung.
    #[error("the scheduler could not be started: {0}")]
    Bell(#[from] tokio_cron_scheduler::JobSchedulerError),
    /// The address is taken, or the server stopped.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// Metrics cannot be recorded.
    #[error(transparent)]
    Metrics(#[from] InstallError),
    /// The system gives no thread, or no signals.
    #[error("the system refused what a worker needs: {0}")]
    System(#[from] std::io::Error),
    /// A part ended by itself, or badly.
    #[error("{0}")]
    Part(End),
    /// Told to end twice.
    #[error("told to end a second time: ended at once, without releasing the lease")]
    Forced,
}

/// What `/status`, `/readyz` and `/metrics` are answered from.
struct Replica {
    node: String,
    lease: LeaseName,
    keeper: KeeperHandle,
    telemetry: Telemetry,
    clock: Arc<dyn Clock>,
}

/// How long the answers to open requests may take at the end.
const HTTP_LIMIT: Duration = Duration::from_secs(2);
/// Histograms are emptied this often.
const UPKEEP: Duration = Duration::from_secs(5);

/// Runs a replica until it is told to end, by SIGTERM, SIGINT or SIGHUP, or a part of it ends.
pub async fn run(settings: &Settings) -> Result<(), WorkerError> {
    let mut orders = Orders::new()?;
    let listener = http::bind(settings.http.listen).await?;
    let listen = listener.local_addr()?;
    let (node, lease) = (settings.node.id.clone(), settings.lease.name.clone());
    let timings = settings.lease.timings;
    let telemetry = telemetry::install(&lease, &node, BuildInfo::THIS)?;
    telemetry::lease_timings(&timings);

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let postgres = Connector::new(settings.postgres()?.expose_secret(), &node)?;
    let (keeper, handle, tenures) = keeper(KeeperSettings {
        node: node.clone(),
        lease: lease.clone(),
        timings,
        eligible: settings.lease.eligible,
        redis: settings.redis()?.clone(),
        wait_replicas: settings.lease.wait_replicas,
        postgres: postgres.clone(),
        clock: Arc::clone(&clock),
        inbox: inbox_check(settings)?,
    });
    let bench = bench(settings, &postgres, &clock)?;
    let bell = Bell::hang(&settings.schedule.timetable).await?;
    let mirror = Mirror {
        postgres,
        lease: lease.clone(),
        timetable: settings.schedule.timetable.clone(),
        accounts: settings.accounts().iter().map(|account| account.id.clone()).collect(),
        clock: Arc::clone(&clock),
        telemetry: telemetry.clone(),
    };
    let replica =
        Replica { node: node.clone(), lease: lease.clone(), keeper: handle, telemetry: telemetry.clone(), clock };

    let replica: Arc<dyn StatusSource> = Arc::new(replica);
    let mut supervisor = Supervisor::new();
    let (answers, answered) = (telemetry.clone(), Arc::clone(&replica));
    supervisor.spawn(
        "http",
        HTTP_LIMIT,
        |stop| async move { Ok(http::serve(listener, answered, answers, stop).await?) },
    );
    supervisor.spawn("metrics", HTTP_LIMIT, |stop| async move {
        while stop.run_until_cancelled(tokio::time::sleep(UPKEEP)).await.is_some() {
            telemetry.upkeep();
        }
        Ok(())
    });
    supervisor.spawn("mirror", HTTP_LIMIT, |stop| async move {
        mirror.run(stop).await;
        Ok(())
    });
    let runtime = Handle::current();
    supervisor.thread("work", timings.drain, move |stop| {
        work::on_this_thread(&runtime, &bench, tenures, bell, &stop);
        Ok(())
    })?;
    let ending = timings.drain + timings.attempt_timeout * 5;
    supervisor.thread("keeper", ending, move |stop| Ok(keeper.run(&stop)?))?;
    say_how_it_began(&node, &lease, listen, &timings);
    // Begun last: what it tells is that the rest runs. Stopped first: and that it stops.
    supervisor.spawn("systemd", HTTP_LIMIT, |stop| async move {
        systemd::tell(replica, stop).await;
        Ok(())
    });

    let ended = tokio::select! {
        name = orders.next() => {
            tracing::info!(event = event::WORKER_STOPPING, signal = name, "told to end: the work stops, then the lease is released");
            None
        }
        end = supervisor.next_end() => end,
    };
    if let Some(end) = &ended {
        tracing::error!(event = event::TASK_ENDED, task = end.name, error = %end, "a part of the worker ended: so does the worker");
    }
    let ends = tokio::select! {
        ends = supervisor.stop() => ends,
        _ = orders.next() => return Err(WorkerError::Forced),
    };
    for end in ends.iter().filter(|end| !end.is_clean()) {
        tracing::error!(event = event::TASK_ENDED, task = end.name, error = %end, "a part of the worker did not end well");
    }
    // What ended first is why; else whatever did not end well.
    if let Some(end) = ended.into_iter().chain(ends.into_iter().filter(|end| !end.is_clean())).next() {
        return Err(WorkerError::Part(end));
    }
    tracing::info!(event = event::WORKER_STOPPED, "ended in order");
    Ok(())
}

fn say_how_it_began(node: &str, lease: &LeaseName, listen: std::net::SocketAddr, timings: &Timings) {
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(event = event::WORKER_STARTED, version, node, lease = lease.as_str(), %listen, "a replica began");
    let derived = timings.derived();
    let seconds = |span: Duration| humantime::format_duration(span).to_string();
    tracing::info!(
        event = event::WORKER_TIMINGS,
        outage_tolerated = seconds(derived.outage_tolerated),
        worst_takeover = seconds(derived.worst_takeover),
        graceful_takeover = seconds(derived.graceful_takeover),
        "{derived}"
    );
}

/// What the work goes by, and where it finds it.
fn bench(settings: &Settings, postgres: &Connector, clock: &Arc<dyn Clock>) -> Result<Bench, WorkerError> {
    let url = &settings.outbox.url;
    let outbox = url.to_file_path().map_err(|()| WorkerError::Outbox(url.clone()))?;
    Ok(Bench {
        desk: Arc::new(Desk::of(settings)),
        inbox: Arc::new(Mutex::new(inbox(settings)?)),
        outbox: Arc::new(Outbox::new(outbox)),
        books: settings.book_query()?.map(Arc::new),
        connector: postgres.clone(),
        clock: Arc::clone(clock),
    })
}

fn inbox(settings: &Settings) -> Result<Folder, WorkerError> {
    let url = &settings.inbox.url;
    let root = url.to_file_path().map_err(|()| WorkerError::Inbox(url.clone()))?;
    let accounts: Vec<AccountId> = settings.accounts().iter().map(|account| account.id.clone()).collect();
    let books = matches!(settings.book.source, BookSource::Files);
    Ok(Folder::new(root, settings.inbox.settle, accounts, books))
}

/// Looks at the inbox as the work will, but through eyes of its own, so that neither waits for the other: a replica that
/// cannot read it does not campaign.
fn inbox_check(settings: &Settings) -> Result<InboxCheck, WorkerError> {
    let folder = inbox(settings)?;
    Ok(Arc::new(move || folder.check().map_err(|error| error.to_string())))
}

/// The signals that a worker obeys.
struct Orders {
    term: Signal,
    int: Signal,
    /// A terminal that is closed, or an old habit of reloading: left alone it would kill without a release.
    hup: Signal,
}

// === impl WorkerError ===

impl WorkerError {
    /// Would another try with the same settings end the same?
    pub fn is_of_settings(&self) -> bool {
        matches!(self, Self::Settings(_) | Self::Postgres(_) | Self::Inbox(_) | Self::Outbox(_) | Self::Books(_))
    }
}

// === impl Orders ===

impl Orders {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            hup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for one; its name.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.term.recv() => "SIGTERM",
            _ = self.int.recv() => "SIGINT",
            _ = self.hup.recv() => "SIGHUP",
        }
    }
}

// === impl Replica ===

impl Replica {
    fn run_status(&self, at_work: AtWork) -> RunStatus {
        let run = self.telemetry.run();
        RunStatus {
            // Steps of a date are keyed by it, with what tells them apart behind it.
            business_date: at_work.key.get(..10).and_then(|date| date.parse().ok()),
            step: at_work.step,
            key: if at_work.account.is_empty() { at_work.key } else { at_work.account },
            steps_done: run.as_ref().map_or(0, |run| run.steps_done),
            steps_total: run.as_ref().map_or(0, |run| run.steps_planned),
        }
    }
}

impl StatusSource for Replica {
    fn status(&self) -> Status {
        let now = self.clock.now();
        let snapshot = self.keeper.snapshot();
        let standing = snapshot.standing;
        // A login that could bypass the fence will never do its part, however well Postgres is.
        let behind = |why: Ineligible| {
            let detail = || snapshot.held_back_detail.clone().unwrap_or_else(|| why.explain().to_owned());
            (standing.held_back == Some(why)).then(detail)
        };
        let unsound = behind(Ineligible::PrivilegesUnsound);
        let obstacle = behind(Ineligible::Obstructed).or_else(|| behind(Ineligible::OtherRedis));
        Status {
            at: now,
            node: self.node.clone(),
            lease: self.lease.clone(),
            believed: standing.role,
            trust_remaining: standing.trusted_until.map_or(Duration::ZERO, |until| until.left(now)),
            term: snapshot.installed.map(|term| (term.token, term.owner)),
            ineligible: standing.held_back,
            run: self.keeper.at_work().map(|at_work| self.run_status(at_work)),
            schema_fault: snapshot.schema_fault,
            redis_fault: snapshot.redis_fault,
            postgres_fault: snapshot.postgres_fault.or(unsound),
            inbox_fault: snapshot.inbox_fault,
            waits: snapshot.waits.map(|waits| waits.says),
            obstacle,
            no_account: self.telemetry.no_account(),
        }
    }
}
