//! The backend's troubles, told from the outcomes of attempts.
//!
//! Attempts are counted in buckets wide enough for some 20 of them. Trouble begins with a bucket
//! whose failing share is 30 points above the usual one and that has three failures or more; it
//! is over when two buckets in a row are less than 10 points above it. Buckets of fewer than five
//! attempts neither begin nor end it, but 30 of them in a row do: then the last failure was its
//! end. The usual share is that of the best tenth of all buckets. Within the first and the last
//! bucket the edge is set to the first and the last 50 ms in which attempts failed.

use stagger_core::{Ratio, Span};
use stagger_sim::BUCKET;

use crate::cells::{BucketCounts, Cells, instant, share};
use crate::outage::{InferredOutage, OutageKind};

/// Attempts that a bucket should hold for its share to mean something.
const WANTED: u64 = 20;
/// Widths of buckets, in steps of 50 ms: 0.1 s to a minute.
const WIDTHS: [usize; 9] = [2, 4, 10, 20, 40, 100, 200, 600, 1_200];
/// Fewer attempts than this are no evidence.
const FEWEST: u32 = 5;
/// Fewer failures than this begin nothing: with 5 % failing anyway, 7 of 20 by chance are one
/// bucket in 30 000.
const FEWEST_FAILURES: u32 = 3;
/// The part of those points above the usual share that is no longer trouble.
const LEAVE: u32 = 3;
/// The share that is trouble in a log of which nearly everything fails.
const ENTER_AT_MOST: Ratio = Ratio::from_percent(90);
const LEAVE_AT_MOST: Ratio = Ratio::from_percent(70);
/// Good buckets in a row that end it.
const GOOD: usize = 2;
/// Buckets with too little traffic in a row that end it.
const QUIET: usize = 30;
/// From this share on, an outage is one of everything.
const NEARLY_ALL: Ratio = Ratio::from_percent(90);

/// The width of buckets and the failing shares of trouble, for one log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutageRule {
    /// Buckets of 50 ms in one of these.
    pub(crate) buckets: usize,
    enter: Ratio,
    leave: Ratio,
}

impl OutageRule {
    /// The rule for this log, whose stamps are `grain` apart.
    pub(crate) fn new(cells: &Cells, grain: Span, points: Ratio) -> Self {
        let attempts: u64 = cells.sums(1_200).iter().map(|cell| u64::from(cell.attempts)).sum();
        let seconds = cells.busy_seconds().max(1);
        let is_enough = |&buckets: &usize| {
            let width = BUCKET.saturating_mul(buckets as u64);
            let wanted = u128::from(WANTED) * u128::from(seconds) * 1_000_000_000;
            width >= grain && u128::from(attempts) * u128::from(width.as_nanos()) >= wanted
        };
        let buckets = WIDTHS.into_iter().find(is_enough).unwrap_or(WIDTHS[WIDTHS.len() - 1]);
        let usual = usual(&cells.sums(buckets)).ppm();
        let above = |points: Ratio, most: Ratio| {
            Ratio::from_ppm(usual.saturating_add(points.ppm()).min(most.ppm()))
        };
        let leave = Ratio::from_ppm(points.ppm() / LEAVE);
        let (enter, leave) = (above(points, ENTER_AT_MOST), above(leave, LEAVE_AT_MOST));
        Self { buckets, enter, leave }
    }

    /// The width of a bucket.
    pub(crate) fn width(&self) -> Span {
        BUCKET.saturating_mul(self.buckets as u64)
    }

    fn begins(&self, sum: &BucketCounts) -> bool {
        sum.attempts >= FEWEST && sum.bad() >= FEWEST_FAILURES && sum.failing() >= self.enter
    }

    fn goes_on(&self, sum: &BucketCounts) -> bool {
        sum.bad() > 0 && sum.failing() >= self.leave
    }
}

/// All stretches of a log in which attempts failed.
pub(crate) fn find(cells: &Cells, rule: &OutageRule, grain: Span) -> Vec<InferredOutage> {
    let stretches = stretches(&cells.sums(rule.buckets), rule);
    stretches.into_iter().map(|stretch| outage(cells, rule, stretch, grain)).collect()
}

