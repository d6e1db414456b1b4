//! Whether and when a run has recovered: by first tries that succeed, or by a queue that is drained.

use stagger_core::{Instant, Ratio, Span};

use crate::plan::{FirstTriesRule, Recovery, RecoveryState};

/// The probe of a run's recovery, one kind for each rule.
#[derive(Clone, Debug)]
pub(crate) enum Recovering {
    /// The trouble lasts for the whole run.
    TroubleLasts,
    Drained(Drained),
    FirstTries(FirstTries),
}

impl Recovering {
    pub(crate) const fn new(edge: Instant, recovery: Recovery) -> Self {
        match recovery {
            Recovery::Drained => Self::Drained(Drained::new(edge)),
            Recovery::FirstTries(rule) => Self::FirstTries(FirstTries::new(edge, rule)),
        }
    }

    /// An outermost call begins.
    #[inline]
    pub(crate) fn arrived(&mut self, at: Instant) {
        if let Self::FirstTries(seen) = self {
            seen.count(at, 1, 0);
        }
    }

    /// The first attempt of the call that began at `started` succeeded.
    #[inline]
    pub(crate) fn first_try_succeeded(&mut self, started: Instant) {
        if let Self::FirstTries(seen) = self {
            seen.count(started, 0, 1);
        }
    }

    /// An outermost call is over.
    #[inline]
    pub(crate) fn over(&mut self, now: Instant, succeeded: bool) {
        if let Self::Drained(seen) = self {
            seen.over(now, succeeded);
        }
    }

    /// The verdict on a run of so many calls.
    pub(crate) fn verdict(&self, calls: u64) -> RecoveryState {
        match self {
            Self::TroubleLasts => RecoveryState::TroubleLasts,
            Self::Drained(seen) => seen.verdict(calls),
            Self::FirstTries(seen) => seen.verdict(),
        }
    }
}

/// Calls by their end, before the edge and after it.
#[derive(Clone, Debug)]
pub(crate) struct Drained {
    edge: Instant,
    over_before: u64,
    succeeded_after: u64,
    last_served: Option<Instant>,
}

impl Drained {
    pub(super) const fn new(edge: Instant) -> Self {
        Self { edge, over_before: 0, succeeded_after: 0, last_served: None }
    }

    #[inline]
    pub(super) fn over(&mut self, now: Instant, succeeded: bool) {
        let before = now < self.edge;
        self.over_before += u64::from(before);
        if succeeded && !before {
            self.succeeded_after += 1;
            self.last_served = Some(now);
        }
    }

    /// The verdict on a run of so many calls.
    pub(super) fn verdict(&self, calls: u64) -> RecoveryState {
        let Some(last) = self.last_served else { return RecoveryState::Never };
        // Calls that never end count as failed.
        let needed = u128::from(calls.saturating_sub(self.over_before))
            * u128::from(Recovery::DRAINED_SHARE.ppm());
        match u128::from(self.succeeded_after) * u128::from(Ratio::SCALE) >= needed {
            true => RecoveryState::Recovered(last - self.edge),
            false => RecoveryState::Never,
        }
    }
}

/// First attempts and their successes, in buckets of arrival time from the edge on.
///
/// The lab judges its runs by it, and a replay judges the log that it replays.
///
/// ```
/// use stagger_core::{Instant, Ratio, Span};
/// use stagger_sim::{FirstTries, FirstTriesRule, RecoveryState};
/// let rule = FirstTriesRule {
///     bucket: Span::from_secs(1),
///     row: 3,
///     share: Ratio::from_percent(99),
///     within: Span::from_secs(60),
/// };
/// let second = |second| Instant::ORIGIN + Span::from_secs(second);
/// let mut tries = FirstTries::new(second(10), rule);
/// for after in 0..10 {
///     // 100 calls arrive in each second; those of the first four seconds fail.
///     tries.count(second(10 + after), 100, if after < 4 { 0 } else { 100 });
/// }
/// assert_eq!(tries.verdict(), RecoveryState::Recovered(Span::from_secs(4)));
/// ```
#[derive(Clone, Debug)]
pub struct FirstTries {
    edge: Instant,
    rule: FirstTriesRule,
    /// The last arrival after the edge, counted from it.
    watched: Span,
    /// Arrivals and successes.
    buckets: Vec<(u64, u64)>,
}

/// Buckets kept: a rule that needs more of them looks at hours.
const MAX_BUCKETS: usize = 1 << 16;
/// First tries of a bucket: among fewer, one failure or success says too much.
const LEAST_TRIES: u64 = 20;

impl FirstTries {
    /// No first attempts yet; recovery is counted from `edge`.
    #[must_use]
    pub const fn new(edge: Instant, rule: FirstTriesRule) -> Self {
        Self { edge, rule, watched: Span::ZERO, buckets: Vec::new() }
    }

    /// Counts first attempts that arrived at `at`, and successes of those that did, in any order of
    /// time. What arrived before the edge does not count.
    #[inline]
    pub fn count(&mut self, at: Instant, arrived: u64, succeeded: u64) {
        let Some(bucket) = self.bucket(at) else { return };
        bucket.0 += arrived;
        bucket.1 += succeeded;
        if arrived > 0 {
            self.watched = self.watched.max(at - self.edge);
        }
    }

    /// The verdict by the first good row of buckets that lasts.
    #[must_use]
    pub fn verdict(&self) -> RecoveryState {
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

impl FirstTriesRule {
    /// Good buckets in a row; at least 1.
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
                seen.count(arrived, 1, 0);
                // Bucket 4 has 98 % only, so the row begins at the fifth.
                if bucket != 4 || call >= 2 {
                    seen.count(arrived, 0, 1);
                }
            }
        }
        assert_eq!(seen.verdict(), RecoveryState::Recovered(Span::from_millis(2_500)));
    }

    #[test]
    fn what_comes_before_the_edge_does_not_count() {
        let mut seen = watching(Instant::ORIGIN + Span::from_secs(1));
        seen.count(Instant::ORIGIN, 1, 0);
        assert_eq!(seen.verdict().recovered(), None);
    }

    /// A run of so many buckets of 100 first tries, of which those in `bad` all fail.
    fn seen(buckets: u64, bad: impl Fn(u64) -> bool) -> FirstTries {
        let mut seen = watching(Instant::ORIGIN);
        for bucket in 0..buckets {
            for call in 0..100 {
                let arrived = Instant::ORIGIN + Span::from_millis(500 * bucket + call);
                seen.count(arrived, 1, 0);
                if !bad(bucket) {
                    seen.count(arrived, 0, 1);
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
