//! One upstream of a route: its URL, its ledger and its figures; and the clients of the route, which keep connections.

use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use stagger::breaker::StateKind;
use stagger::{Clock, KeptLedger, TokioTime};

use super::attempt::UpstreamBody;
use super::connector::{Dialer, UpstreamConnector};
use super::ledger::DestinationLedger;
use crate::config::{RouteSettings, SettingsFault, UpstreamProtocol, UpstreamUrl};
use crate::stats::{DestinationSnapshot, DestinationStats};

/// Idle connections that are kept for each upstream: as many as calls that a busy sidecar has in flight.
const MAX_IDLE: usize = 128;

/// Bytes of the head of an upstream's reply: as many as clients may send.
const MAX_REPLY_HEAD: usize = 256 << 10;

/// One upstream. It outlives a reload of the settings that leaves its route as it was.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) url: UpstreamUrl,
    pub(crate) ledger: std::sync::Arc<DestinationLedger>,
    pub(crate) stats: DestinationStats,
}

impl Upstream {
    /// Whether its breaker keeps calls from it, so that another upstream is the better choice.
    pub(crate) fn is_open(&self) -> bool {
        self.ledger.breaker_state(TokioTime.recent()) == Some(StateKind::Open)
    }

    /// Its figures.
    pub(crate) fn snapshot(&self) -> DestinationSnapshot {
        snapshot(self.url.destination().as_str(), &self.stats, &self.ledger)
    }
}

/// The figures of a destination.
pub(crate) fn snapshot(
    name: &str,
    stats: &DestinationStats,
    ledger: &DestinationLedger,
) -> DestinationSnapshot {
    let [calls, attempts, succeeded, errors] = stats.totals();
    DestinationSnapshot {
        name: name.to_owned(),
        calls,
        attempts,
        succeeded,
        errors,
        replies: stats.replies(),
        stops: stats.all_stops(),
        ledger: ledger.stats(TokioTime.now()),
    }
}

/// The client of one version of HTTP.
pub(crate) type UpstreamClient = Client<UpstreamConnector, UpstreamBody>;

/// The clients of a route.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamClients {
    /// For requests.
    pub(crate) http: UpstreamClient,
    /// For gRPC, which needs HTTP/2.
    pub(crate) grpc: UpstreamClient,
    /// For requests to switch protocols, which only HTTP/1.1 has.
    pub(crate) upgrade: UpstreamClient,
}

impl UpstreamClients {
    /// The clients of a route; nothing is connected yet.
    ///
    /// # Errors
    /// TLS settings that cannot be used.
    pub(crate) fn new(route: &RouteSettings, dialer: &Dialer) -> Result<Self, SettingsFault> {
        let client = |protocol| {
            let connector = dialer.secured(route, protocol)?;
            let mut builder = Client::builder(TokioExecutor::new());
            // Every repetition is the policy's to decide.
            builder.retry_canceled_requests(false).set_host(false);
            builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new());
            builder.pool_idle_timeout(std::time::Duration::from(route.upstream_idle_timeout));
            builder.pool_max_idle_per_host(MAX_IDLE);
            builder.http1_max_buf_size(MAX_REPLY_HEAD);
            builder.http2_only(protocol == UpstreamProtocol::Http2);
            builder.http2_adaptive_window(true);
            Ok(builder.build(connector))
        };
        Ok(Self {
            http: client(route.protocol)?,
            grpc: client(UpstreamProtocol::Http2)?,
            upgrade: client(UpstreamProtocol::Http1)?,
        })
    }
}
