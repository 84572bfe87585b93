//! A Postgres of one row: the installed term, the lease's lock with its queue, and writing transactions that hold it.
//!
//! The lock is as Postgres' advisory one: writers hold it together, an install alone; who waits is served in turn, and
//! a writer that comes later waits behind an install. The real thing is held to that by `tests/one_writer_*.rs`.

use std::collections::VecDeque;

use counterfoil::election::elector::{Attempt, Installed};
use counterfoil::election::{FencingToken, Owner, StoreId};

use crate::dice::Nanos;

/// One writing transaction of a replica, in one of its lives.
#[derive(Debug, Clone)]
pub(crate) struct Transaction {
    pub(crate) id: u64,
    pub(crate) replica: usize,
    pub(crate) life: u32,
    pub(crate) token: FencingToken,
    pub(crate) owner: Owner,
}

/// A request to install.
#[derive(Debug, Clone)]
pub(crate) struct Installation {
    pub(crate) replica: usize,
    pub(crate) life: u32,
    pub(crate) attempt: Attempt,
    pub(crate) token: FencingToken,
    pub(crate) owner: Owner,
    pub(crate) store: StoreId,
}

/// What Postgres has to say, when the lock lets it.
#[derive(Debug)]
pub(crate) enum Said {
    Entered(Transaction),
    Refused(Transaction),
    Install(Installation, Installed),
}

#[derive(Debug)]
enum Waiting {
    Writer(Transaction),
    Installer(u64, Installation),
}

/// The server.
#[derive(Debug, Default)]
pub(crate) struct Postgres {
    pub(crate) frozen_until: Nanos,
    installed: Option<(FencingToken, Owner)>,
    store: Option<StoreId>,
    /// The session that says that the installed leader is there: of which replica, in which life, for which term.
    alive: Option<(usize, u32, Owner)>,
    /// Each term that was installed, in order.
    pub(crate) terms: Vec<(FencingToken, Owner)>,
    /// The terms of the writes that were committed, runs of one as one.
    pub(crate) written: Vec<FencingToken>,
    writers: Vec<Transaction>,
    /// A stranger holds the lock.
    stranger: bool,
    /// He is of another role: nobody may end his session.
    beyond: bool,
    queue: VecDeque<Waiting>,
    tickets: u64,
}

// === impl Postgres ===

impl Postgres {
    /// The floor of the next token.
    pub(crate) fn floor(&self) -> u64 {
        self.installed.as_ref().map_or(0, |(token, _)| token.get())
    }

    /// The Redis in which the installed leader won, while that leader is alive.
    pub(crate) fn incumbent(&self) -> Option<StoreId> {
        let (_, owner) = self.installed.as_ref()?;
        self.store.filter(|_| self.alive.as_ref().is_some_and(|(_, _, alive)| alive == owner))
    }

    /// A session that said so has ended: of a process, or of one term of it.
    pub(crate) fn stand_down(&mut self, replica: usize, life: u32, owner: Option<&Owner>) {
        let is_it = |(of, in_life, term): &(usize, u32, Owner)| {
            (*of, *in_life) == (replica, life) && owner.is_none_or(|owner| owner == term)
        };
        self.alive.take_if(|alive| is_it(alive));
    }

    /// Whether a term is the installed one.
    pub(crate) fn is_installed(&self, token: FencingToken, owner: &Owner) -> bool {
        self.installed.as_ref().is_some_and(|(standing, by)| *standing == token && by == owner)
    }

    /// Begins a writing transaction: it takes the lock shared, and is compared with the term.
    pub(crate) fn enter(&mut self, transaction: Transaction, said: &mut Vec<Said>) {
        self.queue.push_back(Waiting::Writer(transaction));
        self.serve(said);
    }

