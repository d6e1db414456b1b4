//! Stretches in which attempts were served, but slowly.
//!
//! A second is slow when the median of its durations lies two doublings or more above that of the
//! whole log. Three slow seconds in a row are a slow stretch, and two others in a row end it;
//! seconds of fewer than five attempts do not count.

use stagger_core::{Instant, Ratio, Span};

use crate::cells::{BucketCounts, Cells, Durations};
use crate::outage::{InferredOutage, OutageKind};

/// Fewer durations than this are no evidence.
const FEWEST: u64 = 5;
/// Doublings above the usual median: four times as long.
const ABOVE: usize = 2;
/// Slow seconds that are a stretch.
const LEAST: usize = 3;
/// Other seconds in a row that end one.
const OTHERS: usize = 2;

/// All slow stretches of a log.
pub(crate) fn find(cells: &Cells) -> Vec<InferredOutage> {
    let seconds = cells.seconds();
    let mut whole = Durations::default();
    seconds.iter().for_each(|second| whole.merge(second));
    let Some(usual) = whole.median() else { return Vec::new() };
    let is_slow = |second: &Durations| second.median().is_some_and(|own| own >= usual + ABOVE);
    let mut stretches: Vec<(usize, usize)> = Vec::new();
    let mut others = OTHERS;
    for (at, second) in seconds.iter().enumerate().filter(|(_, second)| second.count() >= FEWEST) {
        match stretches.last_mut() {
            Some((_, end)) if is_slow(second) && others < OTHERS => (*end, others) = (at + 1, 0),
            _ if is_slow(second) => {
                stretches.push((at, at + 1));
                others = 0;
            }
            _ => others += 1,
        }
    }
    let long = stretches.into_iter().filter(|(first, end)| end - first >= LEAST);
    long.map(|stretch| outage(cells, stretch, usual)).collect()
}

fn outage(cells: &Cells, (first, end): (usize, usize), usual: usize) -> InferredOutage {
    let place = |second: usize| Instant::ORIGIN + Span::from_secs(second as u64);
    let (from, until) = (place(first), place(end).min(cells.end()));
    let mut within = Durations::default();
    cells.seconds()[first..end].iter().for_each(|second| within.merge(second));
    let doublings = within.median().unwrap_or(usual).saturating_sub(usual);
    // OK because there are 20 doublings, and a ratio holds 4294 times as long.
    let times = Ratio::from_percent(100_u32.saturating_mul(1 << doublings.min(11)));
    let sum = BucketCounts::sum(cells.within(from, until));
    InferredOutage {
        from,
        until,
        kind: OutageKind::Slow(times),
        attempts: sum.attempts,
        failed: sum.bad(),
        edge: Span::from_secs(1),
        open: until == cells.end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logged_outcome::LoggedOutcome;

    fn found(slow: impl Fn(u64) -> bool) -> Vec<(u64, u64, OutageKind)> {
        let mut cells = Cells::default();
        for ms in (0..60_000).step_by(20) {
            let at = Instant::ORIGIN + Span::from_millis(ms);
            cells.count(at, LoggedOutcome::Served, true);
            cells.served(at, Span::from_millis(if slow(ms / 1_000) { 80 } else { 10 }));
        }
        let seconds = |at: Instant| at.as_nanos() / 1_000_000_000;
        find(&cells).iter().map(|o| (seconds(o.from), seconds(o.until), o.kind)).collect()
    }

    #[test]
    fn eight_times_as_long_for_a_while_is_a_slow_stretch() {
        let eight = OutageKind::Slow(Ratio::from_percent(800));
        assert_eq!(found(|second| (20..30).contains(&second)), [(20, 30, eight)]);
        // One good second within does not cut it.
        assert_eq!(found(|second| (20..30).contains(&second) && second != 25), [(20, 30, eight)]);
    }

    #[test]
    fn a_slow_second_now_and_then_is_none() {
        assert_eq!(found(|second| second % 10 == 0), []);
    }
}
