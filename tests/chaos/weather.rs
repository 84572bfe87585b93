//! What goes wrong, when, and how it ends.

use std::collections::BTreeMap;
use std::time::Duration;

use counterfoil::clock::{Boot, Clock, SystemClock};
use counterfoil::scratch::postgres::Database;
use counterfoil::scratch::redis::Redis;
use rustix::process::{Pid, Signal, kill_process};
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::dice::Dice;
use crate::judge::BOUND;
use crate::link::Wire;
use crate::site::{Place, REPLICAS, Site, TTL_MS, command, follow};
use crate::watch::Seen;

/// At most so many faults at a time.
const AT_ONCE: usize = 2;
/// It storms so long, then all is well for a while: what was asked for gets somewhere, and is caught in the middle again.
const GUST: Duration = Duration::from_secs(4);
const LULL: Duration = Duration::from_secs(3);
/// And every so often longer, the first time included.
const LONG_LULL_EVERY: u32 = 4;
/// How long a replica may take to end once it was told to, with nothing in its way: its drain bound, and much more.
const ENDS_WITHIN: Duration = Duration::from_secs(30);
/// Processes that burn a processor each.
const HOGS: usize = 4;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// SIGSTOP, and SIGCONT later.
    ReplicaFrozen(usize),
    /// SIGKILL, and started again later, under the same name.
    ReplicaKilled(usize),
    /// SIGTERM, and started again later.
    ReplicaEnded(usize),
    /// Its wall clock jumps an hour, either way.
    ClockStepped(usize),
    /// Its wires.
    ToRedis(usize, Wire),
    ToPostgres(usize, Wire),
    ToBoth(usize, Wire),
    RedisFrozen,
    /// Lost, and replaced by an empty one.
    RedisReplaced,
    /// The standby, which copies asynchronously, takes its place.
    RedisFailedOver,
    RedisFlushed,
    /// Somebody deletes the holder's key.
    HolderDeleted,
    /// The primary becomes a replica: READONLY on connections that stay open.
    RedisReadOnly,
    /// A backend is killed: Postgres ends all sessions, recovers, and goes on.
    PostgresCrashed,
    PostgresFrozen,
    /// Every session of every replica is terminated.
    SessionsCut,
    ProcessorsTaken,
}

/// What happened, for the judge and for people.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Happened {
    pub(crate) fault: Fault,
    pub(crate) from: Boot,
    pub(crate) to: Boot,
}

/// A fault that lasts.
struct Lasting {
    fault: Fault,
    from: Boot,
    until: Boot,
    hogs: Vec<tokio::process::Child>,
}

/// The storm.
pub(crate) struct Weather {
    dice: Dice,
    lasting: Vec<Lasting>,
    pub(crate) log: Vec<Happened>,
    /// Replicas that ended by themselves, and were started again as any supervisor would.
    pub(crate) ended_by_themselves: usize,
}

// === impl Fault ===

impl Fault {
    /// Whether Redis may have forgotten a lease that it granted.
    pub(crate) fn forgets(self) -> bool {
        matches!(self, Self::RedisReplaced | Self::RedisFailedOver | Self::RedisFlushed | Self::HolderDeleted)
    }

    /// Its kind, without the replica.
    fn kind(self) -> String {
        match self {
            Self::ToRedis(_, wire) => format!("Redis' wire {wire:?}"),
            Self::ToPostgres(_, wire) => format!("Postgres' wire {wire:?}"),
            Self::ToBoth(_, wire) => format!("both wires {wire:?}"),
            other => format!("{other:?}").split('(').next().unwrap_or_default().to_owned(),
        }
    }

