//! LEADER, and the way out: renewing, stepping down, draining, releasing.

use super::{Attempt, Change, Effect, Elector, Holding, Phase, Renewal, Renewed};
use crate::election::FencingToken;
use crate::election::reason::{Reason, Role};
use crate::instant::Boot;

/// A term that lasted this many ttl makes its replica's earlier losses forgotten.
const STABLE_TTLS: u32 = 8;
/// A term is not given up to another node before it has lasted so many ttl.
const RESTED_TTLS: u32 = 2;
/// How often that doubles where nobody takes what is given up.
const MOST_DOUBLINGS: u32 = 8;

impl Elector {
    pub(super) fn become_leader(&mut self, holding: Holding, since: Boot, now: Boot, effects: &mut Vec<Effect>) {
        self.setbacks = 0;
        self.last_reason = Some(Reason::Installed);
        let (owner, token) = (holding.owner.clone(), holding.token);
        let trust_left = holding.trusted_until.left(now);
        self.phase = Phase::Leader { holding, since: now, beat: None };
        effects.push(Effect::Lead { owner: owner.clone(), token });
        effects.push(Effect::Announce(Change {
            from: Role::Candidate,
            to: Role::Leader,
            reason: Reason::Installed,
            owner,
            token,
            since,
            trust_left,
            work_stopped: false,
        }));
    }

    pub(super) fn on_beat(&mut self, seen: Option<Boot>) {
        if let Phase::Leader { beat, .. } = &mut self.phase {
            *beat = seen;
        }
    }

    pub(super) fn on_term_seen(&mut self, token: FencingToken, now: Boot, effects: &mut Vec<Effect>) {
        if matches!(&self.phase, Phase::Leader { holding, .. } if token > holding.token) {
            self.step_down(Reason::Fenced, now, effects);
        }
    }

    pub(super) fn on_write_refused(&mut self, token: FencingToken, now: Boot, effects: &mut Vec<Effect>) {
        if matches!(&self.phase, Phase::Leader { holding, .. } if token == holding.token) {
            self.step_down(Reason::Fenced, now, effects);
        }
    }

    /// A follower need not be told: it asks before it campaigns.
    pub(super) fn on_unfit(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        match self.phase {
            Phase::Candidate { .. } => self.abandon(Reason::Ineligible, now, effects),
            Phase::Leader { .. } => self.step_down(Reason::Ineligible, now, effects),
            _ => {}
        }
    }

    /// Penalised like a loss: whoever takes over may do better, and this one comes back if it is alone.
    pub(super) fn on_failing(&mut self, token: FencingToken, now: Boot, effects: &mut Vec<Effect>) {
        if matches!(&self.phase, Phase::Leader { holding, .. } if token == holding.token) {
            self.step_down(Reason::Failing, now, effects);
        }
    }

    /// Only at rest, and only a term that has stood for a while: longer each time that nobody took what was given up.
    pub(super) fn on_crowded(&mut self, token: FencingToken, now: Boot, effects: &mut Vec<Effect>) {
        let Phase::Leader { holding, since, beat: None } = &self.phase else { return };
        let stood =
            now.since(*since) >= self.timings.ttl.saturating_mul(RESTED_TTLS << self.given_up.min(MOST_DOUBLINGS));
        if holding.token == token && stood {
            self.given_up = self.given_up.saturating_add(1);
            self.step_down(Reason::SharedOut, now, effects);
        }
    }

    /// Names the token, so that a request that comes late cannot fell the next leader.
    pub(super) fn on_resign(&mut self, token: FencingToken, now: Boot, effects: &mut Vec<Effect>) {
        if matches!(&self.phase, Phase::Leader { holding, .. } if token == holding.token) {
            self.step_down(Reason::Resigned, now, effects);
        }
    }

    pub(super) fn on_shutdown(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        self.ending = true;
        match self.phase {
            Phase::Resting { .. } | Phase::Asking(_) => {
                self.phase = Phase::Ended;
                effects.push(Effect::Exit { work_stopped: true });
            }
            Phase::Candidate { .. } => self.abandon(Reason::Shutdown, now, effects),
            Phase::Leader { .. } => self.step_down(Reason::Shutdown, now, effects),
            // A campaign's answer is awaited, so that a lease just won is given back; the others are on their way out.
            Phase::Campaigning(_) | Phase::Draining { .. } | Phase::Releasing { .. } | Phase::Ended => {}
        }
    }

