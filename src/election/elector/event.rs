//! What the elector is told, and what it asks for.

use std::time::Duration;

use uuid::Uuid;

use crate::election::reason::{Ineligible, Reason, Role};
use crate::election::{FencingToken, Owner, StoreId};
use crate::instant::Boot;

/// One question to Redis or Postgres. Its answer carries it back, so that a late one is known as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// Rising; never used twice.
    pub id: u64,
    /// The instant before it was sent.
    pub sent: Boot,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// Time has passed.
    Tick,
    /// A release was published, or the subscription is new and may have missed one.
    Woken,
    /// The answer to [`Effect::Ask`].
    Eligibility {
        /// To which question.
        attempt: Attempt,
        /// May it campaign, and from where does the counter go on?
        answer: Result<Fit, Ineligible>,
    },
    /// The answer to [`Effect::Acquire`].
    Acquired {
        /// To which question.
        attempt: Attempt,
        /// As whom it was asked.
        owner: Owner,
        /// The outcome.
        answer: Acquired,
    },
    /// The answer to [`Effect::Renew`].
    Renewed {
        /// To which question.
        attempt: Attempt,
        /// Which term's lease.
        token: FencingToken,
        /// The outcome.
        answer: Renewed,
    },
    /// The answer to [`Effect::Install`].
    Installed {
        /// To which question.
        attempt: Attempt,
        /// The outcome.
        answer: Installed,
    },
    /// [`Effect::Evict`] is done, or has failed: in either case the install is tried again.
    Evicted {
        /// To which question.
        attempt: Attempt,
    },
    /// [`Effect::Evict`] found the lock held by nobody that it may end: again would end the same, until they go.
    OutOfReach {
        /// To which question.
        attempt: Attempt,
    },
    /// The answer to [`Effect::Release`].
    Released {
        /// To which question.
        attempt: Attempt,
        /// Redis answered: released, or no longer ours.
        answered: bool,
    },
    /// The oldest last sign of progress among open steps; `None` while no step is open.
    Beat(Option<Boot>),
    /// Postgres holds this term.
    TermSeen {
        /// Its token.
        token: FencingToken,
    },
    /// Postgres refused a write of this term: another one is installed.
    WriteRefused {
        /// The token of the refused write.
        token: FencingToken,
    },
    /// This replica can no longer do a leader's work, and whoever can shall lead. Passing faults are not told so.
    Unfit,
    /// The work of this term fails, pass after pass: another replica shall try.
    Failing {
        /// Its token.
        token: FencingToken,
    },
    /// A node that waits for this lease leads at least two books fewer than this one.
    Crowded {
        /// The term that was installed then.
        token: FencingToken,
    },
    /// An operator asks the leader of this term to resign.
    Resign {
        /// The term that he meant.
        token: FencingToken,
    },
    /// The work of this term has stopped, and will not write again.
    WorkStopped {
        /// Its token.
        token: FencingToken,
    },
    /// The process shall end.
    Shutdown,
}

/// It may campaign.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fit {
    /// The token that Postgres holds; 0 before the first term.
    pub floor: u64,
    /// The Redis in which the installed leader won, while that leader is alive: no other Redis may grant a lease.
    pub incumbent: Option<StoreId>,
    /// How many other leases this node leads: others go first, the longer the more.
    pub load: u32,
    /// Fresh: makes the owner of a new candidacy unique.
    pub nonce: Uuid,
    /// No other replica was seen. Asked for by `count_peers`; false if it was not, or could not be told.
    pub alone: bool,
}

/// What became of an attempt to win the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Acquired {
    /// Ours.
    Won {
        /// The fencing token.
        token: FencingToken,
        /// The Redis that granted it.
        store: StoreId,
    },
    /// Another holds it.
    Held {
        /// For how much longer, unless renewed.
        left: Duration,
    },
    /// No answer: it may have been granted.
    Unknown,
    /// Redis answered with an error: nothing was granted.
    Refused,
    /// The lease's keys hold what no token may follow from, until a person removes it: nothing was granted.
    Obstructed,
    /// The installed leader is alive, and won in another Redis: nothing was granted.
    Elsewhere,
}

