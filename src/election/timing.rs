//! The lease's timings: the rules that they must obey, and what follows from them.
//!
//! Every rule that is broken is told, each as a sentence with the numbers in it; the sum is checked, not the parts: a
//! deadline, a time-out and a pause that each look modest can together eat the whole lease (noobaa-core #9765).

use std::fmt;
use std::time::Duration;

use crate::instant::Boot;

/// The timings of one lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timings {
    /// How long the lease lives in Redis without a renewal.
    pub ttl: Duration,
    /// How often the leader renews it, give or take a fifth.
    pub heartbeat: Duration,
    /// How long one attempt (connect, send, answer) may take.
    pub attempt_timeout: Duration,
    /// How much earlier than Redis the leader stops believing: for clocks that run at different speeds.
    pub margin: Duration,
    /// How long the work has to stop when the term ends.
    pub drain: Duration,
    /// How long an open step may show no progress before the leader lets the lease go.
    pub stall_limit: Duration,
}

/// What follows from [`Timings`], for a person to read at start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Derived {
    /// The longest outage of Redis that costs nobody the lead, whenever it begins.
    pub outage_tolerated: Duration,
    /// From a leader's crash to the next one's campaign, at worst: Redis and Postgres up, another replica healthy.
    pub worst_takeover: Duration,
    /// From SIGTERM to the next one's campaign, at worst: a step that uses the whole drain.
    pub graceful_takeover: Duration,
}

// === impl Timings ===

impl Default for Timings {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(15),
            heartbeat: Duration::from_secs(4),
            attempt_timeout: Duration::from_secs(2),
            margin: Duration::from_secs(1),
            drain: Duration::from_secs(5),
            stall_limit: Duration::from_mins(2),
        }
    }
}

impl Timings {
    /// The shortest lease that Redis' own resolution, a scheduler's hiccup and a test machine leave meaning to.
    const LEAST_TTL: Duration = Duration::from_millis(500);
    /// The longest: a crash must not cost a working day.
    const GREATEST_TTL: Duration = Duration::from_hours(1);
    /// Longer than this, other settings' sums could overflow; nobody means it.
    const GREATEST_WAIT: Duration = Duration::from_hours(24);

    /// Every rule that these timings break, as a sentence; none if they are sound.
    pub fn check(&self) -> Vec<String> {
        let least = Duration::from_millis(1);
        let ranges = [
            ("lease.ttl", self.ttl, Self::LEAST_TTL, Self::GREATEST_TTL),
            ("lease.heartbeat", self.heartbeat, least, Self::GREATEST_WAIT),
            ("lease.attempt_timeout", self.attempt_timeout, least, Self::GREATEST_WAIT),
            ("lease.margin", self.margin, least, Self::GREATEST_WAIT),
            ("lease.drain", self.drain, least, Self::GREATEST_WAIT),
            ("lease.stall_limit", self.stall_limit, least, Self::GREATEST_WAIT),
        ];
        let mut faults = Vec::new();
        let mut bad = Vec::new();
        for (name, value, least, greatest) in ranges {
            if !(least..=greatest).contains(&value) {
                faults.push(format!(
                    "{name} is {}: it must lie between {} and {}",
                    show(value),
                    show(least),
                    show(greatest)
                ));
                bad.push(name);
            }
        }
        // A rule of several keys says nothing about one that is wrong by itself: it would be a second fault of one cause.
        let sound = |keys: &[&str]| !keys.iter().any(|key| bad.contains(key));
        if sound(&["lease.heartbeat", "lease.ttl"]) && self.heartbeat * 3 >= self.ttl {
            faults.push(format!(
                "lease.heartbeat ({}) × 3 is {}, which is not below lease.ttl ({}): two heartbeats may fail, the third \
                 must still come in time",
                show(self.heartbeat),
                show(self.heartbeat * 3),
                show(self.ttl)
            ));
        }
        if sound(&["lease.heartbeat", "lease.attempt_timeout", "lease.margin", "lease.ttl"]) {
            let needed = self.longest_pause() + self.attempt_timeout * 2 + self.margin;
            if needed > self.ttl {
                faults.push(format!(
                    "lease.heartbeat ({}) × 1.2 + lease.attempt_timeout ({}) × 2 + lease.margin ({}) is {}, which is \
                     above lease.ttl ({}): a late heartbeat and two attempts must fit into one lease",
                    show(self.heartbeat),
                    show(self.attempt_timeout),
                    show(self.margin),
                    show(needed),
                    show(self.ttl)
                ));
            }
        }
        if sound(&["lease.stall_limit", "lease.ttl"]) && self.stall_limit < self.ttl {
            faults.push(format!(
                "lease.stall_limit ({}) is below lease.ttl ({}): healthy steps would be taken for stalled ones",
                show(self.stall_limit),
                show(self.ttl)
            ));
        }
        // While work drains nobody leads: the ended term keeps its lease until the work has stopped.
        if sound(&["lease.drain", "lease.stall_limit"]) && self.drain > self.stall_limit {
            faults.push(format!(
                "lease.drain ({}) is above lease.stall_limit ({}): nobody leads while work drains, and work is not waited \
                 for longer when its term has ended than while it leads",
                show(self.drain),
                show(self.stall_limit)
            ));
        }
        faults
    }

    /// What follows.
    pub fn derived(&self) -> Derived {
        let trusted = self.ttl.saturating_sub(self.margin);
        Derived {
            // An outage may begin just before a late heartbeat; the attempt that ends it may have to wait for one
            // that hangs.
            outage_tolerated: trusted.saturating_sub(self.longest_pause()).saturating_sub(self.attempt_timeout),
            worst_takeover: self.ttl.saturating_add(self.contest()),
            graceful_takeover: self.drain.saturating_add(Self::WAKE),
        }
    }

