//! Whether an endpoint that is down is left alone, but for one probe at a time.

use std::time::Duration;

use tokio::time::Instant;

/// The time that the endpoint takes for each attempt.
pub(super) const HOLD: Duration = Duration::from_millis(150);

/// Counts attempts that arrive while another one is under way: until it has been answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probes {
    /// Whether its breaker is known to be open.
    judging: bool,
    last: Option<Instant>,
    count: usize,
    overlapping: usize,
}

impl Probes {
    /// From now on only probes may come; or anything again.
    pub(super) const fn judge(&mut self, judging: bool) {
        self.judging = judging;
    }

    pub(super) fn arrived(&mut self, now: Instant) {
        let before = self.last.replace(now);
        if self.judging {
            self.count += 1;
            let close = before.is_some_and(|before| now < before + HOLD);
            self.overlapping += usize::from(close);
        }
    }

    /// The number of attempts, and of those that came while another one was in flight.
    pub(super) const fn found(&self) -> (usize, usize) {
        (self.count, self.overlapping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_probe_is_seen_once_the_breaker_is_known_to_be_open() {
        let (mut probes, begun) = (Probes::default(), Instant::now());
        let at = |ms| begun + Duration::from_millis(ms);
        probes.arrived(at(0));
        probes.arrived(at(10));
        probes.judge(true);
        [160, 310, 400].into_iter().for_each(|ms| probes.arrived(at(ms)));
        assert_eq!(probes.found(), (3, 1));
        probes.judge(false);
        probes.arrived(at(401));
        assert_eq!(probes.found(), (3, 1));
    }
}
