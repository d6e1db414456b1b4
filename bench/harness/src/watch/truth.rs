//! The truth about a run, by the lab's own calls and attempts and nothing that the detector sees.

use std::collections::BTreeSet;

use stagger_sim::PlayedAttempt;

/// Attempts a call from which on a run is in a storm.
pub(super) const STORM: f64 = 1.5;
/// Attempts a call that a calm load never reaches.
pub(super) const CALM: f64 = 1.25;
/// The stretch over which both hold, in seconds.
const STRETCH: usize = 5;
/// Retries that a stretch needs to count.
const LEAST: u32 = 30;

/// First attempts and others, second by second.
#[derive(Debug)]
pub(super) struct Truth {
    seconds: Vec<(u32, u32)>,
}

impl Truth {
    pub(super) fn of(attempts: &[PlayedAttempt]) -> Self {
        let mut by_start: Vec<_> = attempts.iter().map(|one| (one.began, one.call)).collect();
        by_start.sort_unstable();
        let (mut seconds, mut seen) = (Vec::new(), BTreeSet::new());
        for (began, call) in by_start {
            let second = usize::try_from(began.as_nanos() / 1_000_000_000).unwrap_or(usize::MAX);
            seconds.resize(seconds.len().max(second + 1), (0, 0));
            let (calls, retries) = &mut seconds[second];
            *(if seen.insert(call) { calls } else { retries }) += 1;
        }
        Self { seconds }
    }

    /// The second in which the storm begins: the first one with 1.5 attempts a call that opens a
    /// stretch of five seconds with as many, and with at least 30 retries.
    pub(super) fn start(&self) -> Option<u32> {
        let starts = self.seconds.windows(STRETCH).position(|stretch| {
            a_call(&stretch[..1]) >= STORM && retries(stretch) >= LEAST && a_call(stretch) >= STORM
        });
        starts.and_then(|second| u32::try_from(second).ok())
    }

    /// The most attempts a call in any stretch of five seconds with as many retries as a storm needs.
    pub(super) fn worst(&self) -> f64 {
        let stretches = self.seconds.windows(STRETCH).filter(|stretch| retries(stretch) >= LEAST);
        stretches.map(a_call).fold(1.0, f64::max)
    }

    /// Seconds from the first attempt to the last.
    pub(super) fn seconds(&self) -> u32 {
        u32::try_from(self.seconds.len()).unwrap_or(u32::MAX)
    }
}

fn retries(stretch: &[(u32, u32)]) -> u32 {
    stretch.iter().map(|second| second.1).sum()
}

fn a_call(stretch: &[(u32, u32)]) -> f64 {
    let calls: u32 = stretch.iter().map(|second| second.0).sum();
    f64::from(calls + retries(stretch)) / f64::from(calls.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_begins_with_its_first_second_and_must_last() {
        let calm = [(100, 2); 10];
        let burst = [(100, 80)];
        let storm = [(100, 60); 6];
        let truth = |parts: &[&[(u32, u32)]]| Truth { seconds: parts.concat() };
        assert_eq!(truth(&[&calm, &burst, &calm]).start(), None);
        assert_eq!(truth(&[&calm, &burst, &calm, &storm]).start(), Some(21));
        assert!(truth(&[&calm, &calm]).worst() < 1.01);
        assert!((truth(&[&calm, &storm]).worst() - 1.6).abs() < 1e-9);
    }
}
