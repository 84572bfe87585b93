//! The elector, as it is in the product, among replicas, a Redis and a Postgres that misbehave: thousands of runs, each
//! drawn from a seed.
//!
//! Messages are lost, late and doubled; a request whose sender gave up is carried out later all the same. Processes pause
//! and die, machines sleep, clocks run at different speeds; Redis freezes, forgets, fails over to a copy that lags; Postgres
//! freezes, and its lock is held. What must hold all the same (`judge`) is checked after every event.
//!
//! ```text
//! make simulate SEEDS=1000000          # that many runs, optimised
//! make simulate SEED=4711              # one run, and its history
//! ```

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod dice;
mod judge;
mod postgres;
mod redis;
mod replica;
mod weather;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use judge::{Tally, Violation, show};
use world::World;

/// Runs in `make test`.
const SEEDS: u64 = 10_000;

fn run(seed: u64) -> Result<Tally, Violation> {
    World::new(seed, false).run()
}

/// Runs a seed again, and tells what happened.
fn replay(seed: u64) -> (String, Result<Tally, Violation>) {
    let mut world = World::new(seed, true);
    let verdict = world.run();
    (world.history().to_owned(), verdict)
}

/// All seeds of 1 … `seeds`, on every core: the sum, or the lowest failing seed.
fn run_all(seeds: u64) -> Result<Tally, u64> {
    let next = AtomicU64::new(1);
    let failed = AtomicU64::new(u64::MAX);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let tally = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut sum = Tally::default();
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        // Seeds are handed out in order, so all below a failing one have been run, or will be.
                        if seed > seeds || seed > failed.load(Ordering::Relaxed) {
                            return sum;
                        }
                        match run(seed) {
                            Ok(tally) => sum.add(tally),
                            Err(_) => drop(failed.fetch_min(seed, Ordering::Relaxed)),
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().fold(Tally::default(), |mut sum, worker| {
            sum.add(worker.join().expect("no run panics"));
            sum
        })
    });
    match failed.into_inner() {
        u64::MAX => Ok(tally),
        seed => Err(seed),
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text:?} is no number")))
}

#[test]
fn whatever_goes_wrong_terms_rise_trust_keeps_within_the_lease_and_somebody_leads_in_the_end() {
    if let Some(seed) = number("COUNTERFOIL_SIM_SEED") {
        let (history, verdict) = replay(seed);
        println!("{history}");
        match verdict {
            Ok(tally) => println!("seed {seed}: {tally:?}"),
            Err(violation) => panic!("seed {seed}, {violation}"),
        }
        return;
    }
    let seeds = number("COUNTERFOIL_SIM_SEEDS").unwrap_or(SEEDS);
    match run_all(seeds) {
        Ok(tally) => {
            println!("{seeds} runs: {tally:?}, settled after {} at most", show(tally.settled_after));
            let bites = [
                tally.terms / 3,
                tally.refused_writes * 10,
                tally.evictions * 4,
                tally.refused_installs * 40,
                tally.unfit_leaders * 5,
                tally.unfit_candidates * 10,
                tally.out_of_reach * 10,
                tally.obstructed,
            ];
            let too_few = seeds < 1000;
            assert!(too_few || bites.iter().all(|bite| *bite > seeds), "misfortunes that cost nothing: {tally:?}");
        }
        Err(seed) => {
            let (history, verdict) = replay(seed);
            let violation = verdict.expect_err("the same seed, the same run");
            panic!("{history}\nseed {seed}, {violation}\n(again: make simulate SEED={seed})");
        }
    }
}

#[test]
fn equal_seeds_make_equal_runs() {
    let (first, _) = replay(7);
    let (second, _) = replay(7);
    assert!(first.lines().count() > 500, "a history: {first}");
    assert_eq!(first, second);
    assert_ne!(first, replay(9).0);
}