/// What became of an attempt to renew the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Renewed {
    /// Renewed.
    Kept,
    /// Not ours any more.
    Lost,
    /// No answer, or an error.
    Failed,
}

/// What became of an attempt to install the term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Installed {
    /// It is the installed term.
    Done,
    /// Refused for good: another term as high or higher is installed, or the token leaps too far.
    Refused,
    /// The lease's lock was not had within the bound: somebody still writes.
    Blocked,
    /// No answer, or an error: it may have been installed.
    Failed,
}

/// What the keeper shall do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Find out whether this replica may campaign, and read the floor.
    Ask {
        /// The question.
        attempt: Attempt,
        /// Also find out whether there are other replicas.
        count_peers: bool,
    },
    /// Try to win the lease.
    Acquire {
        /// The question.
        attempt: Attempt,
        /// As whom.
        owner: Owner,
        /// The counter goes on from here at least.
        floor: u64,
        /// Granted in this Redis alone, if there is one.
        incumbent: Option<StoreId>,
    },
    /// Renew it.
    Renew {
        /// The question.
        attempt: Attempt,
        /// Whose.
        owner: Owner,
        /// Of which term.
        token: FencingToken,
    },
    /// Release it, if it is still exactly this.
    Release {
        /// The question.
        attempt: Attempt,
        /// Whose.
        owner: Owner,
        /// Of which term.
        token: FencingToken,
        /// Wake the others. Not after a candidacy that failed: what failed here may fail there.
        publish: bool,
    },
    /// Install the term.
    Install {
        /// The question.
        attempt: Attempt,
        /// Whose.
        owner: Owner,
        /// Which.
        token: FencingToken,
        /// The Redis that granted its lease.
        store: StoreId,
    },
    /// End the sessions that hold the lease's lock.
    Evict {
        /// The question.
        attempt: Attempt,
        /// For which term.
        token: FencingToken,
    },
    /// The term has begun: give it to the work.
    Lead {
        /// Whose.
        owner: Owner,
        /// Which.
        token: FencingToken,
    },
    /// The term has ended: tell the work to stop, and answer with [`Event::WorkStopped`] when it has.
    StopWork {
        /// Whose term.
        owner: Owner,
        /// Which term.
        token: FencingToken,
        /// Why.
        reason: Reason,
        /// How much trust was left when it was ended.
        trust_left: Duration,
    },
    /// Tell the observers.
    Announce(Change),
    /// The elector has come to its end. If the work did not stop, the process must end, with a failure.
    Exit {
        /// All work has stopped.
        work_stopped: bool,
    },
}

/// A change of role, told after it is complete.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Change {
    /// What it was.
    pub from: Role,
    /// What it is.
    pub to: Role,
    /// Why.
    pub reason: Reason,
    /// Whose term.
    pub owner: Owner,
    /// Which term.
    pub token: FencingToken,
    /// Since when it was what it was.
    pub since: Boot,
    /// How much longer the lease could have been trusted, at the moment of the change.
    pub trust_left: Duration,
    /// No work of this term is alive.
    pub work_stopped: bool,
}

/// What a replica is, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Its role. Information: who acts compares the clock with `trusted_until`.
    pub role: Role,
    /// The owner of its candidacy or term.
    pub owner: Option<Owner>,
    /// The token of its candidacy or term.
    pub token: Option<FencingToken>,
    /// Until when it may act as the leader; `None` if it may not.
    pub trusted_until: Option<Boot>,
    /// Why it last changed its role.
    pub reason: Option<Reason>,
    /// Why it does not campaign.
    pub held_back: Option<Ineligible>,
    /// Its term has ended, and it waits for the work to stop.
    pub draining: bool,
}

// === impl Standing ===

impl Standing {
    /// May it act as the leader at `now`?
    pub fn leads_at(&self, now: Boot) -> bool {
        self.trusted_until.is_some_and(|until| now < until)
    }
}
