//! The rules of an endpoint's queue, computed from its settings.

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::BudgetPlan;
use stagger_core::{HintRule, HintScope, LongHint, Policy, Ratio, Span};

use crate::model::{Endpoint, Pace, Statuses};

/// The lease of a probe beyond the longest time of an attempt: a busy dispatcher needs it to report
/// the result.
const LEASE_MARGIN: Span = Span::from_secs(10);

/// The rules of a queue, computed from the settings of its endpoint.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QueueRules {
    /// The endpoint's policy, without the parts that the queue itself enforces.
    pub(super) policy: Policy,
    pub(super) budget: BudgetPlan,
    pub(super) breaker: BreakerPlan,
    pub(super) pace: Pace,
    pub(super) ordered: bool,
    pub(super) permanent: Statuses,
    pub(super) disable_after: Span,
    /// The URL that a handshake is made with, if the endpoint wants one.
    pub(super) handshake_with: Option<String>,
}

impl QueueRules {
    pub(super) fn of(endpoint: &Endpoint) -> Self {
        Self {
            policy: call_policy(&endpoint.policy),
            budget: *endpoint.policy.budget(),
            breaker: queue_breaker(endpoint.policy.breaker(), endpoint.timeout),
            pace: endpoint.pace,
            ordered: endpoint.ordered,
            permanent: endpoint.permanent.clone(),
            disable_after: endpoint.disable_after,
            handshake_with: endpoint.handshake.then(|| endpoint.url.clone()),
        }
    }

    /// The most attempts in flight.
    pub(super) fn most_at_once(&self) -> usize {
        // OK because a number that does not fit exceeds every possible number of attempts.
        if self.ordered { 1 } else { usize::try_from(self.pace.concurrency.get()).unwrap_or(1) }
    }

    /// The pause of the endpoint after this hint: as long as the hint asks and the policy allows.
    /// Never longer than any single delivery would wait for it.
    pub(super) fn pause(&self, hint: Span) -> Span {
        let rule = self.policy.hints();
        match rule.long() {
            LongHint::OwnDelayPlus(more) => hint.min(more),
            _ => hint.min(rule.max()),
        }
    }
}

/// The breaker of an endpoint whose policy has none.
///
/// | setting | value | reason |
/// | --- | --- | --- |
/// | opens at | half of at least 10 attempts in 60 s, or 5 failures in a row | most endpoints get few messages, so that a share alone would hardly ever be reached |
/// | throttled | counts as failed | a proxy answers 502 or 503 for a server that is down, mostly without a hint |
/// | open time | 10 s, doubling to 5 min | a deploy is over in seconds; an outage of hours costs 12 probes an hour, and its end is noticed within minutes |
/// | probes | 1 | an endpoint is one server for all we know |
fn webhook_breaker() -> BreakerPlan {
    BreakerPlan::builder()
        .window(Span::from_secs(60))
        .ratio(Ratio::from_percent(50))
        .minimum_calls(10)
        .consecutive(5)
        .throttled_fails(true)
        .open_time(Span::from_secs(10))
        .open_cap(Span::from_secs(300))
        .build()
        .unwrap_or_default()
}

/// The plan of the queue's breaker: without a ramp, because the queue has its own recovery, and
/// with a lease that no attempt outlives.
fn queue_breaker(own: Option<&BreakerPlan>, timeout: Span) -> BreakerPlan {
    let plan = own.copied().unwrap_or_else(webhook_breaker);
    let lease = (timeout + LEASE_MARGIN).max(plan.lease().unwrap_or(Span::ZERO));
    plan.to_builder().no_ramp().lease(lease).build().unwrap_or(plan)
}

