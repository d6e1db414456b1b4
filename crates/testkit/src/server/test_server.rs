//! The handles of a server: for async tests, for blocking ones, and a port that refuses.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::{self, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::request_log::{Records, RequestLog, SeenRequest};
use super::script::Script;
use super::wire::{Identity, Wire};
use super::{http1, http2};

/// A server with faults on order; its tasks end when it is dropped.
///
/// ```
/// use stagger_testkit::server::{Reaction, Script, TestServer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
/// assert!(server.url("/a").starts_with("http://127.0.0.1:"));
/// assert!(server.seen().is_empty());
/// # }
/// ```
#[derive(Debug)]
pub struct TestServer {
    address: SocketAddr,
    scheme: &'static str,
    log: Arc<RequestLog>,
    task: task::JoinHandle<()>,
}

impl TestServer {
    /// Listens in the clear on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When the system has no port left, and outside a tokio runtime.
    pub async fn start(script: Script) -> Self {
        Self::listen(script, None).await.expect("a test machine has a free port")
    }

    /// Listens under TLS on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When the system has no port left, and outside a tokio runtime.
    pub async fn start_tls(script: Script, identity: &Identity) -> Self {
        let acceptor = TlsAcceptor::from(identity.config());
        Self::listen(script, Some(acceptor)).await.expect("a test machine has a free port")
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Scheme, address, and a path with its leading slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// The requests it has read, in order of arrival.
    #[must_use]
    pub fn seen(&self) -> Vec<SeenRequest> {
        self.log.records.borrow().seen.clone()
    }

    /// Requests that got a reaction, those that were reset unread included.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.log.records.borrow().taken
    }

    /// Connections accepted since the start.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.log.records.borrow().accepted
    }

    /// Connections that are open now.
    #[must_use]
    pub fn open(&self) -> usize {
        self.log.records.borrow().open
    }

    /// Reactions of the script that no request has taken yet.
    #[must_use]
    pub fn left(&self) -> usize {
        self.log.left()
    }

    /// Waits until so many requests have a reaction. Test runners have a time limit; this has none.
    pub async fn until_taken(&self, requests: usize) {
        self.until(|records| records.taken >= requests).await;
    }

    /// Waits until no more than so many connections are open.
    pub async fn until_open(&self, connections: usize) {
        self.until(|records| records.open <= connections).await;
    }

    async fn until(&self, reached: impl FnMut(&Records) -> bool) {
        // It fails when the sender is gone, and that lives in `self`.
        _ = self.log.records.subscribe().wait_for(reached).await;
    }

    async fn listen(script: Script, acceptor: Option<TlsAcceptor>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let scheme = if acceptor.is_some() { "https" } else { "http" };
        let log = Arc::new(RequestLog::new(script));
        let task = tokio::spawn(accept(listener, acceptor, Arc::clone(&log)));
        Ok(Self { address, scheme, log, task })
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The connections are tasks of this one and end with it.
async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, log: Arc<RequestLog>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(talk(stream, acceptor.clone(), Arc::clone(&log)));
                }
                Err(_) => task::yield_now().await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// A client that breaks off is what these tests are about: its errors are of no interest.
async fn talk(stream: TcpStream, acceptor: Option<TlsAcceptor>, log: Arc<RequestLog>) {
    let opened = log.accept();
    _ = stream.set_nodelay(true);
    let mut wire = Wire::plain(stream);
    if !wire.readable().await.unwrap_or(false) {
        return;
    }
    if log.take_unread() {
        return wire.reset();
    }
    if let Some(acceptor) = acceptor {
        let Ok(secured) = wire.secure(&acceptor).await else { return };
        wire = secured;
    }
    match wire.speaks_http2().await {
        Ok(true) => _ = http2::serve(wire, Arc::clone(&log), &opened).await,
        Ok(false) => _ = http1::serve(wire, &opened).await,
        Err(_) => {}
    }
}

/// A [`TestServer`] on a thread and a runtime of its own, for blocking clients; dropping it ends and
/// joins the thread.
#[derive(Debug)]
pub struct BlockingServer {
    /// `Some` until the drop.
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    server: Arc<TestServer>,
}

impl BlockingServer {
    /// Listens in the clear on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When the system has no port or no thread left.
    #[must_use]
    pub fn start(script: Script) -> Self {
        Self::run(script, None)
    }

    /// Listens under TLS on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When the system has no port or no thread left.
    #[must_use]
    pub fn start_tls(script: Script, identity: Identity) -> Self {
        Self::run(script, Some(identity))
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Scheme, address, and a path with its leading slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// The requests it has read, in order of arrival.
    #[must_use]
    pub fn seen(&self) -> Vec<SeenRequest> {
        self.server.seen()
    }

    /// Connections accepted since the start.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.server.connections()
    }

    fn run(script: Script, identity: Option<Identity>) -> Self {
        let (started, start) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut builder = Builder::new_current_thread();
            let runtime = builder.enable_all().build().expect("a test machine has descriptors");
            runtime.block_on(async {
                let server = match identity {
                    Some(identity) => TestServer::start_tls(script, &identity).await,
                    None => TestServer::start(script).await,
                };
                _ = started.send(Arc::new(server));
                // An error too means that the handle is gone.
                _ = stopped.await;
            });
        });
        let server = start.recv().expect("the thread sends once it listens");
        Self { running: Some((stop, thread)), server }
    }
}

impl Drop for BlockingServer {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            _ = stop.send(());
            _ = thread.join();
        }
    }
}

/// A bound socket that never listens: nobody can reuse its port, and whoever connects is refused.
///
/// ```
/// use stagger_testkit::server::RefusingPort;
///
/// let refusal = RefusingPort::hold().expect("a port is free");
/// let error = std::net::TcpStream::connect(refusal.address()).expect_err("nobody listens");
/// assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
/// ```
#[derive(Debug)]
pub struct RefusingPort {
    address: SocketAddr,
    _held: TcpSocket,
}

impl RefusingPort {
    /// Takes a free port of 127.0.0.1 and holds it until dropped.
    ///
    /// # Errors
    /// When the system has no port left.
    pub fn hold() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self { address: socket.local_addr()?, _held: socket })
    }

    /// The address, on which no server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://` address and a path with its leading slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}
