//! A stretch of trouble in a log, and those in which attempts were served, but slowly.
//!
//! A second is slow when the median of its durations is four times that of the whole log, or more. Three slow seconds in a row are a slow stretch, and two others in a row end it;
//! seconds of fewer than five attempts do not count.

use stagger_core::{Instant, Ratio, Span};

use crate::cells::{BucketCounts, Cells};
use crate::durations;
use crate::durations::Durations;

/// A stretch of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InferredOutage {
    /// The start, counted from the start of the log.
    pub from: Instant,
    /// The end.
    pub until: Instant,
    /// The kind of trouble.
    pub kind: OutageKind,
    /// Attempts that began in it.
    pub attempts: u32,
    /// Attempts among them that failed.
    pub failed: u32,
    /// The possible error of its edges.
    pub edge: Span,
    /// Whether it was still going on when the log ended.
    pub open: bool,
    /// Whether it was stated by the user, and not inferred from the log.
    pub stated: bool,
}

/// The kinds of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageKind {
    /// Nearly all attempts failed, and heard so soon.
    Refused,
    /// Nearly all attempts failed, and most of them waited in vain.
    Hung,
    /// This share of attempts failed: some of several servers, or one of several causes.
    Failing(Ratio),
    /// Attempts were served, but took about this many times as long as usual.
    Slow(Ratio),
    /// Nothing was logged, though attempts came before and after.
    Silent,
}

impl InferredOutage {
    /// Its length.
    #[must_use]
    pub fn length(&self) -> Span {
        self.until - self.from
    }

    /// Whether attempts failed in it.
    #[must_use]
    pub const fn has_failures(&self) -> bool {
        matches!(self.kind, OutageKind::Refused | OutageKind::Hung | OutageKind::Failing(_))
    }
}

/// Fewer durations than this are no evidence.
const FEWEST: u32 = 5;
/// Slow seconds that are a stretch.
const LEAST: usize = 3;
/// Other seconds in a row that end one.
const OTHERS: usize = 2;

/// All stretches of a log whose seconds take this many times as long as usual.
pub(crate) fn find(cells: &Cells, factor: Ratio) -> Vec<InferredOutage> {
    let seconds = cells.seconds();
    let Some(usual) = durations::median(seconds.iter()) else { return Vec::new() };
    let bound = factor.of_span(usual);
    let is_slow = |second: &Durations| second.median().is_some_and(|own| own >= bound);
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
    stretches.retain(|(first, end)| end - first >= LEAST);
    let is_usual = |at: &usize| !stretches.iter().any(|(first, end)| (*first..*end).contains(at));
    let others = (0..seconds.len()).filter(is_usual).map(|at| &seconds[at]);
    let usual = durations::median(others).unwrap_or(usual);
    stretches.into_iter().map(|stretch| outage(cells, stretch, usual)).collect()
}

fn outage(cells: &Cells, (first, end): (usize, usize), usual: Span) -> InferredOutage {
    let place = |second: usize| Instant::ORIGIN + Span::from_secs(second as u64);
    let (from, until) = (place(first), place(end).min(cells.end()));
    let within = durations::median(cells.seconds()[first..end].iter()).unwrap_or(usual);
    let sum = BucketCounts::sum(cells.within(from, until));
    InferredOutage {
        from,
        until,
        kind: OutageKind::Slow(times(within, usual)),
        attempts: sum.attempts,
        failed: sum.bad(),
        edge: Span::from_secs(1),
        open: until == cells.end(),
        stated: false,
    }
}

/// `within / usual`, as far as a ratio holds it.
pub(crate) fn times(within: Span, usual: Span) -> Ratio {
    let parts = u128::from(within.as_nanos()) * u128::from(Ratio::SCALE);
    let times = parts / u128::from(usual.as_nanos().max(1));
    Ratio::from_ppm(u32::try_from(times).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logged_attempt::LoggedOutcome;

    fn found(ms: u64, slow: impl Fn(u64) -> bool) -> Vec<(u64, u64, OutageKind)> {
        let mut cells = Cells::default();
        for at_ms in (0..60_000).step_by(20) {
            let at = Instant::ORIGIN + Span::from_millis(at_ms);
            cells.count(at, LoggedOutcome::Served, true);
            cells.served(at, Span::from_millis(if slow(at_ms / 1_000) { ms } else { 10 }));
        }
        let seconds = |at: Instant| at.as_nanos() / 1_000_000_000;
        let found = find(&cells, Ratio::from_percent(400));
        found.iter().map(|o| (seconds(o.from), seconds(o.until), o.kind)).collect()
    }

    #[test]
    fn a_factor_was_rounded_to_a_power_of_two() {
        for times in [5, 8, 20] {
            let kind = OutageKind::Slow(Ratio::from_percent(100 * times));
            let ms = u64::from(10 * times);
            assert_eq!(found(ms, |second| (20..30).contains(&second)), [(20, 30, kind)]);
            // One good second within does not cut it.
            let one_good = |second| (20..30).contains(&second) && second != 25;
            assert_eq!(found(ms, one_good), [(20, 30, kind)]);
        }
        assert_eq!(found(30, |second| (20..30).contains(&second)), []);
    }

    #[test]
    fn a_slow_second_now_and_then_is_none() {
        assert_eq!(found(80, |second| second % 10 == 0), []);
    }
}
