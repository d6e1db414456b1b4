//! HTTP/1.1 between a client and a server of this process, without a socket: hyper on both sides of a pipe.

use std::error::Error;
use std::io;

use axum::Router;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Empty;
use hyper::body::Body;
use hyper::{client, server};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex};
use tokio::task::JoinSet;

/// Bytes that a pipe holds: more than every request and every reply here.
pub(super) const PIPE: usize = 16 << 10;

/// A connection to `router`. The server's side ends with it.
pub(super) fn connect(router: Router) -> DuplexStream {
    let (near, far) = duplex(PIPE);
    let service = TowerToHyperService::new(router);
    let serving = server::conn::http1::Builder::new().serve_connection(TokioIo::new(far), service);
    tokio::spawn(serving);
    near
}

/// Sends one request over `connection`, which is closed when this future ends or is dropped.
pub(super) async fn send<B>(
    connection: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<B>,
) -> io::Result<Response<Empty<Bytes>>>
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    let io = TokioIo::new(connection);
    let (mut sender, driver) =
        client::conn::http1::handshake(io).await.map_err(io::Error::other)?;
    let mut tasks = JoinSet::new();
    tasks.spawn(driver);
    let reply = sender.send_request(request).await.map_err(io::Error::other)?;
    Ok(reply.map(|_| Empty::new()))
}
