//! The clients of a route, which keep the connections to its upstreams: one for each version of HTTP that it needs.

use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use stagger::Span;

use super::connector::Dialer;
use super::tls::RouteTls;
use super::upstream_client::UpstreamClient;
use crate::config::{RouteSettings, SettingsFault, UpstreamProtocol};

/// Idle connections that each thread keeps for each upstream: as many as calls that a busy sidecar has in flight.
const MAX_IDLE: usize = 128;

/// Bytes of the head of an upstream's reply: as many as clients may send.
const MAX_REPLY_HEAD: usize = 256 << 10;

/// Bytes of one reply over HTTP/2, and of all replies of a connection, that an upstream may send before a client takes
/// them: so many the proxy holds for a client that does not read.
const STREAM_WINDOW: u32 = 256 << 10;

const CONNECTION_WINDOW: u32 = 4 << 20;

/// Bytes of a request that are held for an upstream that does not read.
const SEND_BUFFER: usize = 64 << 10;

/// The clients of a route. Clones share their connections.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamClients {
    tls: RouteTls,
    settings: ConnectionSettings,
    /// For requests.
    pub(crate) http: UpstreamClient,
    /// For gRPC, which needs HTTP/2.
    pub(crate) grpc: UpstreamClient,
    /// For requests to switch protocols, which only HTTP/1.1 has.
    pub(crate) upgrade: UpstreamClient,
}

/// The settings of a route by which its connections differ from those of another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ConnectionSettings {
    protocol: UpstreamProtocol,
    public_only: bool,
    connect_timeout: Span,
    idle_timeout: Span,
}

impl UpstreamClients {
    /// The clients of a route, with the connections of `before` where its connections would be the same; otherwise
    /// nothing is connected yet.
    ///
    /// # Errors
    /// TLS settings that cannot be used, and files of theirs that cannot be read.
    pub(crate) fn new(
        route: &RouteSettings,
        dialer: &Dialer,
        before: Option<&Self>,
    ) -> Result<Self, SettingsFault> {
        let known = before.map(|before| &before.tls);
        let tls = if route.speaks_tls() {
            RouteTls::read(&route.name, &route.tls, known)?
        } else {
            RouteTls::default()
        };
        let settings = ConnectionSettings {
            protocol: route.protocol,
            public_only: route.public_only,
            connect_timeout: route.connect_timeout,
            idle_timeout: route.upstream_idle_timeout,
        };
        let same = before.filter(|before| before.tls.is_as(&tls) && before.settings == settings);
        if let Some(before) = same {
            return Ok(before.clone());
        }
        let client = |protocol| {
            let connector = dialer.secured(route, &tls, protocol)?;
            let mut builder = Client::builder(TokioExecutor::new());
            // Every repetition is the policy's to decide.
            builder.retry_canceled_requests(false).set_host(false);
            builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new());
            builder.pool_idle_timeout(std::time::Duration::from(route.upstream_idle_timeout));
            builder.pool_max_idle_per_host(MAX_IDLE);
            builder.http1_max_buf_size(MAX_REPLY_HEAD);
            builder.http2_only(protocol == UpstreamProtocol::Http2);
            builder.http2_initial_stream_window_size(STREAM_WINDOW);
            builder.http2_initial_connection_window_size(CONNECTION_WINDOW);
            builder.http2_max_send_buf_size(SEND_BUFFER);
            Ok(UpstreamClient::new(builder, connector))
        };
        Ok(Self {
            http: client(route.protocol)?,
            grpc: client(UpstreamProtocol::Http2)?,
            upgrade: client(UpstreamProtocol::Http1)?,
            tls,
            settings,
        })
    }
}
