//! Accepts connections of clients, and ends with the last of them.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;

use axum::Router;
use metrics::counter;
use stagger::{Sleep, Span, TokioTime};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::connection::serve;
use super::table::ConnectionTable;

/// The pause after an error that is not one connection's own, such as no descriptor left.
const PAUSE: Span = Span::from_millis(100);

/// Connections that got no place, because all others were at work.
pub(crate) const REFUSED: &str = "stagger.http.connections.refused";

/// The whole reply to a connection that gets no place.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\
                      retry-after: 1\r\nconnection: close\r\n\r\n";

/// The HTTP server of the dispatcher.
#[derive(Debug)]
pub(crate) struct HttpEdge {
    listener: TcpListener,
    routes: Router,
    table: ConnectionTable,
}

impl HttpEdge {
    /// At most `most` connections at one time.
    pub(crate) fn new(listener: TcpListener, routes: Router, most: usize) -> Self {
        Self { listener, routes, table: ConnectionTable::new(most) }
    }

    /// Serves until `stop` is ready. Then it accepts no more connections, answers the requests that have
    /// arrived, and ends with the last connection. Dropping the future closes all of them.
    pub(crate) async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { listener, routes, table } = self;
        let (stopping, stopped) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = pin!(stop);
        loop {
            tokio::select! {
                () = stop.as_mut() => break,
                _ = connections.join_next(), if !connections.is_empty() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, from)) => {
                        admit(&mut connections, &table, (stream, from), &routes, &stopped);
                    }
                    Err(error) => wait_after(&error).await,
                }
            }
        }
        drop(listener);
        stopping.send_replace(true);
        while connections.join_next().await.is_some() {}
    }
}

fn admit(
    connections: &mut JoinSet<()>,
    table: &ConnectionTable,
    (stream, from): (TcpStream, SocketAddr),
    routes: &Router,
    stopped: &watch::Receiver<bool>,
) {
    // Without it a reply in two parts is only late.
    _ = stream.set_nodelay(true);
    if let Some(entry) = table.admit(from.ip()) {
        connections.spawn(serve(stream, from, entry, routes.clone(), stopped.clone()));
        return;
    }
    counter!(REFUSED).increment(1);
    // A client that does not get it sees a connection that closes.
    _ = stream.try_write(FULL);
}

/// An error of one connection (it was reset before it was accepted) says nothing about the next.
async fn wait_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::warn!(%error, "connection not accepted");
        TokioTime.sleep(PAUSE).await;
    }
}
