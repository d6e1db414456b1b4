//! `breaker-lease`: a probe loses its place while it is under way.

use stagger_core::Policy;
use stagger_core::breaker::BreakerPlan;

use crate::{Code, PolicyFinding};

pub(super) fn lint(policy: &Policy, plan: &BreakerPlan) -> Option<PolicyFinding> {
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
