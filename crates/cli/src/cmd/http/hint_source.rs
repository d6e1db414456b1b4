//! The header that a hint was read from.

use reqwest::header::HeaderMap;
use stagger::StdTime;
use stagger_core::hint::HintReader;

/// The header that the engine obeys; `None` where no header gives a hint.
pub(super) fn hint_source(headers: &HeaderMap) -> Option<&'static str> {
    let lines = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let lines: Vec<_> = lines.collect();
    let now = Some(StdTime::wall().into());
    HintReader::new().read_with_source(lines.iter().copied(), now).map(|(_, source)| source)
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
