//! FOLLOWER and CANDIDATE: resting, asking, campaigning, installing.

use super::{Acquired, Attempt, Candidacy, Change, Effect, Elector, Fit, Holding, Install, Installed, Phase, Renewal};
use crate::election::Owner;
use crate::election::reason::{Ineligible, Reason, Role};
use crate::election::timing::Timings;
use crate::instant::Boot;

impl Elector {
    /// A release was heard. Sleepers ask soon, each a little later than the other; one that asks already asks again.
    /// A replica that pauses because its own candidacy failed is not woken: the pause is the remedy.
    pub(super) fn on_woken(&mut self, now: Boot) {
        let soon = (now + self.dice.below(Timings::WAKE)).max(self.resigned_until);
        match &mut self.phase {
            Phase::Resting { until, wakeable: true } => *until = (*until).min(soon),
            Phase::Asking(_) | Phase::Campaigning(_) => self.heard = true,
            _ => {}
        }
    }

    pub(super) fn ask(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        if now < self.resigned_until {
            self.held_back = Some(Ineligible::Resigned);
            self.phase = Phase::Resting { until: self.resigned_until, wakeable: false };
            return;
        }
        let attempt = self.attempt(now);
        self.heard = false;
        self.phase = Phase::Asking(attempt);
        effects.push(Effect::Ask { attempt, count_peers: now < self.hold_until && !self.fenced });
    }

    pub(super) fn on_eligibility(
        &mut self,
        attempt: Attempt,
        answer: Result<Fit, Ineligible>,
        now: Boot,
        effects: &mut Vec<Effect>,
    ) {
        if !matches!(&self.phase, Phase::Asking(asked) if asked.id == attempt.id) {
            return;
        }
        let fit = match answer {
            Ok(fit) => fit,
            Err(why) => return self.hold_back(why, now),
        };
        // What stands in the way in Redis is seen only by asking there: it stands until the answer says otherwise.
        if !matches!(self.held_back, Some(Ineligible::Obstructed | Ineligible::OtherRedis)) {
            self.held_back = None;
        }
        if now < self.hold_until && (self.fenced || !fit.alone) {
            self.phase = Phase::Resting { until: self.hold_until, wakeable: false };
            return;
        }
        let mut wait = self.timings.gives_way() * fit.load;
        if self.held_back == Some(Ineligible::OtherRedis) && fit.incumbent.is_none() {
            // The leader of the other Redis has gone. Those who share its Redis must wait for the lease's end, and shall
            // not find that this one, which need not, was faster.
            wait += self.timings.ttl * 2;
        }
        let until = *self.gives_way_until.get_or_insert(now + wait);
        // A leader of another Redis that is there is not waited for: Redis is asked, and says that it is another.
        if now < until && fit.incumbent.is_none_or(|_| fit.load > 0) {
            self.phase = Phase::Resting { until, wakeable: false };
            return;
        }
        self.gives_way_until = None;
        self.campaign(&fit, now, effects);
    }

    fn campaign(&mut self, fit: &Fit, now: Boot, effects: &mut Vec<Effect>) {
        let ttl = self.timings.ttl;
        let unanswered = self.candidacy.take().filter(|candidacy| now < candidacy.last_sent + ttl);
        let owner = unanswered.map_or_else(|| Owner::new(&self.node, fit.nonce), |candidacy| candidacy.owner);
        self.candidacy = Some(Candidacy { owner: owner.clone(), last_sent: now });
        let attempt = self.attempt(now);
        self.phase = Phase::Campaigning(attempt);
        effects.push(Effect::Acquire { attempt, owner, floor: fit.floor, incumbent: fit.incumbent });
    }

    /// It may not campaign. Nothing is asked of Redis; Postgres is asked again, ever more seldom.
    pub(super) fn hold_back(&mut self, why: Ineligible, now: Boot) {
        self.held_back = Some(why);
        self.setbacks += 1;
        let until = now + self.backoff(self.setbacks);
        self.phase = Phase::Resting { until, wakeable: false };
    }