/// The usual failing share: that of the best tenth of the buckets with traffic.
pub(crate) fn usual(sums: &[BucketCounts]) -> Ratio {
    let busy = sums.iter().filter(|sum| sum.attempts >= FEWEST);
    let mut shares: Vec<Ratio> = busy.map(BucketCounts::failing).collect();
    shares.sort_unstable();
    shares.get(shares.len() / 10).copied().unwrap_or(Ratio::ZERO)
}

/// First and last bucket of each stretch, and whether the log ended in it.
fn stretches(sums: &[BucketCounts], rule: &OutageRule) -> Vec<(usize, usize, bool)> {
    let mut all: Vec<(usize, usize, bool)> = Vec::new();
    // First and last bad bucket, and the good ones since.
    let mut now: Option<(usize, usize, usize)> = None;
    for (index, sum) in sums.iter().enumerate() {
        let Some((first, last, good)) = &mut now else {
            if rule.begins(sum) {
                let floor = all.last().map_or(0, |&(_, last, _)| last + 1);
                let before = (floor..index).rev().take_while(|&at| rule.goes_on(&sums[at]));
                now = Some((before.last().unwrap_or(index), index, 0));
            }
            continue;
        };
        if rule.goes_on(sum) {
            (*last, *good) = (index, 0);
        } else if sum.attempts >= FEWEST {
            *good += 1;
        }
        if *good >= GOOD || index - *last >= QUIET {
            all.push((*first, *last, false));
            now = None;
        }
    }
    all.extend(now.map(|(first, last, good)| (first, last, good == 0)));
    all
}

fn outage(
    cells: &Cells,
    rule: &OutageRule,
    stretch: (usize, usize, bool),
    grain: Span,
) -> InferredOutage {
    let (first, last, open) = stretch;
    let place = |bucket: usize| instant(bucket * rule.buckets);
    let is_bad = |cell: &BucketCounts| rule.goes_on(cell);
    let edge = |bucket| cells.within(place(bucket), place(bucket + 1));
    let skipped = edge(first).iter().position(is_bad).unwrap_or(0);
    let kept = edge(last).iter().rposition(is_bad).map_or(rule.buckets, |at| at + 1);
    let from = instant(first * rule.buckets + skipped);
    let until = instant(last * rule.buckets + kept).min(cells.end());
    let sum = BucketCounts::sum(cells.within(from, until));
    let edge = if grain > BUCKET { grain } else { rule.width() };
    InferredOutage {
        from,
        until,
        kind: kind(&sum),
        attempts: sum.attempts,
        failed: sum.bad(),
        edge,
        open,
        stated: false,
    }
}

