//! The rate of attempts, first ones and retries apart: it shows whether retries stampede.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use stagger::{Instant, Span};

use crate::model::EndpointId;

/// The length of the history: 5 minutes show the spread of usual first delays.
const SECONDS: u64 = 300;
/// The most endpoints with their own history, those with the latest traffic: 10 MB at most.
const MOST_ENDPOINTS: usize = 4096;

/// The attempts of the last 5 minutes by the second, of one endpoint or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptRates {
    /// Oldest first; seconds without attempts included.
    pub seconds: Vec<Second>,
}

/// The attempts of one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// The time at which it begins.
    pub at: Instant,
    /// First attempts.
    pub first: u32,
    /// Retries.
    pub retries: u32,
}

/// Counts attempts as they are launched.
#[derive(Debug, Default)]
pub(super) struct AttemptCounter {
    histories: Mutex<Histories>,
}

#[derive(Debug, Default)]
struct Histories {
    all: History,
    endpoints: HashMap<EndpointId, History>,
}

/// Seconds with attempts, oldest first, each by its number since the epoch.
#[derive(Debug, Default)]
struct History {
    seconds: VecDeque<(u64, u32, u32)>,
}

impl AttemptCounter {
    /// An attempt of this number is made at `now`.
    pub(super) fn record(&self, endpoint: EndpointId, number: u32, now: Instant) {
        let second = second_of(now);
        let mut histories = self.lock();
        histories.all.record(second, number);
        if !histories.endpoints.contains_key(&endpoint)
            && histories.endpoints.len() >= MOST_ENDPOINTS
        {
            histories.make_room(second);
        }
        histories.endpoints.entry(endpoint).or_default().record(second, number);
    }

    /// Every second up to `now`.
    pub(super) fn read(&self, endpoint: Option<EndpointId>, now: Instant) -> AttemptRates {
        let histories = self.lock();
        let history = match endpoint {
            Some(id) => histories.endpoints.get(&id),
            None => Some(&histories.all),
        };
        let last = second_of(now);
        let mut seconds = (last.saturating_sub(SECONDS - 1)..=last).map(blank).collect::<Vec<_>>();
        let begin = last.saturating_sub(SECONDS - 1);
        for (second, first, retries) in history.into_iter().flat_map(|history| &history.seconds) {
            let at = second.checked_sub(begin).and_then(|n| usize::try_from(n).ok());
            if let Some(entry) = at.and_then(|at| seconds.get_mut(at)) {
                (entry.first, entry.retries) = (*first, *retries);
            }
        }
        AttemptRates { seconds }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Histories> {
        self.histories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Histories {
    /// Drops the histories without an attempt in sight, or the quietest one if all have some.
    fn make_room(&mut self, now: u64) {
        self.endpoints.retain(|_, history| history.last() + SECONDS > now);
        if self.endpoints.len() >= MOST_ENDPOINTS {
            let quietest = self.endpoints.iter().min_by_key(|(_, history)| history.last());
            if let Some(id) = quietest.map(|(id, _)| *id) {
                self.endpoints.remove(&id);
            }
        }
    }
}

impl History {
    fn record(&mut self, second: u64, number: u32) {
        if self.last() < second || self.seconds.is_empty() {
            self.seconds.push_back((second, 0, 0));
        }
        while self.seconds.front().is_some_and(|(first, ..)| first + SECONDS <= second) {
            self.seconds.pop_front();
        }
        if let Some((_, first, retries)) = self.seconds.back_mut() {
            let count = if number <= 1 { first } else { retries };
            *count = count.saturating_add(1);
        }
    }

    fn last(&self) -> u64 {
        self.seconds.back().map_or(0, |(second, ..)| *second)
    }
}

fn second_of(at: Instant) -> u64 {
    at.as_nanos() / Span::from_secs(1).as_nanos()
}

fn blank(second: u64) -> Second {
    Second { at: Instant::ORIGIN + Span::from_secs(second), first: 0, retries: 0 }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ORIGIN + Span::from_secs(seconds)
    }

    fn endpoint(id: u128) -> EndpointId {
        EndpointId::from_uuid(Uuid::from_u128(id))
    }

    #[test]
    fn a_second_after_a_silence_is_not_added_to_the_one_before() {
        let entries = AttemptCounter::default();
        entries.record(endpoint(1), 1, at(1_000));
        entries.record(endpoint(2), 2, at(1_000));
        entries.record(endpoint(1), 3, at(1_004));
        let seconds = entries.read(None, at(1_005)).seconds;
        assert_eq!(seconds.len(), 300);
        let [.., a, _, _, _, b, last] = seconds[..] else { panic!("six at least") };
        assert_eq!((a.at, a.first, a.retries), (at(1_000), 1, 1));
        assert_eq!((b.at, b.first, b.retries), (at(1_004), 0, 1));
        assert_eq!(last, Second { at: at(1_005), ..Second::default() });
        let one = entries.read(Some(endpoint(1)), at(1_299));
        assert_eq!((one.seconds[0].first, one.seconds[0].retries), (1, 0));
        assert!(entries.read(Some(endpoint(9)), at(1_299)).seconds.iter().all(|s| s.first == 0));
    }

    #[test]
    fn more_endpoints_than_there_is_room_for_push_out_the_quietest() {
        let entries = AttemptCounter::default();
        entries.record(endpoint(0), 1, at(1_000));
        for id in 1..=MOST_ENDPOINTS {
            entries.record(endpoint(id as u128), 1, at(1_001));
        }
        assert_eq!(entries.lock().endpoints.len(), MOST_ENDPOINTS);
        let quiet = entries.read(Some(endpoint(0)), at(1_001));
        assert!(quiet.seconds.iter().all(|second| second.first == 0));
    }
}
