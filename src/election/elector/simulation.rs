//! Three electors against a Redis and a Postgres that misbehave, under thousands of seeds.
//!
//! The world knows the true time; each machine has its own boot clock, which may run a little fast or slow. Requests
//! and answers are delayed, lost and doubled; a request whose sender gave up is still carried out later. Machines pause,
//! sleep and crash; the lease store forgets everything, or only its counter; work is slow to stop, or never does;
//! Postgres blocks installs. What must hold all the same is checked at every instant.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use uuid::Uuid;

use super::*;

const NODES: usize = 3;
const FAULTY: Duration = Duration::from_mins(4);
const QUIET: Duration = Duration::from_mins(4);

/// What may go wrong in one run.
#[derive(Debug, Clone, Copy)]
struct Weather {
    /// In a thousand messages.
    lost: u64,
    doubled: u64,
    late: u64,
    /// Whether the store may forget: then two replicas may each hold "a" lease, and Postgres alone keeps order.
    forgets: bool,
    /// Clock rates differ by up to this many parts in a thousand.
    skew: u64,
}

#[derive(Debug, Clone)]
enum Message {
    Tick(u64),
    Woken,
    ToStore(Question),
    ToTerms(Attempt, Owner, FencingToken),
    ToTermsEvict(Attempt),
    Ask(Attempt),
    Answer(Event),
    Write(FencingToken, Owner),
    Work,
    WorkStops(FencingToken),
    Pause(Duration),
    Sleep(Duration),
    Crash,
    Forget { all: bool },
    Block(Duration),
    Resign,
}

#[derive(Debug, Clone)]
enum Question {
    Acquire { attempt: Attempt, owner: Owner, floor: u64 },
    Renew { attempt: Attempt, owner: Owner, token: FencingToken },
    Release { attempt: Attempt, owner: Owner, token: FencingToken, publish: bool },
}

struct Node {
    elector: Elector,
    /// Rises at each restart: what belongs to an earlier life is dropped.
    life: u32,
    /// Boot time at world time 0, and how many parts in a thousand the clock runs fast.
    base: Duration,
    rate: i64,
    slept: Duration,
    paused_until: Duration,
    /// The term whose work runs.
    work: Option<FencingToken>,
    /// The term whose work was told to stop.
    stopping: Option<FencingToken>,
    /// The timer that is set; one that was set before rings unheard.
    timer: u64,
}

#[derive(Default)]
struct Store {
    holder: Option<(Owner, FencingToken, Duration)>,
    counter: u64,
    commands: [u64; NODES],
}

#[derive(Default)]
struct Terms {
    installed: Option<(FencingToken, Owner)>,
    blocked_until: Duration,
    history: Vec<(FencingToken, Owner)>,
    last_write: Option<FencingToken>,
}

