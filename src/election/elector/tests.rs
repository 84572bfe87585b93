//! Claims about the state machine, each played by hand. Chance and many replicas are the simulation's part.

mod giving_way;

use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::election::StoreId;

const STORE: StoreId = StoreId::new(Uuid::nil());

/// One elector, a clock, and what it asked for last.
struct Play {
    elector: Elector,
    now: Reading,
    effects: Vec<Effect>,
    history: Vec<Effect>,
}

fn token(token: u64) -> FencingToken {
    FencingToken::new(token).unwrap()
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

impl Play {
    fn new() -> Self {
        let now = Reading::default().later(secs(1000));
        Self { elector: Elector::new("a", Timings::default(), false, 7), now, effects: Vec::new(), history: Vec::new() }
    }

    fn tell(&mut self, event: Event) -> &mut Self {
        self.effects = self.elector.step(event, self.now);
        self.history.extend(self.effects.iter().cloned());
        self
    }

    /// Lets this much time pass, ticking whenever the elector asked to be.
    fn pass(&mut self, span: Duration) -> &mut Self {
        let end = self.now.later(span);
        let mut effects = Vec::new();
        while self.elector.due() <= end.boot {
            let wait = self.elector.due().left(self.now.boot);
            self.now = self.now.later(wait);
            self.tell(Event::Tick);
            effects.append(&mut self.effects);
        }
        self.now = end;
        self.effects = effects;
        self
    }

    fn asked(&self) -> Attempt {
        let ask = |effect: &Effect| match effect {
            Effect::Ask { attempt, .. } => Some(*attempt),
            _ => None,
        };
        self.effects.iter().find_map(ask).expect("it asks whether it may campaign")
    }

    fn acquiring(&self) -> (Attempt, Owner) {
        let acquire = |effect: &Effect| match effect {
            Effect::Acquire { attempt, owner, .. } => Some((*attempt, owner.clone())),
            _ => None,
        };
        self.effects.iter().find_map(acquire).expect("it campaigns")
    }

    fn renewing(&self) -> Attempt {
        let renew = |effect: &Effect| match effect {
            Effect::Renew { attempt, .. } => Some(*attempt),
            _ => None,
        };
        self.history.iter().rev().find_map(renew).expect("it renews")
    }

    fn installing(&self) -> Attempt {
        let install = |effect: &Effect| match effect {
            Effect::Install { attempt, .. } => Some(*attempt),
            _ => None,
        };
        self.history.iter().rev().find_map(install).expect("it installs")
    }

    fn releasing(&self) -> Option<(Attempt, bool)> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Release { attempt, publish, .. } => Some((*attempt, *publish)),
            _ => None,
        })
    }

    fn stops_work(&self) -> Option<Reason> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StopWork { reason, .. } => Some(*reason),
            _ => None,
        })
    }

    /// Asks, and campaigns.
    fn campaign(&mut self) -> (Attempt, Owner) {
        self.tell(Event::Tick);
        let attempt = self.asked();
        self.eligible(attempt, true);
        self.acquiring()
    }

    fn eligible(&mut self, attempt: Attempt, alone: bool) -> &mut Self {
        let fit = Fit { floor: 0, incumbent: None, load: 0, nonce: Uuid::from_u128(u128::from(attempt.id)), alone };
        self.tell(Event::Eligibility { attempt, answer: Ok(fit) })
    }

    fn win(&mut self, number: u64) -> &mut Self {
        let (attempt, owner) = self.campaign();
        self.tell(Event::Acquired { attempt, owner, answer: Acquired::Won { token: token(number), store: STORE } })
    }

    fn lead(&mut self, number: u64) -> &mut Self {
        self.win(number);
        let attempt = self.installing();
        self.tell(Event::Installed { attempt, answer: Installed::Done });
        assert_eq!(self.role(), Role::Leader);
        self
    }

    fn renewed(&mut self, number: u64, answer: Renewed) -> &mut Self {
        let attempt = self.renewing();
        self.tell(Event::Renewed { attempt, token: token(number), answer })
    }

    fn role(&self) -> Role {
        self.elector.standing().role
    }

    fn trusts(&self) -> bool {
        self.elector.standing().leads_at(self.now.boot)
    }

    fn reason(&self) -> Option<Reason> {
        self.elector.standing().reason
    }
}

