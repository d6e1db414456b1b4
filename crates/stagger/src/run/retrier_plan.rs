//! The facts of a retrier that never change.

use std::sync::{Arc, Mutex};

use stagger_core::hedge::Latencies;
use stagger_core::{Policy, Span};

use super::clock_precision::ClockPrecision;

/// Half-life of the latencies behind a measured hedge delay: long enough for a quantile to be more
/// than chance at one call a second, short enough to follow a deploy.
const LATENCY_HALF_LIFE: Span = Span::from_secs(30);

/// The facts of a retrier that never change, and the latencies of its hedged calls.
pub(super) struct RetrierPlan {
    pub(super) policy: Policy,
    /// The same policy with one attempt, for calls inside another call's attempt.
    single: Policy,
    /// The clock readings that a call needs before its first attempt has settled.
    pub(super) precision: ClockPrecision,
    pub(super) latencies: Option<Arc<Mutex<Latencies>>>,
}

impl RetrierPlan {
    /// The policy of a call, or the same with one attempt.
    #[inline]
    pub(super) const fn policy_for(&self, single: bool) -> &Policy {
        if single { &self.single } else { &self.policy }
    }

    pub(super) fn new(policy: Policy) -> Self {
        let measured = policy.hedge().is_some_and(|plan| plan.is_measured());
        let latencies = || Arc::new(Mutex::new(Latencies::new(LATENCY_HALF_LIFE)));
        let latencies = measured.then(latencies);
        Self { policy, single: single(&policy), precision: ClockPrecision::of(&policy), latencies }
    }
}

/// The same policy with one attempt.
fn single(policy: &Policy) -> Policy {
    // OK because a policy that was valid stays so with fewer attempts.
    policy.to_builder().max_attempts(1).build().unwrap_or(*policy)
}
