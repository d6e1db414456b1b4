//! One attempt on the wire: headers that are made for it, and its figures.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use stagger::AttemptInfo;
use stagger::observe::{HttpSpan, HttpTarget};
use stagger_core::classify::Code;
use tower_service::Service;

use super::attempt_headers::AttemptHeaderSet;
use super::attempt_kind::AttemptKind;
use super::outcome::BoxError;
use super::upstream::UpstreamServer;
use super::upstream_client::UpstreamClient;
use crate::edge::{AwaitedBody, BodyWatch};
use crate::trace;

const REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("x-request-timeout");

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Sends the attempts of calls to one upstream.
#[derive(Clone, Debug)]
pub(crate) struct AttemptService {
    client: UpstreamClient,
    upstream: Arc<UpstreamServer>,
    headers: Arc<AttemptHeaderSet>,
    kind: AttemptKind,
}

impl AttemptService {
    /// The attempts of a client, which are of this kind.
    pub(crate) fn new(
        client: UpstreamClient,
        upstream: Arc<UpstreamServer>,
        headers: Arc<AttemptHeaderSet>,
        kind: AttemptKind,
    ) -> Self {
        Self { client, upstream, headers, kind }
    }
}

impl<B> Service<Request<B>> for AttemptService
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut head, body) = request.into_parts();
        tell_time_left(&mut head);
        self.headers.write(&mut head.headers);
        let number = head.extensions.get::<AttemptInfo>().map_or(1, |attempt| attempt.number);
        self.upstream.stats.attempt(self.kind.copy(number, head.uri.path()));
        let target = || HttpTarget::of(&head);
        let mut span = self.kind.makes_span().then(|| HttpSpan::start(number, target));
        match &span {
            Some(span) => span.enter(|| trace::pass_on(&mut head.headers)),
            None => trace::pass_on(&mut head.headers),
        }
        let watch = head.extensions.remove::<BodyWatch>();
        let body = AwaitedBody::new(body.map_err(Into::into).boxed_unsync(), watch);
        let reply = self.client.request(Request::from_parts(head, body));
        let (upstream, grpc) = (Arc::clone(&self.upstream), self.kind.is_grpc());
        Box::pin(async move {
            match reply.await {
                Ok(reply) => {
                    upstream.stats.reply(reply.status());
                    if let Some(span) = &mut span {
                        replied(span, &reply);
                    }
                    Ok(reply)
                }
                Err(error) => {
                    upstream.stats.error();
                    if let Some(span) = &mut span {
                        span.failed("_OTHER");
                    }
                    // gRPC's classifier knows a connection that never came to be by tonic's own error.
                    let connect = grpc && error.is_connect();
                    Err(if connect {
                        tonic::ConnectError(error.into()).into()
                    } else {
                        error.into()
                    })
                }
            }
        })
    }
}

/// Ends the span of an attempt with its reply. gRPC tells a failure by a header where there is no message.
fn replied<B>(span: &mut HttpSpan, reply: &Response<B>) {
    let code = reply.headers().get(tonic::Status::GRPC_STATUS);
    let code = code.and_then(|code| code.to_str().ok()?.parse().ok()).map(Code::from_wire);
    match code {
        None | Some(Code::Ok) => span.replied(reply.status().as_u16()),
        Some(code) => span.replied_with_error(reply.status().as_u16(), code.name()),
    }
}

/// Tells the upstream what is left of the time, where the caller said how much it has.
fn tell_time_left(head: &mut http::request::Parts) {
    let left = head.extensions.get::<AttemptInfo>().and_then(|attempt| attempt.remaining);
    if let Some(left) = left
        && head.headers.contains_key(REQUEST_TIMEOUT)
    {
        let text = format!("{}ms", left.as_nanos() / NANOS_PER_MILLI);
        if let Ok(value) = HeaderValue::try_from(text) {
            head.headers.insert(REQUEST_TIMEOUT, value);
        }
    }
}
