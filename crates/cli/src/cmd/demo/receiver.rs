//! The receiver: three endpoints on one port, which fail for a while.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use stagger::{Clock, Instant, Span, StdTime};
use tokio::net::TcpListener;

use super::dispatcher::DemoEndpoint;

/// The time for which it fails, from the first message on.
pub(super) const OUTAGE: Span = Span::from_secs(6);

/// Counts what arrives. Clones count together.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver(Arc<ReceiverState>);

#[derive(Debug, Default)]
struct ReceiverState {
    began: OnceLock<Instant>,
    counts: Mutex<ReceiverCounts>,
}

impl Receiver {
    /// Listens on a free port of this machine, for as long as the runtime lives.
    pub(super) async fn listen(&self) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let routes = Router::new().route("/{part}", post(arrive)).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(addr)
    }

    /// The time since the first message was sent; the first call is that moment.
    pub(super) fn elapsed(&self) -> Span {
        let now = StdTime.now();
        now.since(*self.0.began.get_or_init(|| now))
    }

    pub(super) fn is_down(&self) -> bool {
        self.elapsed() < OUTAGE
    }

    pub(super) fn counts(&self) -> MutexGuard<'_, ReceiverCounts> {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn arrive(
    State(receiver): State<Receiver>,
    Path(part): Path<usize>,
    headers: HeaderMap,
) -> StatusCode {
    let Some(part) = DemoEndpoint::ALL.get(part).copied() else { return StatusCode::NOT_FOUND };
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let attempt = text("stagger-attempt").and_then(|text| text.parse().ok()).unwrap_or(1);
    let (at, down) = (receiver.elapsed(), receiver.is_down());
    let mut counts = receiver.counts();
    counts.arrived(part, at, attempt);
    if down {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    counts.answered(part, at, text("webhook-id").unwrap_or_default());
    StatusCode::OK
}

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
