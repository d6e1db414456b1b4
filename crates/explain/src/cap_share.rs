//! The share of delays that sit exactly on the cap.

use stagger_core::Backoff;

use crate::CapShare;
use crate::chance::words;

/// Calls of the sample: shares are known to within a hundredth.
const CALLS: u32 = 4_000;

/// The share of the first `retries` delays of calls that sit on the cap, from a sample.
pub(crate) fn cap_share(rule: &Backoff, retries: u32) -> CapShare {
    let (mut all, mut last) = (0_u32, 0_u32);
    for call in 0..CALLS {
        let mut entropy = words(call);
        let mut prev = rule.base();
        for k in 1..=retries {
            prev = rule.delay(k, prev, &mut entropy);
            let on_cap = prev == rule.cap();
            all += u32::from(on_cap);
            last += u32::from(on_cap && k == retries);
        }
    }
    let calls = f64::from(CALLS);
    CapShare {
        of_all: f64::from(all) / (calls * f64::from(retries.max(1))),
        of_last: f64::from(last) / calls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stagger_core::{Jitter, Span};

    #[test]
    fn the_published_share_is_found() {
        let rule = Backoff::exponential(Span::from_secs(1), Span::from_secs(60)).expect("valid");
        let clamped = rule.with_jitter(Jitter::DecorrelatedClamped).expect("valid");
        let share = cap_share(&clamped, 12);
        assert!((0.27..0.31).contains(&share.of_last), "29 % by retry 12: {share:?}");
        let within = rule.with_jitter(Jitter::Decorrelated).expect("valid");
        assert_eq!(cap_share(&within, 12).of_all, 0.0);
    }
}
