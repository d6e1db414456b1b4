//! An async client as users of the executors bring it: pooled, with whole bodies, errors of I/O.

use std::error::Error;
use std::io;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::Ask;

#[derive(Clone, Debug)]
pub(crate) struct Pool(Client<HttpConnector, Full<Bytes>>);

impl Pool {
    pub(crate) fn new() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }

    pub(crate) async fn send(self, ask: Ask) -> io::Result<Response<Bytes>> {
        let request = Request::builder().method(ask.method).uri(ask.url);
        let request = request.body(Full::new(ask.body)).map_err(io::Error::other)?;
        let (head, body) = self.0.request(request).await.map_err(io_error)?.into_parts();
        let body = body.collect().await.map_err(io_error)?.to_bytes();
        Ok(Response::from_parts(head, body))
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
