//! gRPC's pushback: `grpc-retry-pushback-ms` in the trailers (gRFC A6, "Pushback").

use super::{blanks, decimal};
use crate::{Hint, Span};

/// The longest pushback, because the value is a signed 32-bit integer.
// OK because i32::MAX is positive.
const MAX_MILLIS: u64 = i32::MAX as u64;

/// Reads all values of `grpc-retry-pushback-ms`: none is no hint, one number from 0 on is a delay
/// to keep exactly.
///
/// Everything else means do not retry: a negative number, one outside 32 bits, text that is no
/// number, and two values or more, even equal ones. Outer blanks do not count, because gRPC lets
/// transports strip them; a plus sign is no digit.
///
/// ```
/// use stagger_core::{Hint, Span, hint::pushback};
/// assert_eq!(pushback([]), None);
/// assert_eq!(pushback([&b"250"[..]]), Some(Hint::Exactly(Span::from_millis(250))));
/// assert_eq!(pushback([&b"-1"[..]]), Some(Hint::Never));
/// assert_eq!(pushback([&b"100"[..], b"10"]), Some(Hint::Never));
/// ```
#[must_use]
pub fn pushback<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> Option<Hint> {
    let mut values = values.into_iter();
    let only = values.next()?;
    if values.next().is_some() {
        return Some(Hint::Never);
    }
    let millis = decimal::digits(blanks::trim(only)).filter(|&ms| ms <= MAX_MILLIS);
    Some(millis.map_or(Hint::Never, |ms| Hint::Exactly(Span::from_millis(ms))))
}