#[test]
fn winning_the_lease_makes_a_candidate_and_the_installed_term_a_leader() {
    let mut play = Play::new();
    play.win(5);
    assert_eq!(play.role(), Role::Candidate);
    assert!(!play.trusts(), "a candidate may not act");
    let attempt = play.installing();
    play.tell(Event::Installed { attempt, answer: Installed::Done });
    assert_eq!(play.role(), Role::Leader);
    assert!(play.trusts());
    assert!(matches!(play.effects[0], Effect::Lead { .. }), "{:?}", play.effects);
}

#[test]
fn trust_counts_from_before_the_attempt_was_sent() {
    let mut play = Play::new();
    let (attempt, owner) = play.campaign();
    let sent = play.now.boot;
    play.now = play.now.later(Duration::from_millis(1900));
    play.tell(Event::Acquired { attempt, owner, answer: Acquired::Won { token: token(1), store: STORE } });
    let attempt = play.installing();
    play.tell(Event::Installed { attempt, answer: Installed::Done });
    assert_eq!(play.elector.standing().trusted_until, Some(sent + secs(14)));
}

#[test]
fn s2_a_renewal_answered_after_the_end_of_trust_does_not_bring_it_back() {
    let mut play = Play::new();
    play.lead(1).pass(secs(5));
    let attempt = play.renewing();
    play.pass(secs(14));
    assert_eq!(play.reason(), Some(Reason::Expired));
    play.tell(Event::Renewed { attempt, token: token(1), answer: Renewed::Kept });
    assert!(!play.trusts());
    assert_eq!(play.role(), Role::Follower);
}

#[test]
fn a_late_answer_extends_trust_only_from_when_it_was_sent() {
    let mut play = Play::new();
    play.lead(1).pass(secs(5));
    let first = play.renewing();
    play.pass(secs(4));
    assert_ne!(play.renewing().id, first.id, "the first attempt was given up and another sent");
    play.tell(Event::Renewed { attempt: first, token: token(1), answer: Renewed::Kept });
    assert_eq!(play.elector.standing().trusted_until, Some(first.sent + secs(14)));
}

#[test]
fn s3_one_renewal_that_times_out_changes_nothing() {
    let mut play = Play::new();
    play.lead(1).pass(secs(5));
    play.renewed(1, Renewed::Failed);
    assert!(play.trusts() && play.stops_work().is_none());
    play.pass(secs(1)).renewed(1, Renewed::Kept);
    assert!(play.trusts());
    assert_eq!(play.reason(), Some(Reason::Installed));
}

#[test]
fn a_refused_renewal_ends_the_term_at_once_and_releases_nothing() {
    let mut play = Play::new();
    play.lead(1).pass(secs(5)).renewed(1, Renewed::Lost);
    assert_eq!(play.stops_work(), Some(Reason::Lost));
    assert!(!play.trusts());
    play.tell(Event::WorkStopped { token: token(1) });
    assert_eq!(play.releasing(), None);
    assert!(matches!(&play.effects[0], Effect::Announce(change) if change.work_stopped));
}

#[test]
fn the_lease_is_released_only_after_the_work_has_stopped_and_the_observers_hear_of_it_last() {
    let mut play = Play::new();
    play.lead(1).tell(Event::Shutdown);
    assert_eq!(play.stops_work(), Some(Reason::Shutdown));
    assert!(!play.trusts(), "it stops trusting first");
    assert_eq!(play.releasing(), None);
    play.tell(Event::WorkStopped { token: token(1) });
    let (attempt, publish) = play.releasing().unwrap();
    assert!(publish);
    assert!(!play.effects.iter().any(|effect| matches!(effect, Effect::Announce(_))));
    play.tell(Event::Released { attempt, answered: true });
    assert!(matches!(play.effects[..], [Effect::Announce(_), Effect::Exit { work_stopped: true }]));
    assert!(play.elector.has_ended());
}

