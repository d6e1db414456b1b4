//! Posts messages: as fast as so many connections can, or at a pace.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::log::LoadLog;
use crate::rig::{Connection, Marker, message};

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

/// When to stop posting.
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

    /// When a message is due; none when the end has come.
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
