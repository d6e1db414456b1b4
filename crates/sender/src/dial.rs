//! Connections to receivers, all made here: the name is resolved, and every answer is judged by the guard.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use stagger::{Clock, TokioTime};
use stagger_scheduler::model::{ApplicationId, AttemptFailure};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use crate::address::{Address, Host};
use crate::connection::{ByteStream, Connection};
use crate::egress_proxy::EgressProxy;
use crate::guard::{EgressGuard, EgressRefusal};
use crate::resolver::{LookupTurns, Resolve};
use crate::send_failure::{SendFailure, is_local};
use crate::tcp::connect;
use crate::tls::TlsRoots;

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
    /// The proxy through which everything is sent; none by default. No variable of the environment names one.
    pub proxy: Option<EgressProxy>,
    /// The name of this sender in handshakes, a host such as `hooks.example`; without one no endpoint can want a handshake.
    pub origin: Option<String>,
}

/// Makes connections, to addresses that the guard lets pass.
#[derive(Clone)]
pub(crate) struct Dialer {
    pub(crate) guard: EgressGuard,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) turns: LookupTurns,
    pub(crate) roots: TlsRoots,
    pub(crate) proxy: Option<Arc<EgressProxy>>,
}

/// The phase that an attempt has reached, for the description of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectPhase {
    /// It waits for its turn at the resolver.
    Turn,
    Resolve,
    Connect,
    /// The egress proxy is to make a tunnel.
    Proxy,
    Tls,
    Reply,
    /// The authorization server is asked, or another attempt asks it.
    Token,
    /// A broker is asked.
    Broker,
    /// The endpoint is asked for its consent, or another attempt asks it.
    Handshake,
}

impl ConnectPhase {
    /// Its name in descriptions of failures.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Turn => "waiting for the resolver",
            Self::Resolve => "resolving its name",
            Self::Connect => "connecting",
            Self::Proxy => "in the egress proxy",
            Self::Tls => "in the TLS handshake",
            Self::Reply => "waiting for its reply",
            Self::Token => "waiting for a token",
            Self::Broker => "waiting for the broker",
            Self::Handshake => "waiting for its consent",
        }
    }
}

impl Dialer {
    /// Resolves, judges, connects, and shakes hands.
    ///
    /// # Errors
    /// The failure, with its phase.
    pub(crate) async fn dial(
        &self,
        (to, of): (&Address, ApplicationId),
        tls: &TlsConnector,
        phase: &mut ConnectPhase,
    ) -> Result<Connection, SendFailure> {
        let stream = self.stream((to, of), Some(tls), phase).await?;
        *phase = ConnectPhase::Reply;
        let connection = Connection::open(stream, TokioTime.now()).await;
        connection.map_err(|error| SendFailure::by(AttemptFailure::Transport, &error))
    }

    /// Resolves, judges, connects, and shakes hands where `tls` is given and the address asks for it.
    ///
    /// # Errors
    /// The failure, with its phase.
    pub(crate) async fn stream(
        &self,
        (to, of): (&Address, ApplicationId),
        tls: Option<&TlsConnector>,
        phase: &mut ConnectPhase,
    ) -> Result<Box<dyn ByteStream>, SendFailure> {
        let answers = self.resolve(to, of, phase).await?;
        let checked = self.guard.judge_all(&answers).map_err(|refusal| refused(to, refusal))?;
        let secured = tls.zip(to.tls_name.as_ref());
        match &self.proxy {
            None => {
                *phase = ConnectPhase::Connect;
                let stream = connect(&checked, to.port).await?;
                *phase = ConnectPhase::Tls;
                match secured {
                    None => Ok(Box::new(TokioIo::new(stream))),
                    Some((tls, name)) => secure(tls, name, stream).await,
                }
            }
            Some(proxy) => {
                *phase = ConnectPhase::Proxy;
                let reach = (&*self.resolver, self.roots.plain());
                let tunnel = proxy.tunnel(reach, (&checked, to)).await?;
                *phase = ConnectPhase::Tls;
                match secured {
                    None => Ok(tunnel),
                    Some((tls, name)) => secure(tls, name, TokioIo::new(tunnel)).await,
                }
            }
        }
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
}

/// The name stays the same, whatever was dialled: for the certificate, and for servers with several names.
pub(crate) async fn secure<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    tls: &TlsConnector,
    name: &ServerName<'static>,
    stream: S,
) -> Result<Box<dyn ByteStream>, SendFailure> {
    match tls.connect(name.clone(), stream).await {
        Ok(stream) => Ok(Box::new(TokioIo::new(stream))),
        Err(error) => Err(SendFailure::by(AttemptFailure::Tls, &error)),
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