#[test]
fn s22_whoever_leaves_of_his_own_will_keeps_the_lease_alive_until_the_work_has_stopped() {
    let timings = Timings { drain: secs(60), ..Timings::default() };
    let mut play = Play::new();
    play.elector = Elector::new("a", timings, false, 7);
    play.lead(1).tell(Event::Shutdown);
    for _ in 0..4 {
        play.pass(secs(5)).renewed(1, Renewed::Kept);
    }
    play.tell(Event::WorkStopped { token: token(1) });
    assert!(play.releasing().is_some());
}

#[test]
fn s23_work_that_does_not_stop_keeps_the_lease_and_ends_the_process() {
    let mut play = Play::new();
    play.lead(1).tell(Event::Resign { token: token(1) });
    play.pass(secs(6));
    assert_eq!(play.releasing(), None);
    assert!(play.effects.contains(&Effect::Exit { work_stopped: false }), "{:?}", play.effects);
    play.tell(Event::WorkStopped { token: token(1) });
    assert_eq!(play.effects, [], "too late");
}

#[test]
fn a_candidate_renews_while_it_installs() {
    let mut play = Play::new();
    play.win(1).pass(secs(5));
    let attempt = play.renewing();
    play.tell(Event::Renewed { attempt, token: token(1), answer: Renewed::Kept });
    play.pass(secs(5)).renewed(1, Renewed::Kept).pass(secs(5));
    assert_eq!(play.role(), Role::Candidate);
}

#[test]
fn a_blocked_install_evicts_and_tries_again() {
    let mut play = Play::new();
    play.win(1);
    let first = play.installing();
    play.tell(Event::Installed { attempt: first, answer: Installed::Blocked });
    let Effect::Evict { attempt, .. } = play.effects[0] else { panic!("{:?}", play.effects) };
    play.tell(Event::Evicted { attempt });
    let second = play.installing();
    assert_ne!(first.id, second.id);
    play.tell(Event::Installed { attempt: second, answer: Installed::Done });
    assert!(play.trusts());
}

#[test]
fn an_install_that_is_refused_gives_the_lease_back_without_waking_anybody_and_pauses() {
    let mut play = Play::new();
    play.win(1);
    let attempt = play.installing();
    play.tell(Event::Installed { attempt, answer: Installed::Refused });
    let (attempt, publish) = play.releasing().unwrap();
    assert!(!publish);
    play.tell(Event::Released { attempt, answered: true });
    assert_eq!(play.role(), Role::Follower);
    let pause = play.elector.due().left(play.now.boot);
    assert!(pause >= secs(1), "{pause:?}");
    play.tell(Event::Woken);
    assert_eq!(play.elector.due().left(play.now.boot), pause, "a release does not end this pause");
}

#[test]
fn a_candidate_that_never_gets_its_term_installed_gives_up_though_it_renews() {
    let mut play = Play::new();
    play.win(1);
    for _ in 0..40 {
        let attempt = play.installing();
        play.tell(Event::Installed { attempt, answer: Installed::Failed });
        play.pass(secs(1));
        if play.role() == Role::Follower {
            break;
        }
        let attempt = Attempt { id: 0, sent: play.now.boot };
        play.tell(Event::Renewed { attempt, token: token(1), answer: Renewed::Kept });
    }
    assert_eq!(play.reason(), Some(Reason::InstallFailed));
}

#[test]
fn a_term_installed_after_its_candidacy_ended_makes_no_leader() {
    let mut play = Play::new();
    play.win(1);
    let attempt = play.installing();
    play.pass(secs(15));
    assert_eq!(play.reason(), Some(Reason::Expired));
    play.tell(Event::Installed { attempt, answer: Installed::Done });
    assert_eq!(play.role(), Role::Follower);
}

#[test]
fn s12_an_unanswered_candidacy_asks_again_as_the_same_owner() {
    let mut play = Play::new();
    let (attempt, owner) = play.campaign();
    play.tell(Event::Acquired { attempt, owner: owner.clone(), answer: Acquired::Unknown });
    play.pass(secs(2));
    let asked = play.asked();
    play.eligible(asked, true);
    assert_eq!(play.acquiring().1, owner);
}

