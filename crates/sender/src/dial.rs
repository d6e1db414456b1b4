//! Connections to receivers, all made here: the name is resolved, and every answer is judged by the guard.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use stagger::{Clock, ConfigError, Span, TokioTime};
use stagger_scheduler::model::{ApplicationId, AttemptFailure};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;

use crate::address::{Address, Host};
use crate::connection::{ByteStream, Connection, within};
use crate::guard::{EgressGuard, EgressRefusal};
use crate::resolver::{LookupTurns, Resolve};
use crate::send_failure::{SendFailure, is_local};

/// The longest time for one of several addresses, so that the next one gets its turn: two lost
/// packets.
const CONNECT_TIME: Span = Span::from_secs(4);
/// The most bytes that the system keeps of a reply that is not read yet; Linux doubles it. It bounds the work and the
/// memory for a reply without end: otherwise a receiver on a fast network fills some megabytes before an attempt has read
/// the little that it keeps.
const RECEIVE_BUFFER: u32 = 32 << 10;
/// Addresses of a name that are connected to, the preferred ones; all of them are judged.
const MAX_DIALS: usize = 4;

/// The addresses that may be reached, and their TLS roots.
#[derive(Clone, Debug, Default)]
pub struct SendOptions {
    /// Whether loopback and private addresses may be reached, for tests. Link-local ones never.
    pub allow_private: bool,
    /// Ports that may be reached; all of them if empty and `allow_private`, else 80, 443 and 8443.
    pub ports: Vec<u16>,
    /// Certificates (PEM) to trust besides the usual ones.
    pub roots: Vec<u8>,
    /// The name servers to ask; those of the system if empty.
    pub name_servers: Vec<SocketAddr>,
}

impl SendOptions {
    /// The TLS connector: the usual roots and these.
    ///
    /// # Errors
    /// Certificates that cannot be read.
    pub(crate) fn tls(&self) -> Result<TlsConnector, ConfigError> {
        let wrong = |why: String| ConfigError::new("send.roots", "(a file)", format!("PEM: {why}"));
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for certificate in CertificateDer::pem_slice_iter(&self.roots) {
            let certificate = certificate.map_err(|error| wrong(format!("{error:?}")))?;
            roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has the default versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// Makes connections, to addresses that the guard lets pass.
#[derive(Clone)]
pub(crate) struct Dialer {
    pub(crate) guard: EgressGuard,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) turns: LookupTurns,
    pub(crate) tls: TlsConnector,
}

/// The phase that an attempt has reached, for the description of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectPhase {
    /// It waits for its turn at the resolver.
    Turn,
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
    pub(crate) async fn dial(
        &self,
        (to, of): (&Address, ApplicationId),
        phase: &mut ConnectPhase,
    ) -> Result<Connection, SendFailure> {
        let answers = self.resolve(to, of, phase).await?;
        let checked = self.guard.judge_all(&answers).map_err(|refusal| refused(to, refusal))?;
        *phase = ConnectPhase::Connect;
        let stream = connect(&checked, to.port).await?;
        *phase = ConnectPhase::Tls;
        let stream = self.secure(stream, to).await?;
        *phase = ConnectPhase::Reply;
        let connection = Connection::open(stream, TokioTime.now()).await;
        connection.map_err(|error| SendFailure::by(AttemptFailure::Transport, &error))
    }

    /// The wait for a turn is not the endpoint's failure: other names of its application hang.
    async fn resolve(
        &self,
        to: &Address,
        of: ApplicationId,
        phase: &mut ConnectPhase,
    ) -> Result<Vec<IpAddr>, SendFailure> {
        let name = match &to.host {
            Host::Literal(ip) => return Ok(vec![*ip]),
            Host::Name(name) => name,
        };
        *phase = ConnectPhase::Turn;
        let Some(_turn) = self.turns.take(of).await else { return Err(SendFailure::no_turn()) };
        *phase = ConnectPhase::Resolve;
        match self.resolver.resolve(name).await {
            Ok(answers) if answers.is_empty() => {
                Err(SendFailure::new(AttemptFailure::Resolve, format!("{name} has no address")))
            }
            Ok(answers) => Ok(answers),
            Err(error) if is_local(&error) => Err(SendFailure::by(AttemptFailure::Local, &error)),
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

/// A tenant may know the address that it gave, but not the one that the node's resolver found: that would map a
/// private network. The operator's log has it.
fn refused(to: &Address, refusal: EgressRefusal) -> SendFailure {
    let detail = match &to.host {
        Host::Literal(_) => refusal.to_string(),
        Host::Name(name) => {
            tracing::info!(name = %name, %refusal, "egress refused");
            format!("{name} has an address that is not globally routable")
        }
    };
    SendFailure::new(AttemptFailure::Egress, detail)
}

async fn connect_to(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
    socket.connect(address).await
}

/// The first of these addresses that answers.
async fn connect(addresses: &[IpAddr], port: u16) -> Result<TcpStream, SendFailure> {
    let mut last = SendFailure::new(AttemptFailure::Connect, "no address");
    let tried = addresses.len().min(MAX_DIALS);
    for (n, ip) in addresses[..tried].iter().enumerate() {
        let address = SocketAddr::new(*ip, port);
        // The last one may take all the time that is left.
        let span = if n + 1 < tried { CONNECT_TIME } else { Span::MAX };
        last = match within(span, connect_to(address)).await {
            Some(Ok(stream)) => {
                // A request is one write, and must not wait for the next. Without it it is only late.
                _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Some(Err(error)) => SendFailure::connecting(address, &error),
            None => SendFailure::new(AttemptFailure::Connect, format!("{address}: no answer")),
        };
    }
    Err(last)
}
