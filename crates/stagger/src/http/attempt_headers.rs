//! The headers that show a server which attempt it sees.

use ::http::header::HeaderName;
use ::http::{HeaderMap, HeaderValue};

use crate::AttemptInfo;

const ATTEMPT: HeaderName = HeaderName::from_static("stagger-attempt");
const ENVOY_ATTEMPT: HeaderName = HeaderName::from_static("x-envoy-attempt-count");
const DEADLINE: HeaderName = HeaderName::from_static("stagger-deadline-ms");
const NANOS_PER_MILLI: u64 = 1_000_000;

/// Headers that show the server which attempt it sees. Default: none.
///
/// A header that is switched on is written anew on every attempt, so that none is left over from the
/// attempt before; one that is not is not touched.
///
/// ```
/// use http::HeaderMap;
/// use stagger::http::AttemptHeaders;
/// use stagger::{Policy, Retrier, StdTime};
/// let retrier = Retrier::new(Policy::default(), StdTime);
/// let sent = AttemptHeaders::new().number();
/// let mut headers = HeaderMap::new();
/// let answer = retrier.retry_if(|_: &&str| true).run_blocking_with(|attempt, _| {
///     sent.write(&attempt, &mut headers);
///     if attempt.number < 2 { Err("busy") } else { Ok("done") }
/// });
/// assert_eq!(answer, Ok("done"));
/// assert_eq!(headers["stagger-attempt"], "2");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "it sends nothing until it is written to headers"]
pub struct AttemptHeaders {
    number: bool,
    envoy_number: bool,
    remaining: bool,
}

impl AttemptHeaders {
    /// Sends nothing.
    pub const fn new() -> Self {
        Self { number: false, envoy_number: false, remaining: false }
    }

    /// Sends the number of the attempt, from 1, as `stagger-attempt`.
    pub const fn number(mut self) -> Self {
        self.number = true;
        self
    }

    /// Sends the number of the attempt, from 1, as `x-envoy-attempt-count`, as Envoy's router does.
    pub const fn envoy_number(mut self) -> Self {
        self.envoy_number = true;
        self
    }

    /// Sends what is left of the deadline as `stagger-deadline-ms`, in whole milliseconds, rounded
    /// down: a server must not believe that it has longer than the caller waits. Without a deadline
    /// the header is not sent.
    pub const fn remaining(mut self) -> Self {
        self.remaining = true;
        self
    }

    /// Writes the headers of this attempt in the place of those of the attempt before.
    pub fn write(&self, attempt: &AttemptInfo, headers: &mut HeaderMap) {
        if self.number {
            headers.insert(ATTEMPT, HeaderValue::from(attempt.number));
        }
        if self.envoy_number {
            headers.insert(ENVOY_ATTEMPT, HeaderValue::from(attempt.number));
        }
        if self.remaining {
            let millis = attempt.remaining.map(|span| span.as_nanos() / NANOS_PER_MILLI);
            match millis {
                Some(millis) => headers.insert(DEADLINE, HeaderValue::from(millis)),
                None => headers.remove(DEADLINE),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::Span;

    use super::*;

    fn attempt(number: u32, remaining: Option<Span>) -> AttemptInfo {
        AttemptInfo { number, timeout: None, remaining, remedy: None }
    }

    #[test]
    fn nothing_is_sent_unless_asked() {
        let mut headers = HeaderMap::new();
        AttemptHeaders::new().write(&attempt(2, Some(Span::from_secs(1))), &mut headers);
        assert!(headers.is_empty());
    }

    #[test]
    fn no_header_is_left_over_from_the_attempt_before() {
        let sent = AttemptHeaders::new().number().envoy_number().remaining();
        let mut headers = HeaderMap::new();
        sent.write(&attempt(1, Some(Span::from_secs(3))), &mut headers);
        assert_eq!(headers["stagger-deadline-ms"], "3000");
        sent.write(&attempt(2, None), &mut headers);
        assert_eq!(
            (&headers["stagger-attempt"], &headers["x-envoy-attempt-count"]),
            (&HeaderValue::from(2), &HeaderValue::from(2))
        );
        assert_eq!(headers.len(), 2, "two attempts do not add up");
    }

    #[test]
    fn the_time_left_is_never_overstated() {
        let sent = AttemptHeaders::new().remaining();
        let mut headers = HeaderMap::new();
        for (nanos, millis) in [(999_999, "0"), (1_000_000, "1"), (1_999_999, "1")] {
            sent.write(&attempt(1, Some(Span::from_nanos(nanos))), &mut headers);
            assert_eq!(headers["stagger-deadline-ms"], millis);
        }
    }
}
