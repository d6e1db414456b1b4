//! A proxy in this process, and a client of HTTP/1.1 without any retry in it.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use stagger_proxy::config::ProxySettings;
use stagger_proxy::{Proxy, ProxyHandle};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A proxy that runs until it is dropped or stopped.
pub(crate) struct RunningProxy {
    pub(crate) handle: ProxyHandle,
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    run: JoinHandle<bool>,
}

impl RunningProxy {
    /// Runs under these settings, whose routes listen on one free port.
    pub(crate) async fn start(text: &str) -> Self {
        Self::of(Proxy::bind(settings(text)).await.expect("free ports"))
    }

    /// The same, on the threads of the settings.
    pub(crate) async fn start_on_threads(text: &str) -> Self {
        Self::of(Proxy::bind_on_threads(settings(text)).await.expect("free ports and threads"))
    }

    fn of(proxy: Proxy) -> Self {
        let handle = proxy.handle();
        let address = handle.addresses()[0];
        let (stop, stopped) = oneshot::channel();
        let run = tokio::spawn(proxy.run(async { _ = stopped.await }));
        Self { handle, address, stop, run }
    }

    /// Tells it to end; true once it has, if no call was cut off.
    pub(crate) async fn stop(self) -> bool {
        _ = self.stop.send(());
        self.run.await.expect("it does not panic")
    }

    /// Sends a request on a connection of its own, with the whole reply.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Response<Bytes> {
        send(self.address, request).await
    }

    /// Sends a request of this method without a body.
    pub(crate) async fn ask(&self, method: &str, path: &str) -> Response<Bytes> {
        self.send(request(method, path, "", &[])).await
    }

    /// Sends bytes as they are, and reads until the proxy closes or says no more for a while.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        stream.write_all(bytes).await.expect("it reads");
        let mut reply = Vec::new();
        let limit = std::time::Duration::from_secs(10);
        let read = tokio::time::timeout(limit, stream.read_to_end(&mut reply)).await;
        // A connection that is reset has said what it says.
        _ = read.expect("it closes the connection");
        String::from_utf8_lossy(&reply).into_owned()
    }
}

/// Settings whose routes listen on one free port.
pub(crate) fn settings(text: &str) -> ProxySettings {
    let text = format!("proxy.listen = '127.0.0.1:0'\n{text}");
    ProxySettings::parse("routes.toml", &text).expect("good settings")
}

/// Sends a request to this address on a connection of its own, with the whole reply.
pub(crate) async fn send(address: SocketAddr, request: Request<Full<Bytes>>) -> Response<Bytes> {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.expect("HTTP/1.1");
    let connection = tokio::spawn(connection);
    let reply = sender.send_request(request).await.expect("a reply");
    let (head, body) = reply.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    connection.abort();
    Response::from_parts(head, body)
}

/// A request to `api.internal`.
pub(crate) fn request(
    method: &str,
    path: &str,
    body: &'static str,
    headers: &[(&str, &str)],
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path).header("host", "api.internal");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(Bytes::from_static(body.as_bytes()))).expect("a request")
}

/// A header as text.
pub(crate) fn text<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).map_or("", |value| value.to_str().expect("visible characters"))
}

/// Reads until `end` has come.
pub(crate) async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let (mut text, mut byte) = (String::new(), [0_u8; 1]);
    while !text.ends_with(end) {
        let read =
            tokio::time::timeout(std::time::Duration::from_secs(10), stream.read_exact(&mut byte))
                .await;
        read.expect("in time").expect("a byte");
        text.push(char::from(byte[0]));
    }
    text
}