    /// Commits one; false if it was ended before.
    pub(crate) fn commit(&mut self, id: u64, said: &mut Vec<Said>) -> Option<Transaction> {
        let at = self.writers.iter().position(|writer| writer.id == id)?;
        let committed = self.writers.remove(at);
        if self.written.last() != Some(&committed.token) {
            self.written.push(committed.token);
        }
        self.serve(said);
        Some(committed)
    }

    /// Ends one whose session is gone.
    pub(crate) fn end(&mut self, id: u64, said: &mut Vec<Said>) {
        self.writers.retain(|writer| writer.id != id);
        self.queue.retain(|waiting| !matches!(waiting, Waiting::Writer(writer) if writer.id == id));
        self.serve(said);
    }

    /// Tries to install, and gives the number of the place in the queue if it has to wait.
    pub(crate) fn install(&mut self, asked: Installation, said: &mut Vec<Said>) -> Option<u64> {
        if let Some(answer) = self.look(&asked) {
            said.push(Said::Install(asked, answer));
            return None;
        }
        self.tickets += 1;
        self.queue.push_back(Waiting::Installer(self.tickets, asked));
        self.serve(said);
        Some(self.tickets)
    }

    /// The bound of a waiting install has passed.
    pub(crate) fn give_up(&mut self, ticket: u64, said: &mut Vec<Said>) {
        let is_it = |waiting: &Waiting| matches!(waiting, Waiting::Installer(number, _) if *number == ticket);
        let Some(at) = self.queue.iter().position(is_it) else { return };
        if let Some(Waiting::Installer(_, asked)) = self.queue.remove(at) {
            said.push(Said::Install(asked, Installed::Blocked));
        }
        self.serve(said);
    }

    /// Ends every session that holds the lock and may be ended. Whether none was, and one holds it still.
    pub(crate) fn evict(&mut self, said: &mut Vec<Said>) -> bool {
        let in_reach = !self.writers.is_empty() || (self.stranger && !self.beyond);
        self.writers.clear();
        self.stranger &= self.beyond;
        self.serve(said);
        !in_reach && self.stranger
    }

    /// Somebody whom nobody may evict holds the lock.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        self.stranger && self.beyond
    }

    /// A stranger takes the lock.
    pub(crate) fn stranger_comes(&mut self, beyond: bool) {
        (self.stranger, self.beyond) = (true, beyond);
    }

    pub(crate) fn stranger_leaves(&mut self, said: &mut Vec<Said>) {
        self.stranger = false;
        self.serve(said);
    }

    fn serve(&mut self, said: &mut Vec<Said>) {
        loop {
            let alone = self.writers.is_empty() && !self.stranger;
            match self.queue.front() {
                Some(Waiting::Writer(_)) => {}
                Some(Waiting::Installer(..)) if alone => {}
                _ => return,
            }
            match self.queue.pop_front() {
                Some(Waiting::Writer(writer)) if self.is_installed(writer.token, &writer.owner) => {
                    self.writers.push(writer.clone());
                    said.push(Said::Entered(writer));
                }
                Some(Waiting::Writer(writer)) => said.push(Said::Refused(writer)),
                Some(Waiting::Installer(_, asked)) => {
                    let answer = self.look(&asked).unwrap_or_else(|| {
                        self.installed = Some((asked.token, asked.owner.clone()));
                        self.store = Some(asked.store);
                        self.alive = Some((asked.replica, asked.life, asked.owner.clone()));
                        self.terms.push((asked.token, asked.owner.clone()));
                        Installed::Done
                    });
                    said.push(Said::Install(asked, answer));
                }
                None => return,
            }
        }
    }

    fn look(&self, asked: &Installation) -> Option<Installed> {
        if self.is_installed(asked.token, &asked.owner) {
            return Some(Installed::Done);
        }
        let (standing, _) = self.installed.as_ref()?;
        let elsewhere = self.incumbent().is_some_and(|incumbent| incumbent != asked.store);
        (*standing >= asked.token || elsewhere).then_some(Installed::Refused)
    }
}