/// The same delays, limits and hints, of which none is too long, without budget, breaker and
/// copies. A budget that grants no retry becomes a limit of one attempt: a queue would otherwise
/// wait for it for ever.
fn call_policy(policy: &Policy) -> Policy {
    let limits = policy.limits();
    let mut builder = Policy::builder()
        .backoff(*policy.backoff())
        .throttled_backoff(*policy.throttled_backoff())
        // The queue itself pauses its endpoint after a hint.
        .hints(patient(policy.hints()).with_scope(HintScope::Call))
        .min_attempt_time(limits.min_attempt_time())
        .budget(BudgetPlan::Unlimited);
    if let Some(deadline) = limits.deadline() {
        builder = builder.deadline(deadline);
    }
    builder = match (policy.budget(), limits.max_attempts()) {
        (BudgetPlan::None, _) => builder.max_attempts(1),
        (_, Some(attempts)) => builder.max_attempts(attempts),
        (_, None) => builder.unlimited_attempts(),
    };
    builder.build().unwrap_or(*policy)
}

/// The same hints, but one above the longest is shortened where it would end the call.
fn patient(rule: &HintRule) -> HintRule {
    match rule.long() {
        LongHint::Stop => {
            HintRule::new(rule.max(), rule.spread(), LongHint::Shorten).unwrap_or(*rule)
        }
        _ => *rule,
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::Backoff;
    use stagger_core::budget::WindowPlan;

    use super::*;

    #[test]
    fn the_default_breaker_is_the_one_that_is_promised() {
        let plan = webhook_breaker();
        assert_eq!((plan.consecutive(), plan.minimum_calls()), (Some(5), 10));
        assert_eq!(plan.open_cap(), Span::from_secs(300));
        assert!(plan.throttled_fails());
    }

    #[test]
    fn no_attempt_outlives_the_lease_of_its_probe() {
        let minute = Span::from_secs(60);
        let own = BreakerPlan::builder().lease(Span::from_secs(1)).ramp(Ratio::ONE, minute);
        let plan = queue_breaker(Some(&own.build().unwrap()), minute);
        assert_eq!(plan.lease(), Some(minute + LEASE_MARGIN));
        assert_eq!(plan.ramp(), None, "the queue has its own recovery");
        let patient = BreakerPlan::builder().lease(Span::from_secs(3_600)).build().unwrap();
        assert_eq!(queue_breaker(Some(&patient), minute).lease(), Some(Span::from_secs(3_600)));
    }

    #[test]
    fn a_queue_uses_only_the_limits_delays_and_hints_of_a_policy() {
        let backoff = Backoff::exponential(Span::from_secs(7), Span::from_secs(70)).unwrap();
        let hints = HintRule::new(Span::from_secs(9), Ratio::ZERO, LongHint::Shorten).unwrap();
        let policy = Policy::builder()
            .backoff(backoff)
            .hints(hints)
            .max_attempts(9)
            .deadline(Span::from_secs(99))
            .attempt_timeout(Span::from_secs(3))
            .budget(WindowPlan::default())
            .breaker(BreakerPlan::default())
            .hedge(stagger_core::hedge::HedgePlan::fixed(Span::from_secs(1), 2).unwrap())
            .build()
            .unwrap();
        let call = call_policy(&policy);
        assert_eq!((call.backoff(), call.hints()), (&backoff, &hints));
        let stops = HintRule::new(hints.max(), Ratio::ZERO, LongHint::Stop).unwrap();
        let impatient = policy.to_builder().hints(stops).build().unwrap();
        assert_eq!(call_policy(&impatient).hints(), &hints, "no hint ends a delivery");
        assert_eq!(call.limits().max_attempts(), Some(9));
        assert_eq!(call.limits().deadline(), Some(Span::from_secs(99)));
        assert_eq!((call.budget(), call.breaker()), (&BudgetPlan::Unlimited, None));
        assert_eq!(call.hedge(), None);
    }

    #[test]
    fn a_budget_of_nothing_is_a_single_attempt_and_not_a_wait_for_ever() {
        let policy = Policy::builder().max_attempts(5).budget(BudgetPlan::None).build().unwrap();
        assert_eq!(call_policy(&policy).limits().max_attempts(), Some(1));
    }
}
