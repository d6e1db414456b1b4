//! An address at which every connection is refused.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

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
