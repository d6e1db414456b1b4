//! The server of all layouts, which notes when each attempt arrives: behind a pipe, and in the handler of a web service.

use std::error::Error;
use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Empty;
use hyper::body::Body;
use hyper::{client, server};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// A server that answers at once for a while, and after that never. Clones are one server.
#[derive(Clone, Debug)]
pub(super) struct Upstream {
    healthy_for: Duration,
    arrivals: Arc<Mutex<Vec<Instant>>>,
}

impl Upstream {
    /// A server whose outage begins this long after its first attempt, by the runtime's clock.
    pub(super) fn new(healthy_for: Duration) -> Self {
        Self { healthy_for, arrivals: Arc::default() }
    }

    /// Notes an attempt, and says whether the server is healthy.
    pub(super) fn arrive(&self) -> bool {
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        arrivals.push(now);
        now - arrivals[0] < self.healthy_for
    }

    /// Notes an attempt and answers it; in the outage it never does.
    pub(super) async fn answer(self) -> io::Result<()> {
        if self.arrive() { Ok(()) } else { pending().await }
    }

    /// The times at which attempts arrived, from the first on.
    pub(super) fn arrivals(&self) -> Vec<Duration> {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.iter().map(|at| *at - arrivals[0]).collect()
    }
}

/// Bytes that a pipe holds: more than every request and every reply here.
pub(super) const PIPE: usize = 16 << 10;

/// A connection to `router`. The server's side ends with it.
pub(super) fn connect(router: Router) -> DuplexStream {
    let (near, far) = duplex(PIPE);
    let service = TowerToHyperService::new(router);
    let serving = server::conn::http1::Builder::new().serve_connection(TokioIo::new(far), service);
    tokio::spawn(serving);
    near
}

/// Sends one request over `connection`, which is closed when this future ends or is dropped.
pub(super) async fn send<B>(
    connection: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<B>,
) -> io::Result<Response<Empty<Bytes>>>
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    let io = TokioIo::new(connection);
    let (mut sender, driver) =
        client::conn::http1::handshake(io).await.map_err(io::Error::other)?;
    let mut tasks = JoinSet::new();
    tasks.spawn(driver);
    let reply = sender.send_request(request).await.map_err(io::Error::other)?;
    Ok(reply.map(|_| Empty::new()))
}