    /// What it falls upon: two faults of one thing at a time would undo each other.
    fn part(self) -> Part {
        match self {
            Self::ReplicaFrozen(at) | Self::ReplicaKilled(at) | Self::ReplicaEnded(at) | Self::ClockStepped(at) => {
                Part::Process(at)
            }
            Self::ToRedis(at, _) | Self::ToPostgres(at, _) | Self::ToBoth(at, _) => Part::Wires(at),
            Self::RedisFrozen
            | Self::RedisReplaced
            | Self::RedisFailedOver
            | Self::RedisFlushed
            | Self::HolderDeleted
            | Self::RedisReadOnly => Part::Redis,
            Self::PostgresCrashed | Self::PostgresFrozen | Self::SessionsCut => Part::Postgres,
            Self::ProcessorsTaken => Part::Processors,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Process(usize),
    Wires(usize),
    Redis,
    Postgres,
    Processors,
}

// === impl Weather ===

impl Weather {
    pub(crate) fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed), lasting: Vec::new(), log: Vec::new(), ended_by_themselves: 0 }
    }

    /// Storms until the time is over, then lets everything heal.
    pub(crate) async fn storm(&mut self, site: &mut Site, place: &Place, seen: &Seen, until: Boot) {
        for gusts in 0_u32.. {
            if SystemClock.now() >= until {
                break;
            }
            let gust = SystemClock.now() + GUST;
            while SystemClock.now() < gust {
                self.heal(site, place, SystemClock.now()).await;
                self.supervise(site, place).await;
                if self.lasting.len() < AT_ONCE {
                    let fault = self.choose(site, seen);
                    if self.lasting.iter().all(|lasting| lasting.fault.part() != fault.part()) {
                        self.strike(fault, site, place).await;
                    }
                }
                // The storm's own pace; nothing is waited for.
                tokio::time::sleep(Duration::from_millis(self.dice.between(100, 900))).await;
            }
            self.heal(site, place, Boot::NEVER).await;
            self.supervise(site, place).await;
            // Some lulls are so long that the judge can tell whether somebody leads in time.
            let long = gusts.is_multiple_of(LONG_LULL_EVERY);
            tokio::time::sleep(if long { BOUND + LULL } else { LULL }).await;
        }
        self.heal(site, place, Boot::NEVER).await;
        self.supervise(site, place).await;
    }

    /// Half of what befalls a replica befalls the leader.
    fn choose(&mut self, site: &Site, seen: &Seen) -> Fault {
        let any = usize::try_from(self.dice.below(REPLICAS as u64)).expect("small");
        let at = match seen.leader(Duration::from_secs(2)) {
            Some(leader) if self.dice.below(2) == 0 => leader,
            _ => any,
        };
        let wire = self.dice.one_of(&[Wire::Mute, Wire::Hole, Wire::Cut, Wire::Slow]);
        match self.dice.below(20) {
            0..3 => Fault::ReplicaFrozen(at),
            3..5 => Fault::ReplicaKilled(at),
            5 => Fault::ReplicaEnded(at),
            6 if site.steps_clocks() => Fault::ClockStepped(at),
            6 | 7 => Fault::ToRedis(at, wire),
            8 => Fault::ToPostgres(at, wire),
            9 => Fault::ToBoth(at, wire),
            10 => Fault::RedisFrozen,
            11 => Fault::RedisReplaced,
            12 => Fault::RedisFailedOver,
            13 => Fault::RedisFlushed,
            14 => Fault::HolderDeleted,
            15 => Fault::RedisReadOnly,
            16 => Fault::PostgresCrashed,
            17 => Fault::PostgresFrozen,
            18 => Fault::SessionsCut,
            _ => Fault::ProcessorsTaken,
        }
    }

    async fn strike(&mut self, fault: Fault, site: &mut Site, place: &Place) {
        let from = SystemClock.now();
        let mut hogs = Vec::new();
        // Up to two ttls: long enough for a lease to end, or not.
        let mut lasts = Duration::from_millis(self.dice.between(TTL_MS / 10, TTL_MS * 2));
        match fault {
            Fault::ReplicaFrozen(at) => site.replicas[at].signal(Signal::STOP),
            Fault::ReplicaKilled(at) => site.replicas[at].signal(Signal::KILL),
            Fault::ReplicaEnded(at) => site.replicas[at].signal(Signal::TERM),
            Fault::ClockStepped(at) => step_clock(place, at, self.dice.one_of(&["+3600", "-3600"])),
            Fault::ToRedis(at, wire) => site.replicas[at].to_redis.set(wire),
            Fault::ToPostgres(at, wire) => site.replicas[at].to_postgres.set(wire),
            Fault::ToBoth(at, wire) => site.replicas[at].wires(wire),
            Fault::RedisFrozen => signal(site.redis.server().pid(), Signal::STOP),
            Fault::RedisReplaced => signal(site.redis.server().pid(), Signal::KILL),
            Fault::RedisFailedOver => {
                signal(site.redis.server().pid(), Signal::KILL);
                lasts /= 4;
            }
            Fault::RedisFlushed => command(&site.redis, &["FLUSHALL"]).await,
            Fault::HolderDeleted => command(&site.redis, &["DEL", "{counterfoil:reconciliation}:holder"]).await,
            Fault::RedisReadOnly => follow(&site.redis, 1).await,
            Fault::PostgresCrashed => crash(&place.database).await,
            Fault::PostgresFrozen => postgres(site, Signal::STOP),
            Fault::SessionsCut => cut_sessions(&place.database).await,
            Fault::ProcessorsTaken => hogs = (0..HOGS).map(|_| hog()).collect(),
        }
        if matches!(fault, Fault::RedisFlushed | Fault::HolderDeleted | Fault::PostgresCrashed | Fault::SessionsCut) {
            lasts = Duration::ZERO;
        }
        self.lasting.push(Lasting { fault, from, until: from + lasts, hogs });
    }

    /// Ends what has lasted until `now`.
    async fn heal(&mut self, site: &mut Site, place: &Place, now: Boot) {
        let (over, lasting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.lasting).into_iter().partition(|l| l.until <= now);
        self.lasting = lasting;
        for mut lasting in over {
            match lasting.fault {
                Fault::ReplicaFrozen(at) => site.replicas[at].signal(Signal::CONT),
                Fault::ReplicaKilled(at) | Fault::ReplicaEnded(at) => {
                    if !site.replicas[at].has_ended() && now < Boot::NEVER {
                        self.lasting.push(lasting);
                        continue;
                    }
                    let asked = SystemClock.now();
                    while !site.replicas[at].has_ended() {
                        let waited = SystemClock.now().since(asked);
                        assert!(waited < ENDS_WITHIN, "{:?}, {waited:?} ago, and it runs on", lasting.fault);
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    site.start(at, place).await;
                }
                Fault::ClockStepped(at) => step_clock(place, at, "+0"),
                Fault::ToRedis(at, _) | Fault::ToPostgres(at, _) | Fault::ToBoth(at, _) => {
                    site.replicas[at].wires(Wire::Open);
                }
                Fault::RedisFrozen => signal(site.redis.server().pid(), Signal::CONT),
                Fault::RedisReplaced => {
                    let port = site.redis.port();
                    let new = Redis::start().await.expect("a Redis");
                    std::mem::replace(&mut site.redis, new).stop().await;
                    assert_ne!(port, site.redis.port(), "the old address was still taken");
                    site.redial();
                    follow(&site.standby, site.redis.port()).await;
                }
                Fault::RedisFailedOver => {
                    command(&site.standby, &["REPLICAOF", "NO", "ONE"]).await;
                    let standby = Redis::start().await.expect("a Redis");
                    let promoted = std::mem::replace(&mut site.standby, standby);
                    std::mem::replace(&mut site.redis, promoted).stop().await;
                    site.redial();
                    follow(&site.standby, site.redis.port()).await;
                }
                Fault::RedisReadOnly => command(&site.redis, &["REPLICAOF", "NO", "ONE"]).await,
                Fault::PostgresFrozen => postgres(site, Signal::CONT),
                Fault::ProcessorsTaken => {
                    for hog in &mut lasting.hogs {
                        let _ = hog.kill().await;
                    }
                }
                Fault::RedisFlushed | Fault::HolderDeleted | Fault::PostgresCrashed | Fault::SessionsCut => {}
            }
            self.log.push(Happened { fault: lasting.fault, from: lasting.from, to: SystemClock.now() });
        }
    }

    /// Starts replicas again that ended without having been told to: one whose work did not stop in time does.
    async fn supervise(&mut self, site: &mut Site, place: &Place) {
        for at in 0..REPLICAS {
            let meant = self.lasting.iter().any(|lasting| lasting.fault.part() == Part::Process(at));
            if !meant && site.replicas[at].has_ended() {
                self.ended_by_themselves += 1;
                site.start(at, place).await;
            }
        }
    }

    /// What goes wrong now.
    pub(crate) fn lasting(&self) -> Vec<Fault> {
        self.lasting.iter().map(|lasting| lasting.fault).collect()
    }

    /// How often what happened.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for happened in &self.log {
            *counts.entry(happened.fault.kind()).or_default() += 1;
        }
        counts
    }
}

