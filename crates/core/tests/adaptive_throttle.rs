//! Client-side throttling: the refused share is the formula's, to the word.

use proptest::prelude::*;
use stagger_core::adaptive::{ClientThrottle, ClientThrottlePlan};
use stagger_core::{Instant, Ratio, Span};
use stagger_testkit::{Mix, highest, lowest};

fn at(seconds: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(seconds)
}

#[test]
fn a_backend_that_takes_every_second_call_is_not_refused() {
    let mut throttle = ClientThrottle::new(ClientThrottlePlan::default());
    for call in 0..1000 {
        if call % 2 == 0 {
            throttle.accept(at(call / 10));
        }
        assert!(throttle.admit(at(call / 10), &mut lowest()), "call {call}");
    }
}

#[test]
fn a_dead_backend_is_still_asked_now_and_then() {
    let mut throttle = ClientThrottle::new(ClientThrottlePlan::default());
    let mut chance = Mix::new(3);
    let sent = (0..10_000).filter(|_| throttle.admit(at(1), &mut chance)).count();
    // The sum 1/1 + ... + 1/10000 is 9.8, its standard deviation about 2.9.
    assert!((2..=20).contains(&sent), "{sent}");
}

#[test]
fn an_outage_is_forgotten_with_its_window() {
    let mut throttle = ClientThrottle::new(ClientThrottlePlan::default());
    for _ in 0..1000 {
        let _refused = throttle.admit(at(0), &mut highest());
    }
    assert!(throttle.refused_share(at(1)) > Ratio::from_percent(99));
    assert_eq!(throttle.refused_share(at(120)), Ratio::ZERO);
}

proptest! {
    #[test]
    fn the_decision_is_the_formulas(
        requests in 0_u32..200, accepts in 0_u32..200, word: u64, k in 100_u32..500,
    ) {
        let plan = ClientThrottlePlan::new(Ratio::from_percent(k), Span::from_secs(120))
            .expect("within the bounds");
        let mut throttle = ClientThrottle::new(plan);
        for _ in 0..requests {
            let _counted = throttle.admit(at(0), &mut highest());
        }
        for _ in 0..accepts {
            throttle.accept(at(0));
        }
        // Refused when word / 2^64 < (requests - K * accepts) / (requests + 1), in hundredths.
        let excess = (i128::from(requests) * 100 - i128::from(k * accepts)).max(0);
        let whole = (i128::from(requests) + 1) * 100;
        let admitted = i128::from(word) * whole >= excess << 64;
        prop_assert_eq!(throttle.admit(at(0), &mut || word), admitted);
    }
}
