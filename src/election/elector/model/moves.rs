//! What can happen next, and what comes of it.

use super::servers::Rules;
use super::state::{Broken, Mail, NOW, State, Step};
use super::{Flaw, Protocol};
use crate::election::elector::Phase;
use crate::election::elector::{Acquired, Event, Installed, Renewed};

/// One move. Numbers are replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    /// A step of time passes.
    TimePasses,
    /// A replica's heartbeat is due.
    Heartbeat(usize),
    /// Its other timer: a pause is over, a question is given up.
    Timer(usize),
    /// The n-th of its messages arrives, whichever end it goes to.
    Arrives(usize, usize),
    /// Its work asks whether it leads, and believes the answer.
    Check(usize),
    /// The step that was checked begins its transaction.
    Enter(usize),
    /// The transaction commits.
    Commit(usize),
    /// The transaction is ended by its session's end.
    Abort(usize),
    /// Its work has stopped, as it was told.
    WorkStops(usize),
    /// An operator asks it to resign.
    Resign(usize),
    /// It dies, and is started anew.
    Crash(usize),
    /// Redis loses its last write: a failover to a copy that was one behind.
    LosesLast,
    /// Redis loses everything.
    LosesAll,
}

impl Protocol {
    pub(super) fn moves(&self, state: &State, moves: &mut Vec<Move>) {
        moves.push(Move::TimePasses);
        for (index, replica) in state.replicas.iter().enumerate() {
            match replica.elector.phase {
                Phase::Candidate { .. } => moves.extend([Move::Heartbeat(index), Move::Timer(index)]),
                Phase::Leader { .. } => {
                    moves.push(Move::Heartbeat(index));
                    moves.extend(self.size.resigns.then_some(Move::Resign(index)));
                }
                Phase::Draining { renews, .. } => {
                    moves.extend([Move::Timer(index), Move::WorkStops(index)]);
                    moves.extend(renews.then_some(Move::Heartbeat(index)));
                }
                _ => moves.push(Move::Timer(index)),
            }
            moves.extend((0..replica.mail.len()).map(|at| Move::Arrives(index, at)));
            match &replica.step {
                None if replica.elector.standing().leads_at(NOW.boot) => moves.push(Move::Check(index)),
                None => {}
                Some(Step { entered: false, .. }) => moves.push(Move::Enter(index)),
                Some(Step { orphan, .. }) => {
                    moves.push(Move::Commit(index));
                    moves.extend(orphan.then_some(Move::Abort(index)));
                }
            }
            if state.crashes > 0 {
                moves.push(Move::Crash(index));
            }
        }
        if state.losses > 0 {
            moves.push(Move::LosesAll);
            moves.extend(state.redis.before.is_some().then_some(Move::LosesLast));
        }
    }

    pub(super) fn make(&self, state: &mut State, made: Move) {
        match made {
            Move::TimePasses => state.pass(),
            Move::Heartbeat(index) => {
                state.replica(index).hurry_heartbeat();
                state.tell(index, Event::Tick, self.size);
            }
            Move::Timer(index) => {
                state.replica(index).hurry_timer();
                state.tell(index, Event::Tick, self.size);
            }
            Move::Arrives(index, at) => self.arrives(state, index, at),
            Move::Check(index) => {
                let replica = state.replica(index);
                let standing = replica.elector.standing();
                if let Some((token, owner)) = standing.token.zip(standing.owner) {
                    replica.step = Some(Step { token, owner, entered: false, orphan: false });
                }
            }
            Move::Enter(index) => self.enter(state, index),
            Move::Commit(index) => Self::commit(state, index),
            Move::Abort(index) => state.replica(index).step = None,
            Move::WorkStops(index) => {
                let replica = state.replica(index);
                // A step that hangs is abandoned: its session is closed, and what was sent on it may still arrive.
                replica.orphan_step();
                if let Some(token) = replica.stopping.take() {
                    state.tell(index, Event::WorkStopped { token }, self.size);
                }
            }
            Move::Resign(index) => {
                if let Some(token) = state.replicas[index].work {
                    state.tell(index, Event::Resign { token }, self.size);
                }
            }
            Move::Crash(index) => {
                state.crashes -= 1;
                state.restart(index, self.size);
            }
            Move::LosesLast => {
                state.losses -= 1;
                state.lossy = true;
                if let Some(before) = state.redis.before.take() {
                    state.redis.data = before;
                }
            }
            Move::LosesAll => {
                state.losses -= 1;
                state.lossy = true;
                state.redis = super::servers::Redis::default();
            }
        }
    }

    fn arrives(&self, state: &mut State, index: usize, at: usize) {
        let mail = state.replica(index).mail.remove(at);
        let most = self.size.mail;
        let (ttl, losable) = (self.size.ttl, state.losses > 0);
        let rules = Rules { ttl, last: self.size.tokens, losable, flaw: self.flaw };
        let answer = match mail {
            Mail::Answer(event) => return state.tell(index, event, self.size),
            Mail::Acquire { attempt, owner, floor } => {
                let held = state.redis.held();
                let answer = state.redis.acquire(&owner, floor, rules);
                if let Acquired::Won { token, .. } = answer {
                    state.grant(token, ttl);
                    if held.is_none() && token.get() <= floor {
                        state.break_promise(Broken::TokenNotAboveFloor);
                    }
                }
                Event::Acquired { attempt, owner, answer }
            }
            Mail::Renew { attempt, owner, token } => {
                let answer = state.redis.renew(&owner, token, rules);
                if answer == Renewed::Kept
                    && let Some(held) = state.redis.held()
                {
                    state.grant(held, ttl);
                }
                Event::Renewed { attempt, token, answer }
            }
            Mail::Release { attempt, owner, token } => {
                state.redis.release(&owner, token, rules);
                Event::Released { attempt, answered: true }
            }
            Mail::Install { attempt, owner, token } => {
                let (before, locked) = (state.postgres.installed.clone(), state.has_writers());
                let answer = state.postgres.install(token, &owner, locked && self.flaw != Flaw::NoLock, self.flaw);
                if answer == Installed::Done
                    && state.postgres.installed != before
                    && before.is_some_and(|(standing, _)| standing >= token)
                {
                    state.break_promise(Broken::TermWentBack);
                }
                Event::Installed { attempt, answer }
            }
            Mail::Evict { attempt } => {
                for replica in 0..state.replicas.len() {
                    if state.replicas[replica].step.as_ref().is_some_and(|step| step.entered) {
                        state.replica(replica).step = None;
                    }
                }
                Event::Evicted { attempt }
            }
        };
        state.replica(index).send(Mail::Answer(answer), most);
    }

    fn enter(&self, state: &mut State, index: usize) {
        let Some(step) = state.replicas[index].step.clone() else { return };
        if state.postgres.is_installed(step.token, &step.owner) {
            if let Some(step) = &mut state.replica(index).step {
                step.entered = true;
            }
            return;
        }
        state.replica(index).step = None;
        if !step.orphan {
            state.tell(index, Event::WriteRefused { token: step.token }, self.size);
        }
    }

    fn commit(state: &mut State, index: usize) {
        let Some(step) = state.replica(index).step.take() else { return };
        if !state.postgres.is_installed(step.token, &step.owner) {
            state.break_promise(Broken::WriteOutsideTerm);
        }
        if state.postgres.written > Some(step.token) {
            state.break_promise(Broken::WriteWentBack);
        }
        state.postgres.written = Some(step.token);
    }
}
