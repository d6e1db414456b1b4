//! The builder of a policy: every setting with its default, unit, range and reason.

use core::num::NonZeroU32;

use super::{HintRule, Policy};
use crate::adaptive::AdaptivePlan;
use crate::backoff::Backoff;
use crate::breaker::BreakerPlan;
use crate::budget::BudgetPlan;
use crate::concurrency::ConcurrencyPlan;
use crate::error::ConfigError;
use crate::hedge::HedgePlan;
use crate::limits::Limits;
use crate::rate_limit::RatePlan;
use crate::time::Span;

/// Collects the settings of a [`Policy`]; [`build`](Self::build) checks them together.
///
/// ```
/// use stagger_core::{Policy, Span};
/// let endless = Policy::builder().unlimited_attempts().build().unwrap_err();
/// assert_eq!(endless.field(), "limits.max_attempts");
/// assert!(Policy::builder().unlimited_attempts().deadline(Span::from_secs(9)).build().is_ok());
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct PolicyBuilder {
    backoff: Backoff,
    throttled_backoff: Option<Backoff>,
    max_attempts: Option<u32>,
    deadline: Option<Span>,
    attempt_timeout: Option<Span>,
    min_attempt_time: Span,
    hints: HintRule,
    budget: BudgetPlan,
    breaker: Option<BreakerPlan>,
    hedge: Option<HedgePlan>,
    adaptive: Option<AdaptivePlan>,
    concurrency_limit: Option<ConcurrencyPlan>,
    rate_limit: Option<RatePlan>,
    wait_for_breaker: bool,
    pause_when_empty: bool,
}

impl Policy {
    /// A builder with the defaults that its setters name.
    pub fn builder() -> PolicyBuilder {
        PolicyBuilder::default()
    }

    /// A builder that holds the settings of this policy, to change some of them.
    ///
    /// ```
    /// use stagger_core::Policy;
    /// let patient = Policy::aws_standard_2_1().to_builder().max_attempts(5).build()?;
    /// assert_eq!(patient.limits().max_attempts(), Some(5));
    /// # Ok::<(), stagger_core::ConfigError>(())
    /// ```
    pub fn to_builder(&self) -> PolicyBuilder {
        PolicyBuilder::of(self)
    }
}

impl Default for Policy {
    /// The policy that [`Policy::builder`] builds without any setting.
    fn default() -> Self {
        PolicyBuilder::default().unchecked()
    }
}

impl PolicyBuilder {
    /// The delay rule. Default: 100 ms doubling up to 10 s with full jitter, because callers who
    /// wait want an answer soon and full jitter spreads best.
    pub const fn backoff(mut self, rule: Backoff) -> Self {
        self.backoff = rule;
        self
    }

    /// A delay rule of its own after throttled verdicts. Default: the general one. A server that
    /// asks for less load needs longer than a server that merely stumbled (AWS 2.1: base 1 s).
    pub const fn throttled_backoff(mut self, rule: Backoff) -> Self {
        self.throttled_backoff = Some(rule);
        self
    }

    /// Limits the attempts, from 1 (no retry). Default: 3, as in most SDKs.
    pub const fn max_attempts(mut self, calls: u32) -> Self {
        self.max_attempts = Some(calls);
        self
    }

    /// No limit on attempts; a deadline must then be set, so that every call ends.
    pub const fn unlimited_attempts(mut self) -> Self {
        self.max_attempts = None;
        self
    }

    /// Limits the attempts and waits of a call together, above zero. Default: no deadline. The last
    /// attempt gets what is left, and no wait is begun that no attempt can follow.
    pub fn deadline(mut self, limit: impl Into<Span>) -> Self {
        self.deadline = Some(limit.into());
        self
    }

    /// Limits one attempt, above zero. Default: no limit. Without one, an attempt that
    /// hangs takes the whole deadline and leaves nothing to retry with.
    pub fn attempt_timeout(mut self, limit: impl Into<Span>) -> Self {
        self.attempt_timeout = Some(limit.into());
        self
    }

    /// The least time that must be left for an attempt to be worth starting, below the deadline.
    /// Default: zero. An attempt that cannot finish is load without use.
    pub fn min_attempt_time(mut self, least: impl Into<Span>) -> Self {
        self.min_attempt_time = least.into();
        self
    }

    /// Bounds the hints that are obeyed. Default: up to 60 s, spread by half; longer hints end the call.
    pub const fn hints(mut self, rule: HintRule) -> Self {
        self.hints = rule;
        self
    }

    /// The budget of a destination. Default: each first attempt earns a tenth of a retry, and time one
    /// in 20 s; earnings are kept for 10 s, and at rest one call's retries are in hand, from 2 to 10.
    pub fn budget(mut self, plan: impl Into<BudgetPlan>) -> Self {
        self.budget = plan.into();
        self
    }

    /// The breaker of a destination. Default: none, because what counts as one destination is the
    /// caller's to say.
    pub const fn breaker(mut self, plan: BreakerPlan) -> Self {
        self.breaker = Some(plan);
        self
    }

    /// Launch further copies of slow calls. Default: never, because it spends load on latency.
    /// Copies and retries share the attempt count.
    pub const fn hedge(mut self, plan: HedgePlan) -> Self {
        self.hedge = Some(plan);
        self
    }

    /// The adaptive limit of a destination, which covers first attempts too. Default: none, because a
    /// limit that a client guesses can refuse calls that the server would have taken.
    pub fn adaptive(mut self, plan: impl Into<AdaptivePlan>) -> Self {
        self.adaptive = Some(plan.into());
        self
    }

