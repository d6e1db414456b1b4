//! Any policy can be judged, and every key that is named can be written.

#[path = "../../core/tests/policies/mod.rs"]
mod policies;

use proptest::option;
use proptest::prelude::*;
use stagger_core::{Policy, Span};
use stagger_explain::{Code, Setting, lint};

use policies::any_policy;

fn any_setting() -> impl Strategy<Value = Setting> {
    let amount = || prop_oneof![0.000_01..1e12, 1.0..1_000.0];
    (
        option::of(1..=u64::MAX),
        option::of(1..=u64::MAX),
        option::of(amount()),
        option::of(1..=u32::MAX),
        option::of(amount()),
        option::of(1..=u32::MAX),
        option::of(any::<bool>()),
    )
        .prop_map(|(slo, p99, rps, fleet, downstream_capacity, layers, idempotent)| Setting {
            slo: slo.map(Span::from_nanos),
            p99: p99.map(Span::from_nanos),
            rps,
            fleet,
            downstream_capacity,
            layers,
            idempotent,
        })
}

/// Whether the text form of a policy has this key, whatever its value must be.
fn is_written(key: &str) -> bool {
    // No setting is a date, so the key is refused for its value, or else for its name.
    let error = toml::from_str::<Policy>(&format!("{key} = 1979-05-27")).expect_err("a date");
    !error.message().contains("unknown")
}

#[test]
fn a_key_that_there_is_not_is_told_from_one_that_there_is() {
    assert!(is_written("limits.max_attempts") && is_written("budget.tokens.capacity"));
    assert!(!is_written("limits.attempts") && !is_written("calls.slo") && !is_written("budget.x"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_policy_is_judged(policy in any_policy(), setting in any_setting()) {
        let found = lint(&policy, &setting);
        for finding in &found {
            prop_assert!(is_written(finding.key), "{}", finding.key);
            prop_assert!(!finding.fix.is_empty() && finding.code != Code::UnusedAllow);
            prop_assert!(!finding.message.contains("NaN") && !finding.message.contains("inf "));
        }
        for (n, finding) in found.iter().enumerate() {
            let again = found[n + 1..].iter().any(|it| (it.code, it.key) == (finding.code, finding.key));
            prop_assert!(!again, "twice: {finding:?}");
        }
        prop_assert_eq!(found, lint(&policy, &setting), "the same policy, the same findings");
    }
}