    pub(super) fn on_acquired(
        &mut self,
        attempt: Attempt,
        owner: &Owner,
        answer: Acquired,
        now: Boot,
        effects: &mut Vec<Effect>,
    ) {
        let ours = self.candidacy.as_ref().is_some_and(|candidacy| candidacy.owner == *owner);
        let current = matches!(&self.phase, Phase::Campaigning(sent) if sent.id == attempt.id);
        let following = matches!(self.phase, Phase::Resting { .. } | Phase::Asking(_) | Phase::Campaigning(_));
        if current && matches!(answer, Acquired::Won { .. } | Acquired::Held { .. } | Acquired::Obstructed) {
            self.elsewhere_since = None;
        }
        match answer {
            // Also the late answer of an attempt that was given up: whichever of them won, the lease is this owner's.
            Acquired::Won { token, store } if ours && following => {
                self.candidacy = None;
                let holding = Holding {
                    owner: owner.clone(),
                    token,
                    store,
                    trusted_until: self.timings.trusted_until(attempt.sent),
                    renewal: Renewal::Due(attempt.sent + self.dice.heartbeat(&self.timings)),
                };
                self.become_candidate(holding, now, effects);
            }
            Acquired::Held { left } if current => {
                self.candidacy = None;
                self.given_up = 0;
                self.held_back = None;
                self.setbacks = 0;
                let heard = std::mem::take(&mut self.heard);
                // A ttl of another replica's settings may be longer than ours: look once a ttl all the same.
                let left = left.min(self.timings.ttl);
                let pause =
                    if heard { self.dice.below(Timings::WAKE) } else { left + self.dice.below(self.timings.contest()) };
                self.phase = Phase::Resting { until: now + pause, wakeable: true };
                self.end_if_asked(effects);
            }
            Acquired::Refused if current => {
                self.candidacy = None;
                self.rest_after_failure(now);
                self.end_if_asked(effects);
            }
            Acquired::Obstructed if current => {
                self.candidacy = None;
                self.hold_back(Ineligible::Obstructed, now);
                self.end_if_asked(effects);
            }
            Acquired::Elsewhere if current => {
                self.candidacy = None;
                self.on_elsewhere(now);
                self.end_if_asked(effects);
            }
            Acquired::Unknown if current => self.on_no_answer(now, effects),
            _ => {}
        }
    }

    /// The leader is alive, and leads by another Redis. Ours may have lost its data a moment ago: then the leader hears so
    /// from its next renewal, and steps down. Only where it goes on leading is there something to say.
    fn on_elsewhere(&mut self, now: Boot) {
        let since = *self.elsewhere_since.get_or_insert(now);
        if now >= since + self.timings.renewal_heard() {
            return self.hold_back(Ineligible::OtherRedis, now);
        }
        let until = now + self.backoff(1);
        self.phase = Phase::Resting { until, wakeable: true };
    }

    /// It may have been granted: the candidacy stays, and asks again as the same owner.
    pub(super) fn on_no_answer(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        self.rest_after_failure(now);
        self.end_if_asked(effects);
    }

    fn rest_after_failure(&mut self, now: Boot) {
        self.setbacks += 1;
        let until = now + self.backoff(self.setbacks);
        self.phase = Phase::Resting { until, wakeable: true };
    }

    fn end_if_asked(&mut self, effects: &mut Vec<Effect>) {
        if self.ending {
            self.phase = Phase::Ended;
            effects.push(Effect::Exit { work_stopped: true });
        }
    }

    fn become_candidate(&mut self, holding: Holding, now: Boot, effects: &mut Vec<Effect>) {
        self.held_back = None;
        self.last_reason = Some(Reason::Won);
        effects.push(Effect::Announce(Change {
            from: Role::Follower,
            to: Role::Candidate,
            reason: Reason::Won,
            owner: holding.owner.clone(),
            token: holding.token,
            since: now,
            trust_left: holding.trusted_until.left(now),
            work_stopped: true,
        }));
        let too_late = now >= holding.trusted_until;
        let attempt = self.attempt(now);
        let (owner, token, store) = (holding.owner.clone(), holding.token, holding.store);
        self.phase = Phase::Candidate { holding, install: Install::Sent(attempt), since: now };
        if self.ending {
            self.abandon(Reason::Shutdown, now, effects);
        } else if too_late {
            self.abandon(Reason::Expired, now, effects);
        } else {
            effects.push(Effect::Install { attempt, owner, token, store });
        }
    }

