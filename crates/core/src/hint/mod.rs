//! Header text to [`Hint`](crate::Hint): what the server said about coming back.
//!
//! [`HintReader`] reads all of a reply's headers, the first usable source wins; the functions
//! beside it read one source each. Nothing here fails: a header that cannot be read is no hint, so
//! the caller's own delay holds, and the reply's error stays what it was. The one exception is
//! [`pushback`], where the rules say that an unreadable value forbids the retry.
//!
//! Values are bytes, because a field value need not be UTF-8 (RFC 9110 section 5.5). All of them
//! keep nanoseconds and round up, so no hint comes out shorter than it was written. A hint is never
//! bounded here: what is too long to wait for is the policy's business.
//!
//! | source | read by | unit |
//! | --- | --- | --- |
//! | `grpc-retry-pushback-ms` | [`pushback`] | ms, exact |
//! | `grpc-status-details-bin` | [`status_details`], [`retry_info`] | a duration |
//! | `retry-after-ms`, `x-ms-retry-after-ms`, `x-amz-retry-after` | [`retry_after_ms`] | ms |
//! | `Retry-After` | [`retry_after`] | s, or an HTTP-date |
//! | `RateLimit`, `RateLimit-Policy` | [`rate_limit_hint`] | s |
//! | `x-ratelimit-reset` and its kin | [`rate_limit_reset`] | by [`ResetMeaning`] |
//! | `"retryDelay"` in a JSON body, which no reader of headers sees | [`retry_delay`] | s |
//!
//! [`DestinationPause`] keeps a hint for all calls to one destination.

mod decimal;
mod go_duration;
mod headers;
#[cfg(feature = "http-date")]
mod http_date;
mod pause;
mod ratelimit;
mod reset;
mod retry_after;
mod retry_info;
mod rfc3339;
pub mod structured;
mod wall;

pub use headers::HintReader;
#[cfg(feature = "http-date")]
pub use http_date::http_date;
pub use pause::DestinationPause;
pub use ratelimit::{RateLimit, RateLimitPolicy, rate_limit_hint};
pub use reset::{ResetHeader, ResetMeaning, rate_limit_reset};
pub use retry_after::{pushback, retry_after, retry_after_ms};
pub use retry_info::{retry_delay, retry_info, status_details};
pub use wall::WallTime;