#[test]
fn after_a_definite_answer_or_a_ttl_the_next_candidacy_is_a_new_owner() {
    let mut play = Play::new();
    let (attempt, first) = play.campaign();
    play.tell(Event::Acquired { attempt, owner: first.clone(), answer: Acquired::Held { left: secs(3) } });
    play.pass(secs(4));
    let asked = play.asked();
    play.eligible(asked, true);
    let (attempt, second) = play.acquiring();
    assert_ne!(first, second);
    play.tell(Event::Acquired { attempt, owner: second.clone(), answer: Acquired::Unknown });
    play.pass(secs(2));
    let asked = play.asked();
    play.now = play.now.later(secs(14));
    play.elector.phase = Phase::Asking(asked);
    play.eligible(asked, true);
    assert_ne!(play.acquiring().1, second);
}

#[test]
fn a_lease_won_by_an_attempt_that_was_given_up_is_taken_up() {
    let mut play = Play::new();
    let (attempt, owner) = play.campaign();
    play.tell(Event::Acquired { attempt, owner: owner.clone(), answer: Acquired::Unknown });
    play.tell(Event::Acquired { attempt, owner, answer: Acquired::Won { token: token(3), store: STORE } });
    assert_eq!(play.role(), Role::Candidate);
}

#[test]
fn a_release_heard_while_the_answer_held_was_on_its_way_is_not_forgotten() {
    let mut play = Play::new();
    let (attempt, owner) = play.campaign();
    play.tell(Event::Woken);
    play.tell(Event::Acquired { attempt, owner, answer: Acquired::Held { left: secs(15) } });
    assert!(play.elector.due().left(play.now.boot) <= Timings::WAKE);
}

#[test]
fn a_replica_that_may_not_campaign_asks_nothing_of_redis() {
    let mut play = Play::new();
    play.tell(Event::Tick);
    for _ in 0..10 {
        let attempt = play.asked();
        play.tell(Event::Eligibility { attempt, answer: Err(Ineligible::PostgresInRecovery) });
        assert_eq!(play.elector.standing().held_back, Some(Ineligible::PostgresInRecovery));
        play.pass(play.elector.due().left(play.now.boot));
    }
    assert!(!play.history.iter().any(|effect| matches!(effect, Effect::Acquire { .. })));
}

#[test]
fn a_replica_that_never_leads_asks_nothing_at_all() {
    let mut play = Play::new();
    play.elector = Elector::new("a", Timings::default(), true, 7);
    play.tell(Event::Woken).pass(secs(3600));
    assert_eq!(play.history, []);
    assert_eq!(play.elector.standing().held_back, Some(Ineligible::NeverLeads));
    play.tell(Event::Shutdown);
    assert!(play.elector.has_ended());
}

#[test]
fn a_newer_term_fences_the_leader_and_an_older_one_does_not() {
    let mut play = Play::new();
    play.lead(5).tell(Event::TermSeen { token: token(5) });
    assert!(play.trusts());
    play.tell(Event::TermSeen { token: token(6) });
    assert_eq!(play.stops_work(), Some(Reason::Fenced));
}

#[test]
fn a_refused_write_fences_the_leader_of_that_term_alone() {
    let mut play = Play::new();
    play.lead(5).tell(Event::WriteRefused { token: token(4) });
    assert!(play.trusts());
    play.tell(Event::WriteRefused { token: token(5) });
    assert_eq!(play.stops_work(), Some(Reason::Fenced));
}

#[test]
fn a_request_to_resign_cannot_fell_the_next_leader() {
    let mut play = Play::new();
    play.lead(5).tell(Event::Resign { token: token(4) });
    assert!(play.trusts());
}