    pub(super) fn on_renewed(
        &mut self,
        attempt: Attempt,
        token: FencingToken,
        answer: Renewed,
        now: Boot,
        effects: &mut Vec<Effect>,
    ) {
        let trusted_until = self.timings.trusted_until(attempt.sent);
        let pause = self.timings.retry_pause();
        let beat = self.dice.heartbeat(&self.timings);
        let Some(holding) = self.holding_mut().filter(|holding| holding.token == token) else { return };
        let current = matches!(holding.renewal, Renewal::Sent(sent) if sent.id == attempt.id);
        match answer {
            // A late answer is as true as a prompt one: it extends trust from when *it* was sent.
            Renewed::Kept => {
                holding.trusted_until = holding.trusted_until.max(trusted_until);
                if current {
                    // Counted from the sending: a slow answer must not thin the heartbeats out.
                    holding.renewal = Renewal::Due((attempt.sent + beat).max(now));
                }
            }
            Renewed::Lost => self.on_lost(now, effects),
            Renewed::Failed if current => holding.renewal = Renewal::Due(now + pause),
            Renewed::Failed => {}
        }
    }

    fn on_lost(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        match &mut self.phase {
            Phase::Candidate { .. } => self.abandon(Reason::Lost, now, effects),
            Phase::Leader { .. } => self.step_down(Reason::Lost, now, effects),
            Phase::Draining { renews, releases, .. } => {
                *renews = false;
                *releases = false;
            }
            _ => {}
        }
    }

    pub(super) fn renew_if_due(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        let limit = self.timings.attempt_timeout;
        let pause = self.timings.retry_pause();
        let Some(holding) = self.holding_mut() else { return };
        match holding.renewal {
            Renewal::Sent(attempt) if now >= attempt.sent + limit => holding.renewal = Renewal::Due(now + pause),
            Renewal::Due(at) if now >= at => {
                let (owner, token) = (holding.owner.clone(), holding.token);
                let attempt = self.attempt(now);
                if let Some(holding) = self.holding_mut() {
                    holding.renewal = Renewal::Sent(attempt);
                }
                effects.push(Effect::Renew { attempt, owner, token });
            }
            _ => {}
        }
    }

    /// A leader's timers. A heartbeat proves only that the heart beats: it goes on only while open steps show progress.
    pub(super) fn go_on_as_leader(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        let Phase::Leader { beat, .. } = &self.phase else { return };
        if beat.is_some_and(|beat| now >= beat + self.timings.stall_limit) {
            return self.step_down(Reason::Stalled, now, effects);
        }
        self.renew_if_due(now, effects);
    }

    /// Trust ends here and now: from this on [`Elector::standing`] shows no `trusted_until`. Everything else comes after.
    pub(super) fn step_down(&mut self, reason: Reason, now: Boot, effects: &mut Vec<Effect>) {
        let Phase::Leader { holding, since, .. } = &self.phase else { return };
        let (holding, since) = (holding.clone(), *since);
        self.last_reason = Some(reason);
        self.fenced = reason == Reason::Fenced;
        if now.since(since) >= self.timings.ttl * STABLE_TTLS {
            self.losses = 0;
        }
        if reason.is_setback() {
            self.losses += 1;
            let hold = self.timings.heartbeat.saturating_mul(1 << (self.losses - 1).min(16)).min(self.timings.ttl);
            self.hold_until = now + hold;
        }
        if reason == Reason::Resigned {
            self.resigned_until = now + self.timings.drain + self.timings.ttl;
        }
        // Who leaves of his own will keeps the lease alive until the step that is about to commit has committed; who
        // lost it has nothing to keep.
        let renews = !reason.is_involuntary();
        let (owner, token) = (holding.owner.clone(), holding.token);
        effects.push(Effect::StopWork { owner, token, reason, trust_left: holding.trusted_until.left(now) });
        let until = now + self.timings.drain;
        self.phase = Phase::Draining { holding, since, reason, until, renews, releases: reason != Reason::Lost };
    }

