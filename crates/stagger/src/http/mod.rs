//! Parts of all HTTP integrations: the meaning of a reply, the requests that may be sent twice, and their bodies.
//!
//! | you want | look at |
//! | --- | --- |
//! | a body that can be sent again | [`Replayable`], [`Replay`] |
//! | what a reply means, with its hints | [`HttpReplies`], and [`ByChain`] or [`ByBoxedChain`] for errors |
//! | which requests may be sent twice | [`ByMethod`] |
//! | a key that makes a POST safe to send twice | [`IdempotencyKey`] |
//! | to tell the server which attempt it sees | [`AttemptHeaders`] |
//! | the connection of a failed reply back | [`Drain`] |
//!
//! Nothing here speaks to a server, and nothing here retries: that is for `stagger::tower` and the
//! integrations with clients.

mod attempt_headers;
mod chain;
#[cfg(any(feature = "reqwest", feature = "tower"))]
mod deadline;
#[cfg(feature = "tower")]
mod destinations;
mod drain;
mod idempotency;
mod replay;
mod replies;
#[cfg(feature = "tower")]
mod server_name;
mod tape;
mod transport;

pub use attempt_headers::AttemptHeaders;
pub use chain::{ByBoxedChain, ByChain};
#[cfg(any(feature = "reqwest", feature = "tower"))]
pub(crate) use deadline::{BodyDeadline, late};
#[cfg(feature = "tower")]
pub(crate) use destinations::Destinations;
#[cfg(feature = "tower")]
pub(crate) use drain::poll_drain;
pub use drain::{DRAIN_LIMIT, Drain};
pub use idempotency::{ByMethod, IdempotencyKey};
pub use replay::{REPLAY_LIMIT, Replay, Replayable};
pub use replies::HttpReplies;
pub use tape::Overtaken;
pub use transport::classify_transport;
#[cfg(feature = "tonic")]
pub(crate) use transport::is_refused;
