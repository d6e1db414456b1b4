//! The record of requests that the server received.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, Method, Version};
use tokio::sync::watch;
use tokio::time::Instant;

use super::clock::stamp;
use super::script::{Reaction, Script};

/// So much of a request's body is kept, in bytes; the rest is read and counted. Enough for every
/// body that a test compares, and no test can fill the memory.
pub const MAX_BODY: usize = 1 << 20;

/// One request that the server has read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SeenRequest {
    /// The connection that it came over, counted from 1 in order of acceptance.
    pub connection: usize,
    /// The time at which the whole request had been read.
    pub at: Instant,
    /// HTTP/1.1 or HTTP/2.
    pub version: Version,
    /// Its method.
    pub method: Method,
    /// Its path and query.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// The first [`MAX_BODY`] bytes of its body.
    pub body: Bytes,
    /// The length of its body, in bytes.
    pub body_len: u64,
    /// False when the client left in the middle of the body.
    pub complete: bool,
}

/// The script and the records of one server, shared by all its connections.
#[derive(Debug)]
pub(super) struct RequestLog {
    script: Mutex<Script>,
    pub(super) records: watch::Sender<Records>,
}

#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) seen: Vec<SeenRequest>,
    pub(super) accepted: usize,
    pub(super) open: usize,
    pub(super) taken: usize,
}

/// A request while it is being read.
#[derive(Debug)]
pub(super) struct PartialRequest {
    pub(super) version: Version,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) body_len: u64,
}

/// One connection, open as long as this lives.
#[derive(Debug)]
pub(super) struct OpenConnection<'a> {
    pub(super) log: &'a RequestLog,
    pub(super) connection: usize,
}

impl RequestLog {
    pub(super) fn new(script: Script) -> Self {
        Self { script: Mutex::new(script), records: watch::Sender::new(Records::default()) }
    }

    pub(super) fn accept(&self) -> OpenConnection<'_> {
        let mut connection = 0;
        self.records.send_modify(|records| {
            records.accepted += 1;
            records.open += 1;
            connection = records.accepted;
        });
        OpenConnection { log: self, connection }
    }

    /// See [`Script::take_unread`].
    pub(super) fn take_unread(&self) -> bool {
        let unread = self.lock().take_unread();
        if unread {
            self.records.send_modify(|records| records.taken += 1);
        }
        unread
    }

    /// Notes a request and takes its reaction; whoever left in the middle of the body gets none.
    pub(super) fn react(
        &self,
        connection: usize,
        partial: PartialRequest,
        complete: bool,
    ) -> Reaction {
        let reaction = match complete {
            true => self.lock().next(&partial.path, &partial.headers),
            false => Reaction::close(),
        };
        self.records.send_modify(|records| {
            records.taken += usize::from(complete);
            records.seen.push(partial.finish(connection, complete));
        });
        reaction
    }

    pub(super) fn left(&self) -> usize {
        self.lock().left()
    }

    /// A panic of another test thread does not make the script wrong.
    fn lock(&self) -> std::sync::MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialRequest {
    /// Keeps what fits and counts the rest.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        let room = MAX_BODY - self.body.len();
        self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        // OK because usize has at most 64 bits.
        self.body_len += bytes.len() as u64;
    }

    fn finish(self, connection: usize, complete: bool) -> SeenRequest {
        let Self { version, method, path, headers, body, body_len } = self;
        let (body, at) = (body.into(), stamp());
        SeenRequest { connection, at, version, method, path, headers, body, body_len, complete }
    }
}

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.log.records.send_modify(|records| records.open -= 1);
    }
}
