//! Traces: the span of each call, and the trace context that callers send and upstreams get (feature `otel`).

mod call_span;
#[cfg(feature = "otel")]
mod context;

pub(crate) use call_span::CallSpan;
#[cfg(feature = "otel")]
pub(crate) use context::pass_on;

/// The headers pass as they come.
#[cfg(not(feature = "otel"))]
pub(crate) const fn pass_on(_: &mut http::HeaderMap) {}
