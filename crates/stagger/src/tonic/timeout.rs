//! The header `grpc-timeout`: at most eight digits and a unit (gRPC over HTTP/2, "Timeout").

use ::http::{HeaderMap, HeaderName, HeaderValue};
use stagger_core::Span;

const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// More digits are malformed.
const MOST_DIGITS: usize = 8;
const LIMIT: u64 = 100_000_000;

/// The units from the finest to the coarsest, in nanoseconds.
const UNITS: [(u8, u64); 6] = [
    (b'n', 1),
    (b'u', 1_000),
    (b'm', 1_000_000),
    (b'S', 1_000_000_000),
    (b'M', 60_000_000_000),
    (b'H', 3_600_000_000_000),
];

/// The caller's own time limit; `None` when there is none that can be read, as servers do.
pub(super) fn asked(headers: &HeaderMap) -> Option<Span> {
    let (unit, digits) = headers.get(GRPC_TIMEOUT)?.as_bytes().split_last()?;
    let nanos = UNITS.iter().find(|(name, _)| name == unit)?.1;
    if digits.is_empty() || digits.len() > MOST_DIGITS {
        return None;
    }
    let count = digits.iter().try_fold(0_u64, |count, digit| {
        digit.is_ascii_digit().then(|| count * 10 + u64::from(digit - b'0'))
    })?;
    Some(Span::from_nanos(count.saturating_mul(nanos)))
}

/// Writes how much time is left for the server: never more than that, to eight digits.
pub(super) fn tell(headers: &mut HeaderMap, left: Span) {
    let nanos = left.as_nanos();
    let finest = UNITS.iter().find(|(_, unit)| nanos / unit < LIMIT);
    // OK because the longest span is 584 years, which is seven digits of hours.
    let (name, unit) = finest.copied().unwrap_or((b'H', 3_600_000_000_000));
    let text = format!("{}{}", nanos / unit, char::from(name));
    if let Ok(value) = HeaderValue::try_from(text) {
        headers.insert(GRPC_TIMEOUT, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(span: Span) -> String {
        let mut headers = HeaderMap::new();
        tell(&mut headers, span);
        headers[GRPC_TIMEOUT].to_str().unwrap().into()
    }

    fn read(text: &str) -> Option<Span> {
        let headers = [(GRPC_TIMEOUT, HeaderValue::from_str(text).unwrap())];
        asked(&headers.into_iter().collect())
    }

    #[test]
    fn nine_digits_are_refused_by_servers() {
        assert_eq!(written(Span::from_nanos(99_999_999)), "99999999n");
        assert_eq!(written(Span::from_nanos(100_000_000)), "100000u");
        assert_eq!(written(Span::from_secs(30)), "30000000u");
        assert_eq!(written(Span::from_secs(100)), "100000m");
        assert_eq!(written(Span::from_secs(100_000)), "100000S");
        assert_eq!(written(Span::MAX), "5124095H");
    }

    #[test]
    fn a_time_that_is_rounded_up_outlives_its_caller() {
        assert_eq!(written(Span::from_nanos(1_999_999_999)), "1999999u");
        for nanos in [0, 1, 99_999_999, 100_000_001, 123_456_789_123, u64::MAX] {
            let span = Span::from_nanos(nanos);
            let told = read(&written(span)).unwrap();
            assert!(told <= span, "{told} for {span}");
            assert!((span - told).as_nanos() <= nanos / 1_000, "{told} for {span}");
        }
    }

    #[test]
    fn a_malformed_time_is_no_time() {
        assert_eq!(read("250m"), Some(Span::from_millis(250)));
        for text in ["", "m", "5", "1s", "-1S", "+1S", "1.5S", "123456789n", "1 S"] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert_eq!(read("99999999H"), Some(Span::MAX));
    }
}
