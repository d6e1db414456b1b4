//! The log of the receiver and the load: when each message was accepted, and when it arrived where.

use std::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::rig::{Arrival, Marker, Reaction, Witness};

/// The interval at which an awaited count is polled.
const LOOK: Duration = Duration::from_millis(5);

/// A log of one run, for a number of endpoints.
#[derive(Debug)]
pub(crate) struct LoadLog {
    /// The behaviour of each endpoint.
    reactions: Vec<Reaction>,
    pages: Mutex<LogPages>,
}

#[derive(Debug)]
struct LogPages {
    /// By marker: when it was posted, and when its 202 was read.
    posted: Vec<Option<Instant>>,
    accepted: Vec<Option<Instant>>,
    /// By endpoint, then by marker.
    arrivals: Vec<Vec<MessageArrival>>,
    /// By endpoint: how many messages it has answered with a 2xx.
    delivered: Vec<usize>,
    /// Arrivals of what had been answered with a 2xx already.
    duplicates: usize,
    last: Option<Instant>,
}

/// An endpoint's record of a message.
#[derive(Clone, Copy, Debug, Default)]
struct MessageArrival {
    first: Option<Instant>,
    answered: bool,
}

impl LoadLog {
    /// A log for endpoints with these reactions.
    pub(crate) fn new(reactions: Vec<Reaction>) -> Self {
        Self { pages: Mutex::new(LogPages::new(reactions.len())), reactions }
    }

    /// Forgets everything, for messages that are counted from 0 again. All earlier ones have arrived.
    pub(crate) fn begin_anew(&self) {
        *self.pages() = LogPages::new(self.reactions.len());
    }

    /// Notes that a message is posted now.
    pub(crate) fn posted(&self, Marker(marker): Marker) {
        *slot(&mut self.pages().posted, marker) = Some(Instant::now());
    }

    /// Notes that the 202 of a message was read now.
    pub(crate) fn accepted(&self, Marker(marker): Marker) {
        *slot(&mut self.pages().accepted, marker) = Some(Instant::now());
    }

    pub(crate) fn duplicates(&self) -> usize {
        self.pages().duplicates
    }

    /// When something last arrived.
    pub(crate) fn last(&self) -> Option<Instant> {
        self.pages().last
    }

    /// Waits until each of the first `endpoints` has answered `messages` with a 2xx.
    pub(crate) async fn delivered(
        &self,
        endpoints: usize,
        messages: usize,
        limit: Duration,
    ) -> Result<(), Box<dyn Error>> {
        let until = Instant::now() + limit;
        loop {
            let least = self.pages().delivered[..endpoints].iter().min().copied();
            if least.is_none_or(|least| least >= messages) {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(format!("{least:?} of {messages} delivered after {limit:?}").into());
            }
            sleep(LOOK).await;
        }
    }

    /// From accepted to first arrival, at the first `endpoints`, sorted; nothing where the request
    /// arrived before its 202 was read.
    pub(crate) fn latencies(&self, endpoints: usize) -> Vec<Duration> {
        let pages = self.pages();
        let mut found: Vec<Duration> = pages.arrivals[..endpoints]
            .iter()
            .flat_map(|seen| seen.iter().zip(&pages.accepted))
            .filter_map(|(seen, accepted)| Some((seen.first?, (*accepted)?)))
            .map(|(arrived, accepted)| arrived.saturating_duration_since(accepted))
            .collect();
        found.sort_unstable();
        found
    }

    /// Waits until so many messages have been answered with a 2xx, each by one endpoint or another.
    pub(crate) async fn delivered_in_all(
        &self,
        messages: usize,
        limit: Duration,
    ) -> Result<(), Box<dyn Error>> {
        let until = Instant::now() + limit;
        loop {
            let sum: usize = self.pages().delivered.iter().sum();
            if sum >= messages {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(format!("{sum} of {messages} delivered after {limit:?}").into());
            }
            sleep(LOOK).await;
        }
    }

    /// From posted to accepted, sorted.
    pub(crate) fn acceptances(&self) -> Vec<Duration> {
        let pages = self.pages();
        let both = pages.posted.iter().zip(&pages.accepted);
        let both = both.filter_map(|(posted, accepted)| Some(((*accepted)?, (*posted)?)));
        let mut found: Vec<Duration> =
            both.map(|(accepted, posted)| accepted.saturating_duration_since(posted)).collect();
        found.sort_unstable();
        found
    }

    fn pages(&self) -> MutexGuard<'_, LogPages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogPages {
    fn new(endpoints: usize) -> Self {
        Self {
            posted: Vec::new(),
            accepted: Vec::new(),
            arrivals: vec![Vec::new(); endpoints],
            delivered: vec![0; endpoints],
            duplicates: 0,
            last: None,
        }
    }
}

impl Witness for LoadLog {
    fn arrived(&self, arrival: &Arrival<'_>) -> Reaction {
        let now = Instant::now();
        let mut pages = self.pages();
        pages.last = Some(now);
        let reaction = self.reactions.get(arrival.endpoint).copied();
        let (Some(Marker(marker)), Some(reaction)) = (Marker::of(arrival.body), reaction) else {
            return Reaction::Answer(400);
        };
        let seen = slot(&mut pages.arrivals[arrival.endpoint], marker);
        seen.first.get_or_insert(now);
        let again = seen.answered;
        pages.duplicates += usize::from(again);
        reaction
    }

    fn answered(&self, arrival: &Arrival<'_>, status: u16) {
        let Some(Marker(marker)) = Marker::of(arrival.body) else { return };
        let mut pages = self.pages();
        let seen = slot(&mut pages.arrivals[arrival.endpoint], marker);
        let first = (200..300).contains(&status) && !seen.answered;
        seen.answered |= first;
        pages.delivered[arrival.endpoint] += usize::from(first);
    }
}

/// The place of a marker, made if need be.
fn slot<T: Clone + Default>(list: &mut Vec<T>, at: usize) -> &mut T {
    if list.len() <= at {
        list.resize(at + 1, T::default());
    }
    &mut list[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_again_after_a_success_is_a_duplicate_and_a_retry_is_none() {
        let log = LoadLog::new(vec![Reaction::Answer(200)]);
        let body = Marker(3).payload(64);
        let arrival = Arrival { endpoint: 0, id: "msg_1", attempt: 1, body: body.as_bytes() };
        log.accepted(Marker(3));
        for (status, duplicates) in [(503, 0), (200, 0), (200, 1)] {
            log.arrived(&arrival);
            log.answered(&arrival, status);
            assert_eq!(log.duplicates(), duplicates);
        }
        assert_eq!((log.latencies(1).len(), log.pages().delivered[0]), (1, 1));
    }
}