    /// Followers that were woken by a release campaign within this time of it.
    pub const WAKE: Duration = Duration::from_millis(50);

    /// Followers whose leader went silent campaign within this time of the lease's end, so that they do not all ask
    /// at once.
    pub fn contest(&self) -> Duration {
        (self.ttl / 20).min(Duration::from_millis(300))
    }

    /// How long a candidate waits for each other lease that its node leads, so that nodes which lead fewer go first: they
    /// wake and ask within this time.
    pub fn gives_way(&self) -> Duration {
        Self::WAKE + self.contest() * 2
    }

    /// How long one install may wait for the lease's lock before the candidate evicts.
    pub fn install_bound(&self) -> Duration {
        (self.ttl / 5).min(Duration::from_secs(3))
    }

    /// The longest pause between two renewals: a heartbeat and a fifth.
    pub fn longest_pause(&self) -> Duration {
        self.heartbeat.saturating_add(self.heartbeat / 5)
    }

    /// How long it takes a leader, at most, to hear from Redis that it is no longer its lease, where Redis answers: a late
    /// heartbeat, one attempt that hangs, and the next.
    pub fn renewal_heard(&self) -> Duration {
        self.longest_pause() + self.attempt_timeout * 2
    }

    /// The pause after a renewal that failed: short, since trust is running out.
    pub fn retry_pause(&self) -> Duration {
        (self.heartbeat / 8).min(Duration::from_millis(500))
    }

    /// Until when an attempt that was sent at `sent`, and succeeded, may be trusted. Counted from before the sending:
    /// Redis cannot have begun to count earlier.
    pub fn trusted_until(&self, sent: Boot) -> Boot {
        sent + self.ttl.saturating_sub(self.margin)
    }
}

// === impl Derived ===

impl fmt::Display for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an outage of Redis up to {} costs nobody the lead; after a crash another replica campaigns within {}, after \
             SIGTERM within {}",
            show(self.outage_tolerated),
            show(self.worst_takeover),
            show(self.graceful_takeover)
        )
    }
}

fn show(span: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_defaults_are_sound() {
        assert_eq!(Timings::default().check(), Vec::<String>::new());
    }

    #[test]
    fn three_heartbeats_that_fill_the_lease_are_refused_with_the_numbers() {
        let timings = Timings { heartbeat: ms(5000), ..Timings::default() };
        let faults = timings.check();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("lease.heartbeat (5s) × 3 is 15s") && faults[0].contains("lease.ttl (15s)"));
    }

    #[test]
    fn the_sum_is_checked_not_the_parts() {
        // Each of these is modest by itself: 3.6 s + 9.8 s + 1 s.
        let timings = Timings { heartbeat: ms(3000), attempt_timeout: ms(4900), ttl: ms(14_400), ..Timings::default() };
        assert_eq!(timings.check(), [] as [&str; 0]);
        let timings = Timings { ttl: ms(14_000), ..timings };
        let faults = timings.check();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("is 14s 400ms"), "{}", faults[0]);
    }

    #[test]
    fn every_broken_rule_is_told_at_once() {
        let nothing = Duration::ZERO;
        let timings = Timings {
            ttl: nothing,
            heartbeat: nothing,
            attempt_timeout: nothing,
            margin: nothing,
            drain: nothing,
            stall_limit: nothing,
        };
        let faults = timings.check().join("\n");
        for name in ["ttl", "heartbeat", "attempt_timeout", "margin", "drain", "stall_limit"] {
            assert!(faults.contains(&format!("lease.{name} is 0s")), "{faults}");
        }
    }

    #[test]
    fn one_wrong_value_is_one_fault_whatever_rules_it_is_part_of() {
        let faults = Timings { ttl: Duration::ZERO, ..Timings::default() }.check();
        assert_eq!(faults, ["lease.ttl is 0s: it must lie between 500ms and 1h"]);
        let faults = Timings { stall_limit: Duration::ZERO, ..Timings::default() }.check();
        assert_eq!(faults, ["lease.stall_limit is 0s: it must lie between 1ms and 1day"]);
    }

    #[test]
    fn a_drain_longer_than_a_stall_is_refused_since_nobody_leads_meanwhile() {
        let faults = Timings { drain: Duration::from_hours(1), ..Timings::default() }.check();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with("lease.drain (1h) is above lease.stall_limit (2m)"), "{faults:?}");
        assert!(Timings { drain: Duration::from_mins(2), ..Timings::default() }.check().is_empty());
    }

    #[test]
    fn absurd_spans_are_refused_without_overflow() {
        let timings = Timings { stall_limit: Duration::MAX, drain: Duration::MAX, ..Timings::default() };
        assert_eq!(timings.check().len(), 2);
        let timings = Timings { heartbeat: Duration::MAX, ..timings };
        assert_eq!(timings.check().len(), 3);
        let _ = timings.derived().to_string();
    }

    #[test]
    fn sound_timings_survive_an_outage_of_at_least_one_attempt() {
        let derived = Timings::default().derived();
        assert_eq!(derived.outage_tolerated, ms(7200));
        assert_eq!(derived.worst_takeover, ms(15_300));
        assert_eq!(derived.graceful_takeover, ms(5050));
        insta::assert_snapshot!(derived, @"an outage of Redis up to 7s 200ms costs nobody the lead; after a crash another replica campaigns within 15s 300ms, after SIGTERM within 5s 50ms");
    }
}
