//! Calls through a tower service: a layer, its service, and a future with a name.
//!
//! The service that was polled ready makes the first attempt; a retry waits until the same service is
//! ready again, within the time of that attempt. What the calls share is in the
//! [`Retrier`](crate::Retrier), so clones of the service share one budget and one breaker.
//!
//! The order of layers decides what an attempt is. What lies inside [`StaggerLayer`] happens once for
//! each attempt: a concurrency limit there is not held while a retry waits. What lies outside happens
//! once for each call. A time limit for one attempt, and one for the call, belong in the policy: they
//! are then part of what it decides.
//!
//! A request must be [`Clone`]. Copies of a call (hedging) are not made here.

mod error;
mod future;
#[cfg(feature = "http")]
mod http;
mod idempotent;
mod layer;
mod service;

pub use error::ServiceError;
pub use future::ResponseFuture;
pub use idempotent::{EveryRequest, Idempotent};
pub use layer::StaggerLayer;
pub use service::Stagger;
