//! The one place where connections are made.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use stagger::{Clock, Span, TokioTime};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::connection::{ByteStream, Connection, within};
use super::resolve::Resolve;
use super::send_failure::SendFailure;
use crate::egress::{Address, Guard, Host};
use crate::model::AttemptFailure;

/// The longest time for one of several addresses, so that the next one gets its turn: two lost
/// packets.
const CONNECT_TIME: Span = Span::from_secs(4);
/// Addresses of a name that are connected to, the preferred ones; all of them are judged.
const MAX_DIALS: usize = 4;

/// Makes connections, to addresses that the guard lets pass.
#[derive(Clone)]
pub(super) struct Dialer {
    pub(super) guard: Guard,
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) tls: TlsConnector,
}

/// The phase that an attempt has reached, for the description of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectPhase {
    Resolve,
    Connect,
    Tls,
    Reply,
}

impl Dialer {
    /// Resolves, judges, connects, and shakes hands.
    ///
    /// # Errors
    /// The failure, with its phase.
    pub(super) async fn dial(
        &self,
        to: &Address,
        phase: &mut ConnectPhase,
    ) -> Result<Connection, SendFailure> {
        *phase = ConnectPhase::Resolve;
        let answers = self.resolve(to).await?;
        let checked = self
            .guard
            .judge_all(&answers)
            .map_err(|refusal| SendFailure::new(AttemptFailure::Egress, refusal.to_string()))?;
        *phase = ConnectPhase::Connect;
        let stream = connect(&checked, to.port).await?;
        *phase = ConnectPhase::Tls;
        let stream = self.secure(stream, to).await?;
        *phase = ConnectPhase::Reply;
        let connection = Connection::open(stream, TokioTime.now()).await;
        connection.map_err(|error| SendFailure::by(AttemptFailure::Transport, &error))
    }

    async fn resolve(&self, to: &Address) -> Result<Vec<IpAddr>, SendFailure> {
        let name = match &to.host {
            Host::Literal(ip) => return Ok(vec![*ip]),
            Host::Name(name) => name,
        };
        match self.resolver.resolve(name).await {
            Ok(answers) if answers.is_empty() => {
                Err(SendFailure::new(AttemptFailure::Resolve, format!("{name} has no address")))
            }
            Ok(answers) => Ok(answers),
            Err(error) => Err(SendFailure::by(AttemptFailure::Resolve, &error)),
        }
    }

    /// The name stays the same: for the certificate, and for servers with several names.
    async fn secure(
        &self,
        stream: TcpStream,
        to: &Address,
    ) -> Result<Box<dyn ByteStream>, SendFailure> {
        let Some(name) = &to.tls_name else { return Ok(Box::new(TokioIo::new(stream))) };
        match self.tls.connect(name.clone(), stream).await {
            Ok(stream) => Ok(Box::new(TokioIo::new(stream))),
            Err(error) => Err(SendFailure::by(AttemptFailure::Tls, &error)),
        }
    }
}

/// The first of these addresses that answers.
async fn connect(addresses: &[IpAddr], port: u16) -> Result<TcpStream, SendFailure> {
    let mut last = SendFailure::new(AttemptFailure::Connect, "no address");
    let tried = addresses.len().min(MAX_DIALS);
    for (n, ip) in addresses[..tried].iter().enumerate() {
        let address = SocketAddr::new(*ip, port);
        // The last one may take all the time that is left.
        let span = if n + 1 < tried { CONNECT_TIME } else { Span::MAX };
        last = match within(span, TcpStream::connect(address)).await {
            Some(Ok(stream)) => {
                // A request is one write, and must not wait for the next. Without it it is only late.
                _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Some(Err(error)) => {
                SendFailure::new(AttemptFailure::Connect, format!("{address}: {error}"))
            }
            None => SendFailure::new(AttemptFailure::Connect, format!("{address}: no answer")),
        };
    }
    Err(last)
}
