//! One listener: accepts connections while there is a place for them, and ends when it is told to.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use stagger::{Sleep, Span, TokioTime};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::connection::{EdgeSettings, serve};
use super::places::{ConnectionPlaces, EdgePhase};
use super::served_request::ServedRequest;
use super::threads::ThreadPool;

/// The pause after an error that is not one connection's own, such as no descriptor left.
const PAUSE: Span = Span::from_millis(100);

/// The whole reply to a connection that gets no place.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\
                      retry-after: 1\r\nstagger-stop: connection_limit\r\nconnection: close\r\n\r\n";

/// A listener that accepts until it is dropped or told to end.
#[derive(Debug)]
pub(crate) struct Listener {
    local: SocketAddr,
    phase: watch::Sender<EdgePhase>,
}

impl Listener {
    /// Listens on an address.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
        TcpListener::bind(address).await
    }

    /// Serves the connections of `listener` by `answer`, on these threads.
    pub(crate) fn start<F, R, B>(
        listener: TcpListener,
        (places, settings, threads): (ConnectionPlaces, EdgeSettings, ThreadPool),
        answer: F,
    ) -> io::Result<Self>
    where
        F: Fn(SocketAddr, Request<Incoming>, ServedRequest) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let local = listener.local_addr()?;
        let (phase, stopping) = watch::channel(EdgePhase::Open);
        tokio::spawn(accept(listener, (places, settings, threads), stopping, answer));
        Ok(Self { local, phase })
    }

    /// The address that it listens on.
    pub(crate) const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Ends: connections are served or closed as `phase` says.
    pub(crate) fn end(&self, phase: EdgePhase) {
        self.phase.send_replace(phase);
    }
}

async fn accept<F, R, B>(
    listener: TcpListener,
    (places, settings, threads): (ConnectionPlaces, EdgeSettings, ThreadPool),
    stopping: watch::Receiver<EdgePhase>,
    answer: F,
) where
    F: Fn(SocketAddr, Request<Incoming>, ServedRequest) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut ends = stopping.clone();
    loop {
        tokio::select! {
            () = leaves_open(&mut ends) => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => {
                    // Without it a reply in two parts is only late.
                    _ = stream.set_nodelay(true);
                    let Some(place) = places.take() else { refuse(&stream); continue };
                    let answer = answer.clone();
                    let answer = move |request, exchange| answer(from, request, exchange);
                    let (settings, stopping) = (settings.clone(), stopping.clone());
                    threads.serve(stream, |stream, share| {
                        serve((stream, (place, share)), settings, stopping, answer)
                    });
                }
                Err(error) => wait_after(&error).await,
            }
        }
    }
}

/// Ready when the listener ends. A sender that is gone is a proxy that is gone.
async fn leaves_open(phase: &mut watch::Receiver<EdgePhase>) {
    _ = phase.wait_for(|phase| *phase != EdgePhase::Open).await;
}

/// A client that does not get it sees a connection that closes.
fn refuse(stream: &TcpStream) {
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
