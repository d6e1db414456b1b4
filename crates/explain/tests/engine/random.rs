//! Policies of every kind, with fewer calls each.

use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use stagger_core::{Backoff, Envelope, Factor, Jitter, Policy, Ratio, Span};
use stagger_explain::{Setting, explain};
use stagger_testkit::Mix;

use crate::player::play;
use crate::verdicts::agrees;

fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Span> {
    range.prop_map(Span::from_millis)
}

fn jitter() -> impl Strategy<Value = Jitter> {
    let part = || (0_u32..=100).prop_map(Ratio::from_percent);
    prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        Just(Jitter::DecorrelatedClamped),
        part().prop_map(Jitter::Proportional),
        part().prop_map(Jitter::Symmetric),
    ]
}

fn envelope() -> impl Strategy<Value = Envelope> {
    let factor = (1.0_f64..6.0).prop_filter_map("refused", |it| Factor::try_from(it).ok());
    prop_oneof![
        Just(Envelope::Constant),
        Just(Envelope::Linear),
        Just(Envelope::Exponential(Factor::TWO)),
        factor.prop_map(Envelope::Exponential),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let backoff = (envelope(), millis(1..3_000), millis(1..20_000), jitter());
    let limits = (option::weighted(0.8, 1_u32..14), option::of(millis(1..60_000)), millis(0..500));
    (backoff, limits).prop_filter_map("refused", |((envelope, base, more, jitter), limits)| {
        let backoff = Backoff::new(envelope, base, base + more).ok()?.with_jitter(jitter).ok()?;
        let builder = Policy::builder().backoff(backoff).min_attempt_time(limits.2);
        let builder = match limits.0 {
            Some(calls) => builder.max_attempts(calls),
            // A call of thousands of attempts has no more to say than one of a hundred.
            None => builder.backoff(backoff).unlimited_attempts(),
        };
        let builder = match limits.1 {
            Some(deadline) => builder.deadline(deadline),
            None => builder,
        };
        let policy = builder.build().ok()?;
        let long = policy.limits().deadline().map_or(0, Span::as_nanos) / base.as_nanos();
        (limits.0.is_some() || long < 100).then_some(policy)
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(11),
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_said_is_what_happens(policy in policy(), seed: u64) {
        let figures = explain(&policy, &Setting::default());
        agrees(&figures, &play(&policy, 4_000, &mut Mix::new(seed)));
    }

    #[test]
    fn figures_are_in_order(policy in policy()) {
        let figures = explain(&policy, &Setting::default());
        for row in &figures.attempts {
            prop_assert!(row.shortest <= row.p50 && row.p50 <= row.p99 && row.p99 <= row.longest);
            prop_assert!(row.cumulative_best <= row.cumulative_worst);
            prop_assert!((0.0..=1.0).contains(&row.reached));
        }
        prop_assert!(figures.rides_out.p5 <= figures.rides_out.p50);
        prop_assert!(figures.rides_out.p50 <= figures.worst_waits);
        for factor in figures.load {
            prop_assert!(1.0 <= factor.with_budget && factor.with_budget <= factor.without_budget + 0.01);
        }
    }
}