#[test]
fn who_resigned_lets_others_go_first_for_a_ttl_even_if_woken() {
    let mut play = Play::new();
    play.lead(5).tell(Event::Resign { token: token(5) });
    play.tell(Event::WorkStopped { token: token(5) });
    let (attempt, _) = play.releasing().unwrap();
    play.tell(Event::Released { attempt, answered: true }).tell(Event::Woken).pass(secs(14));
    assert_eq!(play.elector.standing().held_back, Some(Ineligible::Resigned));
    assert!(!play.effects.iter().any(|effect| matches!(effect, Effect::Ask { .. })));
    play.pass(secs(7));
    let asked = play.asked();
    play.eligible(asked, false);
    play.acquiring();
}

#[test]
fn s28_a_step_without_progress_ends_the_term_and_an_idle_leader_cannot_stall() {
    let mut play = Play::new();
    play.lead(1);
    let begin = play.now.boot;
    for _ in 0..100 {
        play.tell(Event::Beat(None)).pass(secs(4)).renewed(1, Renewed::Kept);
    }
    assert!(play.trusts(), "idle for {:?}", play.now.boot.since(begin));
    let stuck = play.now.boot;
    while play.trusts() {
        play.tell(Event::Beat(Some(stuck))).pass(secs(4));
        if play.trusts() {
            play.renewed(1, Renewed::Kept);
        }
    }
    assert_eq!(play.reason(), Some(Reason::Stalled));
    let after = play.now.boot.since(stuck);
    assert!(after >= secs(120) && after <= secs(124), "{after:?}");
}

#[test]
fn s30_a_machine_that_slept_steps_down_before_it_looks_at_anything_else() {
    let mut play = Play::new();
    play.lead(1).pass(secs(5));
    let attempt = play.renewing();
    play.now.boot = play.now.boot + secs(5); // within trust, but asleep
    play.tell(Event::Renewed { attempt, token: token(1), answer: Renewed::Kept });
    assert_eq!(play.stops_work(), Some(Reason::Suspended));
    assert!(!play.trusts());
}

#[test]
fn s7_after_every_kind_of_loss_it_campaigns_again_by_itself() {
    let losses: [fn(&mut Play); 4] = [
        |play| {
            play.pass(secs(5)).renewed(1, Renewed::Lost);
        },
        |play| {
            play.pass(secs(15));
        },
        |play| {
            play.tell(Event::TermSeen { token: token(2) });
        },
        |play| {
            play.tell(Event::WriteRefused { token: token(1) });
        },
    ];
    for lose in losses {
        let mut play = Play::new();
        play.lead(1);
        lose(&mut play);
        assert!(!play.trusts());
        play.tell(Event::WorkStopped { token: token(1) });
        play.pass(secs(5));
        let asked = play.history.iter().rev().find_map(|effect| match effect {
            Effect::Ask { attempt, .. } => Some(*attempt),
            _ => None,
        });
        play.eligible(asked.unwrap(), true);
        play.acquiring();
    }
}

#[test]
fn who_lost_its_term_waits_longer_each_time_but_not_when_alone() {
    let mut holds = Vec::new();
    let mut play = Play::new();
    for number in 1..=4 {
        play.lead(number).pass(secs(5)).renewed(number, Renewed::Lost);
        let lost = play.now.boot;
        play.tell(Event::WorkStopped { token: token(number) }).pass(secs(1));
        let asked = play.asked();
        play.eligible(asked, false);
        holds.push(play.elector.due().since(lost));
        play.now = play.now.later(play.elector.due().left(play.now.boot));
    }
    assert_eq!(holds, [secs(4), secs(8), secs(15), secs(15)]);
    play.lead(5).pass(secs(5)).renewed(5, Renewed::Lost);
    play.tell(Event::WorkStopped { token: token(5) }).pass(secs(1));
    let asked = play.asked();
    play.eligible(asked, true);
    play.acquiring();
}

#[test]
fn a_stable_term_makes_earlier_losses_forgotten() {
    let mut play = Play::new();
    for number in 1..=3 {
        play.lead(number);
        if number == 3 {
            for _ in 0..40 {
                play.pass(secs(5)).renewed(number, Renewed::Kept);
            }
        }
        play.pass(secs(5)).renewed(number, Renewed::Lost);
        let lost = play.now.boot;
        play.tell(Event::WorkStopped { token: token(number) }).pass(secs(1));
        let asked = play.asked();
        play.eligible(asked, false);
        if number == 3 {
            assert_eq!(play.elector.due().since(lost), secs(4));
        }
        play.now = play.now.later(play.elector.due().left(play.now.boot));
    }
}

