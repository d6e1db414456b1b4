//! `breaker-probes`: so many probes must succeed that it hardly closes.

use stagger_core::breaker::BreakerPlan;

use super::super::figure::percent;
use crate::{Code, PolicyFinding};

/// The share of failures of a destination that has recovered.
const FAILING: f64 = 0.01;
/// The share of its rounds of probes that may open the breaker again. Ten probes, the default of
/// resilience4j, stay just within it.
const OPENED: f64 = 0.1;

pub(super) fn lint(plan: &BreakerPlan) -> Option<PolicyFinding> {
    let probes = plan.probes();
    let opened = 1.0 - libm::pow(1.0 - FAILING, f64::from(probes));
    (opened > OPENED).then(|| {
        PolicyFinding::warning(
            Code::BreakerProbes,
            "breaker.probes",
            format!(
                "all {probes} probes must succeed: a destination that fails 1 call in 100 opens it \
                 again in {} of rounds",
                percent(opened)
            ),
            "probes = 1, and ramp_from = 0.1 to let the load grow after it closes",
        )
    })
}
