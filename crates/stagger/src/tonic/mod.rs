//! GrpcCalls of tonic's clients under a policy: a layer, its service, and a future with a name.
//!
//! ```no_run
//! use stagger::tonic::{CallError, Grpc};
//! use stagger::{Policy, Retrier, Span, TokioTime};
//! use tonic::transport::Channel;
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = Policy::builder()
//!     .max_attempts(4)
//!     .deadline(Span::from_secs(10)) // of the whole call, its stream included
//!     .attempt_timeout(Span::from_secs(2)) // until the headers of a response
//!     .build()?;
//! let channel = Channel::from_static("http://orders:50051").connect_lazy();
//! let service = Grpc::new(channel, Retrier::new(policy, TokioTime));
//! let service = service.idempotent(|method: &http::Uri| method.path().contains("/Get"));
//! // let mut client = OrdersClient::new(service.clone()); // what tonic generated
//! # let status = tonic::Status::unavailable("");
//! if let Some(end) = CallError::of(&status) {
//!     println!("{:?} after {} attempts", end.report().stop(), end.report().attempts());
//! }
//! # Ok(()) }
//! ```
//!
//! With a service config, [`GrpcLayer::service_config`] takes the policy of each method from its
//! `retryPolicy` or `hedgingPolicy`, and one budget for all of them from `retryThrottling`.
//!
//! # What is retried
//!
//! | the attempt ends with | it is | retried |
//! | --- | --- | --- |
//! | headers without a status | committed | no more: all that follows is the caller's, unchanged |
//! | UNAVAILABLE in the headers | transient | yes |
//! | RESOURCE_EXHAUSTED in the headers | throttled | yes |
//! | another status in the headers | permanent | no |
//! | CANCELLED | cancelled | never |
//! | HTTP 429, 502, 503, 504 without a status | UNAVAILABLE; throttled for 429, and for 503 with a hint | yes |
//! | a refused stream, one above the last of a GOAWAY, or one that was never begun | unprocessed | at once and free, once for a call and not counted; then as any |
//! | a connection that never came to be | unprocessed | yes, whatever the method |
//! | a connection that broke | UNAVAILABLE | yes |
//! | a reset | by its reason: ENHANCE_YOUR_CALM is throttled, CANCEL cancelled, others INTERNAL | by that |
//! | no headers within the time limit | transient | yes |
//!
//! The codes that a service config lists replace UNAVAILABLE and RESOURCE_EXHAUSTED in this table.
//! "Yes" is for methods that may be called twice: those that a service config lists, and those that
//! [`GrpcLayer::idempotent`] names. Without either, no method is known to be idempotent, and only
//! unprocessed attempts are retried, as gRPC's own clients do (gRFC A6). `grpc-retry-pushback-ms` is kept to exactly, or forbids the retry; a
//! `google.rpc.RetryInfo` in the details of the status, `retry-after` and its kin are lower bounds.
//! [`GrpcLayer::otlp`] has the table of OTLP, which retries RESOURCE_EXHAUSTED only with a `RetryInfo`.
//!
//! The rule of the headers is gRFC A6's. Servers send the status of a failed unary call in them
//! ("Trailers-Only"). A server that sends headers first, and then a status without any message, has
//! committed its call: waiting for what follows would hold up every stream whose client wants to see
//! the headers. Such a late status is the caller's alone: budget and breaker have counted the headers
//! as success.
//!
//! # Headers for the server
//!
//! `grpc-previous-rpc-attempts` from the second attempt on; a transparent retry is none. A call for a caller that
//! repeats its own ([`InboundLayer`](crate::tower::InboundLayer)) adds the attempts of that one. `grpc-timeout`
//! is what is left of the deadline, never rounded up; a `grpc-timeout` of the caller's own
//! ([`Request::set_timeout`](tonic::Request::set_timeout)) shortens the deadline of the call. Attempts after the first
//! have their [`AttemptInfo`](crate::AttemptInfo) among their extensions.
//!
//! # What the caller gets
//!
//! On success the response, with a [`CallReport`](crate::CallReport) in its extensions if the first attempt was not
//! the only one: a clean call allocates nothing for what its caller knows. On failure the last
//! status of the server with its message, details and metadata; [`CallError::of`] finds the stop
//! reason and the attempts behind it. When the deadline passes while a stream is read, the stream ends
//! with DEADLINE_EXCEEDED.
//!
//! # Servers
//!
//! A call whose client was given an origin (`OrdersClient::with_origin`) has the budget and the breaker of
//! that server. All other calls of a layer share those of its [`Retrier`](crate::Retrier), because above
//! the channel a request names no server: tonic writes its authority below, for each connection, and a
//! channel that balances over several servers chooses one there. A [`Channel`](https://docs.rs/tonic/latest/tonic/transport/struct.Channel.html)
//! replaces the origin by its endpoint's, so the origin is only the name of the ledger. Without origins,
//! keep one layer, or one [`Grpc`], for each server name.
//!
//! # Limits
//!
//! A request is kept for further attempts up to a limit ([`GrpcLayer::buffer`]); above it the call goes
//! through once. The time limit of one attempt ends with the headers, because nothing tells a unary
//! call from a stream. tonic enforces `grpc-timeout` and its own `Endpoint::timeout` too; either ends an
//! attempt as our time limit does.

mod calls;
mod error;
mod future;
mod kept_head;
mod layer;
mod reply;
mod request;
mod timeout;
mod transport;

pub use calls::ByServiceConfig;
pub use error::CallError;
pub use future::ResponseFuture;
pub use layer::{Grpc, GrpcLayer};