struct World {
    seed: u64,
    dice: Dice,
    weather: Weather,
    timings: Timings,
    now: Duration,
    queue: BinaryHeap<Reverse<(Duration, u64)>>,
    mail: BTreeMap<u64, (usize, u32, Message)>,
    sent: u64,
    nodes: Vec<Node>,
    store: Store,
    terms: Terms,
    /// Until when the store ever granted each term's lease, forgetting aside.
    granted: BTreeMap<FencingToken, Duration>,
    quiet: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let weather = Weather {
            lost: dice.next() % 200,
            doubled: dice.next() % 100,
            late: dice.next() % 100,
            forgets: seed.is_multiple_of(2),
            skew: if seed.is_multiple_of(3) { 30 } else { 0 },
        };
        let timings = Timings::default();
        let nodes = (0..NODES).map(|index| Self::node(index, 0, &mut dice, weather, timings)).collect();
        let mut world = Self {
            seed,
            dice,
            weather,
            timings,
            now: Duration::ZERO,
            queue: BinaryHeap::new(),
            mail: BTreeMap::new(),
            sent: 0,
            nodes,
            store: Store::default(),
            terms: Terms::default(),
            granted: BTreeMap::new(),
            quiet: false,
        };
        for node in 0..NODES {
            world.post(Duration::ZERO, node, Message::Tick(0));
            world.post(Duration::from_millis(100), node, Message::Work);
        }
        world.plan_misfortunes();
        world
    }

    fn node(index: usize, life: u32, dice: &mut Dice, weather: Weather, timings: Timings) -> Node {
        let rate = i64::try_from(dice.next() % (2 * weather.skew + 1)).unwrap() - i64::try_from(weather.skew).unwrap();
        Node {
            // The same configured name for all of them: the nonce must keep them apart (S10).
            elector: Elector::new("twin", timings, false, dice.next()),
            life,
            base: Duration::from_secs(1000 * (index as u64 + 1)),
            rate,
            slept: Duration::ZERO,
            paused_until: Duration::ZERO,
            work: None,
            stopping: None,
            timer: 0,
        }
    }

    fn plan_misfortunes(&mut self) {
        for _ in 0..self.dice.next() % 12 {
            let at = self.dice.below(FAULTY);
            let node = self.pick();
            let span = self.dice.below(Duration::from_secs(40));
            let message = match self.dice.next() % 7 {
                0 => Message::Sleep(span),
                1 => Message::Crash,
                2 if self.weather.forgets => Message::Forget { all: true },
                3 if self.weather.forgets => Message::Forget { all: false },
                4 => Message::Block(span),
                5 => Message::Resign,
                _ => Message::Pause(span),
            };
            self.post(at, node, message);
        }
    }

    fn pick(&mut self) -> usize {
        usize::try_from(self.dice.next() % NODES as u64).unwrap()
    }

    fn chance(&mut self, in_a_thousand: u64) -> bool {
        !self.quiet && self.dice.next() % 1000 < in_a_thousand
    }

    fn post(&mut self, after: Duration, node: usize, message: Message) {
        self.sent += 1;
        self.queue.push(Reverse((self.now + after, self.sent)));
        self.mail.insert(self.sent, (node, self.nodes[node].life, message));
    }

    /// Over the network: delayed, and perhaps lost, late or doubled.
    fn send(&mut self, node: usize, message: &Message) {
        let copies = if self.chance(self.weather.doubled) { 2 } else { 1 };
        for _ in 0..copies {
            if self.chance(self.weather.lost) {
                continue;
            }
            let delay =
                if self.chance(self.weather.late) { Duration::from_secs(30) } else { Duration::from_millis(20) };
            let delay = self.dice.below(delay);
            self.post(delay, node, message.clone());
        }
    }

    fn reading(&self, node: usize) -> Reading {
        let node = &self.nodes[node];
        let nanos = i128::try_from(self.now.as_nanos()).unwrap();
        let run = nanos + nanos * i128::from(node.rate) / 1000;
        let awake = node.base + Duration::from_nanos(u64::try_from(run).unwrap());
        Reading { boot: Boot::from_duration(awake + node.slept), awake }
    }

    fn run(&mut self) {
        self.run_until(FAULTY);
        self.quiet = true;
        // What is still on its way from the bad days may yet arrive; half of the quiet time is for that to settle.
        self.run_until(FAULTY + QUIET / 2);
        let (before, commands) = (self.terms.history.len(), self.store.commands);
        self.run_until(FAULTY + QUIET);
        self.judge_the_quiet(before, commands);
    }

    fn run_until(&mut self, end: Duration) {
        while let Some(Reverse((at, id))) = self.queue.peek().copied() {
            if at > end {
                break;
            }
            self.queue.pop();
            self.now = at;
            let (node, life, message) = self.mail.remove(&id).unwrap();
            self.deliver(node, life, message);
            self.judge();
        }
        self.now = end;
    }

    fn deliver(&mut self, node: usize, life: u32, message: Message) {
        let current = self.nodes[node].life == life;
        match message {
            Message::ToStore(question) => self.at_store(node, life, question),
            Message::ToTerms(attempt, owner, token) => self.at_terms(node, life, attempt, owner, token),
            Message::ToTermsEvict(attempt) => {
                self.terms.blocked_until = self.now;
                self.answer(node, life, Event::Evicted { attempt });
            }
            Message::Write(token, owner) => self.write(node, life, token, &owner),
            Message::Forget { all } if !self.quiet => {
                self.store.holder = self.store.holder.take().filter(|_| !all);
                self.store.counter = 0;
            }
            Message::Forget { .. } => {}
            Message::Block(span) => self.terms.blocked_until = self.now + span,
            Message::Crash => self.restart(node),
            _ if !current => {}
            // A stopped process does nothing; what was sent to it waits, and its timers ring when it goes on.
            other if self.now < self.nodes[node].paused_until => {
                let left = self.nodes[node].paused_until.saturating_sub(self.now);
                self.post(left, node, other);
            }
            Message::Pause(span) => self.nodes[node].paused_until = self.now + span,
            Message::Sleep(span) => {
                // The world goes on while the machine sleeps: its boot clock shows it afterwards, its other clock not.
                // Modelled as a pause, and a clock that lost this much awake time.
                self.nodes[node].paused_until = self.now + span;
                self.nodes[node].slept += span;
                self.nodes[node].base = self.nodes[node].base.saturating_sub(span);
            }
            Message::Tick(timer) if timer != self.nodes[node].timer => {}
            Message::Tick(_) => self.tell(node, Event::Tick),
            Message::Woken => self.tell(node, Event::Woken),
            Message::Answer(event) => self.tell(node, event),
            Message::Ask(attempt) => {
                let floor = self.terms.installed.as_ref().map_or(0, |(token, _)| token.get());
                let nonce = Uuid::from_u128(u128::from(self.dice.next()) << 64 | u128::from(self.dice.next()));
                let fit = Fit { floor, nonce, alone: false };
                self.tell(node, Event::Eligibility { attempt, answer: Ok(fit) });
            }
            Message::Resign => {
                if let Some(token) = self.nodes[node].work {
                    self.tell(node, Event::Resign { token });
                }
            }
            Message::WorkStops(token) => {
                if self.nodes[node].stopping == Some(token) {
                    self.nodes[node].stopping = None;
                    self.tell(node, Event::WorkStopped { token });
                }
            }
            Message::Work => self.work(node),
        }
    }

    fn restart(&mut self, node: usize) {
        if self.quiet {
            return;
        }
        let life = self.nodes[node].life + 1;
        let (base, rate, slept) = (self.nodes[node].base, self.nodes[node].rate, self.nodes[node].slept);
        let mut born = Self::node(node, life, &mut self.dice, self.weather, self.timings);
        (born.base, born.rate, born.slept) = (base, rate, slept);
        self.nodes[node] = born;
        self.post(Duration::from_millis(500), node, Message::Tick(0));
        self.post(Duration::from_millis(600), node, Message::Work);
    }

    /// The work acts as the worker's does: it compares the clock with `trusted_until` before every act.
    fn work(&mut self, node: usize) {
        let standing = self.nodes[node].elector.standing();
        if standing.leads_at(self.reading(node).boot) {
            let (token, owner) = (standing.token.unwrap(), standing.owner.unwrap());
            assert_eq!(self.nodes[node].work, Some(token), "seed {}: it leads without work", self.seed);
            self.send(node, &Message::Write(token, owner));
        }
        self.post(Duration::from_millis(700), node, Message::Work);
    }

    fn write(&mut self, node: usize, life: u32, token: FencingToken, owner: &Owner) {
        if self.terms.installed.as_ref() == Some(&(token, owner.clone())) {
            assert!(self.terms.last_write <= Some(token), "seed {}: an older term wrote after a newer one", self.seed);
            self.terms.last_write = Some(token);
        } else {
            self.answer(node, life, Event::WriteRefused { token });
        }
    }

    fn at_store(&mut self, node: usize, life: u32, question: Question) {
        self.store.commands[node] += 1;
        let now = self.now;
        let ttl = self.timings.ttl;
        self.store.holder = self.store.holder.take().filter(|(_, _, until)| now < *until);
        let event = match question {
            Question::Acquire { attempt, owner, floor } => {
                let answer = match &mut self.store.holder {
                    None => {
                        self.store.counter = self.store.counter.max(floor) + 1;
                        let token = FencingToken::new(self.store.counter).unwrap();
                        self.store.holder = Some((owner.clone(), token, now + ttl));
                        Acquired::Won { token }
                    }
                    Some((holder, token, until)) if *holder == owner => {
                        *until = now + ttl;
                        Acquired::Won { token: *token }
                    }
                    Some((_, _, until)) => Acquired::Held { left: until.saturating_sub(now) },
                };
                if let Acquired::Won { token } = answer {
                    self.grant(token);
                }
                Event::Acquired { attempt, owner, answer }
            }
            Question::Renew { attempt, owner, token } => {
                let answer = match &mut self.store.holder {
                    Some((holder, held, until)) if *holder == owner && *held == token => {
                        *until = now + ttl;
                        Renewed::Kept
                    }
                    _ => Renewed::Lost,
                };
                if answer == Renewed::Kept {
                    self.grant(token);
                }
                Event::Renewed { attempt, token, answer }
            }
            Question::Release { attempt, owner, token, publish } => {
                let ours = |held: &(Owner, FencingToken, Duration)| held.0 == owner && held.1 == token;
                if self.store.holder.as_ref().is_some_and(ours) {
                    self.store.holder = None;
                    if publish {
                        for node in 0..NODES {
                            self.send(node, &Message::Woken);
                        }
                    }
                }
                Event::Released { attempt, answered: true }
            }
        };
        self.answer(node, life, event);
    }

    fn grant(&mut self, token: FencingToken) {
        let until = self.now + self.timings.ttl;
        self.granted.insert(token, until);
    }

    fn at_terms(&mut self, node: usize, life: u32, attempt: Attempt, owner: Owner, token: FencingToken) {
        let mine = Some((token, owner.clone()));
        let answer = if self.terms.installed == mine {
            Installed::Done
        } else if self.terms.installed.as_ref().is_some_and(|(installed, _)| *installed >= token) {
            Installed::Refused
        } else if self.now < self.terms.blocked_until {
            Installed::Blocked
        } else {
            self.terms.installed = mine;
            self.terms.history.push((token, owner));
            for node in 0..NODES {
                self.send(node, &Message::Answer(Event::TermSeen { token }));
            }
            Installed::Done
        };
        self.answer(node, life, Event::Installed { attempt, answer });
    }

    fn answer(&mut self, node: usize, life: u32, event: Event) {
        if self.nodes[node].life == life {
            self.send(node, &Message::Answer(event));
        }
    }

    fn tell(&mut self, node: usize, event: Event) {
        let reading = self.reading(node);
        let life = self.nodes[node].life;
        let effects = self.nodes[node].elector.step(event, reading);
        for effect in effects {
            self.carry_out(node, effect);
        }
        if self.nodes[node].life != life {
            return; // its work did not stop, and the process ended
        }
        let due = self.nodes[node].elector.due();
        assert!(
            due > reading.boot,
            "seed {}: due at once again, which would spin: {:?}",
            self.seed,
            self.nodes[node].elector
        );
        if due != Boot::NEVER {
            let wait = due.left(reading.boot);
            // A slow clock rings late, a fast one early; asking again costs nothing.
            let timer = self.sent;
            self.nodes[node].timer = timer;
            self.post(wait, node, Message::Tick(timer));
        }
    }

    fn carry_out(&mut self, node: usize, effect: Effect) {
        let seed = self.seed;
        match effect {
            Effect::Ask { attempt, .. } => self.post(Duration::from_millis(2), node, Message::Ask(attempt)),
            Effect::Acquire { attempt, owner, floor } => {
                self.send(node, &Message::ToStore(Question::Acquire { attempt, owner, floor }));
            }
            Effect::Renew { attempt, owner, token } => {
                self.send(node, &Message::ToStore(Question::Renew { attempt, owner, token }));
            }
            Effect::Release { attempt, owner, token, publish } => {
                let alive = [self.nodes[node].work, self.nodes[node].stopping];
                assert!(!alive.contains(&Some(token)), "seed {seed}: released while its work is alive");
                self.send(node, &Message::ToStore(Question::Release { attempt, owner, token, publish }));
            }
            Effect::Install { attempt, owner, token } => {
                self.send(node, &Message::ToTerms(attempt, owner, token));
            }
            Effect::Evict { attempt, .. } => self.send(node, &Message::ToTermsEvict(attempt)),
            Effect::Lead { token, .. } => {
                assert_eq!(self.nodes[node].work, None, "seed {seed}: a term began while older work was alive");
                self.nodes[node].work = Some(token);
            }
            Effect::StopWork { token, .. } => {
                assert_eq!(self.nodes[node].work, Some(token), "seed {seed}: told to stop what does not run");
                let standing = self.nodes[node].elector.standing();
                assert_eq!(standing.trusted_until, None, "seed {seed}: told the work before it stopped trusting");
                self.nodes[node].work = None;
                self.nodes[node].stopping = Some(token);
                if !self.chance(20) {
                    let delay = self.dice.below(Duration::from_secs(4));
                    self.post(delay, node, Message::WorkStops(token));
                }
            }
            Effect::Announce(change) if change.from == Role::Leader => {
                assert_eq!(change.work_stopped, self.nodes[node].stopping.is_none(), "seed {seed}: {change:?}");
            }
            Effect::Announce(_) => {}
            Effect::Exit { work_stopped } => {
                assert!(!work_stopped, "seed {seed}: nobody asked for a shutdown");
                let quiet = std::mem::replace(&mut self.quiet, false);
                self.restart(node);
                self.quiet = quiet;
            }
        }
    }

    /// World time at which a machine's boot clock will show `boot`.
    fn world_time(&self, node: usize, boot: Boot) -> Duration {
        let node = &self.nodes[node];
        let shown = boot.since(Boot::from_duration(node.base + node.slept)).as_nanos();
        let rate = u128::try_from(1000 + node.rate).unwrap();
        Duration::from_nanos(u64::try_from(shown * 1000 / rate).unwrap())
    }

    fn judge(&self) {
        let mut believers = 0;
        for (index, node) in self.nodes.iter().enumerate() {
            let standing = node.elector.standing();
            if self.now < node.paused_until || !standing.leads_at(self.reading(index).boot) {
                continue;
            }
            believers += 1;
            let token = standing.token.unwrap();
            let until = self.world_time(index, standing.trusted_until.unwrap());
            // A clock that runs 3 % slow eats into the margin; it must not eat it up.
            let slack = if node.rate == 0 { self.timings.margin } else { Duration::ZERO };
            assert!(
                until + slack <= self.granted[&token] + Duration::from_micros(1),
                "seed {}: node {index} believes in {token} until {until:?}, the store granted {:?}",
                self.seed,
                self.granted[&token]
            );
        }
        if !self.weather.forgets {
            assert!(
                believers <= 1,
                "seed {}: {believers} replicas believe that they lead at {:?}",
                self.seed,
                self.now
            );
        }
        for pair in self.terms.history.windows(2) {
            assert!(pair[0].0 < pair[1].0, "seed {}: tokens do not rise: {pair:?}", self.seed);
        }
    }

    fn judge_the_quiet(&self, terms_before: usize, commands_before: [u64; NODES]) {
        let seed = self.seed;
        let leaders: Vec<usize> =
            (0..NODES).filter(|node| self.nodes[*node].elector.standing().leads_at(self.reading(*node).boot)).collect();
        assert_eq!(leaders.len(), 1, "seed {seed}: once the faults stop, exactly one leads: {leaders:?}");
        assert_eq!(self.terms.history.len(), terms_before, "seed {seed}: leadership changed hands in quiet times");
        let ttls = QUIET.as_millis() / 2 / self.timings.ttl.as_millis();
        for node in (0..NODES).filter(|node| *node != leaders[0]) {
            let commands = self.store.commands[node] - commands_before[node];
            assert!(u128::from(commands) <= 2 * ttls, "seed {seed}: an idle follower sent {commands} in {ttls} ttl");
        }
    }
}

#[test]
fn whatever_goes_wrong_trust_keeps_within_the_lease_terms_rise_and_somebody_leads_in_the_end() {
    let seeds: u64 = option_env!("COUNTERFOIL_SIM_SEEDS").and_then(|text| text.parse().ok()).unwrap_or(1000);
    let mut terms = 0;
    for seed in 1..=seeds {
        let mut world = World::new(seed);
        world.run();
        terms += world.terms.history.len() as u64;
    }
    assert!(terms > seeds * 2, "the misfortunes must cost some terms, or they prove nothing: {terms} in {seeds} runs");
}
