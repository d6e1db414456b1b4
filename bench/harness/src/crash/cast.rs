//! The endpoints of the crash test: each has trouble of its own kind.

use std::time::Duration;

use serde_json::{Value, json};
use stagger_core::Entropy;
use stagger_testkit::Mix;

use super::cap::Cap;
use super::probes::HOLD;
use crate::rig::{Marker, Reaction};

/// Types of messages; the second is for the endpoints that want few.
const ALL_TYPES: &str = "load.test";
const SELDOM: &str = "load.seldom";
/// One message in so many is of the second type.
const ONE_IN: usize = 16;
/// Attempts a second at the endpoint with a cap: twice what it gets, so that it catches up after trouble.
const RATE: u32 = 50;
/// The burst that the dispatcher allows an endpoint with a cap: a tenth of a second's worth.
const SLACK: Duration = Duration::from_millis(100);

/// The role of an endpoint; its number is its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Always well.
    Steady,
    /// Fails now and then, or says nothing and closes.
    Flaky,
    /// Is slow now and then.
    Slow,
    /// Refuses some messages for good.
    Picky,
    /// Gets its messages in order, and has outages that open its breaker.
    Ordered,
    /// Has a cap on its rate.
    Capped,
    /// Is down until the end, so that its breaker is open.
    Down,
}

impl Role {
    pub(super) const ALL: [Self; 7] = [
        Self::Steady,
        Self::Flaky,
        Self::Slow,
        Self::Picky,
        Self::Ordered,
        Self::Capped,
        Self::Down,
    ];

    /// Those that one node is shown, and those that several are.
    pub(super) fn of(nodes: usize) -> &'static [Self] {
        if nodes > 1 { &Self::ALL } else { &Self::ALL[..5] }
    }

    /// The type of a message.
    pub(super) const fn event_type(Marker(marker): Marker) -> &'static str {
        if marker.is_multiple_of(ONE_IN) { SELDOM } else { ALL_TYPES }
    }

    /// Whether it gets a message.
    pub(super) const fn wants(self, Marker(marker): Marker) -> bool {
        !self.is_seldom() || marker.is_multiple_of(ONE_IN)
    }

    const fn is_seldom(self) -> bool {
        matches!(self, Self::Capped | Self::Down)
    }

    /// The cap that its endpoint has.
    pub(super) fn cap() -> Cap {
        let interval = Duration::from_secs(1) / RATE;
        Cap::new(interval, SLACK - interval)
    }

    /// Settings with delays so short that everything is finished soon.
    pub(super) fn settings(self, url: &str) -> Value {
        // Whoever is down is so as briefly as not, so that a second probe would meet the first.
        let open_cap = if self == Self::Down { "200ms" } else { "400ms" };
        let policy = json!({
            "backoff": { "base": "20ms", "cap": "300ms" },
            "limits": { "max_attempts": 1000, "attempt_timeout": "2s" },
            "budget": "unlimited",
            "breaker": { "consecutive": 5, "open_time": "100ms", "open_cap": open_cap },
        });
        let recovery = json!({ "from": 1, "rate": 5000, "over": "1s" });
        let mut settings =
            json!({ "url": url, "policy": policy, "timeout": "2s", "recovery": recovery });
        match self {
            Self::Picky => settings["permanent"] = json!([422]),
            Self::Ordered => settings["ordered"] = true.into(),
            Self::Capped => settings["rate"] = RATE.into(),
            _ => {}
        }
        if self.is_seldom() {
            settings["events"] = json!([SELDOM]);
        }
        settings
    }

    /// The reaction to an attempt, failing until it is healed at the end; the same for the same
    /// seed, message and attempt.
    pub(super) fn reaction(self, seed: u64, Marker(marker): Marker, attempt: u64) -> Reaction {
        let mut mix = Mix::new(seed ^ ((marker as u64) << 20) ^ (attempt << 4) ^ self as u64);
        let percent = mix.next_u64() % 100;
        match self {
            Self::Flaky if percent < 10 => Reaction::Answer(500),
            Self::Flaky if percent < 12 => Reaction::Close,
            Self::Slow if percent < 5 => Reaction::Late(Duration::from_millis(150), 200),
            // The message decides, not the attempt: a refusal must not depend on a crash.
            Self::Picky if marker % 50 == 7 => Reaction::Answer(422),
            // One stretch of 50 messages in eight fails at first, long enough for its breaker.
            Self::Down => Reaction::Late(HOLD, 500),
            Self::Ordered if marker % 400 < 50 && attempt == 1 => Reaction::Answer(503),
            _ => Reaction::Answer(200),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_the_same_for_the_same_seed_and_ends() {
        for role in Role::ALL {
            let reactions = |attempt| (0..500).map(move |m| role.reaction(1, Marker(m), attempt));
            assert!(reactions(1).eq(reactions(1)), "{role:?}");
            let troubled = reactions(1).any(|reaction| reaction != Reaction::Answer(200));
            let well = [Role::Steady, Role::Capped];
            assert_eq!(troubled, !well.contains(&role), "{role:?}");
        }
        let fates = (1..60).map(|attempt| Role::Flaky.reaction(1, Marker(3), attempt));
        assert!(fates.filter(|reaction| *reaction == Reaction::Answer(200)).count() > 40);
    }
}
