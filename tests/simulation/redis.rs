//! A Redis that forgets: two servers, of which one copies the other a little later, and the three scripts on either.
//!
//! What the scripts do here is what `src/election/lua` does there; `tests/lease.rs` holds those against a real Redis.

use std::time::Duration;

use counterfoil::election::elector::{Acquired, Attempt, Event, Renewed};
use counterfoil::election::{FencingToken, Owner, StoreId};
use uuid::Uuid;

use crate::dice::Nanos;

/// A script, called.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    Acquire { attempt: Attempt, owner: Owner, floor: u64, incumbent: Option<StoreId> },
    Renew { attempt: Attempt, owner: Owner, token: FencingToken },
    Release { attempt: Attempt, owner: Owner, token: FencingToken, publish: bool },
}

/// What a server holds: all that is copied to the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Data {
    holder: Option<Held>,
    counter: u64,
    store: Option<StoreId>,
}

#[derive(Debug, Clone)]
struct Held {
    owner: Owner,
    token: FencingToken,
    /// By the server's clock.
    until: Nanos,
}

/// Both servers.
#[derive(Debug, Default)]
pub(crate) struct Redis {
    servers: [Server; 2],
    primary: usize,
    /// Rises at each failover: a copy that was sent before it is dropped.
    pub(crate) generation: u32,
    /// How far the clock of both was set forward.
    ahead: Nanos,
    /// Until then the counter holds what no token may follow from.
    counter_broken_until: Nanos,
    /// Until then the holder's key holds something of a stranger's.
    overwritten_until: Nanos,
    /// Ids that were given: a Redis that forgot is another one.
    stores: u128,
}

#[derive(Debug, Default)]
struct Server {
    data: Data,
    frozen_until: Nanos,
    /// From then on it refuses to write.
    demoted_at: Option<Nanos>,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) event: Event,
    /// The lease of this token was granted, or extended.
    pub(crate) granted: Option<FencingToken>,
    /// A token was won that is above nothing: at or below the floor that came with the command.
    pub(crate) below_floor: bool,
    /// The primary's data changed, and will be copied.
    pub(crate) copied: Option<Data>,
    pub(crate) published: bool,
    /// It answered READONLY: the client dials anew.
    pub(crate) read_only: bool,
}

// === impl Redis ===

impl Redis {
    pub(crate) fn primary(&self) -> usize {
        self.primary
    }

    /// Until when a server stands still.
    pub(crate) fn frozen_until(&self, server: usize) -> Nanos {
        self.servers[server].frozen_until
    }

    pub(crate) fn freeze(&mut self, until: Nanos) {
        let primary = &mut self.servers[self.primary];
        primary.frozen_until = primary.frozen_until.max(until);
    }

    pub(crate) fn forget(&mut self) {
        self.servers.iter_mut().for_each(|server| server.data = Data::default());
        (self.counter_broken_until, self.overwritten_until) = (0, 0);
        self.generation += 1;
    }

    /// Somebody writes into the counter, and somebody mends it.
    pub(crate) fn break_counter(&mut self, until: Nanos) {
        self.counter_broken_until = until;
    }

    /// Somebody writes over the lease, and somebody deletes it.
    pub(crate) fn overwrite_holder(&mut self, until: Nanos) {
        self.servers.iter_mut().for_each(|server| server.data.holder = None);
        self.overwritten_until = until;
        self.generation += 1;
    }

    pub(crate) fn lose_counter(&mut self) {
        self.servers.iter_mut().for_each(|server| server.data.counter = 0);
        self.generation += 1;
    }

    pub(crate) fn set_clock(&mut self, forward: Nanos) {
        self.ahead += forward;
    }

    /// The copy becomes the primary, and whatever it has not got yet is lost.
    pub(crate) fn fail_over(&mut self, now: Nanos, zombie: Nanos) {
        self.generation += 1;
        self.servers[self.primary].demoted_at = Some(now + zombie);
        self.primary = 1 - self.primary;
        self.servers[self.primary].demoted_at = None;
    }

