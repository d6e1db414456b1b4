//! Attempts stamped with the same whole second, spread over it.
//!
//! A stamp of a second says nothing of where in it a line belongs, but the order of the lines does,
//! because servers write them one after the other. So those of one second are spread evenly over
//! it in their order. That is the flattest traffic that the log allows: a peak that is counted in
//! it is a lower bound. Lines that come a few seconds late, because another worker wrote them, still
//! find their second.

use std::collections::BTreeMap;

use stagger_core::Span;
use stagger_sim::BUCKET;

use crate::line_order::LATE;
use crate::logged_attempt::LoggedAttempt;

/// Attempts that wait at most; beyond that the oldest second is closed. 100 000 a second for all
/// the seconds that wait.
const MOST_WAITING: usize = 600_000;

/// Spreads what is stamped too coarsely for buckets, and hands everything else on at once.
#[derive(Debug)]
pub(crate) struct Spread {
    grain: Span,
    /// By their stamp.
    waiting: BTreeMap<Span, Vec<LoggedAttempt>>,
    held: usize,
    most: usize,
}

impl Spread {
    /// For a log whose stamps are this far apart.
    pub(crate) const fn new(grain: Span) -> Self {
        Self { grain, waiting: BTreeMap::new(), held: 0, most: 0 }
    }

    /// Takes one attempt, and gives those whose place is settled to `settled`.
    pub(crate) fn push(&mut self, attempt: LoggedAttempt, mut settled: impl FnMut(LoggedAttempt)) {
        if self.grain <= BUCKET {
            return settled(attempt);
        }
        self.waiting.entry(attempt.stamp.since_epoch).or_default().push(attempt);
        self.held += 1;
        self.most = self.most.max(self.held);
        let newest = self.waiting.last_key_value().map_or(Span::ZERO, |(&at, _)| at);
        let late = LATE.max(self.grain);
        while let Some((&oldest, _)) = self.waiting.first_key_value() {
            if newest - oldest <= late && self.held <= MOST_WAITING {
                break;
            }
            self.close(oldest, &mut settled);
        }
    }

    /// Gives all that is left.
    pub(crate) fn finish(&mut self, mut settled: impl FnMut(LoggedAttempt)) {
        while let Some((&oldest, _)) = self.waiting.first_key_value() {
            self.close(oldest, &mut settled);
        }
    }

    /// The most attempts that waited at once.
    pub(crate) const fn most_held(&self) -> usize {
        self.most
    }

    fn close(&mut self, at: Span, settled: &mut impl FnMut(LoggedAttempt)) {
        let all = self.waiting.remove(&at).unwrap_or_default();
        self.held -= all.len();
        let parts = 2 * all.len() as u128;
        for (place, mut attempt) in (0_u128..).zip(all) {
            // The middle of its part: never on an edge of the second.
            let within = u128::from(self.grain.as_nanos()) * (2 * place + 1) / parts;
            let within = Span::from_nanos(u64::try_from(within).unwrap_or(u64::MAX));
            attempt.stamp.since_epoch = at + within;
            settled(attempt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logged_attempt;

    fn attempts(seconds: &[u64], grain: Span) -> Vec<u64> {
        let mut spread = Spread::new(grain);
        let mut millis = Vec::new();
        let mut note = |attempt: LoggedAttempt| {
            millis.push(attempt.stamp.since_epoch.as_nanos() / 1_000_000);
        };
        for &second in seconds {
            spread.push(logged_attempt::at(Span::from_secs(second)), &mut note);
        }
        spread.finish(&mut note);
        millis
    }

    #[test]
    fn a_second_is_shared_evenly_and_in_order_also_by_late_lines() {
        let seconds = [10, 10, 11, 10, 11, 12, 10];
        let expected = [10_125, 10_375, 10_625, 10_875, 11_250, 11_750, 12_500];
        assert_eq!(attempts(&seconds, Span::from_secs(1)), expected);
    }

    #[test]
    fn fine_stamps_are_left_alone_and_never_held() {
        assert_eq!(attempts(&[12, 10, 11], Span::from_millis(1)), [12_000, 10_000, 11_000]);
    }

    #[test]
    fn a_line_that_is_too_late_still_counts() {
        assert_eq!(attempts(&[10, 20, 10], Span::from_secs(1)), [10_500, 10_500, 20_500]);
    }
}
