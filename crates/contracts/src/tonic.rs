//! The service for tonic's clients, over tonic's own channel.

use std::error::Error;
use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use stagger::tonic::{CallError, GrpcLayer};
use stagger::{LocalLedger, Policy, Retrier, TokioTime};
use stagger_testkit::server::Reaction;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tower::{Layer, ServiceExt};

use crate::asynch::ONE_DESTINATION;
use crate::{Ask, CallOutcome, ContractCaller, Integration};

/// Calls of a gRPC channel. A promise's method says whether the call may be made twice; on the wire
/// every call is a POST over HTTP/2, and a failure is a status in the headers.
#[derive(Clone, Copy, Debug)]
pub struct Tonic;

/// The gRPC codes of the promises' statuses. The others have no likeness there: gRPC has no
/// failure of the server itself that its clients retry but UNAVAILABLE.
const CODES: [(u16, Code); 8] = [
    (400, Code::InvalidArgument),
    (401, Code::Unauthenticated),
    (403, Code::PermissionDenied),
    (404, Code::NotFound),
    (409, Code::AlreadyExists),
    (429, Code::ResourceExhausted),
    (501, Code::Unimplemented),
    (503, Code::Unavailable),
];
const BY_DEFAULT: &str = "by default only what the server cannot have acted on is sent again; \
    a service config or GrpcLayer::idempotent says what else may be";
const COMMITTED: &str =
    "headers without a status commit the call (gRFC A6); what follows is the caller's";

impl Integration for Tonic {
    fn name(&self) -> &'static str {
        "tonic"
    }

    fn caller(&self, policy: Policy, ledger: Arc<LocalLedger>) -> ContractCaller {
        let layer = GrpcLayer::new(Retrier::new(policy, TokioTime).with_ledger(ledger));
        let channel = OnceLock::new();
        Box::new(move |ask| {
            let channel = channel.get_or_init(|| connect(&ask)).clone();
            let layer = layer.clone();
            Box::pin(async move {
                // A call that may not be made twice gets the layer as it is by default.
                if ask.is_idempotent() {
                    let layer = layer.idempotent(|_: &Uri| true);
                    answered(layer.layer(channel).oneshot(request(&ask)).await).await
                } else {
                    answered(layer.layer(channel).oneshot(request(&ask)).await).await
                }
            })
        })
    }

    fn client(&self, policy: Policy) -> ContractCaller {
        let layer = GrpcLayer::new(Retrier::new(policy, TokioTime));
        let channel = OnceLock::new();
        Box::new(move |ask| {
            let channel = channel.get_or_init(|| connect(&ask)).clone();
            let service = layer.layer(channel);
            Box::pin(async move { answered(service.oneshot(request(&ask)).await).await })
        })
    }

    fn waives(&self, promise: &str) -> Option<&'static str> {
        match promise {
            "request on a connection that is closed is repeated"
            | "retry that is dropped in flight stays paid"
            | "time limit around the call makes no retry free"
            | "slow call gets a second copy" => Some(BY_DEFAULT),
            "empty budget of one host leaves the others alone" => Some(ONE_DESTINATION),
            "body that breaks off is retried" | "time limit ends a body that stalls" => {
                Some(COMMITTED)
            }
            "idempotency key is the same on every attempt" => Some(
                "gRPC knows no such header; GrpcLayer::idempotent says what may be called twice",
            ),
            _ => None,
        }
    }

    fn failure(&self, status: u16, why: &'static str) -> Option<Reaction> {
        let (_, code) = CODES.into_iter().find(|(of, _)| *of == status)?;
        let reaction = Reaction::status(200).header("content-type", "application/grpc");
        let reaction = reaction.header("grpc-status", &i32::from(code).to_string());
        Some(if why.is_empty() { reaction } else { reaction.header("grpc-message", why) })
    }

    fn success(&self) -> Reaction {
        let reaction = Reaction::ok("\0\0\0\0\x04fine").header("content-type", "application/grpc");
        reaction.trailer("grpc-status", "0")
    }
}

/// All asks of a promise go to one server.
fn connect(ask: &Ask) -> Channel {
    let endpoint = Endpoint::from_shared(ask.url.clone());
    endpoint.expect("the addresses are those of our servers").connect_lazy()
}

fn request(ask: &Ask) -> Request<Body> {
    let mut request = Request::new(Body::new(Full::new(ask.body.clone())));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static("/shop.Orders/Do");
    request
}

async fn answered<B>(result: Result<Response<B>, CallError>) -> CallOutcome
where
    B: http_body::Body<Data = Bytes, Error: Display>,
{
    match result {
        Ok(response) => whole(response).await,
        Err(error) => end(&error),
    }
}

async fn whole<B>(response: Response<B>) -> CallOutcome
where
    B: http_body::Body<Data = Bytes, Error: Display>,
{
    let (head, body) = response.into_parts();
    let report = head.extensions.get::<stagger::CallReport>();
    let (stop, attempts) = (report.and_then(|report| report.stop()), report.map(|r| r.attempts()));
    let body = body.collect().await.map_err(|error| error.to_string());
    let result = body.map(|body| Response::from_parts(head, body.to_bytes()));
    CallOutcome { result, stop, attempts }
}

/// A status that the server sent is a reply, as the promises see it.
fn end(error: &CallError) -> CallOutcome {
    let (status, report) = (error.status(), error.report());
    let sent = report.attempts() > 0 && status.source().is_none();
    let result = reply(status).filter(|_| sent).ok_or_else(|| error.to_string());
    CallOutcome { result, stop: report.stop(), attempts: Some(report.attempts()) }
}

fn reply(status: &Status) -> Option<Response<Bytes>> {
    let (of, _) = CODES.into_iter().find(|(_, code)| *code == status.code())?;
    let mut reply = Response::new(Bytes::from(status.message().to_owned()));
    *reply.status_mut() = of.try_into().ok()?;
    *reply.headers_mut() = status.metadata().clone().into_headers();
    Some(reply)
}
