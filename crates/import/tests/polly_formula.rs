//! Polly's delays by its own formula, beside those of the imported policy.
//!
//! Source: `RetryHelper` of Polly 8 and "decorrelated jitter v2" of Polly.Contrib.WaitAndRetry: with t = k + U the sum
//! of the delays before retry k + 1 is 2^t tanh(sqrt(4 t)) / 1.4 times the delay.

use stagger_core::Span;
use stagger_import::import;
use stagger_testkit::Mix;

/// The sum of the delays of the formula up to `t`, for a delay of one.
fn sum(t: f64) -> f64 {
    t.exp2() * (4.0 * t).sqrt().tanh() / 1.4
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn the_imported_delays_were_twice_as_long_as_those_of_polly() {
    const CALLS: u32 = 20_000;
    let text = r#"{ "MaxRetryAttempts": 3, "BackoffType": "Exponential", "UseJitter": true, "Delay": "00:00:02" }"#;
    let policy = import(text, None).expect("Polly").policies[0].policy;
    let mut entropy = Mix::new(7);
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for call in 0..CALLS {
        // Even steps of the three random numbers, in orders that do not depend on each other.
        let even = |step: u32| (f64::from(call * step % CALLS) + 0.5) / f64::from(CALLS);
        let ends = [sum(even(1)), sum(1.0 + even(7_919)), sum(2.0 + even(104_729))];
        theirs.push([ends[0], ends[1] - ends[0], ends[2] - ends[1]].map(|delay| 2.0 * delay));
        let delay = |k| policy.backoff().delay(k, Span::ZERO, &mut entropy).as_secs_f64();
        ours.push([1, 2, 3].map(delay));
    }
    let medians =
        |all: &[[f64; 3]]| [0, 1, 2].map(|k| median(all.iter().map(|call| call[k]).collect()));
    let close = |found: [f64; 3], expected: [f64; 3]| {
        found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.1)
    };
    let (theirs, ours) = (medians(&theirs), medians(&ours));
    assert!(close(theirs, [1.8, 2.3, 4.0]), "{theirs:?}");
    assert!(close(ours, [1.0, 2.0, 4.0]), "{ours:?}");
}
