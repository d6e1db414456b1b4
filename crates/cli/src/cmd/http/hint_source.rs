//! The header that a hint was read from.

use reqwest::header::HeaderMap;
use stagger::StdTime;
use stagger_core::Hint;
use stagger_core::hint::{HintReader, ResetHeader};

/// The sources beside reset headers, each with the headers that it is read with; in the order in
/// which the engine asks them.
const SOURCES: [(&str, &str); 6] = [
    ("grpc-retry-pushback-ms", ""),
    ("retry-after-ms", ""),
    ("x-ms-retry-after-ms", ""),
    ("x-amz-retry-after", ""),
    ("retry-after", ""),
    ("ratelimit", "ratelimit-policy"),
];

/// The first header that gives a hint by itself: the one that the engine obeys.
pub(super) fn hint_source(headers: &HeaderMap) -> Option<&'static str> {
    let resets = ResetHeader::COMMON.iter().map(|header| (header.reset, header.remaining));
    let gives = |&(name, beside): &(&'static str, &str)| read(headers, &[name, beside]).is_some();
    SOURCES.into_iter().chain(resets).find(gives).map(|(name, _)| name)
}

/// The engine's own reading of these headers alone; dates need the reply's own.
fn read(headers: &HeaderMap, names: &[&str]) -> Option<Hint> {
    let lines = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let lines = lines.filter(|(name, _)| *name == "date" || names.contains(name));
    let lines: Vec<_> = lines.collect();
    HintReader::new().read(lines.iter().copied(), Some(StdTime::wall().into()))
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn source(lines: &[(&'static str, &'static str)]) -> Option<&'static str> {
        let line =
            |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        hint_source(&lines.iter().map(line).collect())
    }

    #[test]
    fn the_header_that_is_obeyed_is_named() {
        assert_eq!(source(&[]), None);
        assert_eq!(source(&[("retry-after", "soon")]), None);
        assert_eq!(source(&[("retry-after", "3")]), Some("retry-after"));
        assert_eq!(
            source(&[("retry-after", "3"), ("retry-after-ms", "20")]),
            Some("retry-after-ms")
        );
        let date = [("date", "Sun, 06 Nov 1994 08:49:37 GMT")];
        let later = [date[0], ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")];
        assert_eq!(source(&later), Some("retry-after"));
        let reset = [("x-ratelimit-reset", "5"), ("x-ratelimit-remaining", "0")];
        assert_eq!(source(&reset), Some("x-ratelimit-reset"));
        let left = [("x-ratelimit-reset", "5"), ("x-ratelimit-remaining", "7")];
        assert_eq!(source(&left), None);
    }
}
