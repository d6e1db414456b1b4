//! Connections of TCP, in the clear: several addresses tried in turn, and a small receive buffer.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;

use stagger::Span;
use stagger_scheduler::model::AttemptFailure;
use tokio::net::{TcpSocket, TcpStream};

use crate::connection::within;
use crate::send_failure::SendFailure;

/// The longest time for one of several addresses, so that the next one gets its turn: two lost
/// packets.
const CONNECT_TIME: Span = Span::from_secs(4);
/// The most bytes that the system keeps of a reply that is not read yet; Linux doubles it. It bounds the work and the
/// memory for a reply without end: otherwise a receiver on a fast network fills some megabytes before an attempt has read
/// the little that it keeps.
const RECEIVE_BUFFER: u32 = 32 << 10;
/// Addresses of a name that are connected to, the preferred ones; all of them are judged.
const MAX_DIALS: usize = 4;

/// The first of these addresses that answers.
pub(crate) async fn connect(addresses: &[IpAddr], port: u16) -> Result<TcpStream, SendFailure> {
    let mut last = SendFailure::new(AttemptFailure::Connect, "no address");
    let tried = addresses.len().min(MAX_DIALS);
    for (n, ip) in addresses[..tried].iter().enumerate() {
        let address = SocketAddr::new(*ip, port);
        // The last one may take all the time that is left.
        let span = if n + 1 < tried { CONNECT_TIME } else { Span::MAX };
        last = match within(span, pin!(connect_to(address))).await {
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

async fn connect_to(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
    socket.connect(address).await
}
