//! Connections to upstreams: name lookup, the egress guard, TCP, TLS, all within one time limit.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use stagger_sender::EgressGuard;
use tokio::net::TcpStream;
use tower_service::Service;

use super::outcome::BoxError;
use super::tls::RouteTls;
use crate::config::{RouteSettings, SettingsFault, UpstreamProtocol};

/// Looks names up by the system, and passes on the addresses that the guard lets through.
#[derive(Clone, Debug)]
pub(crate) struct GuardedResolver {
    guard: Option<EgressGuard>,
}

/// Connects to the servers of a route.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    tcp: HttpConnector<GuardedResolver>,
    guard: Option<EgressGuard>,
    limit: Duration,
}

/// A dialer with TLS, for one version of HTTP.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamConnector {
    secured: HttpsConnector<HttpConnector<GuardedResolver>>,
    guard: Option<EgressGuard>,
    limit: Duration,
}

type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

impl Dialer {
    /// The dialer of a route.
    pub(crate) fn new(route: &RouteSettings) -> Self {
        let guard = route.public_only.then(|| EgressGuard::new(false));
        let mut tcp = HttpConnector::new_with_resolver(GuardedResolver { guard });
        let limit = route.connect_timeout.into();
        // Both schemes, and no delay of small writes: a request is often one.
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(limit));
        tcp.set_keepalive(Some(Duration::from_secs(60)));
        Self { tcp, guard, limit }
    }

    /// The same with TLS as the route has it.
    ///
    /// # Errors
    /// Certificates that cannot be trusted.
    pub(super) fn secured(
        &self,
        route: &RouteSettings,
        tls: &RouteTls,
        protocol: UpstreamProtocol,
    ) -> Result<UpstreamConnector, SettingsFault> {
        let config = tls.config(&route.name)?;
        let mut builder = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http();
        if let Some(name) = &route.tls.server_name {
            let name = ServerName::try_from(name.clone()).map_err(|error| {
                SettingsFault::new(format!(
                    "route.{}.tls.server_name = {name}: {error}",
                    route.name
                ))
            })?;
            builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
        }
        let tcp = self.tcp.clone();
        let secured = match protocol {
            UpstreamProtocol::Auto => builder.enable_all_versions().wrap_connector(tcp),
            UpstreamProtocol::Http1 => builder.enable_http1().wrap_connector(tcp),
            UpstreamProtocol::Http2 => builder.enable_http2().wrap_connector(tcp),
        };
        Ok(UpstreamConnector { secured, guard: self.guard, limit: self.limit })
    }

    /// A plain connection to this host and port, for a tunnel.
    pub(crate) async fn connect(&self, uri: Uri) -> Result<TcpStream, BoxError> {
        judge_literal(self.guard, &uri)?;
        let mut tcp = self.tcp.clone();
        let connect = async {
            std::future::poll_fn(|context| tcp.poll_ready(context)).await?;
            tcp.call(uri).await
        };
        let stream: TokioIo<TcpStream> = within(self.limit, connect).await?;
        Ok(stream.into_inner())
    }
}

impl Service<Uri> for UpstreamConnector {
    type Response = <HttpsConnector<HttpConnector<GuardedResolver>> as Service<Uri>>::Response;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.secured.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let judged = judge_literal(self.guard, &uri);
        let (connecting, limit) = (self.secured.call(uri), self.limit);
        Box::pin(async move {
            judged?;
            within(limit, connecting).await
        })
    }
}

impl Service<Name> for GuardedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let guard = self.guard;
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if let Some(guard) = guard {
                // A name with a good and a bad address is an attempt to reach the bad one.
                let addresses: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
                guard.judge_all(&addresses).map_err(denied)?;
            }
            Ok(found.into_iter())
        })
    }
}

/// The TCP connector looks up no addresses, so its resolver does not see them.
fn judge_literal(guard: Option<EgressGuard>, uri: &Uri) -> Result<(), BoxError> {
    let (Some(guard), Some(host)) = (guard, uri.host()) else { return Ok(()) };
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse();
    match literal {
        Ok(address) => guard.judge(address).map(|_| ()).map_err(|refusal| denied(refusal).into()),
        Err(_) => Ok(()),
    }
}

/// Permanent by its kind: the address stays what it is.
fn denied(refusal: stagger_sender::EgressRefusal) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, refusal.to_string())
}

async fn within<T, E: Into<BoxError>>(
    limit: Duration,
    connecting: impl Future<Output = Result<T, E>>,
) -> Result<T, BoxError> {
    match tokio::time::timeout(limit, connecting).await {
        Ok(connected) => connected.map_err(Into::into),
        Err(_) => {
            let late = format!("no connection within {} ms", limit.as_millis());
            Err(io::Error::new(io::ErrorKind::TimedOut, late).into())
        }
    }
}
