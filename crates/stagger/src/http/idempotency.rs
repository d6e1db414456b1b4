//! Requests that may be sent twice: by method, or by a key that tells the server of the first time.

use std::fmt;

use ::http::header::{Entry, HeaderName};
use ::http::{HeaderMap, HeaderValue, Method};
use stagger_core::Entropy;
use stagger_core::classify::is_idempotent;

use crate::rng::os_bits;

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
    use super::*;
    use crate::Rng;

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
