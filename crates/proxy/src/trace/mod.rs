//! Traces: the span of each call, and the trace context that callers send and upstreams get (feature `otel`).

mod call_span;
#[cfg(feature = "otel")]
mod context;

pub(crate) use call_span::{CallSpan, pass_on};
