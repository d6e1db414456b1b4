//! Calls through a tower service: a layer, its service, and a future with a name.
//!
//! The service that was polled ready makes the first attempt; a retry waits until the same service is
//! ready again, within the time of that attempt. What the calls share is in the
//! [`Retrier`](crate::Retrier), so clones of the service share one budget and one breaker: keep a layer
//! for each destination. For HTTP one layer does, see below.
//!
//! The order of layers decides what an attempt is. What lies inside [`StaggerLayer`] happens once for
//! each attempt: a concurrency limit there is not held while a retry waits. What lies outside happens
//! once for each call. A time limit for one attempt, and one for the call, belong in the policy: they
//! are then part of what it decides.
//!
//! A request must be [`Clone`], except for HTTP. Copies of a call (hedging) are not made here.
//!
//! # HTTP
//!
//! With the feature `http`, `StaggerLayer::http` makes an `HttpLayer`, for requests of any body: the
//! service below gets `Request<Replay<B>>`, and its replies come back with their bodies in a [`DeadlineBody`](crate::http::DeadlineBody). What a call needs
//! beyond that is one of its options: generated keys, attempt headers, a hook before each attempt, a
//! refresh after a 401, draining.
//!
//! - **hyper-util's client** sends a request again by itself when a pooled connection turns out to be
//!   closed, unseen by policy and budget: build it with `retry_canceled_requests(false)`. The
//!   errors of hyper, of h2 and of tower's time limit are known:
//!   [`classify_transport`](crate::http::classify_transport) has the table.
//! - **421 and 425 are final.** What heals them is a fresh connection, and no early data: a service
//!   cannot be made to take either. A client that can carry them out has an integration of its own.
//! - **Hints** are read in headers alone: the body of a failed reply is the caller's, so Google's `"retryDelay"`
//!   there is not seen. A `Classifier` that has the body at hand reads it by
//!   [`retry_delay`](crate::hint::retry_delay).
//! - **Each scheme, host and port** has a budget and a breaker of its own, unless the retrier was given
//!   a ledger for all of them.
//! - **A failed reply** that the call ends with comes back as it is, and says among its extensions why
//!   no attempt followed: [`Done`](crate::Done).
//! - **A reply ends its attempt with its head**: a failure in the body that follows is the caller's. The
//!   policy's deadline bounds the body too: one that stalls past it fails ([`DeadlineBody`](crate::http::DeadlineBody)). The time
//!   limit of one attempt ends with the head. A request with a [`CallerDeadline`](crate::http::CallerDeadline) among
//!   its extensions has that deadline, if it is the shorter one.
//! - **axum**: put `HandleErrorLayer` around the layer, because a call can end without a reply. The
//!   handler finds its [`AttemptInfo`](crate::AttemptInfo) among the extensions.
//! - **On the server's side** [`InboundLayer`] reads the attempt headers of callers, so that retries in
//!   different services do not multiply.
//! - **tower's own layers** below give their errors in boxes: take `errors_classified_by(ByBoxedChain)`.

mod error;
mod future;
#[cfg(feature = "http")]
mod http_layer;
#[cfg(feature = "http")]
mod http_request;
#[cfg(feature = "http")]
mod http_service;
#[cfg(feature = "http")]
mod inbound;
mod layer;
mod outgoing;

pub use error::ServiceError;
pub use future::ResponseFuture;
#[cfg(feature = "http")]
pub use http_layer::HttpLayer;
#[cfg(feature = "http")]
pub use http_request::{HttpRequest, Prepare, Refresh, Unchanged};
#[cfg(feature = "http")]
pub use http_service::{HttpFuture, HttpService};
#[cfg(feature = "http")]
pub use inbound::{Inbound, InboundFuture, InboundLayer};
pub use layer::{Stagger, StaggerLayer};
pub use outgoing::{Cloned, EveryRequest, FailedReplies, Idempotent, Outgoing};