fn signal(pid: Option<i32>, signal: Signal) {
    if let Some(pid) = pid.and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

fn step_clock(place: &Place, at: usize, by: &str) {
    std::fs::write(place.folder.path().join(format!("clock-{at}")), by).expect("written");
}

/// The system ends it after ten seconds of processor time, should nobody else.
fn hog() -> tokio::process::Child {
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", "ulimit -t 10; while :; do :; done"]).kill_on_drop(true);
    command.spawn().expect("a process")
}

/// The server and all its children.
fn postgres(site: &Site, what: Signal) {
    let Some(server) = site.postgres.server().pid() else { return };
    signal(Some(server), what);
    for process in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else { continue };
        // "<pid> (<name>) <state> <parent> …"
        let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)).and_then(|pid| pid.parse().ok());
        if parent == Some(server) {
            signal(process.file_name().to_str().and_then(|name| name.parse().ok()), what);
        }
    }
}

async fn superuser(database: &Database) -> Option<PgConnection> {
    PgConnection::connect(&database.superuser_url()).await.ok()
}

/// SIGKILL to a backend of ours: the server cannot know what it left in shared memory, and starts over.
async fn crash(database: &Database) {
    let Some(mut sql) = superuser(database).await else { return };
    let pid: Result<i32, _> = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut sql).await;
    signal(pid.ok(), Signal::KILL);
}

async fn cut_sessions(database: &Database) {
    let Some(mut sql) = superuser(database).await else { return };
    let cut =
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'counterfoil/%'";
    let _ = sqlx::query(cut).execute(&mut sql).await;
}
