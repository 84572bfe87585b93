//! What must hold whatever goes wrong. The judge knows the true time, and what each server really did.

use std::collections::BTreeMap;
use std::fmt;

use counterfoil::election::{FencingToken, Owner};

use crate::dice::Nanos;
use crate::redis::nanos;
use crate::replica::Replica;

/// A broken promise, and when it broke.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) at: Nanos,
    pub(crate) what: String,
}

/// What a run amounted to: a simulation whose misfortunes cost nothing proves nothing.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) terms: u64,
    pub(crate) commits: u64,
    pub(crate) refused_writes: u64,
    pub(crate) evictions: u64,
    pub(crate) refused_installs: u64,
    /// Terms and candidacies given up because the replica could no longer do a leader's work.
    pub(crate) unfit_leaders: u64,
    pub(crate) unfit_candidates: u64,
    /// Evictions that found nobody whom they may end.
    pub(crate) out_of_reach: u64,
    /// Campaigns that found Redis' keys broken, and questions that found the lock out of reach.
    pub(crate) obstructed: u64,
    /// Instants at which more than one replica believed that it leads: allowed where Redis forgets, since Postgres
    /// keeps order.
    pub(crate) double_belief: u64,
    /// From the last fault until somebody leads for good.
    pub(crate) settled_after: Nanos,
}

/// Watches one run.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    /// Until when Redis ever granted each term's lease, whatever it forgot afterwards.
    granted: BTreeMap<FencingToken, Nanos>,
    pub(crate) verdict: Option<Violation>,
    pub(crate) tally: Tally,
    /// When nobody, or more than one, was last seen to lead.
    pub(crate) disorder: Nanos,
}

// === impl Judge ===

impl Judge {
    /// A promise is broken. The first one counts.
    pub(crate) fn condemn(&mut self, at: Nanos, what: String) {
        self.verdict.get_or_insert(Violation { at, what });
    }

    pub(crate) fn granted(&mut self, token: FencingToken, until: Nanos) {
        let known = self.granted.entry(token).or_default();
        *known = until.max(*known);
    }

    /// Trust never outlives the lease as Redis saw it, less the margin. Where clocks run at different speeds the margin
    /// is what that eats into, and must not be eaten up.
    pub(crate) fn trust(&mut self, now: Nanos, index: usize, replica: &Replica) {
        let Some((token, until)) = replica.believes else { return };
        let until = replica.clocks.world_time(until);
        let margin = if replica.clocks.rate == 0 { nanos(replica.timings.margin) } else { 0 };
        let granted = self.granted.get(&token).copied().unwrap_or(0);
        if until + margin > granted + 1000 {
            let what = format!(
                "replica {index} trusts term {token} until {}, with a margin of {}, and Redis granted it until {}",
                show(until),
                show(margin),
                show(granted)
            );
            self.condemn(now, what);
        }
    }

    /// At most one believes that it leads, while Redis forgets nothing.
    pub(crate) fn believers(&mut self, now: Nanos, replicas: &[Replica], forgets: bool) {
        let believers = replicas.iter().filter(|replica| replica.leads_at(now).is_some()).count();
        if believers != 1 {
            self.disorder = now;
        }
        if believers > 1 {
            self.tally.double_belief += 1;
            if !forgets {
                self.condemn(now, format!("{believers} replicas believe that they lead"));
            }
        }
    }

    /// Terms rise, and so each token that was installed has one owner.
    pub(crate) fn installed(&mut self, now: Nanos, terms: &[(FencingToken, Owner)]) {
        self.tally.terms = terms.len() as u64;
        if let [.., (before, _), (last, _)] = terms
            && before >= last
        {
            self.condemn(now, format!("term {last} was installed after term {before}"));
        }
    }

    /// Writes never go back in term: `written` has one entry for each run of writes of one term, so two terms that
    /// interleave go back, too.
    pub(crate) fn written(&mut self, now: Nanos, written: &[FencingToken]) {
        self.tally.commits += 1;
        if let [.., before, last] = written
            && before >= last
        {
            self.condemn(now, format!("term {last} wrote after term {before} had written"));
        }
    }
}

// === impl Violation ===

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: {}", show(self.at), self.what)
    }
}

// === impl Tally ===

impl Tally {
    /// Adds up the runs; of the times, the longest.
    pub(crate) fn add(&mut self, run: Self) {
        self.terms += run.terms;
        self.commits += run.commits;
        self.refused_writes += run.refused_writes;
        self.evictions += run.evictions;
        self.refused_installs += run.refused_installs;
        self.unfit_leaders += run.unfit_leaders;
        self.unfit_candidates += run.unfit_candidates;
        self.out_of_reach += run.out_of_reach;
        self.obstructed += run.obstructed;
        self.double_belief += run.double_belief;
        self.settled_after = self.settled_after.max(run.settled_after);
    }
}

/// A time of the world, in seconds.
pub(crate) fn show(at: Nanos) -> String {
    format!("{}.{:03} s", at / 1_000_000_000, at / 1_000_000 % 1000)
}
