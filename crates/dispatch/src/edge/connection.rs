//! One connection of a client, served until it ends, its client is too slow, or another takes its place.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::header::{CONNECTION, EXPECT};
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use stagger::{Clock, Sleep, Span, TokioTime};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tower_service::Service;

use super::body::{ReplyBody, RequestBody};
use super::phase::ConnectionPhase;
use super::stream::WatchedStream;
use super::table::TableEntry;

/// Bytes of a request's head, and of a reply that wait to be written: keys, ids and cookies need far
/// fewer.
const MAX_HEAD: usize = 32 << 10;

/// The time from one look at the deadline to the next, at most: a deadline may move forward.
const LOOK: Span = Span::from_secs(5);

/// Serves the requests of one client.
pub(super) async fn serve(
    stream: TcpStream,
    from: SocketAddr,
    entry: TableEntry,
    routes: Router,
    mut stopping: watch::Receiver<bool>,
) {
    let phase = Arc::clone(&entry.phase);
    let io = WatchedStream::new(stream, Arc::clone(&phase));
    let answer = service_fn(|request| answer(request, from, routes.clone(), Arc::clone(&phase)));
    let mut connection = pin!(builder().serve_connection(io, answer));
    let mut overdue = pin!(overdue(&entry.phase));
    let mut stops = true;
    loop {
        tokio::select! {
            // An error is the client's: it went away, or sent no HTTP.
            _ = connection.as_mut() => return,
            () = entry.evicted() => return,
            () = overdue.as_mut() => return,
            _ = stopping.wait_for(|stopping| *stopping), if stops => {
                stops = false;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// HTTP/1.1 only: browsers and clients of HTTP/2 negotiate it over TLS, which a proxy ends.
fn builder() -> Builder {
    let mut builder = Builder::new();
    // The deadline of the phase is the shorter one; this one only frees hyper's own state.
    builder.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(90));
    builder.max_buf_size(MAX_HEAD).half_close(false);
    builder
}

/// Ready when the client has missed the deadline of its phase.
async fn overdue(phase: &ConnectionPhase) {
    loop {
        let now = TokioTime.now();
        let left = phase.deadline().map_or(LOOK, |deadline| deadline.since(now));
        if left == Span::ZERO {
            return;
        }
        TokioTime.sleep(left.min(LOOK)).await;
    }
}

fn answer(
    request: Request<Incoming>,
    from: SocketAddr,
    mut routes: Router,
    phase: Arc<ConnectionPhase>,
) -> impl Future<Output = Result<Response<ReplyBody>, Infallible>> {
    let (mut head, body) = request.into_parts();
    head.extensions.insert(ConnectInfo(from));
    let waits = head.headers.contains_key(EXPECT);
    let (body, unread) = RequestBody::new(body, Arc::clone(&phase));
    let reply = routes.call(Request::from_parts(head, Body::new(body)));
    async move {
        let (mut head, body) = reply.await?.into_parts();
        if !unread.drain(waits).await {
            head.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(Response::from_parts(head, ReplyBody::new(body, phase)))
    }
}
