//! The endpoints of the crash test: each has trouble of its own kind.

use std::time::Duration;

use serde_json::{Value, json};
use stagger_core::Entropy;
use stagger_testkit::Mix;

use crate::rig::{Marker, Reaction};

/// Who they are; an endpoint's number is its place.
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
}

impl Role {
    pub(super) const ALL: [Self; 5] =
        [Self::Steady, Self::Flaky, Self::Slow, Self::Picky, Self::Ordered];

    /// Settings with delays so short that everything is finished soon.
    pub(super) fn settings(self, url: &str) -> Value {
        let mut policy = json!({
            "backoff": { "base": "20ms", "cap": "300ms" },
            "limits": { "max_attempts": 1000, "attempt_timeout": "2s" },
            "budget": "unlimited",
        });
        if self == Self::Ordered {
            policy["breaker"] =
                json!({ "consecutive": 5, "open_time": "100ms", "open_cap": "400ms" });
        }
        let mut settings = json!({ "url": url, "policy": policy, "timeout": "2s" });
        match self {
            Self::Picky => settings["permanent"] = json!([422]),
            Self::Ordered => {
                settings["ordered"] = true.into();
                settings["recovery"] = json!({ "from": 1, "rate": 5000, "over": "1s" });
            }
            _ => {}
        }
        settings
    }

    /// What it does with an attempt; the same for the same seed, message and attempt.
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
            assert_eq!(troubled, role != Role::Steady, "{role:?}");
        }
        let fates = (1..60).map(|attempt| Role::Flaky.reaction(1, Marker(3), attempt));
        assert!(fates.filter(|reaction| *reaction == Reaction::Answer(200)).count() > 40);
    }
}
