//! The receiver: three endpoints on one port, which fail for a while.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use stagger::{Clock, Instant, Span, StdTime};
use tokio::net::TcpListener;

use super::counts::ReceiverCounts;
use super::endpoint::DemoEndpoint;

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
