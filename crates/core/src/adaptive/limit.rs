//! The adaptive limit of a destination: its plan, its state, and its answers before each attempt.

use super::{ClientThrottle, ClientThrottlePlan, CubicLimiter};
use crate::entropy::Entropy;
use crate::outcome::{Cause, Outcome, Verdict};
use crate::time::{Instant, Span};

/// The adaptive limit of a policy: one of the two layers that also cover first attempts.
///
/// They answer the same question, how much a backend takes, from different replies. So a policy has
/// one of them: refusing what a paced caller was going to send slowly would count its patience twice.
///
/// ```
/// use stagger_core::adaptive::{AdaptivePlan, ClientThrottlePlan};
/// use stagger_core::Policy;
/// let policy = Policy::builder().adaptive(ClientThrottlePlan::default()).build()?;
/// assert_eq!(policy.adaptive(), Some(&AdaptivePlan::Throttle(ClientThrottlePlan::default())));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdaptivePlan {
    /// Client-side throttling refuses a share of the attempts while the backend accepts too few.
    Throttle(ClientThrottlePlan),
    /// CUBIC delays attempts to the rate at which the backend stops throttling them.
    Cubic,
}

impl From<ClientThrottlePlan> for AdaptivePlan {
    fn from(plan: ClientThrottlePlan) -> Self {
        Self::Throttle(plan)
    }
}

/// The answer of an adaptive limit to an attempt that is about to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the attempt must wait, or not be made"]
pub enum Pacing {
    /// The attempt may start after this wait, which is mostly zero.
    After(Span),
    /// The attempt must not be made.
    Refused,
}

/// The end of an attempt for the adaptive limit that let it pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdaptiveReport {
    /// The backend took the request and answered it, be it with an error of the caller's.
    Accepted,
    /// The backend was overloaded, or limits its callers.
    Throttled,
    /// The backend failed, or did not answer.
    Failed,
    /// No caller waits for the outcome any more.
    Abandoned,
    /// The attempt was not made.
    Withdrawn,
}

impl AdaptiveReport {
    /// The report of an attempt that was made and came to this outcome.
    ///
    /// ```
    /// use stagger_core::adaptive::AdaptiveReport;
    /// use stagger_core::{Outcome, Verdict};
    /// let not_found = Outcome::new(Verdict::Permanent);
    /// assert_eq!(AdaptiveReport::of(&not_found), AdaptiveReport::Accepted);
    /// ```
    #[must_use]
    pub const fn of(outcome: &Outcome) -> Self {
        match (outcome.verdict, outcome.cause) {
            (Verdict::Permanent, _) if outcome.server_fault => Self::Failed,
            (Verdict::Ok, _) | (Verdict::Permanent, Cause::Reply) => Self::Accepted,
            (Verdict::Throttled, _) => Self::Throttled,
            (Verdict::Transient | Verdict::Unprocessed, _)
            | (Verdict::Permanent, Cause::Timeout | Cause::Transport) => Self::Failed,
            (Verdict::Cancelled, _) => Self::Abandoned,
        }
    }
}

/// The state of one destination's adaptive limit.
///
/// ```
/// use stagger_core::adaptive::{AdaptiveLimit, AdaptivePlan, AdaptiveReport, Pacing};
/// use stagger_core::{Instant, Span};
/// let mut limit = AdaptiveLimit::new(AdaptivePlan::Cubic);
/// let now = Instant::ORIGIN + Span::from_secs(2);
/// assert_eq!(limit.ask(now, &mut || 0), Pacing::After(Span::ZERO));
/// limit.settle(now, AdaptiveReport::Throttled);
/// assert_eq!(limit.ask(now, &mut || 0), Pacing::After(Span::from_secs(2)));
/// ```
#[derive(Clone, Debug)]
pub struct AdaptiveLimit(LimitState);

#[derive(Clone, Debug)]
enum LimitState {
    Throttle(ClientThrottle),
    /// Made with the first attempt: the measured rate begins there.
    Cubic(Option<CubicLimiter>),
}

impl AdaptiveLimit {
    /// A limit that has seen nothing, and holds no attempt back.
    #[must_use]
    pub fn new(plan: AdaptivePlan) -> Self {
        Self(match plan {
            AdaptivePlan::Throttle(plan) => LimitState::Throttle(ClientThrottle::new(plan)),
            AdaptivePlan::Cubic => LimitState::Cubic(None),
        })
    }

    /// Asks for an attempt, a first one or a later one. Throttling takes one word of `entropy`.
    pub fn ask<E: Entropy>(&mut self, now: Instant, entropy: &mut E) -> Pacing {
        match &mut self.0 {
            LimitState::Throttle(throttle) => match throttle.admit(now, entropy) {
                true => Pacing::After(Span::ZERO),
                false => Pacing::Refused,
            },
            LimitState::Cubic(limiter) => {
                let limiter = limiter.get_or_insert_with(|| CubicLimiter::new(now));
                Pacing::After(limiter.acquire(now))
            }
        }
    }

    /// Takes the end of an attempt that it let pass, once for each.
    pub fn settle(&mut self, now: Instant, report: AdaptiveReport) {
        match &mut self.0 {
            LimitState::Throttle(throttle) => match report {
                AdaptiveReport::Accepted => throttle.accept(now),
                AdaptiveReport::Throttled | AdaptiveReport::Failed => {}
                AdaptiveReport::Abandoned | AdaptiveReport::Withdrawn => throttle.forget(now),
            },
            LimitState::Cubic(None) => {}
            LimitState::Cubic(Some(limiter)) => match report {
                AdaptiveReport::Accepted | AdaptiveReport::Failed => limiter.settle(now, false),
                AdaptiveReport::Throttled => limiter.settle(now, true),
                // The token is spent: the attempt was on the wire.
                AdaptiveReport::Abandoned => {}
                AdaptiveReport::Withdrawn => limiter.release(),
            },
        }
    }
}