    pub(crate) fn copy(&mut self, generation: u32, data: Data) {
        if generation == self.generation {
            self.servers[1 - self.primary].data = data;
        }
    }

    /// Carries a command out at a server, for a client of this ttl.
    pub(crate) fn carry_out(&mut self, server: usize, command: Command, ttl: Duration, now: Nanos) -> Outcome {
        let clock = now + self.ahead;
        let until = clock + nanos(ttl);
        let at = &mut self.servers[server];
        if at.demoted_at.is_some_and(|demoted| now >= demoted) {
            return Outcome::of(refusal(&command)).read_only();
        }
        let (broken, overwritten) = (now < self.counter_broken_until, now < self.overwritten_until);
        let Data { holder, counter, store } = &mut at.data;
        if holder.as_ref().is_some_and(|held| clock >= held.until) {
            *holder = None;
        }
        let mut outcome = match command {
            Command::Acquire { attempt, owner, floor, incumbent } => {
                let mut below_floor = false;
                let store = *store.get_or_insert_with(|| {
                    self.stores += 1;
                    StoreId::new(Uuid::from_u128(self.stores))
                });
                let answer = match holder {
                    _ if overwritten => Acquired::Obstructed,
                    None if broken => Acquired::Obstructed,
                    None if incumbent.is_some_and(|incumbent| incumbent != store) => Acquired::Elsewhere,
                    None => {
                        *counter = (*counter).max(floor) + 1;
                        below_floor = *counter <= floor;
                        let token = FencingToken::new(*counter).expect("far below 2^53");
                        *holder = Some(Held { owner: owner.clone(), token, until });
                        Acquired::Won { token, store }
                    }
                    Some(held) if held.owner == owner => {
                        held.until = until;
                        Acquired::Won { token: held.token, store }
                    }
                    Some(held) => Acquired::Held { left: Duration::from_nanos(held.until - clock) },
                };
                let mut outcome = Outcome::of(Event::Acquired { attempt, owner, answer });
                outcome.below_floor = below_floor;
                if let Acquired::Won { token, .. } = answer {
                    outcome.granted = Some(token);
                }
                outcome
            }
            Command::Renew { attempt, owner, token } => match holder {
                Some(held) if held.owner == owner && held.token == token => {
                    held.until = until;
                    let mut outcome = Outcome::of(Event::Renewed { attempt, token, answer: Renewed::Kept });
                    // The judge hears whose lease it was, whoever asked.
                    outcome.granted = Some(held.token);
                    outcome
                }
                _ => Outcome::of(Event::Renewed { attempt, token, answer: Renewed::Lost }),
            },
            Command::Release { attempt, owner, token, publish } => {
                let ours = holder.as_ref().is_some_and(|held| held.owner == owner && held.token == token);
                let mut outcome = Outcome::of(Event::Released { attempt, answered: true });
                if ours {
                    *holder = None;
                    outcome.published = publish;
                }
                outcome
            }
        };
        if server == self.primary {
            outcome.copied = Some(self.servers[server].data.clone());
        }
        outcome
    }
}

fn refusal(command: &Command) -> Event {
    match command {
        Command::Acquire { attempt, owner, .. } => {
            Event::Acquired { attempt: *attempt, owner: owner.clone(), answer: Acquired::Refused }
        }
        Command::Renew { attempt, token, .. } => {
            Event::Renewed { attempt: *attempt, token: *token, answer: Renewed::Failed }
        }
        Command::Release { attempt, .. } => Event::Released { attempt: *attempt, answered: false },
    }
}

/// A span as the world counts it.
pub(crate) fn nanos(span: Duration) -> Nanos {
    u64::try_from(span.as_nanos()).expect("far below 584 years")
}

// === impl Outcome ===

impl Outcome {
    fn of(event: Event) -> Self {
        Self { event, granted: None, below_floor: false, copied: None, published: false, read_only: false }
    }

    fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }
}
