//! Connections to brokers: streams of bytes to addresses that the egress guard lets pass.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::rt::TokioIo;
use stagger::ConfigError;
use stagger_scheduler::model::{ApplicationId, AttemptFailure, Endpoint, EndpointAuth};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;

use crate::address::{Address, Host};
use crate::connection::ByteStream;
use crate::dial::{ConnectPhase, secure};
use crate::network::GuardedNetwork;
use crate::send_failure::SendFailure;
use crate::tls::without_protocols;

/// A stream of bytes to a broker, over TCP or TLS, and through the egress proxy if there is one.
pub struct BrokerStream(TokioIo<Box<dyn ByteStream>>);

impl BrokerStream {
    fn new(stream: Box<dyn ByteStream>) -> Self {
        Self(TokioIo::new(stream))
    }
}

impl AsyncRead for BrokerStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for BrokerStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl std::fmt::Debug for BrokerStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BrokerStream").finish_non_exhaustive()
    }
}

/// The address of a broker, and the certificate that is shown to it.
#[derive(Clone)]
pub struct BrokerAddress {
    address: Address,
    tls: TlsConnector,
}

impl BrokerAddress {
    /// Whether the scheme asks for TLS.
    #[must_use]
    pub const fn is_tls(&self) -> bool {
        self.address.tls_name.is_some()
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> &Arc<str> {
        &self.address.origin
    }
}

impl std::fmt::Debug for BrokerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BrokerAddress").field("address", &self.address).finish_non_exhaustive()
    }
}

impl GuardedNetwork {
    /// Reads the address of a broker from the endpoint's `url`; `schemes` are those of its protocol, each with whether it asks
    /// for TLS. Besides the ports that are open for HTTP, `usual` ones are, unless the operator has named others; the
    /// first is the default.
    ///
    /// # Errors
    /// `endpoint.url` or `auth` with the bound it breaks.
    pub fn broker_address(
        &self,
        endpoint: &Endpoint,
        schemes: &[(&str, bool)],
        usual: &[u16],
    ) -> Result<BrokerAddress, ConfigError> {
        let address = Address::of_broker(&endpoint.url, schemes, (&self.ports, usual))?;
        let tls = match &endpoint.auth {
            Some(EndpointAuth::Mtls(_)) if address.tls_name.is_none() => {
                let bound = "used with a url of TLS: there is no certificate without it";
                return Err(ConfigError::new("auth", "mtls", bound));
            }
            Some(EndpointAuth::Mtls(identity)) => {
                without_protocols(&self.dialer.roots.with_identity(identity)?)
            }
            _ => self.dialer.roots.bare().clone(),
        };
        Ok(BrokerAddress { address, tls })
    }

    /// Another address of the same broker or cluster, which it has named itself: with TLS and the certificate of the known one, and
    /// on a port that an endpoint could name. Like any other it is judged when it is dialled.
    ///
    /// # Errors
    /// It cannot be an address, or the port is closed.
    pub fn broker_peer(
        &self,
        known: &BrokerAddress,
        (host, port): (&str, u16),
        usual: &[u16],
    ) -> Result<BrokerAddress, SendFailure> {
        // An IPv6 address stands in brackets in a URL.
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let scheme = if known.is_tls() { "tls" } else { "tcp" };
        let schemes = [("tls", true), ("tcp", false)];
        let url = format!("{scheme}://{host}:{port}");
        let read = Address::of_broker(&url, &schemes, (&self.ports, usual));
        let address = read.map_err(|error| {
            let detail =
                format!("the broker names {}; it must be {}", error.value(), error.bound());
            SendFailure::new(AttemptFailure::Egress, detail)
        })?;
        Ok(BrokerAddress { address, tls: known.tls.clone() })
    }

    /// Checks a literal address before it is saved. Names are resolved at each attempt.
    ///
    /// # Errors
    /// `endpoint.url` with the bound it breaks.
    pub fn check_broker(&self, to: &BrokerAddress) -> Result<(), ConfigError> {
        let Host::Literal(ip) = to.address.host else { return Ok(()) };
        let judged = self.dialer.guard.judge(ip);
        judged.map(|_| ()).map_err(|refusal| {
            ConfigError::new(
                "endpoint.url",
                &*to.address.origin,
                format!("a public address: {refusal}"),
            )
        })
    }

    /// Connects to a broker, in the clear: the name is resolved, and the guard judges every address.
    ///
    /// # Errors
    /// The failure, with its phase.
    pub async fn connect_broker(
        &self,
        to: &BrokerAddress,
        of: ApplicationId,
    ) -> Result<BrokerStream, SendFailure> {
        let mut phase = ConnectPhase::Reply;
        self.dialer.stream((&to.address, of), None, &mut phase).await.map(BrokerStream::new)
    }

    /// Shakes hands over a connection to a broker, if its address asks for TLS.
    ///
    /// # Errors
    /// The handshake fails.
    pub async fn secure_broker(
        &self,
        to: &BrokerAddress,
        stream: BrokerStream,
    ) -> Result<BrokerStream, SendFailure> {
        match &to.address.tls_name {
            None => Ok(stream),
            Some(name) => secure(&to.tls, name, stream).await.map(BrokerStream::new),
        }
    }
}
