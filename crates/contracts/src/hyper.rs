//! An async client as users of the executors bring it: pooled, with whole bodies, errors of I/O.

use std::error::Error;
use std::io;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

#[derive(Debug)]
pub(crate) struct HyperPool<B = Full<Bytes>>(Client<HttpConnector, B>);

impl<B> HyperPool<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    /// As hyper makes it by default.
    pub(crate) fn by_default() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }

    /// Without the retries that hyper's client makes by itself.
    pub(crate) fn new() -> Self {
        let mut builder = Client::builder(TokioExecutor::new());
        Self(builder.retry_canceled_requests(false).build_http())
    }

    /// Sends and reads the whole reply, so that a failure in its body is one of the attempt.
    pub(crate) async fn send(self, request: Request<B>) -> io::Result<Response<Bytes>> {
        let (head, body) = self.0.request(request).await.map_err(io_error)?.into_parts();
        let body = body.collect().await.map_err(io_error)?.to_bytes();
        Ok(Response::from_parts(head, body))
    }
}

// By hand, because a body need not be `Clone` for its client to be.
impl<B> Clone for HyperPool<B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Of the kind that lies at the root.
fn io_error(error: impl Error + Send + Sync + 'static) -> io::Error {
    let mut cause: Option<&dyn Error> = Some(&error);
    let mut kind = io::ErrorKind::Other;
    while let Some(error) = cause {
        kind = error.downcast_ref::<io::Error>().map_or(kind, io::Error::kind);
        cause = error.source();
    }
    io::Error::new(kind, error)
}
