//! Redis and Postgres, as small as the protocol needs them.

use super::Flaw;
use crate::election::elector::{Acquired, Installed, Renewed};
use crate::election::{FencingToken, Owner, StoreId};

/// The margin in steps of time.
pub(super) const MARGIN: u8 = 1;
/// One Redis: what two of them do to each other is the simulation's.
const STORE: StoreId = StoreId::new(uuid::Uuid::nil());

/// The lease's keys, and what they were before the last write.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Redis {
    pub(super) data: Data,
    /// Kept only while a write may still be lost.
    pub(super) before: Option<Data>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Data {
    pub(super) holder: Option<Held>,
    counter: u64,
}

/// The rules that a call goes by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) ttl: u8,
    /// The last token that this Redis hands out.
    pub(super) last: u64,
    /// A write may yet be lost, so what was before it is kept.
    pub(super) losable: bool,
    pub(super) flaw: Flaw,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub(super) owner: Owner,
    token: FencingToken,
    /// Steps of time until it expires.
    left: u8,
}

/// The row, and the last term that wrote.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Postgres {
    pub(super) installed: Option<(FencingToken, Owner)>,
    pub(super) written: Option<FencingToken>,
}

// === impl Redis ===

impl Redis {
    pub(super) fn counter(&self) -> u64 {
        self.data.counter
    }

    /// Time passes.
    pub(super) fn pass(&mut self) {
        self.data.pass();
        if let Some(before) = &mut self.before {
            before.pass();
        }
    }

    fn write(&mut self, losable: bool) -> &mut Data {
        self.before = losable.then(|| self.data.clone());
        &mut self.data
    }

    /// The script.
    pub(super) fn acquire(&mut self, owner: &Owner, floor: u64, rules: Rules) -> Acquired {
        match &self.data.holder {
            Some(held) if held.owner == *owner => {
                let token = held.token;
                self.write(rules.losable).extend(rules.ttl);
                Acquired::Won { token, store: STORE }
            }
            Some(_) => Acquired::Held { left: super::TICK },
            None => {
                let floor = if rules.flaw == Flaw::NoFloor { 0 } else { floor };
                let next = self.data.counter.max(floor) + 1;
                match FencingToken::new(next).filter(|_| next <= rules.last) {
                    None => Acquired::Refused,
                    Some(token) => {
                        let data = self.write(rules.losable);
                        data.counter = next;
                        data.holder = Some(Held { owner: owner.clone(), token, left: rules.ttl });
                        Acquired::Won { token, store: STORE }
                    }
                }
            }
        }
    }

    pub(super) fn renew(&mut self, owner: &Owner, token: FencingToken, rules: Rules) -> Renewed {
        if self.is_held_by(owner, token) || (rules.flaw == Flaw::RenewsAnybodys && self.data.holder.is_some()) {
            self.write(rules.losable).extend(rules.ttl);
            Renewed::Kept
        } else {
            Renewed::Lost
        }
    }

    pub(super) fn release(&mut self, owner: &Owner, token: FencingToken, rules: Rules) {
        if self.is_held_by(owner, token) {
            self.write(rules.losable).holder = None;
        }
    }

    fn is_held_by(&self, owner: &Owner, token: FencingToken) -> bool {
        self.data.holder.as_ref().is_some_and(|held| held.owner == *owner && held.token == token)
    }

    /// Whether it holds this, or may hold it again once its last write is lost.
    pub(super) fn knows(&self, owner: &Owner, token: FencingToken) -> bool {
        let holds = |data: &Data| data.holder.as_ref().is_some_and(|held| held.owner == *owner && held.token == token);
        holds(&self.data) || self.before.as_ref().is_some_and(holds)
    }

    /// The term whose lease stands.
    pub(super) fn held(&self) -> Option<FencingToken> {
        self.data.holder.as_ref().map(|held| held.token)
    }
}

impl Data {
    fn pass(&mut self) {
        if let Some(held) = &mut self.holder {
            held.left -= 1;
            if held.left == 0 {
                self.holder = None;
            }
        }
    }

    fn extend(&mut self, ttl: u8) {
        if let Some(held) = &mut self.holder {
            held.left = ttl;
        }
    }
}

// === impl Postgres ===

impl Postgres {
    pub(super) fn floor(&self) -> u64 {
        self.installed.as_ref().map_or(0, |(token, _)| token.get())
    }

    pub(super) fn last_write(&self) -> u64 {
        self.written.map_or(0, FencingToken::get)
    }

    pub(super) fn is_installed(&self, token: FencingToken, owner: &Owner) -> bool {
        self.installed.as_ref().is_some_and(|(standing, by)| *standing == token && by == owner)
    }

    /// `install_term`: who waits for the lock waits outside, as a message that has not arrived.
    pub(super) fn install(&mut self, token: FencingToken, owner: &Owner, locked: bool, flaw: Flaw) -> Installed {
        if self.is_installed(token, owner) {
            return Installed::Done;
        }
        let standing = self.floor();
        let refused = if flaw == Flaw::EqualTokenInstalls { standing > token.get() } else { standing >= token.get() };
        if refused {
            Installed::Refused
        } else if locked {
            Installed::Blocked
        } else {
            self.installed = Some((token, owner.clone()));
            Installed::Done
        }
    }
}
