//! Public bugs of delay arithmetic, each a test named by what went wrong.

use stagger_core::{Backoff, Envelope, Factor, Jitter, Policy, Ratio, Span};
use stagger_testkit::{Mix, highest, lowest};

/// The retry numbers at which somebody's integer or float has overflowed.
const EDGES: [u32; 11] = [0, 1, 31, 32, 33, 63, 64, 65, 1023, 1024, u32::MAX];

const SECOND: Span = Span::from_secs(1);

fn exponential(base: Span, cap: Span) -> Backoff {
    Backoff::exponential(base, cap).expect("within bounds")
}

fn plain(base: Span, cap: Span) -> Backoff {
    exponential(base, cap).with_jitter(Jitter::None).expect("a law without ratio")
}

// theelderbeever/mulligan #31, scylladb/latte PR 208, mofa-org/mofa PR 1192.
#[test]
fn doubling_overflowed_at_retry_32_and_became_no_wait_at_all() {
    let rule = exponential(SECOND, Span::from_secs(30));
    for (k, secs) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16)] {
        assert_eq!(rule.ceiling(k), Span::from_secs(secs));
    }
    for k in EDGES.into_iter().filter(|k| *k > 5).chain(6..2_000) {
        assert_eq!(rule.ceiling(k), Span::from_secs(30), "retry {k}");
        assert_eq!(rule.delay(k, SECOND, &mut highest()), Span::from_secs(30), "retry {k}");
    }
}

// EmbarkStudios/tryhard #24, librefang/librefang PR 8199, flowchartsman/retry #4.
#[test]
fn a_cap_below_the_base_surprised_callers_at_retry_35() {
    for (base, cap) in
        [(SECOND, Span::from_millis(10)), (Span::from_millis(500), Span::from_millis(1))]
    {
        let error = Backoff::exponential(base, cap).expect_err("a base above the cap");
        assert_eq!((error.field(), error.value()), ("backoff.cap", &*cap.to_string()));
    }
    let rule = plain(Span::from_secs(10), Span::from_secs(600));
    assert!((7..5_000).all(|k| rule.ceiling(k) == Span::from_secs(600)));
}

// agenda/agenda #1748, NousResearch/hermes-agent PR 40606, openai/openai-agents-python PR 2676.
#[test]
fn jitter_after_the_cap_exceeded_it() {
    let half = Ratio::from_percent(50);
    let rule = exponential(Span::from_millis(100), Span::from_millis(500));
    let rule = rule.with_jitter(Jitter::Proportional(half)).expect("a ratio of one half");
    let mut entropy = Mix::new(3);
    for k in 4..1_000 {
        let delay = rule.delay(k, rule.base(), &mut entropy);
        assert!((Span::from_millis(250)..=Span::from_millis(500)).contains(&delay), "{delay}");
    }
}

// ferd/backoff #8.
#[test]
fn the_random_range_closed_at_the_cap_and_callers_stayed_in_step() {
    let cap = Span::from_secs(120);
    let half = Ratio::from_percent(50);
    for law in [Jitter::Full, Jitter::Equal, Jitter::Decorrelated, Jitter::Proportional(half)] {
        let rule = exponential(SECOND, cap).with_jitter(law).expect("a valid law");
        let mut entropy = Mix::new(4);
        let mut delays: Vec<_> = (0..1_000).map(|_| rule.delay(50, cap, &mut entropy)).collect();
        delays.sort_unstable();
        delays.dedup();
        assert_eq!(delays.len(), 1_000, "{law:?}: all different at the cap");
    }
}

// sethvargo/go-retry PR 39 and #9, go-resty/resty #624.
#[test]
fn an_empty_random_range_panicked() {
    let tick = Span::from_nanos(1);
    let laws = [
        Jitter::None,
        Jitter::Full,
        Jitter::Equal,
        Jitter::Decorrelated,
        Jitter::DecorrelatedClamped,
        Jitter::Proportional(Ratio::ZERO),
        Jitter::Proportional(Ratio::ONE),
        Jitter::Symmetric(Ratio::ZERO),
        Jitter::Symmetric(Ratio::ONE),
    ];
    for law in laws {
        for base in [Span::ZERO, tick] {
            let rule = exponential(base, base).with_jitter(law).expect("a valid law");
            for k in EDGES {
                let low = rule.delay(k, Span::ZERO, &mut lowest());
                let high = rule.delay(k, Span::MAX, &mut highest());
                assert!(low <= high && high <= base + base, "{law:?} {k}");
            }
        }
    }
}

