//! W3C Trace Context, level 1: the span of the caller, and the headers that tell an upstream of the attempt's.

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The bytes of a `traceparent` of version 00. Later versions may have more behind them.
const LENGTH: usize = 55;

/// The most members of a `tracestate` (section 3.3.1.1).
const MAX_MEMBERS: usize = 32;

/// Makes the span a child of the caller's, if the caller sent one that is valid.
pub(super) fn continue_trace(span: &Span, headers: &HeaderMap) {
    if !span.is_disabled()
        && let Some(caller) = caller(headers)
    {
        // It fails where no traces are exported: then there is nothing to continue.
        _ = span.set_parent(Context::new().with_remote_span_context(caller));
    }
}

/// Tells the upstream of the current span, in place of the caller's. Without one the headers stay as they are.
pub(super) fn write_current(headers: &mut HeaderMap) {
    let context = Span::current().context();
    let span = context.span();
    let span = span.span_context();
    if !span.is_valid() {
        return;
    }
    let sampled = u8::from(span.is_sampled());
    let parent = format!("00-{}-{}-0{sampled}", span.trace_id(), span.span_id());
    let Ok(parent) = HeaderValue::try_from(parent) else { return };
    headers.insert(TRACEPARENT, parent);
    match HeaderValue::try_from(span.trace_state().header()) {
        Ok(state) if !state.is_empty() => _ = headers.insert(TRACESTATE, state),
        _ => _ = headers.remove(TRACESTATE),
    }
}

/// The span of the caller; `None` without one, and for one that is malformed, which begins a new trace.
fn caller(headers: &HeaderMap) -> Option<SpanContext> {
    let mut parents = headers.get_all(TRACEPARENT).iter();
    let (parent, None) = (parents.next()?.to_str().ok()?, parents.next()) else { return None };
    let (trace, span, sampled) = parsed(parent)?;
    let flags = if sampled { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
    Some(SpanContext::new(trace, span, flags, true, state(headers).unwrap_or_default()))
}

/// The trace, the span and whether it is sampled. All other flags are for later versions, and are not passed on.
fn parsed(parent: &str) -> Option<(TraceId, SpanId, bool)> {
    let (known, rest) = (parent.get(..LENGTH)?, parent.get(LENGTH..)?);
    let mut fields = known.split('-');
    let mut field = |length: usize| {
        let field = fields.next().filter(|field| field.len() == length);
        field.filter(|field| field.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
    };
    let (version, trace, span, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
    let longer = version != "00" && rest.starts_with('-');
    if version == "ff" || !(rest.is_empty() || longer) {
        return None;
    }
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let valid = trace != TraceId::INVALID && span != SpanId::INVALID;
    let flags = u8::from_str_radix(flags, 16).ok()?;
    valid.then_some((trace, span, flags & 1 == 1))
}

/// The `tracestate` of all its lines; `None` for one that is malformed, which is left out.
fn state(headers: &HeaderMap) -> Option<TraceState> {
    let lines: Option<Vec<&str>> =
        headers.get_all(TRACESTATE).iter().map(|line| line.to_str().ok()).collect();
    let line = lines?.join(",");
    let members = line.split(',').filter(|member| !member.trim().is_empty()).count();
    if members > MAX_MEMBERS { None } else { line.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn headers(parents: &[&str], states: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, lines) in [(TRACEPARENT, parents), (TRACESTATE, states)] {
            for line in lines {
                headers.append(&name, HeaderValue::from_str(line).expect("visible characters"));
            }
        }
        headers
    }

    #[test]
    fn a_malformed_parent_was_believed() {
        let zeros = "0".repeat(32);
        for parent in [
            String::new(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-01-"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("0-{TRACE}-{SPAN}-01"),
            format!("01-{TRACE}-{SPAN}-01more"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{SPAN}-0g"),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00-{}-{SPAN}0-01", &TRACE[1..]),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
            format!("00_{TRACE}_{SPAN}_01"),
            format!(" 00-{TRACE}-{SPAN}-01"),
        ] {
            assert_eq!(caller(&headers(&[&parent], &[])), None, "{parent}");
        }
        let twice = format!("00-{TRACE}-{SPAN}-01");
        assert_eq!(caller(&headers(&[&twice, &twice], &[])), None, "two parents");
        assert_eq!(caller(&HeaderMap::new()), None);
    }

    #[test]
    fn a_parent_of_a_later_version_was_refused_or_its_flags_were_passed_on() {
        for (parent, sampled) in [
            (format!("00-{TRACE}-{SPAN}-01"), true),
            (format!("00-{TRACE}-{SPAN}-00"), false),
            (format!("00-{TRACE}-{SPAN}-fe"), false),
            (format!("cc-{TRACE}-{SPAN}-03-what.comes.later"), true),
        ] {
            let caller = caller(&headers(&[&parent], &[])).expect("a valid parent");
            assert_eq!(
                (caller.trace_id().to_string(), caller.span_id().to_string()),
                (TRACE.into(), SPAN.into())
            );
            assert_eq!((caller.is_sampled(), caller.is_remote()), (sampled, true), "{parent}");
        }
    }

    #[test]
    fn a_malformed_state_ended_the_trace_or_was_passed_on() {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let state = |states: &[&str]| {
            let caller = caller(&headers(&[&parent], states)).expect("a valid parent");
            caller.trace_state().header()
        };
        assert_eq!(state(&["rojo=1", "congo=t61rcWkgMzE"]), "rojo=1,congo=t61rcWkgMzE");
        assert_eq!(state(&["rojo=1,,\t"]), "rojo=1");
        for malformed in ["rojo", "ROJO=1", "rojo=1,rojo"] {
            assert_eq!(state(&[malformed]), "", "{malformed}");
        }
        let many: Vec<String> = (0..33).map(|n| format!("k{n}=1")).collect();
        assert_eq!(state(&[&many.join(",")]), "");
        assert_eq!(state(&[&many[..32].join(",")]), many[..32].join(","));
    }

    #[test]
    fn headers_without_a_span_were_changed() {
        let mut sent = headers(&["malformed"], &["also malformed"]);
        let before = sent.clone();
        write_current(&mut sent);
        assert_eq!(sent, before);
    }
}
