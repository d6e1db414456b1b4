//! Failures of a small share of attempts that last: one bad server of five, one bad path of ten.
//!
//! A few per cent more than usual mean nothing among 20 attempts, and a lot among thousands. So buckets of
//! 200 attempts and 5 s at least are compared with the usual share, and two of them in a row that are
//! some points (10) and six standard errors above it are trouble.

use stagger_core::{Ratio, Span};
use stagger_sim::BUCKET;

use crate::cells::{BucketCounts, Cells, instant};
use crate::failing;
use crate::outage::InferredOutage;

/// Attempts in a bucket.
const WANTED: u64 = 200;
/// The shortest bucket, in steps of 50 ms.
const SHORTEST: u64 = 100;
/// The longest one: 10 minutes.
const LONGEST: u64 = 12_000;
/// Buckets in a row that are trouble.
const ROW: usize = 2;
/// Standard errors above the usual share.
const ERRORS: f64 = 6.0;
/// The least share that an error is taken of: without a failure so far it is not zero.
const LEAST_SHARE: f64 = 0.01;
/// Steps around an edge in which the share decides where it lies: 2 s.
const EDGE: usize = 40;

/// The stretches of a log in which this many points more than usual failed for long.
pub(crate) fn find(cells: &Cells, points: Ratio) -> Vec<InferredOutage> {
    let attempts: u64 = cells.all().iter().map(|cell| u64::from(cell.attempts)).sum();
    let steps = 20 * cells.busy_seconds();
    let wide = (WANTED * steps).checked_div(attempts).unwrap_or(LONGEST).clamp(SHORTEST, LONGEST);
    // OK because it is 12 000 at most.
    let wide = usize::try_from(wide).unwrap_or(usize::MAX);
    let sums = cells.sums(wide);
    let usual = failing::usual(&sums).as_f64();
    let is_bad = |sum: &BucketCounts| is_above(sum, usual, points.as_f64());
    let rows = rows(&sums.iter().map(is_bad).collect::<Vec<bool>>());
    rows.into_iter().filter_map(|row| outage(cells, row, wide, usual)).collect()
}

fn is_above(sum: &BucketCounts, usual: f64, points: f64) -> bool {
    let count = f64::from(sum.attempts);
    let share = usual.max(LEAST_SHARE);
    let error = (share * (1.0 - share) / count.max(1.0)).sqrt();
    let above = sum.failing().as_f64() - usual;
    u64::from(sum.attempts) >= WANTED / 4 && above >= points && above >= ERRORS * error
}

/// First and last place of every row of bad ones that is long enough.
fn rows(bad: &[bool]) -> Vec<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = Vec::new();
    for at in (0..bad.len()).filter(|&at| bad[at]) {
        match all.last_mut() {
            Some((_, last)) if *last + 1 == at => *last = at,
            _ => all.push((at, at)),
        }
    }
    all.retain(|(first, last)| last - first + 1 >= ROW);
    all
}

/// The stretch of a row, with its edges where half of its excess is reached.
fn outage(
    cells: &Cells,
    (first, last): (usize, usize),
    wide: usize,
    usual: f64,
) -> Option<InferredOutage> {
    let all = cells.all();
    let (from, until) = (first.saturating_sub(1) * wide, ((last + 2) * wide).min(all.len()));
    let row = &all[first * wide..((last + 1) * wide).min(all.len())];
    let half = f64::midpoint(usual, BucketCounts::sum(row).failing().as_f64());
    let is_over = |cells: &[BucketCounts]| BucketCounts::sum(cells).failing().as_f64() >= half;
    let ahead = |at: usize| &all[at..(at + EDGE).min(all.len())];
    let behind = |at: usize| &all[(at + 1).saturating_sub(EDGE)..=at];
    let start = (from..until).find(|&at| all[at].bad() > 0 && is_over(ahead(at)))?;
    let end = (start..until).rev().find(|&at| all[at].bad() > 0 && is_over(behind(at)))? + 1;
    let sum = BucketCounts::sum(&all[start..end]);
    Some(InferredOutage {
        from: instant(start),
        until: instant(end),
        kind: failing::kind(&sum),
        attempts: sum.attempts,
        failed: sum.bad(),
        edge: BUCKET.saturating_mul(EDGE as u64 / 2),
        open: end + EDGE >= all.len(),
        stated: false,
    })
}

