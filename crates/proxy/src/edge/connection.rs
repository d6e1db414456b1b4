//! One connection of a client, served until it ends, its client is too slow, or the proxy ends.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use stagger::{Clock, Sleep, Span, TokioTime};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::phase::{ClientTimes, ConnectionPhase, Overdue};
use super::places::{EdgePhase, Place};
use super::served_request::ServedRequest;
use super::stream::WatchedStream;
use super::threads::ThreadShare;
use crate::config::ProxyLimits;

/// The time from one look at the deadline to the next, at most: a deadline may move.
const LOOK: Span = Span::from_secs(5);

/// Header fields of one request: far more than programs send.
const MAX_FIELDS: usize = 128;

/// Requests that one connection of HTTP/2 has at a time.
const MAX_STREAMS: u32 = 256;

/// Bytes of a stream of HTTP/2 that may be under way, and of all streams of a connection: so many bytes the proxy may
/// hold for a client that does not read.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;

/// Bytes of a reply that are held for a client that does not read.
const SEND_BUFFER: usize = 64 << 10;

/// The limits of connections, in the form that serves them.
#[derive(Clone, Debug)]
pub(crate) struct EdgeSettings {
    builder: Builder<TokioExecutor>,
    times: ClientTimes,
}

impl EdgeSettings {
    /// Connections under these limits.
    pub(crate) fn new(limits: &ProxyLimits) -> Self {
        let times = ClientTimes {
            head: limits.head_timeout,
            idle: limits.idle_timeout,
            stall: limits.stall_timeout,
        };
        let mut builder = Builder::new(TokioExecutor::new());
        // The deadline of the phase is the shorter one; this one only frees hyper's own state.
        let unread = Duration::from(limits.idle_timeout + limits.head_timeout);
        let mut http1 = builder.http1();
        http1.timer(TokioTimer::new()).header_read_timeout(unread);
        http1.max_buf_size(limits.head_size).max_headers(MAX_FIELDS).half_close(false);
        let mut http2 = builder.http2();
        http2.timer(TokioTimer::new()).max_concurrent_streams(MAX_STREAMS);
        http2.initial_stream_window_size(STREAM_WINDOW);
        http2.initial_connection_window_size(CONNECTION_WINDOW);
        http2.max_send_buf_size(SEND_BUFFER);
        // OK because head_size is at most 1 MiB.
        http2.max_header_list_size(u32::try_from(limits.head_size).unwrap_or(u32::MAX));
        Self { builder, times }
    }
}

/// Serves the requests of one client.
pub(super) async fn serve<F, R, B>(
    (stream, place): (TcpStream, (Place, ThreadShare)),
    settings: EdgeSettings,
    mut stopping: watch::Receiver<EdgePhase>,
    answer: F,
) where
    F: Fn(Request<Incoming>, ServedRequest) -> R + Send + 'static,
    R: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let phase = Arc::new(ConnectionPhase::new(settings.times));
    let io = WatchedStream::new(stream, Arc::clone(&phase), place);
    let ends = stopping.clone();
    let service = service_fn(|request: Request<Incoming>| {
        let http2 = request.version() == Version::HTTP_2;
        answer(request, ServedRequest::begin(&phase, http2, ends.clone()))
    });
    let connection = settings.builder.serve_connection_with_upgrades(io, service);
    let mut connection = pin!(connection);
    let mut overdue = pin!(overdue(&phase));
    let (mut graceful, mut idle) = (false, false);
    loop {
        tokio::select! {
            // An error is the client's: it went away, or sent no HTTP.
            _ = connection.as_mut() => return,
            why = overdue.as_mut(), if !idle => {
                if why == Overdue::Slow || graceful {
                    return;
                }
                idle = true;
                connection.as_mut().graceful_shutdown();
            }
            // A sender that is gone closes as one that says so.
            told = stopping.wait_for(|phase| *phase != EdgePhase::Open && (!graceful || *phase == EdgePhase::Closed)) => {
                if graceful || told.map_or(EdgePhase::Closed, |phase| *phase) == EdgePhase::Closed {
                    return;
                }
                graceful = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Ready when the client has missed a deadline.
async fn overdue(phase: &ConnectionPhase) -> Overdue {
    loop {
        let now = TokioTime.now();
        let left = match phase.deadline() {
            Some((at, why)) if at <= now => return why,
            Some((at, _)) => at - now,
            None => LOOK,
        };
        TokioTime.sleep(left.min(LOOK)).await;
    }
}
