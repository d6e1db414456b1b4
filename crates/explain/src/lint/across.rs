//! Policies of different layers, whose attempts multiply when a call passes through both.

use crate::finding::{Code, PolicyFinding};

/// A policy at its layer of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayeredPolicy<'a> {
    /// Its name, with its file or its product, as a message shows it.
    pub name: &'a str,
    /// The layer: an attempt of a lower one is a call of a higher one. Policies of one layer do not multiply.
    pub layer: u8,
    /// The most attempts of a call, the first included; none for no bound.
    pub attempts: Option<u32>,
}

/// The policies that multiply the attempts of one below, each by its number: one finding a policy, with the policy
/// below that makes the most attempts.
///
/// Nothing here says that a call passes through both, so a finding is a warning.
///
/// ```
/// use stagger_explain::{LayeredPolicy, multiplied};
/// let client = LayeredPolicy { name: "orders (AWS)", layer: 1, attempts: Some(3) };
/// let route = LayeredPolicy { name: "orders (Istio)", layer: 2, attempts: Some(4) };
/// let found = multiplied(&[client, route]);
/// assert_eq!((found.len(), found[0].0), (1, 1));
/// assert!(found[0].1.message.contains("up to 12 of one call"));
/// ```
#[must_use]
pub fn multiplied(policies: &[LayeredPolicy<'_>]) -> Vec<(usize, PolicyFinding)> {
    let retries = |policy: &LayeredPolicy<'_>| policy.attempts != Some(1);
    let most = |policy: &&LayeredPolicy<'_>| policy.attempts.unwrap_or(u32::MAX);
    let numbered = policies.iter().enumerate().filter(|(_, policy)| retries(policy));
    numbered
        .filter_map(|(number, policy)| {
            let below =
                policies.iter().filter(|other| other.layer < policy.layer && retries(other));
            // The first of several with as many attempts.
            let below = below.rev().max_by_key(most)?;
            Some((number, finding(policy, below)))
        })
        .collect()
}

fn finding(policy: &LayeredPolicy<'_>, below: &LayeredPolicy<'_>) -> PolicyFinding {
    let count = |attempts: Option<u32>| match attempts {
        Some(attempts) if attempts < u32::MAX => attempts.to_string(),
        _ => "unbounded".to_owned(),
    };
    let [here, there] = [policy.attempts, below.attempts];
    let product = match (here, there) {
        (Some(here), Some(there)) if here < u32::MAX && there < u32::MAX => {
            (u64::from(here) * u64::from(there)).to_string()
        }
        _ => "any number".to_owned(),
    };
    let (here, there) = (count(here), count(there));
    let message = format!(
        "{here} attempts here and {there} of {} make up to {product} of one call that passes through both",
        below.name
    );
    let fix = "max_attempts = 1 in all layers but one: the one that knows whether the call is still wanted";
    PolicyFinding::warning(Code::NestedLayers, "limits.max_attempts", message, fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(layer: u8, attempts: Option<u32>) -> LayeredPolicy<'static> {
        LayeredPolicy { name: "a", layer, attempts }
    }

    #[test]
    fn layers_that_do_not_multiply_were_warned_of() {
        assert_eq!(multiplied(&[at(1, Some(3)), at(1, Some(3))]), [], "one layer");
        assert_eq!(multiplied(&[at(1, Some(1)), at(2, Some(3))]), [], "no retries below");
        assert_eq!(multiplied(&[at(1, Some(3)), at(2, Some(1))]), [], "no retries above");
    }

    #[test]
    fn the_most_attempts_below_count_and_no_bound_is_the_most() {
        let found = multiplied(&[at(1, Some(3)), at(0, Some(5)), at(2, Some(2))]);
        let messages: Vec<_> =
            found.iter().map(|(number, it)| (*number, it.message.as_str())).collect();
        assert_eq!(messages[0].0, 0);
        assert!(
            messages[1].1.starts_with("2 attempts here and 5 of a make up to 10"),
            "{messages:?}"
        );
        let found = multiplied(&[at(1, None), at(2, Some(u32::MAX))]);
        assert!(found[0].1.message.contains("unbounded of a make up to any number"));
    }
}
