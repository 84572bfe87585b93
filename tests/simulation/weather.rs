//! What may go wrong in one run, drawn from its seed.

use std::time::Duration;

use counterfoil::election::timing::Timings;

use crate::dice::{Dice, Nanos, ms, secs};

/// Until then faults happen.
pub(crate) const FAULTY: Nanos = secs(120);
/// Within this time after the last fault, six times the usual ttl, one replica leads, and goes on leading.
pub(crate) const SETTLED: Nanos = secs(90);
/// So long the calm is watched.
pub(crate) const CALM: Nanos = secs(60);

/// The conditions of one run.
#[derive(Debug)]
pub(crate) struct Weather {
    /// 3 to 7.
    pub(crate) replicas: usize,
    /// In a thousand messages: lost, doubled, and late by up to half a minute.
    pub(crate) lost: u64,
    pub(crate) doubled: u64,
    pub(crate) late: u64,
    /// Whether Redis may forget, fail over or have its clock set: then two replicas may each hold "a" lease, and
    /// Postgres alone keeps order.
    pub(crate) forgets: bool,
    /// Clock rates differ by up to this many parts in a thousand.
    pub(crate) skew: u64,
    /// Some replicas run with other timings, as in a rolling deployment.
    pub(crate) mixed: bool,
    /// How far the replica of Redis lags behind, at most.
    pub(crate) lag: Nanos,
}

/// One misfortune. Half of those that hit a replica hit whichever leads then, whatever they name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// A process is stopped, and goes on.
    Pause { replica: usize, span: Nanos },
    /// A machine sleeps: its boot clock runs on, its other clock does not.
    Sleep { replica: usize, span: Nanos },
    /// A process is killed, and started anew.
    Crash { replica: usize },
    /// A process is told to end, and another is started.
    Terminate { replica: usize },
    /// An operator asks the leader to resign.
    Resign,
    /// A replica's inbox is gone for a while: it may not campaign, and who leads or is about to makes way.
    Unfit { replica: usize, span: Nanos },
    /// Redis stands still. Commands wait, and are carried out when it goes on, whoever has given them up.
    RedisFreezes { span: Nanos },
    /// Redis loses everything.
    RedisForgets,
    /// Redis loses its counter only: an eviction, or a hand that slipped.
    CounterLost,
    /// The replica of Redis is promoted with what it has. The old primary goes on answering for `zombie`, then refuses
    /// to write.
    Failover { zombie: Nanos },
    /// The clock of Redis' machine is set forward: leases end early.
    ClockSet { forward: Nanos },
    /// Postgres stands still: its requests wait.
    PostgresFreezes { span: Nanos },
    /// Somebody holds the lease's lock in Postgres, until he is evicted or done; `beyond`, until he is done.
    LockHeld { span: Nanos, beyond: bool },
    /// The counter in Redis holds something else for a while: whoever campaigns is told so, who leads is not touched.
    CounterBroken { span: Nanos },
    /// The lease's own key holds something else for a while.
    HolderOverwritten { span: Nanos },
}

// === impl Weather ===

impl Weather {
    pub(crate) fn of(seed: u64, dice: &mut Dice) -> Self {
        Self {
            replicas: 3 + dice.pick(5),
            lost: dice.below(200),
            doubled: dice.below(100),
            late: dice.below(100),
            forgets: seed.is_multiple_of(2),
            skew: if seed.is_multiple_of(3) { 30 } else { 0 },
            mixed: seed.is_multiple_of(5),
            lag: if dice.chance(300) { secs(3) } else { ms(5) },
        }
    }

    /// The timings of a replica.
    pub(crate) fn timings(&self, replica: usize) -> Timings {
        let usual = Timings { stall_limit: Duration::from_secs(30), ..Timings::default() };
        if self.mixed && replica.is_multiple_of(2) {
            return Timings {
                ttl: Duration::from_secs(20),
                heartbeat: Duration::from_secs(3),
                margin: Duration::from_secs(2),
                ..usual
            };
        }
        usual
    }

    /// What goes wrong, and when.
    pub(crate) fn faults(&self, dice: &mut Dice) -> Vec<(Nanos, Fault)> {
        (0..4 + dice.below(16)).map(|_| (dice.below(FAULTY), self.fault(dice))).collect()
    }

    fn fault(&self, dice: &mut Dice) -> Fault {
        let replica = dice.pick(self.replicas);
        let span = dice.below(secs(40));
        match dice.below(if self.forgets { 15 } else { 10 }) {
            0 => Fault::Sleep { replica, span },
            1 => Fault::Crash { replica },
            2 => Fault::Terminate { replica },
            3 => Fault::Resign,
            4 => Fault::Unfit { replica, span },
            5 => Fault::RedisFreezes { span: span / 2 },
            6 => Fault::PostgresFreezes { span: span / 4 },
            7 => Fault::LockHeld { span, beyond: dice.chance(500) },
            8 => Fault::Pause { replica, span },
            9 => Fault::CounterBroken { span },
            10 => Fault::RedisForgets,
            11 => Fault::CounterLost,
            12 => Fault::Failover { zombie: dice.below(secs(15)) },
            13 => Fault::HolderOverwritten { span },
            _ => Fault::ClockSet { forward: dice.below(secs(3600)) },
        }
    }
}
