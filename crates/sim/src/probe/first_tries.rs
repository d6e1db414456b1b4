//! When first attempts succeed again, by the time of their arrival.

use stagger_core::{Instant, Ratio, Span};

use crate::plan::Recovery;

/// First attempts and their successes, in buckets of arrival time from the edge on.
#[derive(Clone, Debug)]
pub(crate) struct FirstTries {
    edge: Instant,
    rule: Option<Rule>,
    /// Arrivals and successes.
    buckets: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    bucket: Span,
    row: usize,
    share: Ratio,
    within: Span,
}

/// Buckets kept: a rule that needs more of them looks at hours.
const MAX_BUCKETS: usize = 1 << 16;

impl FirstTries {
    pub(crate) const fn new(edge: Instant, recovery: Recovery) -> Self {
        let rule = match recovery {
            Recovery::Drained => None,
            Recovery::FirstTries { bucket, row, share, within } => {
                Some(Rule { bucket, row: row as usize, share, within })
            }
        };
        Self { edge, rule, buckets: Vec::new() }
    }

    #[inline]
    pub(crate) fn arrived(&mut self, at: Instant) {
        if let Some(bucket) = self.bucket(at) {
            bucket.0 += 1;
        }
    }

    /// The first attempt of the call that arrived at `arrived` succeeded.
    #[inline]
    pub(crate) fn succeeded(&mut self, arrived: Instant) {
        if let Some(bucket) = self.bucket(arrived) {
            bucket.1 += 1;
        }
    }

    /// The start of the first good row of buckets, counted from the edge.
    pub(crate) fn recovered(&self) -> Option<Span> {
        let rule = self.rule?;
        let good = |&(arrived, succeeded): &(u64, u64)| {
            let needed = u128::from(arrived) * u128::from(rule.share.ppm());
            arrived > 0 && u128::from(succeeded) * u128::from(Ratio::SCALE) >= needed
        };
        let good: Vec<bool> = self.buckets.iter().map(good).collect();
        let start = good.windows(rule.row).position(|row| row.iter().all(|&good| good))?;
        let after = rule.bucket.saturating_mul(start as u64);
        (after <= rule.within).then_some(after)
    }

    fn bucket(&mut self, at: Instant) -> Option<&mut (u64, u64)> {
        let rule = self.rule?;
        if at < self.edge {
            return None;
        }
        let index = (at - self.edge).as_nanos() / rule.bucket.as_nanos().max(1);
        let index = usize::try_from(index).ok().filter(|&index| index < MAX_BUCKETS)?;
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, (0, 0));
        }
        self.buckets.get_mut(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_good_buckets_is_a_recovery_and_one_bad_one_breaks_it() {
        let at = |ms| Instant::ORIGIN + Span::from_millis(ms);
        let mut seen = FirstTries::new(at(1_000), Recovery::first_tries());
        for bucket in 0..20 {
            for call in 0..100 {
                let arrived = at(1_000 + 500 * bucket + call);
                seen.arrived(arrived);
                // Bucket 4 has 98 % only, so the row begins at the fifth.
                if bucket != 4 || call >= 2 {
                    seen.succeeded(arrived);
                }
            }
        }
        assert_eq!(seen.recovered(), Some(Span::from_millis(2_500)));
    }

    #[test]
    fn what_comes_before_the_edge_does_not_count() {
        let mut seen =
            FirstTries::new(Instant::ORIGIN + Span::from_secs(1), Recovery::first_tries());
        seen.arrived(Instant::ORIGIN);
        assert_eq!(seen.recovered(), None);
    }
}