    /// Limits the attempts in flight to a destination (a bulkhead). Default: no limit, because how many a
    /// server takes is the caller's to say. An attempt that finds no place waits in the plan's queue, or
    /// ends the call.
    pub const fn concurrency_limit(mut self, plan: ConcurrencyPlan) -> Self {
        self.concurrency_limit = Some(plan);
        self
    }

    /// Limits the attempts a second to a destination, first attempts and retries alike. Default: no
    /// limit. An attempt waits for its start for the plan's longest wait, or ends the call.
    pub const fn rate_limit(mut self, plan: RatePlan) -> Self {
        self.rate_limit = Some(plan);
        self
    }

    /// Wait for an open breaker to admit probes when the deadline allows. Default: no, the call
    /// ends at once, because a refusal in time is worth more than an answer too late.
    pub const fn wait_for_breaker(mut self, yes: bool) -> Self {
        self.wait_for_breaker = yes;
        self
    }

    /// Has the caller pause for the delay before the call returns, if the budget refuses.
    /// Default: no. For loops that start the next call at once, and long polls: without the pause
    /// an empty budget turns them into a hot loop (aws/aws-sdk-go-v2 #3413).
    pub const fn pause_when_empty(mut self, yes: bool) -> Self {
        self.pause_when_empty = yes;
        self
    }

    /// Checks the settings against each other.
    ///
    /// # Errors
    /// Neither attempts nor deadline limited; zero attempts; a zero deadline or attempt limit; a
    /// minimum attempt time at or above the deadline or the attempt limit; a base of zero without a
    /// limit on attempts, which would be a hot loop.
    pub fn build(self) -> Result<Policy, ConfigError> {
        self.check_attempts()?;
        self.check_times()?;
        self.check_zero_base()?;
        Ok(self.unchecked())
    }

    pub(super) fn of(policy: &Policy) -> Self {
        Self {
            backoff: policy.backoff,
            throttled_backoff: policy.throttled_backoff,
            max_attempts: policy.limits.max_attempts(),
            deadline: policy.limits.deadline,
            attempt_timeout: policy.limits.attempt_timeout,
            min_attempt_time: policy.limits.min_attempt_time,
            hints: policy.hints,
            budget: policy.budget,
            breaker: policy.breaker,
            hedge: policy.hedge,
            adaptive: policy.adaptive,
            concurrency_limit: policy.concurrency_limit,
            rate_limit: policy.rate_limit,
            wait_for_breaker: policy.wait_for_breaker,
            pause_when_empty: policy.pause_when_empty,
        }
    }

    pub(super) fn unchecked(self) -> Policy {
        let limits = Limits {
            max_attempts: self.max_attempts.and_then(NonZeroU32::new),
            deadline: self.deadline,
            attempt_timeout: self.attempt_timeout,
            min_attempt_time: self.min_attempt_time,
        };
        Policy {
            backoff: self.backoff,
            throttled_backoff: self.throttled_backoff,
            limits,
            hints: self.hints,
            budget: match self.budget {
                BudgetPlan::Window(plan) => plan.for_attempts(self.max_attempts).into(),
                budget => budget,
            },
            breaker: self.breaker,
            hedge: self.hedge,
            adaptive: self.adaptive,
            concurrency_limit: self.concurrency_limit,
            rate_limit: self.rate_limit,
            limits_first: self.adaptive.is_some()
                || self.concurrency_limit.is_some()
                || self.rate_limit.is_some(),
            wait_for_breaker: self.wait_for_breaker,
            pause_when_empty: self.pause_when_empty,
        }
    }

    fn check_attempts(&self) -> Result<(), ConfigError> {
        let refuse =
            |value: &str, bound| Err(ConfigError::new("limits.max_attempts", value, bound));
        match (self.max_attempts, self.deadline) {
            (Some(0), _) => refuse("0", "at least 1, which counts the first call"),
            (None, None) => refuse("unlimited", "limited unless limits.deadline is set"),
            _ => Ok(()),
        }
    }

    fn check_times(&self) -> Result<(), ConfigError> {
        let limits =
            [("limits.deadline", self.deadline), ("limits.attempt_timeout", self.attempt_timeout)];
        for (field, limit) in limits {
            let Some(limit) = limit else { continue };
            if limit.is_zero() {
                return Err(ConfigError::new(field, limit, "above zero, or left out for no limit"));
            }
            if self.min_attempt_time >= limit {
                let bound = alloc::format!("below {field} ({limit})");
                return Err(ConfigError::new(
                    "limits.min_attempt_time",
                    self.min_attempt_time,
                    bound,
                ));
            }
        }
        Ok(())
    }

    fn check_zero_base(&self) -> Result<(), ConfigError> {
        let rules = [
            ("backoff.base", Some(self.backoff)),
            ("throttled_backoff.base", self.throttled_backoff),
        ];
        for (field, rule) in rules {
            if self.max_attempts.is_none() && rule.is_some_and(|rule| rule.base().is_zero()) {
                return Err(ConfigError::new(
                    field,
                    Span::ZERO,
                    "above zero unless limits.max_attempts is set",
                ));
            }
        }
        Ok(())
    }
}

impl Default for PolicyBuilder {
    fn default() -> Self {
        Self {
            backoff: Backoff::default(),
            throttled_backoff: None,
            max_attempts: Limits::DEFAULT.max_attempts(),
            deadline: None,
            attempt_timeout: None,
            min_attempt_time: Span::ZERO,
            hints: HintRule::default(),
            budget: BudgetPlan::default(),
            breaker: None,
            hedge: None,
            adaptive: None,
            concurrency_limit: None,
            rate_limit: None,
            wait_for_breaker: false,
            pause_when_empty: false,
        }
    }
}