#[test]
fn a_shutdown_during_a_campaign_gives_back_what_was_just_won() {
    let mut play = Play::new();
    let (attempt, owner) = play.campaign();
    play.tell(Event::Shutdown);
    assert!(!play.elector.has_ended(), "the answer is awaited");
    play.tell(Event::Acquired { attempt, owner, answer: Acquired::Won { token: token(1), store: STORE } });
    let (attempt, publish) = play.releasing().unwrap();
    assert!(publish);
    assert!(!play.history.iter().any(|effect| matches!(effect, Effect::Install { .. })));
    play.tell(Event::Released { attempt, answered: true });
    assert!(play.elector.has_ended());
}

#[test]
fn a_shutdown_during_a_campaign_that_is_never_answered_waits_for_one_attempt() {
    let mut play = Play::new();
    play.campaign();
    play.tell(Event::Shutdown).pass(secs(2));
    assert!(play.elector.has_ended());
}

#[test]
fn a_release_that_fails_is_tried_once_more() {
    let mut play = Play::new();
    play.lead(1).tell(Event::Shutdown).tell(Event::WorkStopped { token: token(1) });
    let (attempt, _) = play.releasing().unwrap();
    play.tell(Event::Released { attempt, answered: false });
    assert!(play.releasing().is_some());
    play.pass(secs(3));
    assert!(play.elector.has_ended());
}

