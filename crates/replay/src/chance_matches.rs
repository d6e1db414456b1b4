//! The error of guessed retries, measured where nothing fails.
//!
//! After an answer no retry follows. So the share of served attempts after which the same client asks for
//! the same thing within a minute is the share of failures that would be given a retry that is none.

use std::collections::BTreeMap;

use stagger_core::{Ratio, Span};

/// Callers that are looked at; beyond that every second one is left out, again and again.
const MOST_CALLERS: usize = 100_000;
/// The time in which a retry is looked for.
const WITHIN: Span = Span::from_secs(60);
/// The length of the parts of the log that are counted one by one.
pub(crate) const PART: Span = Span::from_secs(10);
/// Parts that are counted: two days, and some room for stamps that are far off.
const MOST_PARTS: usize = 20_000;

/// Served attempts of callers, and how many the same caller followed within a minute.
#[derive(Debug, Default)]
pub(crate) struct ChanceMatches {
    /// The end of the last served attempt of a caller.
    served: BTreeMap<u64, Span>,
    /// Callers whose hash has one of these bits are left out.
    left_out: u64,
    /// Served attempts and followers by the part of the attempt.
    parts: BTreeMap<u64, (u32, u32)>,
}

impl ChanceMatches {
    /// Counts an attempt of a caller that is told by its address and its request.
    pub(crate) fn count(&mut self, caller: u64, began: Span, served: Option<Span>) {
        if caller & self.left_out != 0 {
            return;
        }
        if let Some(before) = self.served.remove(&caller) {
            let follows = began >= before && began - before <= WITHIN;
            self.part(before, (0, u32::from(follows)));
        }
        if let Some(ended) = served {
            self.part(ended, (1, 0));
            self.served.insert(caller, ended);
            self.thin_out();
        }
    }

    /// The share of followers over the parts that `counts` says are healthy, by the start of each since
    /// the epoch; `None` where no attempt was served in them.
    pub(crate) fn rate(&self, counts: impl Fn(Span) -> bool) -> Option<Ratio> {
        let start = |part: u64| PART.saturating_mul(part);
        let parts = self.parts.iter().filter(|(part, _)| counts(start(**part)));
        let (served, followed) = parts.fold((0_u64, 0_u64), |(served, followed), (_, part)| {
            (served + u64::from(part.0), followed + u64::from(part.1))
        });
        let ppm = (followed * u64::from(Ratio::SCALE)).checked_div(served)?;
        Some(Ratio::from_ppm(u32::try_from(ppm).unwrap_or(u32::MAX)))
    }

    fn part(&mut self, at: Span, (served, followed): (u32, u32)) {
        let part = at.as_nanos() / PART.as_nanos();
        if self.parts.len() >= MOST_PARTS && !self.parts.contains_key(&part) {
            return;
        }
        let counts = self.parts.entry(part).or_default();
        *counts = (counts.0.saturating_add(served), counts.1.saturating_add(followed));
    }

    fn thin_out(&mut self) {
        if self.served.len() > MOST_CALLERS {
            self.left_out = self.left_out * 2 + 1;
            let left_out = self.left_out;
            self.served.retain(|caller, _| caller & left_out == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_that_come_again_by_themselves_are_counted_and_others_are_not() {
        let second = Span::from_secs;
        let mut polls = ChanceMatches::default();
        (0..100).for_each(|at| polls.count(7, second(at), Some(second(at))));
        assert_eq!(polls.rate(|_| true), Some(Ratio::from_percent(99)));
        assert_eq!(polls.rate(|_| false), None);
        let mut once = ChanceMatches::default();
        (0..100).for_each(|at| once.count(at, second(at), Some(second(at))));
        assert_eq!(once.rate(|_| true), Some(Ratio::ZERO));
        let mut seldom = ChanceMatches::default();
        (0..100).for_each(|at| seldom.count(7, second(61 * at), Some(second(61 * at))));
        assert_eq!(seldom.rate(|_| true), Some(Ratio::ZERO));
    }

    #[test]
    fn many_callers_are_thinned_out() {
        let mut many = ChanceMatches::default();
        for caller in 0..250_000_u64 {
            many.count(caller, Span::ZERO, Some(Span::ZERO));
        }
        assert!(many.served.len() <= MOST_CALLERS, "{}", many.served.len());
    }
}
