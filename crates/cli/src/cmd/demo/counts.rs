//! The receiver's counts of attempts and deliveries.

use std::collections::HashMap;

use stagger::Span;

use super::endpoint::DemoEndpoint;

/// The width of a bucket of arrivals: a herd is over within tenths of a second.
pub(super) const TENTH: Span = Span::from_millis(100);

/// The arrivals of all endpoints.
#[derive(Debug, Default)]
pub(super) struct ReceiverCounts {
    parts: [EndpointCounts; DemoEndpoint::ALL.len()],
    /// For each message by id, how many endpoints have answered it with a 2xx.
    answered: HashMap<String, usize>,
    duplicates: usize,
}

/// The arrivals at one endpoint by tenths of a second, since the messages were sent.
#[derive(Clone, Debug, Default)]
pub(super) struct EndpointCounts {
    pub(super) first: Vec<u32>,
    pub(super) retries: Vec<u32>,
    /// Messages answered with a 2xx, and when the last one was.
    pub(super) delivered: usize,
    pub(super) last: Span,
    seen: std::collections::HashSet<String>,
}

impl ReceiverCounts {
    /// Counts an arrival.
    pub(super) fn arrived(&mut self, part: DemoEndpoint, at: Span, attempt: u32) {
        let arrivals = &mut self.parts[part as usize];
        let counts = if attempt <= 1 { &mut arrivals.first } else { &mut arrivals.retries };
        *tenth(counts, at) += 1;
    }

    /// Counts a success.
    pub(super) fn answered(&mut self, part: DemoEndpoint, at: Span, id: &str) {
        let arrivals = &mut self.parts[part as usize];
        if arrivals.seen.insert(id.to_owned()) {
            arrivals.delivered += 1;
            arrivals.last = at;
            *self.answered.entry(id.to_owned()).or_default() += 1;
        } else {
            self.duplicates += 1;
        }
    }

    pub(super) const fn at(&self, part: DemoEndpoint) -> &EndpointCounts {
        &self.parts[part as usize]
    }

    /// Messages that every endpoint has answered with a 2xx.
    pub(super) fn delivered(&self) -> usize {
        self.answered.values().filter(|count| **count == DemoEndpoint::ALL.len()).count()
    }

    /// Messages that an endpoint has answered with a 2xx more than once.
    pub(super) const fn duplicates(&self) -> usize {
        self.duplicates
    }
}

impl EndpointCounts {
    /// All arrivals by tenths of a second.
    pub(super) fn tenths(&self) -> Vec<u32> {
        let longest = self.first.len().max(self.retries.len());
        let at = |list: &[u32], tenth| list.get(tenth).copied().unwrap_or(0);
        (0..longest).map(|t| at(&self.first, t) + at(&self.retries, t)).collect()
    }

    /// All arrivals of a second.
    pub(super) fn second(&self, second: usize) -> u32 {
        self.tenths().iter().skip(second * 10).take(10).sum()
    }

    /// The most retries in a tenth of a second, before the tenth `until` and from there on.
    pub(super) fn peaks(&self, until: usize) -> [u32; 2] {
        let (before, after) = self.retries.split_at(until.min(self.retries.len()));
        [before, after].map(|part| part.iter().copied().max().unwrap_or(0))
    }

    pub(super) fn attempts(&self) -> u32 {
        self.tenths().iter().sum()
    }
}

/// The count of a moment, made if need be.
fn tenth(counts: &mut Vec<u32>, at: Span) -> &mut u32 {
    // OK because a demo of more than 2^32 tenths of a second is no demo.
    let index = usize::try_from(at.as_nanos() / TENTH.as_nanos()).unwrap_or(usize::MAX);
    let index = index.min(LONGEST);
    if counts.len() <= index {
        counts.resize(index + 1, 0);
    }
    &mut counts[index]
}

/// The last tenth that is counted apart: an hour, in case the demo is left open.
const LONGEST: usize = 36_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_delivered_when_all_endpoints_have_it_and_twice_is_a_duplicate() {
        let mut counts = ReceiverCounts::default();
        for part in DemoEndpoint::ALL {
            assert_eq!(counts.delivered(), 0);
            counts.answered(part, Span::ZERO, "msg_1");
        }
        counts.answered(DemoEndpoint::Guarded, Span::ZERO, "msg_1");
        assert_eq!((counts.delivered(), counts.duplicates()), (1, 1));
    }

    #[test]
    fn first_attempts_are_no_herd_of_retries() {
        let mut counts = ReceiverCounts::default();
        for (millis, attempt) in [(0, 1), (50, 1), (99, 2), (100, 2), (650, 3), (690, 2)] {
            counts.arrived(DemoEndpoint::Jittered, Span::from_millis(millis), attempt);
        }
        let arrivals = counts.at(DemoEndpoint::Jittered);
        assert_eq!(arrivals.tenths(), [3, 1, 0, 0, 0, 0, 2]);
        assert_eq!((arrivals.peaks(6), arrivals.second(0), arrivals.attempts()), ([1, 2], 6, 6));
    }
}
