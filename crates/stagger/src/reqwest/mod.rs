//! reqwest's requests under a policy: [`Client`], and a middleware for reqwest-middleware.
//!
//! ```no_run
//! # async fn fetch() -> Result<(), Box<dyn std::error::Error>> {
//! use stagger::Policy;
//! use stagger::reqwest::{Client, client_builder};
//! let client = Client::new(client_builder().build()?, Policy::default()); // one for the program
//! let orders = client.get("https://example.com/orders").send().await?.text().await?;
//! # Ok(()) }
//! ```
//!
//! | question | answer |
//! | --- | --- |
//! | what is retried? | 408, 429, 500, 502-504, 520-524, 529, and failures of the transport that may heal |
//! | which methods? | GET, HEAD, OPTIONS, TRACE, PUT, DELETE; others only when the server cannot have acted, with an `Idempotency-Key`, or with [`RequestBuilder::idempotent`] |
//! | what comes back? | the last reply as it is, whatever its status, so ask [`error_for_status`](::reqwest::Response::error_for_status) as ever; or the last error. A failed reply has the end of the call, [`Done`](crate::Done), among its extensions |
//! | which request bodies? | bytes at once; streams are kept while they are sent, up to [`REPLAY_LIMIT`](crate::http::REPLAY_LIMIT) |
//! | what does the time limit of an attempt cover? | up to the head; with [`RequestBuilder::buffered`] the body too |
//! | what does the deadline cover? | the whole call, the reading of the body included: one that stalls ends then, with an error whose `is_timeout` is true |
//! | are slow calls hedged? | as the policy's hedge plan says, if the request may be sent twice |
//! | failed replies? | read while the call waits for its next attempt, up to 64 KiB and 100 ms, so that their connections are free again; the last one is handed over at once |
//! | 401? | permanent, unless there is [`ClientOptions::refresh`]: then once more |
//! | 421? | permanent, unless there is [`ClientOptions::fresh_client`]: then once over that one |
//! | 425? | once more |
//! | which hints? | those of the headers; with [`ClientOptions::body_hints`] also `"retryDelay"` in the body of a failed reply |
//! | who shares budget and breaker? | all calls of all clones to one scheme, host and port |
//!
//! Pitfalls:
//! - What [`Client::inner`] sends by itself goes out once, past policy, budget and breaker.
//! - A body that breaks off while the caller reads it is not retried: the reply has been handed over.
//!   Take [`RequestBuilder::buffered`] for replies of a bounded size.
//! - reqwest follows redirects within an attempt; they count neither as attempts nor for other hosts.
//! - reqwest retries refused HTTP/2 streams by itself. [`client_builder`] switches that off; for a
//!   client of your own, call `.retry(reqwest::retry::never())`. What reqwest does not let anybody
//!   switch off: a request that was not yet written when its pooled connection closed goes out over
//!   another one.
//! - A time limit of the request or the client is one for each attempt, beside the policy's.
//! - The first attempt sends the request as it was given. Later ones send a copy of what reqwest reads: extensions that
//!   came along with an `http::Request`, which it does not read, are not copied.
//! - There is no support for wasm.

mod attempt;
mod client;
mod engine;
mod error;
#[cfg(feature = "reqwest-middleware")]
mod middleware;
mod options;
mod reply;
mod request;
mod transport;

pub use client::{Client, client_builder};
pub use error::SendError;
#[cfg(feature = "reqwest-middleware")]
pub use middleware::StaggerMiddleware;
pub use options::{CallOptions, ClientOptions};
pub use request::RequestBuilder;
