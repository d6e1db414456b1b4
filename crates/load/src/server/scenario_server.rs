//! The listener, and the connections of the server: requests in, answers as HTTP out.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{error, fmt};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use stagger::{Sleep, TokioTime};
use stagger_core::{Hint, Outcome, Span, Verdict};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use super::backend_task::{BackendTask, Decision, ServerCounts, ServerEvent};
use crate::attempt_tag::{AttemptTag, TAG_HEADER};
use crate::error::LoadError;
use crate::load_row::LoadRow;

/// Connections at once: as many as a run may open, and each attempt is on one.
const MOST_CONNECTIONS: usize = 16_384;
/// The time in which a request's head must be there, or its connection is closed.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// The pause after a connection that could not be accepted.
const PAUSE: Span = Span::from_millis(20);
/// Bytes of a request's head.
const MOST_HEAD_BYTES: usize = 16 * 1_024;
/// Header lines of a request.
const MOST_HEADERS: usize = 64;

/// A server that behaves as the server of a scenario: its workers, its queue and its troubles are the lab's own.
///
/// A run begins with its first attempt. Attempts with an [`AttemptTag`] say how long ago their run began and which
/// row it plays; without one, the first row is played from the first attempt on.
#[derive(Debug)]
pub struct ScenarioServer {
    listener: TcpListener,
    address: SocketAddr,
    rows: Vec<LoadRow>,
}

impl ScenarioServer {
    /// Listens on this address, which must be one of this machine alone.
    ///
    /// # Errors
    /// An address that other machines reach, an address in use, or no row.
    pub async fn bind(address: SocketAddr, rows: Vec<LoadRow>) -> Result<Self, LoadError> {
        if !address.ip().to_canonical().is_loopback() {
            return Err(LoadError::host(format!(
                "the address {address} can be reached from other machines: take one of 127.0.0.0/8 or [::1]"
            )));
        }
        if rows.is_empty() {
            return Err(LoadError::scenario("the scenario has no row that can be served"));
        }
        let refused = |error| LoadError::system(format!("cannot listen on {address}: {error}"));
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { listener, address, rows })
    }

    /// The address, with the port that the system chose for port 0.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is ready, and returns what was served. Open connections are closed then.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> ServerCounts {
        let (events, received) = mpsc::unbounded_channel();
        let backend = tokio::spawn(BackendTask::new(self.rows, received).work());
        let door = Arc::new(Door { events, numbers: AtomicU64::new(0) });
        let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                accepted = accept(&self.listener, &free) => {
                    // A connection that broke before it was accepted is its caller's to report.
                    let Some((stream, permit)) = accepted else { continue };
                    let door = Arc::clone(&door);
                    connections.spawn(async move {
                        let _permit = permit;
                        door.speak(stream).await;
                    });
                }
            }
        }
        connections.shutdown().await;
        drop(door);
        backend.await.unwrap_or_default()
    }
}

async fn accept(
    listener: &TcpListener,
    free: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(free).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, permit)),
        Err(_) => {
            // Without a file for it, the connection stays in line: asking again at once would be a loop.
            TokioTime.sleep(PAUSE).await;
            None
        }
    }
}

/// The way from connections to the backend.
#[derive(Debug)]
struct Door {
    events: mpsc::UnboundedSender<ServerEvent>,
    /// Attempts so far.
    numbers: AtomicU64,
}

impl Door {
    /// Speaks HTTP on a connection until it ends.
    async fn speak(self: Arc<Self>, stream: TcpStream) {
        // Without it answers would only be later.
        let _ = stream.set_nodelay(true);
        let service = service_fn(|request: Request<Incoming>| {
            let door = Arc::clone(&self);
            async move { door.answer(&request).await }
        });
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_buf_size(MOST_HEAD_BYTES)
            .max_headers(MOST_HEADERS);
        // The end of a connection concerns its caller alone.
        let _ = builder.serve_connection(TokioIo::new(stream), service).await;
    }

    async fn answer(&self, request: &Request<Incoming>) -> Result<Response<Full<Bytes>>, Cut> {
        let tag = request.headers().get(TAG_HEADER).and_then(|tag| tag.to_str().ok());
        let tag = tag.and_then(AttemptTag::parse);
        let key = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (reply, decided) = oneshot::channel();
        self.events.send(ServerEvent::Came(key, tag, reply)).map_err(|_| Cut)?;
        // Dropped in the middle when the caller closes the connection.
        let mut waiting = Waiting { door: self, key: Some(key) };
        let decision = decided.await;
        waiting.key = None;
        match decision {
            Ok(Decision::Answer(outcome)) => response(&outcome).ok_or(Cut),
            Ok(Decision::NotPlayed) => Ok(plain(StatusCode::NOT_FOUND, "no such row or run\n")),
            // A new run has begun: nothing of the old one is answered.
            Err(_) => Err(Cut),
        }
    }
}

/// An attempt that waits; the backend is told when its caller leaves.
struct Waiting<'d> {
    door: &'d Door,
    key: Option<u64>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            // Without a backend the server is ending.
            let _ = self.door.events.send(ServerEvent::Left(key));
        }
    }
}

/// The answer as HTTP; `None` for a connection that is cut, as by a process that is gone.
fn response(outcome: &Outcome) -> Option<Response<Full<Bytes>>> {
    let mut response = match outcome.verdict {
        Verdict::Ok => plain(StatusCode::OK, "ok\n"),
        Verdict::Permanent => plain(StatusCode::FORBIDDEN, "shed\n"),
        Verdict::Throttled => plain(StatusCode::TOO_MANY_REQUESTS, "too many\n"),
        Verdict::Unprocessed => return None,
        _ => plain(StatusCode::SERVICE_UNAVAILABLE, "unavailable\n"),
    };
    if let Some(wait) = outcome.hint.and_then(Hint::span) {
        hint(response.headers_mut(), wait);
    }
    Some(response)
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    let text = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    response
}

/// The wait in whole seconds for all clients, and in milliseconds for those that read them; both rounded up.
fn hint(headers: &mut HeaderMap, wait: Span) {
    let rounded = |unit: Span| wait.as_nanos().div_ceil(unit.as_nanos());
    let (seconds, millis) = (rounded(Span::from_secs(1)), rounded(Span::from_millis(1)));
    headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    headers.insert("retry-after-ms", HeaderValue::from(millis));
}

/// A connection that is closed without an answer.
#[derive(Debug)]
struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection is closed without an answer")
    }
}

impl error::Error for Cut {}
