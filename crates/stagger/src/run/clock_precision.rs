//! The precision of the clock that a call needs before its first attempt has settled.

use stagger_core::breaker::WindowKind;
use stagger_core::budget::BudgetPlan;
use stagger_core::{Policy, Span};

/// The clock readings that a call needs. Each costs more than all else in a clean first try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClockPrecision {
    /// No time until the attempt turns out to take some.
    None,
    /// The time to within a slot of a window.
    Recent,
    /// The time to the nanosecond.
    Exact,
}

/// The shortest window whose slots do not mind a [recent](crate::Clock::recent) time: a tenth of it
/// is ten times what such a time may lag.
const COARSE: Span = Span::from_secs(1);

impl ClockPrecision {
    /// A deadline runs from the start of the call, a slow call is known by its time, and limits count in
    /// fractions of a second. Budgets and breakers otherwise only ask in which slot of their window a call falls, and a pause lasts for
    /// longer than a recent time may lag.
    pub(super) fn of(policy: &Policy) -> Self {
        let limited = policy.adaptive().is_some()
            || policy.rate_limit().is_some()
            || policy.concurrency_limit().is_some();
        if policy.limits().deadline().is_some() || limited {
            return Self::Exact;
        }
        let shared = if policy.hints().is_shared() { Self::Recent } else { Self::None };
        shared.max(Self::of_budget(policy.budget())).max(Self::of_breaker(policy))
    }

    const fn of_budget(plan: &BudgetPlan) -> Self {
        match plan {
            BudgetPlan::Unlimited | BudgetPlan::None => Self::None,
            BudgetPlan::Window(plan) if plan.window().as_nanos() < COARSE.as_nanos() => Self::Exact,
            _ => Self::Recent,
        }
    }

    fn of_breaker(policy: &Policy) -> Self {
        match policy.breaker() {
            None => Self::None,
            Some(plan) if plan.slow_calls().is_some() => Self::Exact,
            Some(plan) => match plan.window() {
                WindowKind::Time(window) if window < COARSE => Self::Exact,
                _ => Self::Recent,
            },
        }
    }

    fn max(self, other: Self) -> Self {
        match (self, other) {
            (Self::Exact, _) | (_, Self::Exact) => Self::Exact,
            (Self::Recent, _) | (_, Self::Recent) => Self::Recent,
            _ => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::breaker::BreakerPlan;
    use stagger_core::{ConfigError, Ratio};

    use super::*;

    #[test]
    fn a_rule_finer_than_the_tick_of_the_kernel_was_told_the_coarse_time() -> Result<(), ConfigError>
    {
        let precision = |breaker: BreakerPlan| -> Result<ClockPrecision, ConfigError> {
            Ok(ClockPrecision::of(&Policy::builder().breaker(breaker).build()?))
        };
        let window = |span: Span| BreakerPlan::builder().window(span);
        assert_eq!(precision(window(COARSE).build()?)?, ClockPrecision::Recent);
        assert_eq!(precision(window(Span::from_millis(999)).build()?)?, ClockPrecision::Exact);
        let slow = window(COARSE).slow_calls(Span::from_secs(1), Ratio::from_percent(50));
        assert_eq!(precision(slow.build()?)?, ClockPrecision::Exact);
        Ok(())
    }
}
