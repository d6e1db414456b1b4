//! The three endpoints, which differ in their policies.

use std::num::NonZeroU32;

use stagger::breaker::BreakerPlan;
use stagger::budget::BudgetPlan;
use stagger::{Backoff, ConfigError, Jitter, Policy, Ratio, Span};
use stagger_dispatch::model::{Pace, Recovery};

/// The first ceiling and the last: short, so that a story of hours is over in seconds.
const BASE: Span = Span::from_secs(1);
const CAP: Span = Span::from_secs(4);
/// More than the outage takes.
const ATTEMPTS: u32 = 50;
/// Enough to let a herd through: what holds it back must be the policy.
const CONCURRENCY: NonZeroU32 = NonZeroU32::new(128).expect("above zero");

/// The retry policy of one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DemoEndpoint {
    /// Doubling delays, all alike.
    Unjittered,
    /// The same ceilings, drawn at random.
    Jittered,
    /// Besides: a breaker, and a backlog that leaves slowly.
    Guarded,
}

impl DemoEndpoint {
    pub(super) const ALL: [Self; 3] = [Self::Unjittered, Self::Jittered, Self::Guarded];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Unjittered => "no jitter",
            Self::Jittered => "full jitter",
            Self::Guarded => "breaker and ramp",
        }
    }

    /// The policy. The endpoint's breaker is in it; the first two have one that never opens.
    pub(super) fn policy(self) -> Result<Policy, ConfigError> {
        let jitter = if self == Self::Unjittered { Jitter::None } else { Jitter::Full };
        let breaker = BreakerPlan::builder().throttled_fails(true);
        let breaker = match self {
            Self::Guarded => {
                breaker.consecutive(5).open_time(BASE).open_cap(Span::from_millis(1_500))
            }
            _ => breaker.ratio(None).consecutive(u32::MAX),
        };
        Policy::builder()
            .backoff(Backoff::exponential(BASE, CAP)?.with_jitter(jitter)?)
            .max_attempts(ATTEMPTS)
            .budget(BudgetPlan::Unlimited)
            .breaker(breaker.build()?)
            .build()
    }

    pub(super) fn pace(self) -> Pace {
        let rate = const { NonZeroU32::new(200).expect("above zero") };
        let recovery = Recovery { from: Ratio::from_percent(10), rate, over: Span::from_secs(2) };
        Pace { concurrency: CONCURRENCY, rate: None, recovery }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_differ_in_jitter_and_breaker_only() {
        let [plain, jittered, guarded] = DemoEndpoint::ALL
            .map(|part| part.policy().expect("the settings are within their bounds"));
        assert_eq!(plain.backoff().jitter(), Jitter::None);
        assert_eq!(jittered.backoff(), guarded.backoff());
        assert_eq!(plain.breaker(), jittered.breaker());
        for k in 1..10 {
            assert_eq!(plain.backoff().ceiling(k), jittered.backoff().ceiling(k));
        }
    }
}