    pub(super) fn on_installed(&mut self, attempt: Attempt, answer: Installed, now: Boot, effects: &mut Vec<Effect>) {
        let Phase::Candidate { holding, install, since } = &self.phase else { return };
        if !matches!(install, Install::Sent(sent) if sent.id == attempt.id) {
            return;
        }
        match answer {
            Installed::Done => {
                let (holding, since) = (holding.clone(), *since);
                self.become_leader(holding, since, now, effects);
            }
            Installed::Refused => self.abandon(Reason::InstallRefused, now, effects),
            Installed::Blocked => {
                let token = holding.token;
                let attempt = self.attempt(now);
                self.set_install(Install::Evicting(attempt));
                effects.push(Effect::Evict { attempt, token });
            }
            Installed::Failed => self.pause_install(now),
        }
    }

    pub(super) fn on_evicted(&mut self, attempt: Attempt, now: Boot, effects: &mut Vec<Effect>) {
        if matches!(&self.phase, Phase::Candidate { install: Install::Evicting(sent), .. } if sent.id == attempt.id) {
            self.install_again(now, effects);
        }
    }

    /// Whoever comes next would block as we did: the lease goes back, and the holder is looked for before the next try.
    pub(super) fn on_out_of_reach(&mut self, attempt: Attempt, now: Boot, effects: &mut Vec<Effect>) {
        if matches!(&self.phase, Phase::Candidate { install: Install::Evicting(sent), .. } if sent.id == attempt.id) {
            self.abandon(Reason::InstallFailed, now, effects);
        }
    }

    /// A candidate's timers: its time is limited, its lease is renewed while it installs, and the install is repeated.
    pub(super) fn go_on_as_candidate(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        let Phase::Candidate { install, since, .. } = &self.phase else { return };
        let (install, since) = (*install, *since);
        if now >= since + self.candidacy_limit() {
            return self.abandon(Reason::InstallFailed, now, effects);
        }
        match install {
            Install::Pausing(until) if now >= until => self.install_again(now, effects),
            Install::Sent(sent) | Install::Evicting(sent) if now >= sent.sent + self.install_overdue() => {
                self.pause_install(now);
            }
            _ => {}
        }
        self.renew_if_due(now, effects);
    }

    fn install_again(&mut self, now: Boot, effects: &mut Vec<Effect>) {
        let Phase::Candidate { holding, .. } = &self.phase else { return };
        let (owner, token, store) = (holding.owner.clone(), holding.token, holding.store);
        let attempt = self.attempt(now);
        self.set_install(Install::Sent(attempt));
        effects.push(Effect::Install { attempt, owner, token, store });
    }

    fn pause_install(&mut self, now: Boot) {
        let until = now + self.timings.retry_pause() + self.dice.below(Timings::WAKE);
        self.set_install(Install::Pausing(until));
    }

    fn set_install(&mut self, next: Install) {
        if let Phase::Candidate { install, .. } = &mut self.phase {
            *install = next;
        }
    }

    /// A candidacy fails after it won. The lease is given back, unless it is gone, and nobody is woken (but by one that
    /// only ends because its process does): what failed here may fail there, and the others ask in their own time.
    pub(super) fn abandon(&mut self, reason: Reason, now: Boot, effects: &mut Vec<Effect>) {
        let Phase::Candidate { holding, since, .. } = &self.phase else { return };
        let (holding, since) = (holding.clone(), *since);
        let change = Change {
            from: Role::Candidate,
            to: Role::Follower,
            reason,
            owner: holding.owner.clone(),
            token: holding.token,
            since,
            trust_left: holding.trusted_until.left(now),
            work_stopped: true,
        };
        self.last_reason = Some(reason);
        self.setbacks += 1;
        if reason == Reason::Lost {
            self.finish(change, now, effects);
        } else {
            self.release(holding, reason == Reason::Shutdown, change, now, effects);
        }
    }
}
