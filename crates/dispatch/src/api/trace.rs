//! The trace of the request that creates a message (W3C Trace Context).

use http::HeaderMap;
use stagger_scheduler::model::TraceContext;
use utoipa::IntoParams;

const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";

/// The headers of a trace, for the document only.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "it stands in the document only")]
pub(super) struct TraceHeaders {
    /// The trace of the producer (W3C Trace Context). It is stored with the message and sent with each attempt, each
    /// under a span of its own. A malformed one is ignored.
    traceparent: Option<String>,
    /// The `tracestate` beside it, of which 512 bytes are kept.
    tracestate: Option<String>,
}

/// The trace of a request; `None` if it has none, or a malformed one, which the standard says to ignore.
pub(super) fn trace_of_headers(headers: &HeaderMap) -> Option<TraceContext> {
    let mut parents = headers.get_all(PARENT).iter();
    let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
    let states: Result<Vec<_>, _> =
        headers.get_all(STATE).iter().map(|value| value.to_str()).collect();
    // A state that cannot be read is malformed.
    TraceContext::parse(parent.to_str().ok()?, states.unwrap_or_default())
}

/// The trace of one message in a body.
pub(super) fn trace_of(parent: Option<&str>, state: Option<&str>) -> Option<TraceContext> {
    TraceContext::parse(parent?, state)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn headers(lines: &[(&'static str, &'static [u8])]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn two_parents_are_none_and_several_states_are_one() {
        let both = headers(&[(PARENT, GOOD.as_bytes()), (PARENT, GOOD.as_bytes())]);
        assert_eq!(trace_of_headers(&both), None);
        let lines = [(PARENT, GOOD.as_bytes()), (STATE, b"a=1"), (STATE, b"b=2")];
        let trace = trace_of_headers(&headers(&lines)).unwrap();
        assert_eq!(trace.tracestate(), Some("a=1,b=2"));
    }

    #[test]
    fn a_state_of_other_bytes_costs_no_parent() {
        let lines = [(PARENT, GOOD.as_bytes()), (STATE, &b"a=\xff"[..])];
        let trace = trace_of_headers(&headers(&lines)).unwrap();
        assert_eq!((trace.to_string().as_str(), trace.tracestate()), (GOOD, None));
        assert_eq!(trace_of_headers(&headers(&[(PARENT, &b"\xff"[..])])), None);
        assert_eq!(trace_of_headers(&HeaderMap::new()), None);
    }
}