/// The kind of failure in a stretch of these counts.
pub(crate) fn kind(sum: &BucketCounts) -> OutageKind {
    match sum.failing() {
        share if share < NEARLY_ALL => OutageKind::Failing(share),
        _ if share(sum.hung, sum.bad()) > Ratio::from_percent(50) => OutageKind::Hung,
        _ => OutageKind::Refused,
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::Instant;

    use super::*;
    use crate::logged_attempt::LoggedOutcome;

    const POINTS: Ratio = Ratio::from_percent(30);

    /// Attempts every `every` ms for `seconds`; `fails` says what those at a millisecond come to.
    fn cells(every: u64, seconds: u64, answer: impl Fn(u64) -> LoggedOutcome) -> Cells {
        let mut cells = Cells::default();
        for ms in (0..seconds * 1_000).step_by(usize::try_from(every).unwrap()) {
            let at = Instant::ORIGIN + Span::from_millis(ms);
            cells.count(at, answer(ms), true);
        }
        cells
    }

    fn found(cells: &Cells) -> Vec<(u64, u64, OutageKind)> {
        let grain = Span::from_millis(1);
        let all = find(cells, &OutageRule::new(cells, grain, POINTS), grain);
        let millis = |at: Instant| at.as_nanos() / 1_000_000;
        all.iter().map(|o| (millis(o.from), millis(o.until), o.kind)).collect()
    }

    #[test]
    fn edges_are_found_to_50_ms_where_there_is_traffic() {
        let refused = |ms| {
            if (7_230..9_480).contains(&ms) { LoggedOutcome::Failed } else { LoggedOutcome::Served }
        };
        assert_eq!(found(&cells(2, 60, refused)), [(7_200, 9_500, OutageKind::Refused)]);
        let hung = |ms| {
            if (7_230..9_480).contains(&ms) { LoggedOutcome::Hung } else { LoggedOutcome::Served }
        };
        assert_eq!(found(&cells(2, 60, hung)), [(7_200, 9_500, OutageKind::Hung)]);
    }

    #[test]
    fn a_dip_within_an_outage_does_not_cut_it_in_two() {
        let dip = |ms| {
            let is_up = !(10_000..20_000).contains(&ms) || (15_000..15_100).contains(&ms);
            if is_up { LoggedOutcome::Served } else { LoggedOutcome::Failed }
        };
        assert_eq!(found(&cells(5, 60, dip)), [(10_000, 20_000, OutageKind::Refused)]);
    }

    #[test]
    fn one_bad_server_of_three_is_a_share() {
        let third = |ms: u64| {
            let fails = (20_000..40_000).contains(&ms) && (ms / 2).is_multiple_of(3);
            if fails { LoggedOutcome::Failed } else { LoggedOutcome::Served }
        };
        let all = found(&cells(2, 60, third));
        let [(20_000, 40_000, OutageKind::Failing(share))] = all[..] else { panic!("{all:?}") };
        assert!(share.ppm().abs_diff(333_333) < 2_000, "{share}");
    }

    #[test]
    fn failures_that_are_always_there_are_no_outage() {
        let twentieth = |ms: u64| {
            if ms.is_multiple_of(20) { LoggedOutcome::Failed } else { LoggedOutcome::Served }
        };
        assert_eq!(found(&cells(1, 60, twentieth)), []);
        // Scattered by a hash instead of evenly.
        let scattered = |ms: u64| {
            let word = ms.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            if word.is_multiple_of(20) { LoggedOutcome::Failed } else { LoggedOutcome::Served }
        };
        assert_eq!(found(&cells(50, 7_200, scattered)), []);
    }

    #[test]
    fn little_traffic_makes_wide_buckets_and_a_few_failures_no_outage() {
        let night = |ms| {
            if ms == 600_000 || ms == 1_200_000 {
                LoggedOutcome::Failed
            } else {
                LoggedOutcome::Served
            }
        };
        assert_eq!(found(&cells(10_000, 7_200, night)), []);
        let down = |ms| {
            if (3_600_000..4_200_000).contains(&ms) {
                LoggedOutcome::Failed
            } else {
                LoggedOutcome::Served
            }
        };
        let all = found(&cells(10_000, 7_200, down));
        assert_eq!(all, [(3_600_000, 4_190_050, OutageKind::Refused)]);
    }

    #[test]
    fn a_log_that_ends_or_begins_in_trouble_says_so() {
        let down = |ms| {
            if (5_000..50_000).contains(&ms) {
                LoggedOutcome::Served
            } else {
                LoggedOutcome::Failed
            }
        };
        let cells = cells(2, 60, down);
        let grain = Span::from_millis(1);
        let all = find(&cells, &OutageRule::new(&cells, grain, POINTS), grain);
        let shape: Vec<_> = all.iter().map(|o| (o.from.as_nanos(), o.open)).collect();
        assert_eq!(shape, [(0, false), (50_000_000_000, true)]);
    }

    #[test]
    fn a_log_in_which_everything_fails_is_one_outage() {
        assert_eq!(
            found(&cells(10, 20, |_| LoggedOutcome::Failed)),
            [(0, 20_000, OutageKind::Refused)]
        );
        assert_eq!(found(&Cells::default()), []);
    }
}