    pub(super) fn on_work_stopped(&mut self, token: FencingToken, now: Boot, effects: &mut Vec<Effect>) {
        let Phase::Draining { holding, since, reason, releases, .. } = &self.phase else { return };
        if holding.token != token {
            return;
        }
        let (holding, releases) = (holding.clone(), *releases);
        let change = end_of_term(&holding, *since, *reason, now, true);
        if releases {
            self.release(holding, true, change, now, effects);
        } else {
            self.finish(change, now, effects);
        }
    }

    /// While the work stops: the lease of one who leaves of his own will is renewed. If the work does not stop in time,
    /// the lease is *not* released, and the process must end: somebody else's term begins when this one's lease has run
    /// out, and evicts what is left.
    pub(super) fn go_on_draining(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        let Phase::Draining { holding, since, reason, until, renews, .. } = &self.phase else { return };
        if now >= *until {
            let change = end_of_term(holding, *since, *reason, now, false);
            self.phase = Phase::Ended;
            effects.push(Effect::Announce(change));
            effects.push(Effect::Exit { work_stopped: false });
        } else if *renews {
            self.renew_if_due(now, effects);
        }
    }

    pub(super) fn release(
        &mut self,
        holding: Holding,
        publish: bool,
        change: Change,
        now: Boot,
        effects: &mut Vec<Effect>,
    ) {
        let attempt = self.attempt(now);
        let (owner, token) = (holding.owner.clone(), holding.token);
        self.phase = Phase::Releasing { holding, attempt, again: true, publish, change };
        effects.push(Effect::Release { attempt, owner, token, publish });
    }

    pub(super) fn on_released(&mut self, attempt: Attempt, answered: bool, now: Boot, effects: &mut Vec<Effect>) {
        let Phase::Releasing { attempt: sent, change, .. } = &self.phase else { return };
        if answered {
            // Any answer will do, also a late one: the lease is no longer ours.
            let change = change.clone();
            self.finish(change, now, effects);
        } else if sent.id == attempt.id {
            self.release_again(now, effects);
        }
    }

    /// A release is worth a second try, since it saves the others a ttl of waiting; not a third.
    pub(super) fn release_again(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        let Phase::Releasing { holding, again, publish, change, .. } = &self.phase else { return };
        let (holding, again, publish, change) = (holding.clone(), *again, *publish, change.clone());
        if !again {
            return self.finish(change, now, effects);
        }
        let attempt = self.attempt(now);
        let (owner, token) = (holding.owner.clone(), holding.token);
        self.phase = Phase::Releasing { holding, attempt, again: false, publish, change };
        effects.push(Effect::Release { attempt, owner, token, publish });
    }

    /// The observers are told, last; then it rests, or ends.
    pub(super) fn finish(&mut self, change: Change, now: Boot, effects: &mut Vec<Effect>) {
        let was_leader = change.from == Role::Leader;
        effects.push(Effect::Announce(change));
        if self.ending {
            self.phase = Phase::Ended;
            effects.push(Effect::Exit { work_stopped: true });
            return;
        }
        // A leader that lost its term asks again soon (the hold, if there is one, is looked at then); a candidate that
        // failed pauses first.
        let pause = if was_leader { self.dice.below(self.timings.contest()) } else { self.backoff(self.setbacks) };
        self.phase = Phase::Resting { until: now + pause, wakeable: was_leader };
    }

    /// The lease that is held, in whichever phase it is renewed.
    fn holding_mut(&mut self) -> Option<&mut Holding> {
        match &mut self.phase {
            Phase::Candidate { holding, .. }
            | Phase::Leader { holding, .. }
            | Phase::Draining { holding, renews: true, .. } => Some(holding),
            _ => None,
        }
    }
}

fn end_of_term(holding: &Holding, since: Boot, reason: Reason, now: Boot, work_stopped: bool) -> Change {
    Change {
        from: Role::Leader,
        to: Role::Follower,
        reason,
        owner: holding.owner.clone(),
        token: holding.token,
        since,
        trust_left: holding.trusted_until.left(now),
        work_stopped,
    }
}
