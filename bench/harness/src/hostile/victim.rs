//! The tenant whose messages are measured: a steady load, from the time at which each message is due to its
//! arrival at the receiver.

use std::collections::HashMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use crate::rig::{
    Arrival, Connection, Driver, Marker, Reaction, Receiver, Witness, message, quantile,
};

/// Messages a second, and the connections that post them.
const PACE: u32 = 50;
const CONNECTIONS: usize = 8;
/// Bytes of a payload.
const SIZE: usize = 512;
/// The time between two looks at the thread's own delay.
const TICK: Duration = Duration::from_millis(5);
/// The longest wait for an answer, and for the last deliveries.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
const DRAIN_LIMIT: Duration = Duration::from_secs(10);

/// The victim's figures in one measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct VictimFigures {
    /// From due to arrival; what never arrived counts as the whole wait.
    pub(super) p99_ms: f64,
    /// The share that was accepted.
    pub(super) accepted: f64,
    /// By how much the victim's own timers were late: the part of `p99_ms` that is not the node's.
    pub(super) late_p99_ms: f64,
}

/// A tenant with one healthy endpoint, which has a name.
#[derive(Debug)]
pub(super) struct Victim {
    addr: SocketAddr,
    application: String,
    log: Arc<VictimLog>,
    next: usize,
    _receiver: Receiver,
}

#[derive(Debug, Default)]
struct VictimLog {
    arrivals: Mutex<HashMap<usize, Instant>>,
}

impl Witness for VictimLog {
    fn arrived(&self, arrival: &Arrival<'_>) -> Reaction {
        if let Some(Marker(marker)) = Marker::of(arrival.body) {
            self.arrivals().entry(marker).or_insert_with(Instant::now);
        }
        Reaction::Answer(200)
    }
}

impl VictimLog {
    fn arrivals(&self) -> MutexGuard<'_, HashMap<usize, Instant>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Victim {
    pub(super) async fn start(addr: SocketAddr) -> Result<Self, Box<dyn Error>> {
        let log = Arc::<VictimLog>::default();
        let receiver = Receiver::start(Arc::clone(&log)).await?;
        let mut driver = Driver::new(addr).await?;
        // By name, so that the resolver is on its path.
        let url = receiver.url(0).replace("127.0.0.1", "localhost");
        driver.endpoint(&json!({ "url": url })).await?;
        let application = driver.application().to_owned();
        Ok(Self { addr, application, log, next: 0, _receiver: receiver })
    }

    /// Posts for `length`, each message when it is due, and waits for the deliveries. A message that could not be
    /// posted within [`ANSWER_LIMIT`] of the end was not accepted.
    pub(super) async fn measure(
        &mut self,
        length: Duration,
    ) -> Result<VictimFigures, Box<dyn Error>> {
        let count = usize::try_from(length.as_secs() * u64::from(PACE))?;
        let (first, from) = (self.next, Instant::now());
        self.next += count;
        let mut posters = JoinSet::new();
        for at in 0..CONNECTIONS {
            let (addr, application) = (self.addr, self.application.clone());
            posters.spawn(async move {
                let mut poster = Poster { addr, application, connection: None };
                let mut accepted = Vec::new();
                let posting = async {
                    for n in (at..count).step_by(CONNECTIONS) {
                        sleep_until(due(from, n)).await;
                        if poster.post(Marker(first + n)).await {
                            accepted.push(n);
                        }
                    }
                };
                // What was accepted until then is known.
                timeout_at(from + length + ANSWER_LIMIT, posting).await.ok();
                accepted
            });
        }
        let lateness = tokio::spawn(lateness(from + length));
        let mut accepted = Vec::new();
        while let Some(done) = posters.join_next().await {
            accepted.extend(done?);
        }
        let late_p99_ms = tenth(quantile(&lateness.await?, 990));
        let spans = self.spans(first, from, &accepted).await;
        let p99_ms = tenth(quantile(&spans, 990));
        Ok(VictimFigures { p99_ms, accepted: share(accepted.len(), count), late_p99_ms })
    }

    /// The times that the accepted messages took, sorted.
    async fn spans(&self, first: usize, from: Instant, accepted: &[usize]) -> Vec<Duration> {
        let until = Instant::now() + DRAIN_LIMIT;
        let arrived = |n: &usize| self.log.arrivals().contains_key(&(first + n));
        while Instant::now() < until && !accepted.iter().all(arrived) {
            sleep(Duration::from_millis(20)).await;
        }
        let (arrivals, now) = (self.log.arrivals(), Instant::now());
        let span = |n: &usize| {
            arrivals.get(&(first + n)).copied().unwrap_or(now).duration_since(due(from, *n))
        };
        let mut spans: Vec<Duration> = accepted.iter().map(span).collect();
        spans.sort_unstable();
        spans
    }
}

/// The delays of a timer on this thread until then, sorted.
async fn lateness(until: Instant) -> Vec<Duration> {
    let (mut late, mut due) = (Vec::new(), Instant::now());
    while due < until {
        due += TICK;
        sleep_until(due).await;
        let now = Instant::now();
        late.push(now - due);
        due = now;
    }
    late.sort_unstable();
    late
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// To a thousandth.
#[expect(clippy::cast_precision_loss, reason = "far fewer messages than 2^52")]
fn share(part: usize, of: usize) -> f64 {
    (part as f64 / of as f64 * 1000.0).round() / 1000.0
}

fn due(from: Instant, n: usize) -> Instant {
    from + Duration::from_secs(1) * u32::try_from(n).unwrap_or(u32::MAX) / PACE
}

/// One client, which opens another connection when its own was closed, as any client does.
struct Poster {
    addr: SocketAddr,
    application: String,
    connection: Option<Connection>,
}

impl Poster {
    /// Whether the message was accepted. A kept connection may have been closed before the request: then it is
    /// sent once more.
    async fn post(&mut self, marker: Marker) -> bool {
        let kept = self.connection.is_some();
        match timeout(ANSWER_LIMIT, self.try_post(marker)).await {
            Ok(Some(status)) => status == 202,
            Ok(None) if kept => {
                let again = timeout(ANSWER_LIMIT, self.try_post(marker)).await;
                again.is_ok_and(|status| status == Some(202))
            }
            _ => {
                self.connection = None;
                false
            }
        }
    }

    async fn try_post(&mut self, marker: Marker) -> Option<u16> {
        let mut connection = match self.connection.take() {
            Some(kept) => kept,
            None => Connection::open(self.addr).await.ok()?,
        };
        let key = format!("post-{}", marker.0);
        let request = message(&self.application, "load.0", marker, SIZE, Some(&key));
        let status = connection.send(&request).await.ok()?.status;
        self.connection = Some(connection);
        Some(status)
    }
}
