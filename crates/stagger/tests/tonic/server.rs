//! A tonic server that answers by a script and writes down what it saw.

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use http_body_util::BodyExt;
use tokio::net::TcpListener;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tower::Service;

/// One request, as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Counted from 0.
    pub(crate) call: usize,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// The reply of the server.
pub(crate) enum Reply {
    /// Headers, this message, and the status OK.
    Message(&'static str),
    /// The status in the headers, nothing else.
    Status(Status),
    /// Headers, and then the status.
    Late(Status),
    /// Headers, a message, and then the status.
    Broken(Status),
    /// An HTTP server that does not speak gRPC.
    Http(u16, &'static [(&'static str, &'static str)]),
    /// Headers and a message, and never the end.
    Endless,
    /// Nothing at all.
    Never,
}

pub(crate) type Script = dyn Fn(&Seen) -> Reply + Send + Sync;

/// A running server. Its tasks end with the test's runtime.
pub(crate) struct Scripted {
    endpoint: Endpoint,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Scripted {
    pub(crate) async fn start<F>(
        script: F,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>>
    where
        F: Fn(&Seen) -> Reply + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let endpoint = Endpoint::from_shared(format!("http://{}", listener.local_addr()?))?;
        let seen = Arc::default();
        let service = Answering { script: Arc::new(script), seen: Arc::clone(&seen) };
        let incoming = TcpIncoming::from(listener);
        tokio::spawn(Server::builder().serve_with_incoming(service, incoming));
        Ok(Self { endpoint, seen })
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.endpoint.clone()
    }

    pub(crate) fn channel(&self) -> Channel {
        self.endpoint.connect_lazy()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn calls(&self) -> usize {
        self.seen().len()
    }
}

#[derive(Clone)]
struct Answering {
    script: Arc<Script>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Service<Request<Body>> for Answering {
    type Response = Response<Body>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Status>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { script, seen } = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let request = {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                let call = seen.len();
                seen.push(Seen { call, headers: parts.headers, body });
                seen[call].clone()
            };
            let reply = script(&request);
            if matches!(reply, Reply::Never) { pending().await } else { Ok(response(reply)) }
        })
    }
}

fn response(reply: Reply) -> Response<Body> {
    let ok = Status::new(tonic::Code::Ok, "");
    match reply {
        Reply::Status(status) => status.into_http(),
        Reply::Message(text) => grpc(vec![message(text), trailers(&ok)], false),
        Reply::Late(status) => grpc(vec![trailers(&status)], false),
        Reply::Broken(status) => grpc(vec![message("half"), trailers(&status)], false),
        Reply::Endless | Reply::Never => grpc(vec![message("half")], true),
        Reply::Http(status, headers) => {
            let mut builder = Response::builder().status(status);
            for (name, value) in headers {
                builder = builder.header(*name, *value);
            }
            builder.body(Body::empty()).unwrap_or_default()
        }
    }
}

fn grpc(frames: Vec<Frame<Bytes>>, endless: bool) -> Response<Body> {
    let body = Body::new(Frames { frames: frames.into(), endless });
    Response::builder().header("content-type", "application/grpc").body(body).unwrap_or_default()
}

fn message(text: &str) -> Frame<Bytes> {
    let mut bytes = vec![0, 0, 0, 0, u8::try_from(text.len()).unwrap_or(0)];
    bytes.extend_from_slice(text.as_bytes());
    Frame::data(bytes.into())
}

fn trailers(status: &Status) -> Frame<Bytes> {
    let mut headers = HeaderMap::new();
    status.add_header(&mut headers).unwrap_or_default();
    Frame::trailers(headers)
}

struct Frames {
    frames: VecDeque<Frame<Bytes>>,
    endless: bool,
}

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match self.frames.pop_front() {
            None if self.endless => Poll::Pending,
            frame => Poll::Ready(frame.map(Ok)),
        }
    }
}
