//! Requests that may be sent twice, and the headers that tell a server of the attempt and of the call.

use std::fmt;

use ::http::header::{Entry, HeaderName};
use ::http::{HeaderMap, HeaderValue, Method};
use stagger_core::Entropy;
use stagger_core::classify::is_idempotent;

use super::previous_attempts;
use crate::AttemptInfo;
use crate::rng::os_bits;

const ATTEMPT: HeaderName = HeaderName::from_static("stagger-attempt");
const ENVOY_ATTEMPT: HeaderName = HeaderName::from_static("x-envoy-attempt-count");
const DEADLINE: HeaderName = HeaderName::from_static("stagger-deadline-ms");
const NANOS_PER_MILLI: u64 = 1_000_000;

/// Headers that show the server which attempt it sees. Default: none.
///
/// A header that is switched on is written anew on every attempt, so that none is left over from the
/// attempt before; one that is not is not touched.
///
/// A call for a caller of our own, of which this is attempt 2 by its own headers, tells of 2 with its first
/// attempt: the server sees a repeat all the same. [`InboundAttempt`](super::InboundAttempt) has to have
/// marked the task for that.
///
/// ```
/// use http::HeaderMap;
/// use stagger::http::AttemptHeaders;
/// use stagger::{Policy, Retrier, StdTime};
/// let retrier = Retrier::new(Policy::default(), StdTime);
/// let sent = AttemptHeaders::new().number();
/// let mut headers = HeaderMap::new();
/// let answer = retrier.retry_blocking_with(|attempt, _| {
///     sent.write(&attempt, &mut headers);
///     if attempt.number < 2 { Err("busy") } else { Ok("done") }
/// }).when(|_| true).call();
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
        let number = attempt.number.saturating_add(previous_attempts());
        if self.number {
            headers.insert(ATTEMPT, HeaderValue::from(number));
        }
        if self.envoy_number {
            headers.insert(ENVOY_ATTEMPT, HeaderValue::from(number));
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

/// Requests of an idempotent method may be sent twice (RFC 9110 section 9.2.2), and those with an
/// `Idempotency-Key`.
///
/// ```
/// use http::{HeaderMap, Method};
/// use stagger::http::ByMethod;
/// let mut headers = HeaderMap::new();
/// assert!(ByMethod.allows(&Method::PUT, &headers) && !ByMethod.allows(&Method::POST, &headers));
/// headers.insert("idempotency-key", "\"8e03978e\"".parse()?);
/// assert!(ByMethod.allows(&Method::POST, &headers));
/// # Ok::<(), http::header::InvalidHeaderValue>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByMethod;

impl ByMethod {
    /// Whether a request of this method with these headers may be sent twice.
    #[must_use]
    pub fn allows(&self, method: &Method, headers: &HeaderMap) -> bool {
        is_idempotent(method.as_str()) || headers.contains_key(IdempotencyKey::HEADER)
    }
}

/// An `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): made once for each call, and the
/// same on every attempt of it.
///
/// 122 random bits of the operating system in the form of a UUID version 4 (RFC 9562 section 5.4),
/// written in quotes as the draft wants it, unless [`unquoted`](Self::unquoted).
///
/// ```
/// use http::HeaderMap;
/// use stagger::http::IdempotencyKey;
/// let key = IdempotencyKey::random();
/// let (mut first, mut second) = (HeaderMap::new(), HeaderMap::new());
/// key.write(&mut first);
/// key.write(&mut second);
/// assert_eq!(first["idempotency-key"], second["idempotency-key"]);
/// assert_eq!(first["idempotency-key"].len(), 1 + 36 + 1);
/// assert_ne!(key, IdempotencyKey::random());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    bits: u128,
    quoted: bool,
}

impl IdempotencyKey {
    /// The header that carries it.
    pub const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

    /// A key that no other call has.
    #[must_use]
    pub fn random() -> Self {
        Self::new(os_bits())
    }

    /// A key out of two words of `entropy`, which must not give them to another call too.
    #[must_use]
    pub fn from_entropy(entropy: &mut impl Entropy) -> Self {
        let high = u128::from(entropy.next_u64());
        Self::new(high << 64 | u128::from(entropy.next_u64()))
    }

    /// The same key written without quotes, for servers that compare it as it is.
    #[must_use]
    pub const fn unquoted(mut self) -> Self {
        self.quoted = false;
        self
    }

    /// Adds the key to these headers. A key that the caller has set stays as it is.
    pub fn write(&self, headers: &mut HeaderMap) {
        if let Entry::Vacant(slot) = headers.entry(Self::HEADER) {
            slot.insert(self.value());
        }
    }

    /// The value of the header.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the text is visible ASCII, so it never does")]
    pub fn value(&self) -> HeaderValue {
        let text = if self.quoted { format!("\"{self}\"") } else { self.to_string() };
        HeaderValue::try_from(text)
            .expect("hexadecimal digits, hyphens and quotes are visible ASCII")
    }

    const fn new(random: u128) -> Self {
        const VERSION: u128 = 0xf << 76;
        const VARIANT: u128 = 0b11 << 62;
        Self { bits: random & !VERSION & !VARIANT | 0x4 << 76 | 0b10 << 62, quoted: true }
    }
}

/// The UUID, without quotes.
impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = |from: u32, count: u32| {
            self.bits >> (128 - 4 * (from + count)) & ((1 << (4 * count)) - 1)
        };
        let (a, b, c, d, e) =
            (digits(0, 8), digits(8, 4), digits(12, 4), digits(16, 4), digits(20, 12));
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

#[cfg(test)]
mod tests {
    use stagger_core::Span;

    use super::*;
    use crate::Rng;

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

    #[test]
    fn a_key_has_the_form_of_a_uuid() {
        assert_eq!(
            IdempotencyKey::new(u128::MAX).to_string(),
            "ffffffff-ffff-4fff-bfff-ffffffffffff"
        );
        assert_eq!(IdempotencyKey::new(0).to_string(), "00000000-0000-4000-8000-000000000000");
        let sorted = IdempotencyKey::new(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef).to_string();
        assert_eq!(sorted, "01234567-89ab-4def-8123-456789abcdef");
    }

    #[test]
    fn a_key_of_the_caller_is_left_alone() {
        let mut headers = HeaderMap::new();
        headers.insert("idempotency-key", HeaderValue::from_static("order 17"));
        IdempotencyKey::random().write(&mut headers);
        assert_eq!(headers["idempotency-key"], "order 17");
        assert_eq!(headers.len(), 1);
    }

    #[test]
    fn quotes_are_the_only_difference_between_both_forms() {
        let key = IdempotencyKey::from_entropy(&mut Rng::with_seed(1));
        assert_eq!(key.value(), format!("\"{key}\"").as_str());
        assert_eq!(key.unquoted().value(), key.to_string().as_str());
    }
}
