//! What a lane has to know of its endpoint's settings.

use stagger::breaker::BreakerPlan;
use stagger::budget::BudgetPlan;
use stagger::{LongHint, Policy, Ratio, Span};

use crate::model::{Endpoint, Pace, Statuses};

/// How much longer than an attempt's time a probe may hold its place: what a busy dispatcher needs to
/// tell of it.
const LEASE_MARGIN: Span = Span::from_secs(10);

/// The settings of an endpoint, as far as a lane cares.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rules {
    /// How calls are retried: the endpoint's policy, but with what belongs to the lane left to it.
    pub(super) policy: Policy,
    pub(super) budget: BudgetPlan,
    pub(super) breaker: BreakerPlan,
    pub(super) pace: Pace,
    pub(super) ordered: bool,
    pub(super) permanent: Statuses,
    pub(super) disable_after: Span,
}

impl Rules {
    pub(super) fn of(endpoint: &Endpoint) -> Self {
        Self {
            policy: call_policy(&endpoint.policy),
            budget: *endpoint.policy.budget(),
            breaker: breaker_plan(endpoint),
            pace: endpoint.pace,
            ordered: endpoint.ordered,
            permanent: endpoint.permanent.clone(),
            disable_after: endpoint.disable_after,
        }
    }

    /// Attempts under way at once.
    pub(super) fn most_at_once(&self) -> usize {
        // OK because a number that does not fit is more than anybody can have under way.
        if self.ordered { 1 } else { usize::try_from(self.pace.concurrency.get()).unwrap_or(1) }
    }

    /// How long the endpoint is left alone after this hint: as long as it asks, as far as the policy
    /// obeys. Never longer than any single delivery would wait for it.
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
        .window(stagger::breaker::WindowKind::Time(Span::from_secs(60)))
        .ratio(Ratio::from_percent(50))
        .minimum_calls(10)
        .consecutive(5)
        .throttled_fails(true)
        .open_time(Span::from_secs(10))
        .open_cap(Span::from_secs(300))
        .build()
        .unwrap_or_default()
}

/// The plan of the lane's breaker: without a ramp, because the recovery is the lane's own, and with a
/// lease that no attempt outlives.
fn breaker_plan(endpoint: &Endpoint) -> BreakerPlan {
    let plan = endpoint.policy.breaker().copied().unwrap_or_else(webhook_breaker);
    let lease = (endpoint.timeout + LEASE_MARGIN).max(plan.lease().unwrap_or(Span::ZERO));
    plan.to_builder().no_ramp().lease(lease).build().unwrap_or(plan)
}

/// The same delays, limits and hints, without budget, breaker and copies. A budget that grants no
/// retry at all is a limit of one attempt, or a lane would wait for it for ever.
fn call_policy(policy: &Policy) -> Policy {
    let limits = policy.limits();
    let mut builder = Policy::builder()
        .backoff(*policy.backoff())
        .throttled_backoff(*policy.throttled_backoff())
        .hints(*policy.hints())
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