// dragonflyoss/dragonfly #4955.
#[test]
fn a_base_of_zero_without_a_limit_ate_a_processor() {
    let zero = exponential(Span::ZERO, SECOND);
    let endless = Policy::builder().unlimited_attempts().deadline(SECOND);
    let error = endless.backoff(zero).build().expect_err("a hot loop until the deadline");
    assert_eq!(error.field(), "backoff.base");
    let error = endless.throttled_backoff(zero).build().expect_err("the same after a throttle");
    assert_eq!(error.field(), "throttled_backoff.base");
    assert!(Policy::builder().backoff(zero).max_attempts(5).build().is_ok());
}

// kent8192/reinhardt-web #765, openai/openai-agents-python #3270.
#[test]
fn a_factor_that_is_no_growth_panicked_at_the_first_retry() {
    let rule = exponential(SECOND, Span::from_secs(30));
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -2.0, 0.5, 1e7] {
        let error = rule.with_factor(value).expect_err("no growth factor");
        assert_eq!(error.field(), "backoff.factor");
        assert_eq!(error.value(), value.to_string());
    }
    for law in [Jitter::Proportional, Jitter::Symmetric] {
        let error = rule.with_jitter(law(Ratio::from_percent(101))).expect_err("negative delays");
        assert_eq!(error.field(), "backoff.jitter");
    }
}

// failsafe-lib/failsafe #97, mickhansen/retry-as-promised #12, restatedev/restate PR 3774.
#[test]
fn the_first_wait_was_not_the_base() {
    let doubling = plain(Span::from_secs(5), Span::from_secs(30));
    assert_eq!([1, 2, 3].map(|k| doubling.ceiling(k)), [5, 10, 20].map(Span::from_secs));
    let gentle = plain(SECOND, Span::from_secs(60)).with_factor(1.5).expect("a factor");
    assert_eq!([1, 2, 3].map(|k| gentle.ceiling(k)), [1_000, 1_500, 2_250].map(Span::from_millis));
    let linear = Backoff::linear(SECOND, Span::from_secs(60)).expect("within bounds");
    assert_eq!([1, 2, 3].map(|k| linear.ceiling(k)), [1, 2, 3].map(Span::from_secs));
    assert_eq!(doubling.ceiling(0), doubling.ceiling(1), "there is no retry 0");
}

// avast/retry-go #127 and #137, takezoe/scala-retry #1.
#[test]
fn no_attempts_meant_for_ever() {
    let error = Policy::builder().max_attempts(0).build().expect_err("no attempt at all");
    assert_eq!((error.field(), error.value()), ("limits.max_attempts", "0"));
    let once = Policy::builder().max_attempts(1).build().expect("one attempt");
    assert_eq!(once.limits().max_attempts(), Some(1));
}

// cenkalti/backoff PR 42, aws/aws-sdk-go PR 670: the generator is the caller's, so streams differ.
#[test]
fn fifty_hosts_drew_the_same_delays() {
    let rule = exponential(Span::from_secs(10), Span::from_secs(10));
    let mut first: Vec<_> = (0..50)
        .map(|host| rule.delay(1, rule.base(), &mut Mix::new(host)).as_nanos() / 1_000)
        .collect();
    first.sort_unstable();
    first.dedup();
    assert_eq!(first.len(), 50);
}

#[test]
fn a_decorrelated_law_after_throttling_drew_from_an_empty_range() {
    let rule = exponential(SECOND, Span::from_secs(20));
    let rule = rule.with_jitter(Jitter::Decorrelated).expect("a law without ratio");
    let prev = Span::from_millis(50); // drawn under another rule with a shorter base
    assert_eq!(rule.delay(1, prev, &mut lowest()), SECOND);
    assert_eq!(rule.delay(1, prev, &mut highest()), Span::from_secs(3));
}

#[test]
fn a_decorrelated_law_ignored_the_factor_without_a_word() {
    let cap = Span::from_secs(60);
    let gentle = exponential(SECOND, cap).with_factor(1.5).expect("a factor");
    for law in [Jitter::Decorrelated, Jitter::DecorrelatedClamped] {
        assert_eq!(gentle.with_jitter(law).expect_err("a factor").field(), "backoff.envelope");
        let linear = Backoff::new(Envelope::Linear, SECOND, cap).expect("within bounds");
        assert!(linear.with_jitter(law).is_err());
        let doubling = exponential(SECOND, cap).with_jitter(law).expect("doubling");
        assert!(doubling.with_factor(3.0).is_err());
        assert_eq!(doubling.envelope(), Envelope::Exponential(Factor::TWO));
    }
}
