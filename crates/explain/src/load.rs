//! Attempts for each call while a share of the attempts fails.

use stagger_core::Policy;

use crate::budgeted::{Demand, retries};
use crate::calls::{MAX_ROWS, PlayedCalls};
use crate::{LoadFactor, Setting};

/// The load while 10, 50 and 100 % of attempts fail.
pub(crate) fn load(policy: &Policy, setting: &Setting, calls: &PlayedCalls) -> [LoadFactor; 3] {
    [10, 50, 100].map(|failing_percent| {
        let failing = f64::from(failing_percent) / 100.0;
        let demand = Demand { failing, calls, retries: wanted(failing, calls) };
        let (granted, method) = retries(policy.budget(), setting.rps, &demand);
        LoadFactor {
            failing_percent,
            without_budget: 1.0 + demand.retries,
            with_budget: 1.0 + granted,
            method,
        }
    })
}

/// Retries for each call that nothing refuses: the sum of `q^i`, as far as the deadline lets calls
/// come. Beyond the rows that are counted, half to a power above 60 is nothing.
fn wanted(failing: f64, calls: &PlayedCalls) -> f64 {
    if failing >= 1.0 {
        return calls.attempts() - 1.0;
    }
    let mut power = 1.0;
    let mut sum = 0.0;
    for attempt in 2..=MAX_ROWS {
        power *= failing;
        sum += power * calls.reached(attempt);
    }
    sum
}
