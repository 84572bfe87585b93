//! Who goes first: nodes that lead fewer books, and replicas that share the leader's Redis.

use super::*;

/// Renews as a leader at rest for so many seconds and a little.
fn stands(play: &mut Play, number: u64, seconds: u64) {
    for _ in 0..=seconds / 4 {
        play.tell(Event::Beat(None)).pass(secs(4)).renewed(number, Renewed::Kept);
    }
}

/// The release is answered, and the replica asks again.
fn asks_after_its_release(play: &mut Play, number: u64) -> Attempt {
    play.tell(Event::WorkStopped { token: token(number) });
    let (attempt, publish) = play.releasing().unwrap();
    assert!(publish, "the others are woken");
    play.tell(Event::Released { attempt, answered: true });
    let rest = play.elector.due().left(play.now.boot);
    play.pass(rest);
    play.asked()
}

fn loaded(play: &mut Play, attempt: Attempt, load: u32) {
    let fit = Fit { floor: 0, incumbent: None, load, nonce: Uuid::from_u128(u128::from(attempt.id)), alone: true };
    play.tell(Event::Eligibility { attempt, answer: Ok(fit) });
}

#[test]
fn a_leader_leaves_its_lease_to_a_node_with_fewer_once_its_term_has_stood_and_no_step_is_open() {
    let mut play = Play::new();
    play.lead(3).tell(Event::Crowded { token: token(3) });
    assert_eq!(play.role(), Role::Leader, "a term that has just begun");
    stands(&mut play, 3, 30);
    play.tell(Event::Crowded { token: token(2) });
    assert_eq!(play.role(), Role::Leader, "another term");
    let now = play.now.boot;
    play.tell(Event::Beat(Some(now))).tell(Event::Crowded { token: token(3) });
    assert_eq!(play.role(), Role::Leader, "a step is open");
    play.tell(Event::Beat(None)).tell(Event::Crowded { token: token(3) });
    assert_eq!(play.stops_work(), Some(Reason::SharedOut));
    // It leads others, so whoever leads fewer goes first.
    let attempt = asks_after_its_release(&mut play, 3);
    loaded(&mut play, attempt, 2);
    assert!(play.effects.iter().all(|effect| !matches!(effect, Effect::Acquire { .. })));
    let rest = play.elector.due().left(play.now.boot);
    assert_eq!(rest, Timings::default().gives_way() * 2);
    play.pass(rest);
    let attempt = play.asked();
    loaded(&mut play, attempt, 2);
    play.acquiring();
}

#[test]
fn a_lease_that_nobody_took_is_given_up_again_ever_more_seldom() {
    let mut play = Play::new();
    play.lead(1);
    let mut stood = Vec::new();
    for number in 1..=3 {
        let since = play.now.boot;
        while play.role() == Role::Leader {
            stands(&mut play, number, 4);
            play.tell(Event::Crowded { token: token(number) });
        }
        stood.push(play.now.boot.since(since).as_secs() / 15);
        let attempt = asks_after_its_release(&mut play, number);
        loaded(&mut play, attempt, 0);
        let (attempt, owner) = play.acquiring();
        play.tell(Event::Acquired { attempt, owner, answer: Acquired::Won { token: token(number + 1), store: STORE } });
        let attempt = play.installing();
        play.tell(Event::Installed { attempt, answer: Installed::Done });
    }
    assert_eq!(stood, [2, 4, 8], "ttls");
}

#[test]
fn whoever_has_another_redis_lets_those_go_first_who_share_the_leaders_when_it_has_gone() {
    let mut play = Play::new();
    play.tell(Event::Tick);
    let elsewhere = Some(STORE);
    let asks = |play: &mut Play, incumbent| {
        let rest = play.elector.due().left(play.now.boot);
        play.pass(rest);
        let attempt = play.asked();
        let fit = Fit { floor: 0, incumbent, load: 0, nonce: Uuid::from_u128(u128::from(attempt.id)), alone: true };
        play.tell(Event::Eligibility { attempt, answer: Ok(fit) });
    };
    let first = play.asked();
    let fit = Fit { floor: 0, incumbent: elsewhere, load: 0, nonce: Uuid::from_u128(1), alone: true };
    play.tell(Event::Eligibility { attempt: first, answer: Ok(fit) });
    while play.elector.standing().held_back != Some(Ineligible::OtherRedis) {
        let (attempt, owner) = play.acquiring();
        play.tell(Event::Acquired { attempt, owner, answer: Acquired::Elsewhere });
        if play.elector.standing().held_back.is_none() {
            asks(&mut play, elsewhere);
        }
    }
    // The leader is gone: it does not campaign before the others' lease has ended, and then it does.
    let gone = play.now.boot;
    asks(&mut play, None);
    assert!(play.effects.iter().all(|effect| !matches!(effect, Effect::Acquire { .. })));
    asks(&mut play, None);
    play.acquiring();
    assert!(play.now.boot >= gone + Timings::default().ttl * 2);
}
