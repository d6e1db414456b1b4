//! `breaker-consecutive`: so few failures in a row open it that chance does.

use stagger_core::breaker::BreakerPlan;
use stagger_text::rough_count;

use crate::{Code, PolicyFinding};

/// The share of failures of a destination that is up: less than any share of calls that opens a
/// breaker.
const FAILING: f64 = 0.05;
/// Calls, in the mean, in which such a destination must not open the breaker.
const CALLS: f64 = 1_000.0;

pub(super) fn lint(plan: &BreakerPlan) -> Option<PolicyFinding> {
    let row = plan.consecutive()?;
    let calls = calls_until(row);
    (calls < CALLS).then(|| {
        let failures = if row == 1 { "1 failure".to_owned() } else { format!("{row} in a row") };
        PolicyFinding::warning(
            Code::BreakerConsecutive,
            "breaker.consecutive",
            format!(
                "{failures} opens it: a destination that fails 1 call in 20 opens it every {} calls",
                rough_count(calls)
            ),
            "consecutive = 5",
        )
    })
}

/// The calls, in the mean, until so many in a row fail (Feller, *An Introduction to Probability
/// Theory*, XIII.7).
fn calls_until(row: u32) -> f64 {
    let chance = libm::pow(FAILING, f64::from(row));
    (1.0 - chance) / ((1.0 - FAILING) * chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_as_rare_as_by_hand() {
        // E(n) = (E(n - 1) + 1) / p.
        let mut by_hand = 0.0;
        for row in 1..5 {
            by_hand = (by_hand + 1.0) / FAILING;
            assert!((calls_until(row) / by_hand - 1.0).abs() < 1e-9, "{row}");
        }
    }
}
