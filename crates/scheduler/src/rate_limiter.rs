//! A rate limiter: the generic cell rate algorithm (ITU-T I.371).

use stagger_core::{Instant, Span};

/// Allows calls at intervals; late calls may catch up, by the slack at most.
///
/// In any window of length `w` it lets through at most `1 + (w + slack) / interval`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateLimiter {
    /// The theoretical arrival time: the time of the next call if all calls had come exactly at the
    /// rate.
    next: Instant,
}

impl RateLimiter {
    /// A limiter whose slack is used up: the next call is allowed one interval from now. For a
    /// caller that does not know how many calls were made.
    pub(super) fn spent(now: Instant, interval: Span, slack: Span) -> Self {
        Self { next: now + slack + interval }
    }

    /// From when on the next one may pass.
    pub(super) fn opens(self, slack: Span) -> Instant {
        Instant::from_nanos(self.next.as_nanos().saturating_sub(slack.as_nanos()))
    }

    /// One passes; the next comes after `interval`.
    pub(super) fn permit(&mut self, now: Instant, interval: Span) {
        self.next = self.next.max(now) + interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A bucket of tokens counted in nanoseconds of credit: the plain way to say the same.
    struct ReferenceBucket {
        credit: u128,
        at: Instant,
    }

    impl ReferenceBucket {
        fn permit(&mut self, now: Instant, interval: Span, slack: Span) -> bool {
            let full = u128::from((interval + slack).as_nanos());
            self.credit = (self.credit + u128::from((now - self.at).as_nanos())).min(full);
            self.at = now;
            let cost = u128::from(interval.as_nanos());
            let may = self.credit >= cost;
            self.credit -= if may { cost } else { 0 };
            may
        }
    }

    proptest! {
        #[test]
        fn the_gate_is_a_bucket_that_starts_full(
            interval in 1_u64..1_000,
            slack in 0_u64..5_000,
            gaps in prop::collection::vec(0_u64..2_000, 1..200),
        ) {
            let (interval, slack) = (Span::from_nanos(interval), Span::from_nanos(slack));
            let mut rate_limiter = RateLimiter::default();
            let mut now = Instant::from_nanos(1_000_000);
            let mut bucket = ReferenceBucket { credit: u128::MAX / 2, at: now };
            for gap in gaps {
                now = now + Span::from_nanos(gap);
                let open = rate_limiter.opens(slack) <= now;
                prop_assert_eq!(open, bucket.permit(now, interval, slack));
                if open {
                    rate_limiter.permit(now, interval);
                }
            }
        }

        #[test]
        fn no_window_has_more_than_its_share(
            interval in 1_u64..1_000,
            slack in 0_u64..5_000,
            gaps in prop::collection::vec(0_u64..500, 1..200),
        ) {
            let mut rate_limiter = RateLimiter::default();
            let (mut now, mut passed) = (1_000_000_u64, Vec::new());
            for gap in gaps {
                now += gap;
                let at = Instant::from_nanos(now);
                if rate_limiter.opens(Span::from_nanos(slack)) <= at {
                    rate_limiter.permit(at, Span::from_nanos(interval));
                    passed.push(now);
                }
            }
            for (i, from) in passed.iter().enumerate() {
                for (count, to) in passed[i..].iter().enumerate() {
                    prop_assert!(count as u64 <= (to - from + slack) / interval);
                }
            }
        }
    }
}
