//! The candidates that every search has: no retry, the library's default, the answer of the decision tree, and the
//! defaults of AWS and Envoy.

use stagger_core::budget::{BudgetPlan, FloorRate, WindowPlan};
use stagger_core::{Backoff, ConfigError, Policy, Rate, Ratio, Span};
use stagger_explain::{Answers, Repeat, choose};

use crate::source::SourceFacts;

/// The name of the library's default policy among the candidates.
pub const DEFAULT: &str = "default";
/// The name of the answer of the decision tree.
pub const CHOOSE: &str = "choose";
/// The names of the AWS SDKs' standard mode, as it was until 2026 and as it is since.
pub const AWS: [&str; 2] = ["aws-2.0", "aws-2.1"];
/// The names of Envoy's defaults: without a retry budget, and with its default one.
pub const ENVOY: [&str; 2] = ["envoy", "envoy-budget"];
/// The name of the policy of one attempt.
pub const NO_RETRY: &str = "no-retry";

/// Envoy's route: `num_retries` 1, intervals from 25 ms to 250 ms.
const ENVOY_ATTEMPTS: u32 = 2;
const ENVOY_BASE: Span = Span::from_millis(25);
const ENVOY_CAP: Span = Span::from_millis(250);
/// Envoy's timeout of a route.
const ENVOY_DEADLINE: Span = Span::from_secs(15);
/// Envoy's `RetryBudget`: a fifth of what is under way, and three retries at least.
const ENVOY_SHARE: Ratio = Ratio::from_percent(20);
const ENVOY_FLOOR: Rate = Rate::per_second(3);

/// All references, by name, each with `deadline` as its deadline unless its own is shorter.
///
/// # Errors
/// None for a deadline that an objective may have.
pub(crate) fn references(
    deadline: Span,
    facts: &SourceFacts,
) -> Result<Vec<(String, Policy)>, ConfigError> {
    let envoy = Backoff::exponential(ENVOY_BASE, ENVOY_CAP)?;
    let envoy = Policy::builder().backoff(envoy).max_attempts(ENVOY_ATTEMPTS);
    let envoy = envoy.deadline(ENVOY_DEADLINE).budget(BudgetPlan::Unlimited).build()?;
    let budget = WindowPlan::new(ENVOY_SHARE)?.with_floor(FloorRate::AtLeast(ENVOY_FLOOR));
    let budgeted = envoy.to_builder().budget(budget).build()?;
    let all = [
        // The default first: of equals the first one wins.
        (DEFAULT, Policy::default()),
        (CHOOSE, chosen(deadline, facts)?),
        (NO_RETRY, Policy::builder().max_attempts(1).build()?),
        (AWS[0], Policy::aws_standard_2_0()),
        (AWS[1], Policy::aws_standard_2_1()),
        (ENVOY[0], envoy),
        (ENVOY[1], budgeted),
    ];
    all.into_iter()
        .map(|(name, policy)| Ok((name.to_owned(), within(&policy, deadline)?)))
        .collect()
}

/// The answer of `stagger choose` for idempotent calls of this deadline and traffic.
fn chosen(deadline: Span, facts: &SourceFacts) -> Result<Policy, ConfigError> {
    let answers = Answers {
        repeat: Repeat::Idempotent,
        callers: facts.processes,
        rps: Some(facts.rps),
        slo: Some(deadline),
        p99: Some(facts.p99()),
        ..Answers::default()
    };
    let choice = choose(&answers)?.policy;
    Ok(choice.expect("failures that heal are retried"))
}

/// The policy under the deadline of the caller: an attempt without a limit of its own would hang
/// beyond it.
pub(crate) fn within(policy: &Policy, deadline: Span) -> Result<Policy, ConfigError> {
    let own = policy.limits().deadline().unwrap_or(Span::MAX);
    policy.to_builder().deadline(own.min(deadline)).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_keeps_the_deadline_and_its_own_settings() {
        let facts = SourceFacts { processes: 10, rps: 20.0, service: Span::from_millis(20) };
        let all = references(Span::from_secs(2), &facts).expect("valid");
        assert_eq!(all.len(), 7);
        let of = |name: &str| all.iter().find(|(n, _)| n == name).expect("a reference").1;
        assert!(all.iter().all(|(_, p)| p.limits().deadline() == Some(Span::from_secs(2))));
        assert_eq!(of(AWS[0]).backoff().base(), Span::from_secs(1));
        assert_eq!(of(ENVOY[0]).backoff().range(2).1, Span::from_millis(50));
        assert_eq!(of(NO_RETRY).limits().max_attempts(), Some(1));
        assert_ne!(of(CHOOSE), of(DEFAULT));
    }
}