/// The stretches of at least this length in which nothing was logged, though 50 attempts would have come
/// at the rate of the minute before and at that of the minute after.
pub(crate) fn holes(cells: &Cells, least: Span) -> Vec<InferredOutage> {
    let all = cells.all();
    let mut found = Vec::new();
    let mut empty = 0;
    for at in 0..all.len() {
        if all[at].attempts == 0 {
            empty += 1;
            continue;
        }
        let length = BUCKET.saturating_mul(empty as u64);
        if empty > 0 && length >= least && is_missed(all, at - empty, at) {
            found.push(hole(at - empty, at));
        }
        empty = 0;
    }
    found
}

/// Steps in a minute.
const MINUTE: usize = 1_200;
/// Attempts that would have come: by chance none of so many comes once in 10^21 times.
const MISSED: u64 = 50;

fn is_missed(all: &[BucketCounts], from: usize, until: usize) -> bool {
    let sides =
        [&all[from.saturating_sub(MINUTE)..from], &all[until..(until + MINUTE).min(all.len())]];
    let expected = sides.map(|side| {
        let count: u64 = side.iter().map(|cell| u64::from(cell.attempts)).sum();
        (count * (until - from) as u64).checked_div(side.len() as u64).unwrap_or(0)
    });
    expected.into_iter().all(|expected| expected >= MISSED)
}

fn hole(from: usize, until: usize) -> InferredOutage {
    InferredOutage {
        from: instant(from),
        until: instant(until),
        kind: crate::outage::OutageKind::Silent,
        attempts: 0,
        failed: 0,
        edge: BUCKET,
        open: false,
        stated: false,
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::Instant;

    use super::*;
    use crate::logged_attempt::LoggedOutcome;
    use crate::outage::OutageKind;

    /// 200 attempts a second for five minutes; `answer` is none where nothing is logged.
    fn cells(answer: impl Fn(u64) -> Option<LoggedOutcome>) -> Cells {
        let mut cells = Cells::default();
        for ms in (0..300_000).step_by(5) {
            let at = Instant::ORIGIN + Span::from_millis(ms);
            answer(ms).into_iter().for_each(|answer| assert!(cells.count(at, answer, true)));
        }
        cells
    }

    fn fails(share: u64, ms: u64) -> bool {
        (ms.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % 100 < share
    }

    fn failing(share: impl Fn(u64) -> u64) -> Cells {
        cells(|ms| {
            let failed = fails(share(ms), ms);
            Some(if failed { LoggedOutcome::Failed } else { LoggedOutcome::Served })
        })
    }

    #[test]
    fn a_fifth_that_failed_for_a_minute_was_below_the_threshold() {
        let bad = |ms| if (120_000..180_000).contains(&ms) { 20 } else { 1 };
        let all = find(&failing(bad), Ratio::from_percent(10));
        let [outage] = all[..] else { panic!("{all:?}") };
        let OutageKind::Failing(share) = outage.kind else { panic!("{outage:?}") };
        assert!((share.as_f64() - 0.2).abs() < 0.03, "{share}");
        let seconds = |at: Instant| (at - Instant::ORIGIN).as_secs_f64();
        assert!((seconds(outage.from) - 120.0).abs() < 2.0, "{outage:?}");
        assert!((seconds(outage.until) - 180.0).abs() < 2.0, "{outage:?}");
    }

    #[test]
    fn what_fails_all_the_time_or_for_a_moment_is_no_trouble() {
        assert_eq!(find(&failing(|_| 15), Ratio::from_percent(10)), []);
        let moment = |ms| if (120_000..122_000).contains(&ms) { 20 } else { 1 };
        assert_eq!(find(&failing(moment), Ratio::from_percent(10)), []);
        assert_eq!(find(&Cells::default(), Ratio::from_percent(10)), []);
    }

    #[test]
    fn a_minute_without_a_line_is_a_hole_and_a_quiet_log_has_none() {
        let silent =
            cells(|ms| (!(100_000..160_000).contains(&ms)).then_some(LoggedOutcome::Served));
        let found = holes(&silent, Span::from_secs(10));
        let [hole] = found[..] else { panic!("{found:?}") };
        assert_eq!(hole.length(), Span::from_secs(60));
        assert_eq!(hole.kind, OutageKind::Silent);
        assert_eq!(holes(&silent, Span::from_secs(61)), []);
        let quiet = cells(|ms| ms.is_multiple_of(20_000).then_some(LoggedOutcome::Served));
        assert_eq!(holes(&quiet, Span::from_secs(10)), []);
    }
}
