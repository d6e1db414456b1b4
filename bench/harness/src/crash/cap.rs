//! Whether a cap on the rate holds, as its receiver sees it.

use std::time::Duration;

use tokio::time::Instant;

/// Judges arrivals by the generic cell rate algorithm (ITU-T I.371): in any window of length `w` at most
/// `1 + (w + slack) / interval` conform. One that does not conform counts, and changes nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cap {
    interval: Duration,
    slack: Duration,
    /// The theoretical arrival time of the next attempt.
    next: Option<Instant>,
    exceeded: usize,
    /// The most that an arrival was earlier than allowed.
    earliest: Duration,
}

/// The tolerance beyond the slack: attempts are counted when they are launched, and their time to
/// the receiver varies. On a machine whose cores are all busy, each process may be paused for as
/// long as this. Two leaders at the same time are detected within twice of it.
pub(super) const JITTER: Duration = Duration::from_millis(200);

impl Cap {
    /// One attempt in each `interval`; one who was late may catch up by `slack`.
    pub(super) const fn new(interval: Duration, slack: Duration) -> Self {
        Self { interval, slack, next: None, exceeded: 0, earliest: Duration::ZERO }
    }

    pub(super) fn arrived(&mut self, now: Instant) {
        let next = self.next.unwrap_or(now);
        let early = next.saturating_duration_since(now).saturating_sub(self.slack);
        self.earliest = self.earliest.max(early);
        if early > JITTER {
            self.exceeded += 1;
        } else {
            self.next = Some(next.max(now) + self.interval);
        }
    }

    /// The number of arrivals beyond the cap, and the largest time by which one was too early.
    pub(super) const fn found(&self) -> (usize, Duration) {
        (self.exceeded, self.earliest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// The number of arrivals at these milliseconds beyond one in 20 ms with a slack of 80 ms.
    fn beyond(arrivals: impl IntoIterator<Item = u32>) -> usize {
        let (mut cap, begun) = (Cap::new(20 * MS, 80 * MS), Instant::now());
        arrivals.into_iter().for_each(|at| cap.arrived(begun + MS * at));
        cap.found().0
    }

    #[test]
    fn a_burst_within_slack_and_jitter_is_allowed_and_no_more() {
        // 1 + (0 + 80 + 200) / 20 at once.
        assert_eq!((beyond(vec![0; 15]), beyond(vec![0; 16])), (0, 1));
    }

    #[test]
    fn the_pace_itself_is_kept_for_ever_and_twice_of_it_is_not() {
        assert_eq!(beyond((0..1000).map(|at| at * 20)), 0);
        let twice = beyond((0..1000).map(|at| at * 10));
        assert!((480..=500).contains(&twice), "{twice}");
    }

    #[test]
    fn what_was_not_used_is_not_saved_up() {
        let burst = |from: u32| std::iter::repeat_n(from, 16);
        assert_eq!(beyond(burst(0).chain(burst(60_000))), 2);
    }
}
