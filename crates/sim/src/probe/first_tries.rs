//! When first attempts succeed again, by the time of their arrival.

use stagger_core::{Instant, Ratio, Span};

use crate::plan::RecoveryState;

/// First attempts and their successes, in buckets of arrival time from the edge on.
#[derive(Clone, Debug)]
pub(crate) struct FirstTries {
    edge: Instant,
    rule: Rule,
    /// The last arrival after the edge, counted from it.
    watched: Span,
    /// Arrivals and successes.
    buckets: Vec<(u64, u64)>,
}

/// The settings of `Recovery::FirstTries`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) bucket: Span,
    pub(super) row: u32,
    pub(super) share: Ratio,
    pub(super) within: Span,
}

/// Buckets kept: a rule that needs more of them looks at hours.
const MAX_BUCKETS: usize = 1 << 16;
/// First tries of a bucket: among fewer, one failure or success says too much.
const LEAST_TRIES: u64 = 20;

impl FirstTries {
    pub(super) const fn new(edge: Instant, rule: Rule) -> Self {
        Self { edge, rule, watched: Span::ZERO, buckets: Vec::new() }
    }

    #[inline]
    pub(super) fn arrived(&mut self, at: Instant) {
        if let Some(bucket) = self.bucket(at) {
            bucket.0 += 1;
            self.watched = at - self.edge;
        }
    }

    /// The first attempt of the call that arrived at `arrived` succeeded.
    #[inline]
    pub(super) fn succeeded(&mut self, arrived: Instant) {
        if let Some(bucket) = self.bucket(arrived) {
            bucket.1 += 1;
        }
    }

    /// The verdict by the first good row of buckets that lasts.
    pub(super) fn verdict(&self) -> RecoveryState {
        let rule = self.rule;
        let (starts, good): (Vec<usize>, Vec<bool>) = self.widened().into_iter().unzip();
        let start_of = |index: usize| starts.get(index).copied().unwrap_or(self.buckets.len());
        let after = |index: usize| rule.bucket.saturating_mul(start_of(index) as u64);
        let mut first = None;
        let mut from = 0;
        while let Some(start) = rule.good_row(&good, from) {
            if after(start) > rule.within {
                break;
            }
            let Some(end) = rule.relapse(&good, start) else {
                return RecoveryState::Recovered(after(start));
            };
            first = first.or(Some(after(start)));
            from = end;
        }
        match first {
            Some(seemed) => RecoveryState::Relapsed(seemed),
            None if self.watched < rule.within => RecoveryState::NotWithinWatch,
            None => RecoveryState::Never,
        }
    }

    /// The buckets with enough first tries: where each starts, and whether it is good.
    ///
    /// A bucket with too few is widened by those after it, so that an empty one decides nothing. What is
    /// left at the end has no verdict.
    fn widened(&self) -> Vec<(usize, bool)> {
        let mut wide = Vec::new();
        let (mut start, mut sum) = (0, (0, 0));
        for (index, &(arrived, succeeded)) in self.buckets.iter().enumerate() {
            sum = (sum.0 + arrived, sum.1 + succeeded);
            if sum.0 >= LEAST_TRIES {
                wide.push((start, self.rule.is_good(sum)));
                (start, sum) = (index + 1, (0, 0));
            }
        }
        wide
    }

    fn bucket(&mut self, at: Instant) -> Option<&mut (u64, u64)> {
        if at < self.edge {
            return None;
        }
        let index = (at - self.edge).as_nanos() / self.rule.bucket.as_nanos().max(1);
        let index = usize::try_from(index).ok().filter(|&index| index < MAX_BUCKETS)?;
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, (0, 0));
        }
        self.buckets.get_mut(index)
    }
}

impl Rule {
    /// How many in a row.
    const fn buckets(&self) -> usize {
        if self.row == 0 { 1 } else { self.row as usize }
    }

    fn is_good(&self, (arrived, succeeded): (u64, u64)) -> bool {
        let needed = u128::from(arrived) * u128::from(self.share.ppm());
        u128::from(succeeded) * u128::from(Ratio::SCALE) >= needed
    }

    /// The start of the first row of good buckets at or after `from`.
    fn good_row(&self, good: &[bool], from: usize) -> Option<usize> {
        let mut rows = good.get(from..)?.windows(self.buckets());
        rows.position(|row| row.iter().all(|&good| good)).map(|start| from + start)
    }

    /// The end of the first row after `start` of which half is bad.
    fn relapse(&self, good: &[bool], start: usize) -> Option<usize> {
        let row = self.buckets();
        let half_bad = |row: &[bool]| row.iter().filter(|&&good| !good).count() * 2 >= row.len();
        let mut rows = good.get(start..)?.windows(row);
        rows.position(half_bad).map(|offset| start + offset + row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Recovery;
    use crate::probe::Recovering;

    fn watching(edge: Instant) -> FirstTries {
        match Recovering::new(edge, Recovery::first_tries()) {
            Recovering::FirstTries(seen) => seen,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_row_of_good_buckets_is_a_recovery_and_one_bad_one_breaks_it() {
        let at = |ms| Instant::ORIGIN + Span::from_millis(ms);
        let mut seen = watching(at(1_000));
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
        assert_eq!(seen.verdict(), RecoveryState::Recovered(Span::from_millis(2_500)));
    }

    #[test]
    fn what_comes_before_the_edge_does_not_count() {
        let mut seen = watching(Instant::ORIGIN + Span::from_secs(1));
        seen.arrived(Instant::ORIGIN);
        assert_eq!(seen.verdict().recovered(), None);
    }

    /// A run of so many buckets of 100 first tries, of which those in `bad` all fail.
    fn seen(buckets: u64, bad: impl Fn(u64) -> bool) -> FirstTries {
        let mut seen = watching(Instant::ORIGIN);
        for bucket in 0..buckets {
            for call in 0..100 {
                let arrived = Instant::ORIGIN + Span::from_millis(500 * bucket + call);
                seen.arrived(arrived);
                if !bad(bucket) {
                    seen.succeeded(arrived);
                }
            }
        }
        seen
    }

    #[test]
    fn a_good_row_was_a_recovery_although_the_server_failed_again_for_ever() {
        let verdict = seen(200, |bucket| !(20..40).contains(&bucket)).verdict();
        assert_eq!(verdict, RecoveryState::Relapsed(Span::from_secs(10)));
    }

    #[test]
    fn a_run_that_relapses_and_comes_back_recovers_the_second_time() {
        let verdict = seen(200, |bucket| bucket < 20 || (40..60).contains(&bucket)).verdict();
        assert_eq!(verdict, RecoveryState::Recovered(Span::from_secs(30)));
    }

    #[test]
    fn a_short_dip_is_no_relapse() {
        let verdict = seen(200, |bucket| (50..54).contains(&bucket)).verdict();
        assert_eq!(verdict, RecoveryState::Recovered(Span::ZERO));
    }

    #[test]
    fn a_run_that_was_still_down_when_its_calls_ended_was_never_to_recover() {
        assert_eq!(seen(100, |_| true).verdict(), RecoveryState::NotWithinWatch);
        // 70 s without a good row are a verdict.
        assert_eq!(seen(141, |_| true).verdict(), RecoveryState::Never);
    }
}
