//! Posts messages through all crashes: each one under one key, until a 202 was read.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout};

use super::cast::Role;
use super::ledger::DeliveryLedger;
use crate::rig::{Connection, HttpRequest, Marker, message};

/// The number of concurrent posters.
const POSTERS: usize = 16;
/// Each poster begins a message as often as this: 400 a second together.
const EVERY: Duration = Duration::from_millis(40);
/// Bytes of a payload.
const SIZE: usize = 512;
/// The pause after a lost connection, while the server is unavailable.
const AWAY: Duration = Duration::from_millis(5);
/// The longest wait for an answer, and the pause before the same node is used again.
const ANSWER: Duration = Duration::from_secs(1);
const REST: Duration = Duration::from_secs(2);
/// No message is posted for longer than this.
const PATIENCE: Duration = Duration::from_secs(180);

/// The address of a node, if it is up.
pub(super) type Place = watch::Receiver<Option<SocketAddr>>;

/// All posters of a run.
#[derive(Debug)]
pub(super) struct Posters {
    tasks: JoinSet<Result<(), String>>,
    stop: Arc<AtomicBool>,
}

impl Posters {
    pub(super) fn start(places: &[Place], application: &str, ledger: &Arc<DeliveryLedger>) -> Self {
        let (stop, next) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        for _ in 0..POSTERS {
            let (stop, next, ledger) = (Arc::clone(&stop), Arc::clone(&next), Arc::clone(ledger));
            let mut poster = Poster::new(places, application.to_owned(), ledger);
            tasks.spawn(async move {
                let mut beat = interval(EVERY);
                while !stop.load(Ordering::Relaxed) {
                    beat.tick().await;
                    poster.post(Marker(next.fetch_add(1, Ordering::Relaxed))).await?;
                }
                Ok(())
            });
        }
        Self { tasks, stop }
    }

    /// Ends with the messages that have been begun; every one of them is accepted then.
    pub(super) async fn finish(mut self) -> Result<(), String> {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(done) = self.tasks.join_next().await {
            done.map_err(|e| e.to_string())??;
        }
        Ok(())
    }
}

struct Poster {
    doors: Vec<Door>,
    application: String,
    ledger: Arc<DeliveryLedger>,
}

/// One node, as a poster knows it.
struct Door {
    place: Place,
    connection: Option<Connection>,
    /// It owes an answer, and is left alone until then.
    rests: Instant,
}

impl Poster {
    fn new(places: &[Place], application: String, ledger: Arc<DeliveryLedger>) -> Self {
        let rests = Instant::now();
        let door = |place: &Place| Door { place: place.clone(), connection: None, rests };
        Self { doors: places.iter().map(door).collect(), application, ledger }
    }

    /// Posts at the nodes in turn, each message first at another one, until one has accepted it.
    async fn post(&mut self, marker: Marker) -> Result<(), String> {
        let (key, event_type) = (format!("post-{}", marker.0), Role::event_type(marker));
        let request = message(&self.application, event_type, marker, SIZE, Some(&key));
        let until = Instant::now() + PATIENCE;
        let (mut turn, mut busy) = (marker.0, 0);
        while Instant::now() < until {
            turn += 1;
            let at = turn % self.doors.len();
            match self.doors[at].attempt(&request).await {
                Ok(Verdict::Accepted(id)) => {
                    self.ledger.accepted(marker, &id);
                    return Ok(());
                }
                Ok(Verdict::Busy(seconds)) => {
                    busy += 1;
                    // Another one may have room.
                    if busy % self.doors.len() == 0 {
                        sleep(Duration::from_secs(seconds)).await;
                    }
                }
                Ok(Verdict::Refused(why)) => return Err(why),
                // It was killed, or is silent: whether it had accepted the message, nobody knows.
                Err(_) => {
                    self.doors[at].connection = None;
                    sleep(AWAY).await;
                }
            }
        }
        Err(format!("no answer for {PATIENCE:?}"))
    }
}

impl Door {
    async fn attempt(&mut self, request: &HttpRequest) -> io::Result<Verdict> {
        if Instant::now() < self.rests {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let done = timeout(ANSWER, self.send(request)).await;
        done.unwrap_or_else(|silent| {
            self.rests = Instant::now() + REST;
            Err(silent.into())
        })
    }

    async fn send(&mut self, request: &HttpRequest) -> io::Result<Verdict> {
        if self.connection.is_none() {
            let addr = *self.place.borrow();
            let addr = addr.ok_or(io::ErrorKind::NotConnected)?;
            self.connection = Some(Connection::open(addr).await?);
        }
        let connection = self.connection.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let answer = connection.send(request).await?;
        Ok(match (answer.status, answer.id()) {
            (202, Some(id)) => Verdict::Accepted(id.to_owned()),
            (429 | 503, _) => Verdict::Busy(answer.retry_after.unwrap_or(1)),
            (status, _) => {
                let body = String::from_utf8_lossy(answer.body);
                Verdict::Refused(format!("a message was answered with {status}: {body}"))
            }
        })
    }
}

enum Verdict {
    /// Under this id.
    Accepted(String),
    /// Come back after so many seconds.
    Busy(u64),
    Refused(String),
}
