//! Posts messages through all crashes: each one under one key, until a 202 was read.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep};

use super::book::Book;
use crate::rig::{Connection, Marker, Request, message};

/// Who posts at the same time.
const POSTERS: usize = 16;
/// Each poster begins a message as often as this: 400 a second together.
const EVERY: Duration = Duration::from_millis(40);
/// Bytes of a payload.
const SIZE: usize = 512;
/// How long to wait after a connection broke, while the server is away.
const AWAY: Duration = Duration::from_millis(5);
/// No message is posted for longer than this.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the server is, if it is up.
pub(super) type Place = watch::Receiver<Option<SocketAddr>>;

/// All posters of a run.
#[derive(Debug)]
pub(super) struct Posters {
    tasks: JoinSet<Result<(), String>>,
    stop: Arc<AtomicBool>,
}

impl Posters {
    pub(super) fn start(place: &Place, application: &str, book: &Arc<Book>) -> Self {
        let (stop, next) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        for _ in 0..POSTERS {
            let (stop, next, book) = (Arc::clone(&stop), Arc::clone(&next), Arc::clone(book));
            let (place, application) = (place.clone(), application.to_owned());
            tasks.spawn(async move {
                let mut poster = Poster { place, connection: None, application, book };
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
    place: Place,
    connection: Option<Connection>,
    application: String,
    book: Arc<Book>,
}

impl Poster {
    async fn post(&mut self, marker: Marker) -> Result<(), String> {
        let key = format!("post-{}", marker.0);
        let request = message(&self.application, marker, SIZE, Some(&key));
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            match self.attempt(marker, &request).await {
                Ok(Verdict::Accepted) => return Ok(()),
                Ok(Verdict::Busy(seconds)) => sleep(Duration::from_secs(seconds)).await,
                Ok(Verdict::Refused(why)) => return Err(why),
                // It was killed: whether it had accepted the message, nobody knows.
                Err(_) => {
                    self.connection = None;
                    sleep(AWAY).await;
                }
            }
        }
        Err(format!("no answer for {PATIENCE:?}"))
    }

    async fn attempt(&mut self, marker: Marker, request: &Request) -> io::Result<Verdict> {
        if self.connection.is_none() {
            let addr = self.address().await?;
            self.connection = Some(Connection::open(addr).await?);
        }
        let connection = self.connection.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let answer = connection.send(request).await?;
        match (answer.status, answer.id()) {
            (202, Some(id)) => {
                self.book.accepted(marker, id);
                Ok(Verdict::Accepted)
            }
            (429 | 503, _) => Ok(Verdict::Busy(answer.retry_after.unwrap_or(1))),
            (status, _) => {
                let body = String::from_utf8_lossy(answer.body);
                Ok(Verdict::Refused(format!("a message was answered with {status}: {body}")))
            }
        }
    }

    /// Where the server is; waits while it is away.
    async fn address(&mut self) -> io::Result<SocketAddr> {
        let up = self.place.wait_for(Option::is_some).await.map_err(io::Error::other)?;
        (*up).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

enum Verdict {
    Accepted,
    /// Come back after so many seconds.
    Busy(u64),
    Refused(String),
}
