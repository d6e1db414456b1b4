//! The time that the caller of one request waits: an extension of the request, which shortens the deadline of its call.

use ::http::HeaderMap;
use stagger_core::Span;

/// The most digits of a time in milliseconds: 31 years are no limit.
const MAX_DIGITS: usize = 12;

/// The time for which the caller of a request waits for the whole reply, from the start of the call.
///
/// Among the extensions of a request, it shortens the deadline of the call that
/// [`StaggerLayer::http`](crate::tower::StaggerLayer::http) makes of it: the smaller of it and the policy's holds.
///
/// ```
/// use http::HeaderMap;
/// use stagger::Span;
/// use stagger::http::CallerDeadline;
/// let mut headers = HeaderMap::new();
/// headers.insert("stagger-deadline-ms", 1500.into());
/// headers.insert("x-request-timeout", "2s".parse()?);
/// let deadline = CallerDeadline::read(&headers).expect("two headers say one");
/// assert_eq!(deadline, CallerDeadline(Span::from_millis(1500)));
/// # Ok::<(), http::header::InvalidHeaderValue>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallerDeadline(pub Span);

impl CallerDeadline {
    /// The shortest time that these headers tell of: `stagger-deadline-ms`, in whole milliseconds, as
    /// [`AttemptHeaders::remaining`](super::AttemptHeaders::remaining) writes it, and `x-request-timeout`, a number
    /// with its unit (`1500ms`, `2s`). A value that cannot be read is no limit.
    #[must_use]
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let lines = |name| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let millis = lines("stagger-deadline-ms").filter_map(millis);
        let spans = lines("x-request-timeout").filter_map(|text| text.trim().parse().ok());
        millis.chain(spans).min().map(Self)
    }
}

/// Digits alone: no sign, which an integer's own parser would take.
fn millis(text: &str) -> Option<Span> {
    let text = text.trim();
    let digits = (1..=MAX_DIGITS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok().map(Span::from_millis) } else { None }
}

#[cfg(test)]
mod tests {
    use ::http::HeaderValue;

    use super::*;

    fn read(name: &'static str, value: &str) -> Option<Span> {
        let value = HeaderValue::from_str(value).expect("a value");
        CallerDeadline::read(
            &[(::http::HeaderName::from_static(name), value)].into_iter().collect(),
        )
        .map(|deadline| deadline.0)
    }

    #[test]
    fn a_time_without_its_unit_was_guessed() {
        assert_eq!(read("x-request-timeout", "250ms"), Some(Span::from_millis(250)));
        assert_eq!(read("stagger-deadline-ms", " 7 "), Some(Span::from_millis(7)));
        for value in ["5", "-1s", "+1s", "soon", ""] {
            assert_eq!(read("x-request-timeout", value), None, "{value:?}");
        }
        for value in ["1s", "-1", "+1", "1.5", "9999999999999", ""] {
            assert_eq!(read("stagger-deadline-ms", value), None, "{value:?}");
        }
    }
}
