//! Parts of all HTTP integrations: the meaning of a reply, the requests that may be sent twice, and their bodies.
//!
//! | you want | look at |
//! | --- | --- |
//! | a body that can be sent again | [`Replayable`], [`Replay`] |
//! | what a reply means, with its hints | [`HttpReplies`], and [`ByChain`] or [`ByBoxedChain`] for errors |
//! | which requests may be sent twice | [`ByMethod`] |
//! | a key that makes a POST safe to send twice | [`IdempotencyKey`] |
//! | to tell the server which attempt it sees | [`AttemptHeaders`] |
//! | to know which attempt of its caller a server serves | [`InboundAttempt`] |
//! | the connection of a failed reply back | [`Drain`] |
//! | the body of a reply that came before the deadline of its call | `DeadlineBody` |
//! | the time for which the caller of one request waits | `CallerDeadline` |
//!
//! Nothing here speaks to a server, and nothing here retries: that is for `stagger::tower` and the
//! integrations with clients.

#[cfg(feature = "tower")]
mod caller_deadline;
#[cfg(any(feature = "reqwest", feature = "tower"))]
mod deadline_body;
#[cfg(feature = "tower")]
mod destinations;
mod drain;
mod inbound;
mod replay;
mod replies;
mod request_headers;
#[cfg(any(feature = "reqwest", feature = "tower"))]
mod server_name;
mod tape;
mod transport;

#[cfg(feature = "tower")]
pub use caller_deadline::CallerDeadline;
#[cfg(any(feature = "reqwest", feature = "tower"))]
pub use deadline_body::DeadlineBody;
#[cfg(feature = "tower")]
pub(crate) use destinations::Destinations;
#[cfg(feature = "tower")]
pub(crate) use drain::poll_drain;
pub use drain::{DRAIN_LIMIT, Drain};
pub(crate) use inbound::previous_attempts;
pub use inbound::{InboundAttempt, InboundScope};
pub use replay::{REPLAY_LIMIT, Replay, Replayable};
pub use replies::HttpReplies;
pub use request_headers::{AttemptHeaders, ByMethod, IdempotencyKey};
#[cfg(any(feature = "reqwest", feature = "tower"))]
pub(crate) use server_name::ServerName;
pub use tape::Overtaken;
#[cfg(feature = "tonic")]
pub(crate) use transport::is_refused;
pub use transport::{ByBoxedChain, ByChain, classify_transport};
