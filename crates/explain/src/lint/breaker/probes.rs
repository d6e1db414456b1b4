//! Rules of probes: `breaker-probes`, so many must succeed that it hardly closes; `breaker-lease`, a probe
//! loses its place while it is under way.

use stagger_core::Policy;
use stagger_core::breaker::BreakerPlan;
use stagger_text::rough_percent;

use crate::{Code, PolicyFinding};

/// The share of failures of a destination that has recovered.
const FAILING: f64 = 0.01;
/// The share of its rounds of probes that may open the breaker again. Ten probes, the default of
/// resilience4j, stay just within it.
const OPENED: f64 = 0.1;

pub(super) fn many_probes(plan: &BreakerPlan) -> Option<PolicyFinding> {
    let probes = plan.probes();
    let opened = 1.0 - libm::pow(1.0 - FAILING, f64::from(probes));
    (opened > OPENED).then(|| {
        PolicyFinding::warning(
            Code::BreakerProbes,
            "breaker.probes",
            format!(
                "all {probes} probes must succeed: a destination that fails 1 call in 100 opens it \
                 again in {} of rounds",
                rough_percent(opened)
            ),
            "probes = 1, and ramp_from = 0.1 to let the load grow after it closes",
        )
    })
}

pub(super) fn short_lease(policy: &Policy, plan: &BreakerPlan) -> Option<PolicyFinding> {
    let (lease, timeout) = (plan.lease()?, policy.limits().attempt_timeout()?);
    (lease < timeout).then(|| {
        let more = timeout.as_nanos().div_ceil(lease.as_nanos().max(1));
        PolicyFinding::warning(
            Code::BreakerLease,
            "breaker.lease",
            format!(
                "a probe keeps its place for {lease} and may take {timeout}: up to {more} probes are \
                 under way for each place"
            ),
            format!("lease = \"{timeout}\" at least, the time that an attempt may take"),
        )
    })
}
