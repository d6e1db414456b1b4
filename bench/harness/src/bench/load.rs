//! Posts messages, as fast as so many connections can or at a pace, and the log of when each was accepted,
//! and when it arrived where.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::rig::{Arrival, Connection, Marker, Reaction, Witness, message};

/// Bytes of a payload.
const SIZE: usize = 1024;

/// The posts and their address.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// The nodes; each connection is to one of them, in turn.
    pub(crate) addrs: Vec<SocketAddr>,
    pub(crate) application: String,
    /// The number of types of messages, taken in turn.
    pub(crate) types: usize,
    /// The number of concurrent posters, each waiting for its answer.
    pub(crate) connections: usize,
    /// Messages a second; as many as can be without it. A late one is posted at once, so that a slow
    /// server gets no rest.
    pub(crate) pace: Option<f64>,
    pub(crate) end: LoadEnd,
}

/// The time at which posting stops.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LoadEnd {
    After(Duration),
    Messages(usize),
}

/// The record of the posts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) accepted: usize,
    pub(crate) from: Instant,
    pub(crate) until: Instant,
}

impl Load {
    /// All messages are of one type.
    pub(crate) const ONE_TYPE: usize = 1;

    /// The name of a type.
    pub(crate) fn event_type(number: usize) -> String {
        format!("load.{number}")
    }

    /// Posts until the end; what was refused for lack of room is posted again.
    pub(crate) async fn post(self, log: &Arc<LoadLog>) -> Result<Posted, Box<dyn Error>> {
        let (from, next) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
        let mut posters = JoinSet::new();
        for at in 0..self.connections {
            let addr = *self.addrs.get(at % self.addrs.len().max(1)).ok_or("no node to post to")?;
            let (load, log, next) = (self.clone(), Arc::clone(log), Arc::clone(&next));
            posters.spawn(async move { load.poster(addr, from, &next, &log).await });
        }
        let mut posted = Posted { accepted: 0, from, until: from };
        while let Some(done) = posters.join_next().await {
            let (accepted, until) = done??;
            posted.accepted += accepted;
            posted.until = posted.until.max(until);
        }
        Ok(posted)
    }

    /// One connection: how many messages it got accepted, and when the last one was.
    async fn poster(
        &self,
        addr: SocketAddr,
        from: Instant,
        next: &AtomicUsize,
        log: &LoadLog,
    ) -> Result<(usize, Instant), String> {
        let mut connection = Connection::open(addr).await.map_err(|e| e.to_string())?;
        let (mut accepted, mut last) = (0, from);
        loop {
            let marker = Marker(next.fetch_add(1, Ordering::Relaxed));
            let Some(due) = self.due(from, marker) else { return Ok((accepted, last)) };
            if self.pace.is_some() {
                sleep_until(due).await;
            }
            log.posted(marker);
            self.one(&mut connection, marker).await?;
            last = Instant::now();
            log.accepted(marker);
            accepted += 1;
        }
    }

    /// The time at which a message is due; none when the end has come.
    #[expect(clippy::cast_precision_loss, reason = "far fewer messages than 2^52")]
    fn due(&self, from: Instant, Marker(marker): Marker) -> Option<Instant> {
        let paced = |pace| from + Duration::from_secs_f64(marker as f64 / pace);
        let due = self.pace.map_or_else(Instant::now, paced);
        match self.end {
            LoadEnd::After(span) => due < from + span,
            LoadEnd::Messages(count) => marker < count,
        }
        .then_some(due)
    }

    async fn one(&self, connection: &mut Connection, marker: Marker) -> Result<(), String> {
        let event_type = Self::event_type(marker.0 % self.types);
        let request = message(&self.application, &event_type, marker, SIZE, None);
        loop {
            let answer = connection.send(&request).await.map_err(|e| e.to_string())?;
            match answer.status {
                202 => return Ok(()),
                429 | 503 => sleep(Duration::from_secs(answer.retry_after.unwrap_or(1))).await,
                status => {
                    let body = String::from_utf8_lossy(answer.body);
                    return Err(format!("a message was answered with {status}: {body}"));
                }
            }
        }
    }
}

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

    /// The time of the last arrival.
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
        let arrival =
            Arrival { peer: 1, endpoint: 0, id: "msg_1", attempt: 1, body: body.as_bytes() };
        log.accepted(Marker(3));
        for (status, duplicates) in [(503, 0), (200, 0), (200, 1)] {
            log.arrived(&arrival);
            log.answered(&arrival, status);
            assert_eq!(log.duplicates(), duplicates);
        }
        assert_eq!((log.latencies(1).len(), log.pages().delivered[0]), (1, 1));
    }
}