#[test]
fn equal_seeds_make_equal_choices() {
    let run = |seed| {
        let mut play = Play::new();
        play.elector = Elector::new("a", Timings::default(), false, seed);
        play.lead(1);
        (0..5).map(|_| play.pass(secs(5)).renewed(1, Renewed::Kept).elector.due()).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_leader_that_is_found_unfit_renews_while_its_work_stops_and_wakes_the_others() {
    let mut play = Play::new();
    play.lead(5).tell(Event::Unfit);
    assert_eq!(play.stops_work(), Some(Reason::Ineligible));
    assert!(!play.trusts());
    play.tell(Event::WorkStopped { token: token(5) });
    assert!(matches!(play.releasing(), Some((_, true))), "whoever is fit shall hear of it");
}

#[test]
fn a_follower_that_is_found_unfit_only_asks_before_it_campaigns() {
    let mut play = Play::new();
    play.tell(Event::Unfit);
    assert_eq!(play.role(), Role::Follower);
    let attempt = play.asked();
    play.eligible(attempt, true).acquiring();
}

#[test]
fn a_candidate_blocked_by_sessions_out_of_reach_gives_the_lease_back_at_once_and_wakes_nobody() {
    let mut play = Play::new();
    play.win(1);
    let attempt = play.installing();
    play.tell(Event::Installed { attempt, answer: Installed::Blocked });
    let evicting = play.effects.iter().find_map(|effect| match effect {
        Effect::Evict { attempt, .. } => Some(*attempt),
        _ => None,
    });
    play.tell(Event::OutOfReach { attempt: evicting.unwrap() });
    assert_eq!(play.role(), Role::Follower);
    assert!(matches!(play.releasing(), Some((_, false))));
}

/// It asks again, and Redis answers this.
fn asks_again(play: &mut Play, answer: Acquired) {
    let rest = play.elector.due().left(play.now.boot);
    play.pass(rest);
    let attempt = play.asked();
    // The leader is there.
    let nonce = Uuid::from_u128(u128::from(attempt.id));
    let fit = Fit { floor: 0, incumbent: Some(STORE), load: 0, nonce, alone: true };
    play.tell(Event::Eligibility { attempt, answer: Ok(fit) });
    let (attempt, owner) = play.acquiring();
    play.tell(Event::Acquired { attempt, owner, answer });
}

#[test]
fn that_the_leader_leads_by_another_redis_is_said_once_it_must_have_heard_if_ours_had_lost_its_data() {
    let mut play = Play::new();
    let (attempt, owner) = play.campaign();
    let begin = play.now.boot;
    play.tell(Event::Acquired { attempt, owner, answer: Acquired::Elsewhere });
    let heard = Timings::default().renewal_heard();
    let mut looks = 0;
    while play.elector.standing().held_back.is_none() {
        looks += 1;
        assert!(play.now.boot < begin + heard + secs(2), "never said");
        asks_again(&mut play, Acquired::Elsewhere);
    }
    assert!(looks > 3 && play.now.boot >= begin + heard, "a takeover from a Redis that was emptied must be quick");
    assert_eq!(play.elector.standing().held_back, Some(Ineligible::OtherRedis));
    asks_again(&mut play, Acquired::Elsewhere);
    assert_eq!(play.elector.standing().held_back, Some(Ineligible::OtherRedis), "Postgres cannot know");
    asks_again(&mut play, Acquired::Held { left: secs(3) });
    assert_eq!(play.elector.standing().held_back, None, "it is the leader's Redis after all");
    asks_again(&mut play, Acquired::Elsewhere);
    assert_eq!(play.elector.standing().held_back, None, "and what was seen before counts no more");
}

#[test]
fn s25_a_leader_whose_work_fails_steps_down_lets_others_go_first_and_comes_back_if_it_is_alone() {
    for alone in [false, true] {
        let mut play = Play::new();
        play.lead(3);
        play.tell(Event::Failing { token: token(2) });
        assert_eq!(play.role(), Role::Leader, "another term's work");
        play.tell(Event::Failing { token: token(3) });
        assert_eq!(play.stops_work(), Some(Reason::Failing));
        let failed = play.now.boot;
        play.tell(Event::WorkStopped { token: token(3) });
        let (attempt, publish) = play.releasing().unwrap();
        assert!(publish, "the others are woken");
        play.tell(Event::Released { attempt, answered: true });
        let rest = play.elector.due().left(play.now.boot);
        play.pass(rest);
        let asked = play.asked();
        play.eligible(asked, alone);
        let campaigns = play.effects.iter().any(|effect| matches!(effect, Effect::Acquire { .. }));
        assert_eq!(campaigns, alone);
        assert!(alone || play.elector.due() >= failed + Timings::default().heartbeat);
    }
}

#[test]
fn whoever_was_fenced_lets_the_other_go_first_however_alone_it_seems() {
    let mut play = Play::new();
    play.lead(1);
    play.tell(Event::TermSeen { token: token(2) });
    assert_eq!(play.stops_work(), Some(Reason::Fenced));
    let fenced = play.now.boot;
    play.tell(Event::WorkStopped { token: token(1) });
    let (attempt, _) = play.releasing().unwrap();
    play.tell(Event::Released { attempt, answered: true });
    let rest = play.elector.due().left(play.now.boot);
    play.pass(rest);
    let asked = play.asked();
    play.eligible(asked, true);
    assert!(!play.effects.iter().any(|effect| matches!(effect, Effect::Acquire { .. })), "somebody fenced it");
    assert!(play.elector.due() >= fenced + Timings::default().heartbeat);
    let rest = play.elector.due().left(play.now.boot);
    play.pass(rest);
    let asked = play.asked();
    play.eligible(asked, false).acquiring();
}

#[test]
fn what_stands_in_the_way_in_redis_stands_until_redis_says_otherwise() {
    let mut play = Play::new();
    let (attempt, owner) = play.campaign();
    play.tell(Event::Acquired { attempt, owner, answer: Acquired::Obstructed });
    assert_eq!(play.elector.standing().held_back, Some(Ineligible::Obstructed));
    let rest = play.elector.due().left(play.now.boot);
    play.pass(rest);
    let asked = play.asked();
    play.eligible(asked, true);
    assert_eq!(play.elector.standing().held_back, Some(Ineligible::Obstructed), "Postgres cannot know");
    let (attempt, owner) = play.acquiring();
    play.tell(Event::Acquired { attempt, owner, answer: Acquired::Held { left: secs(3) } });
    assert_eq!(play.elector.standing().held_back, None);
}
