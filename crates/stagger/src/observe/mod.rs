//! Every retry made visible: `tracing` events and `metrics` figures, each by its feature.
//!
//! A clean first try is silent, and costs nothing here: no formatting, no allocation, no reading of
//! the clock. Everything else is reported once, the same for async, blocking and hedged calls. Names
//! follow OpenTelemetry: dotted, in one namespace, times in seconds. Labels are bounded: verdicts,
//! stop reasons, breaker states, and the constant given to [`Retrier::named`](crate::Retrier::named).
//!
//! # Events (feature `tracing`, target `stagger`)
//!
//! | event | level | when | fields |
//! | --- | --- | --- | --- |
//! | `stagger.retry` | info | a retry is decided, before its delay | `stagger.attempt` (the one that failed), `stagger.delay`, `stagger.verdict`, `stagger.hint` |
//! | `stagger.hold` | info | an attempt waits, because another call was given a hint for all | `stagger.delay` |
//! | `stagger.pace` | debug | an attempt waits for its turn, because the adaptive limit or the rate limit paces calls | `stagger.delay` |
//! | `stagger.queue` | debug | an attempt waits for a place, because the concurrency limit is reached | `stagger.longest` |
//! | `stagger.hedge` | debug | a further copy of a slow call is launched | `stagger.attempt` |
//! | `stagger.end` | see below | a call ends, unless by a clean first try | `stagger.stop_reason`, `stagger.attempts`, `stagger.elapsed`, `stagger.hint` |
//!
//! Those of calls carry `stagger.destination` when there is a name. The end of a call is info when it succeeded
//! after all, debug when no retry would have helped (permanent, cancelled, dropped), else a warning.
//!
//! # Spans of HTTP attempts (feature `tracing`, target `stagger::http`, level debug)
//!
//! The reqwest client and tower's HTTP layer make one span `stagger.http.attempt` for each attempt, with the
//! attributes that OpenTelemetry requires of HTTP clients: `http.request.method`, `server.address`,
//! `server.port`, `url.full`, `http.response.status_code`, `error.type`, and `http.request.resend_count` on
//! every attempt but the first. tracing-opentelemetry makes client spans of them by `otel.name`, `otel.kind`
//! and `otel.status_code`. In `url.full` user and password are `REDACTED`, and so are query parameters that are
//! secrets by their names; the fragment is left out. Programs that send attempts by other means start an [`HttpSpan`]
//! themselves. `error.type` is the status of a reply from 400 on, the
//! kind of an error, or `cancelled` for an attempt that was dropped, as one whose time ran out.
//!
//! Hooks before each attempt run inside its span, so that a `traceparent` of theirs is the attempt's. The
//! spans are debug because clean first tries have them too: `stagger::http=debug` switches them on, and
//! without that they cost one look at the filter.
//!
//! # Metrics (feature `metrics`)
//!
//! | metric | kind | labels | counts |
//! | --- | --- | --- | --- |
//! | `stagger.retries` | counter | `stagger.verdict` | retries decided; the breaker may still refuse one after its delay |
//! | `stagger.retry.delay` | histogram, s | `stagger.verdict` | their delays |
//! | `stagger.hedges` | counter | | further copies of slow calls |
//! | `stagger.stops` | counter | `stagger.stop_reason` | ends of calls, clean first tries left out |
//! | `stagger.call.attempts` | histogram | `stagger.stop_reason` | attempts of the same calls |
//! | `stagger.budget.level` | gauge | | retries that the budget would grant in a row |
//! | `stagger.budget.grants`, `.refusals`, `.refunds` | counter | | what the budget answered |
//! | `stagger.breaker.state` | gauge | `stagger.breaker.state` | 1 for the state that the breaker is in, 0 for the others |
//! | `stagger.breaker.refusals`, `.openings` | counter | | attempts that the breaker refused, and how often it opened |
//! | `stagger.adaptive.waits`, `.refusals` | counter | | attempts that the adaptive limit had wait, and those that it refused |
//! | `stagger.concurrency_limit.in_flight`, `.queued` | gauge | | attempts that hold a place, and attempts that wait for one |
//! | `stagger.concurrency_limit.waits`, `.refusals` | counter | | attempts that had to wait for a place, and those that got none |
//! | `stagger.rate_limit.waits`, `.refusals` | counter | | attempts that had to wait for their start, and those that got none |
//!
//! With the feature `tonic` calls of gRPC are recorded under gRPC's own names too (gRFC A96), each histogram once
//! for a call that ended and had any:
//!
//! | metric | kind | records |
//! | --- | --- | --- |
//! | `grpc.client.call.retries` | histogram | retries of the call; further copies are hedges where the policy hedges |
//! | `grpc.client.call.transparent_retries` | histogram | retries of streams that the server never saw |
//! | `grpc.client.call.hedges` | histogram | further copies of the call |
//! | `grpc.client.call.retry_delay` | histogram, s | the delays of the call, added up |
//!
//! Their labels are `grpc.method`, as generated clients name it and `other` for the rest, and `grpc.target`: the
//! origin of the client, else the name of the retrier, else `other`. A call that is dropped is not recorded.
//!
//! All others carry `stagger.destination` when there is a name. Those of budgets and breakers are a ledger's
//! own: `report_ledger` reports them, as often as it is called.

mod events;
#[cfg(all(feature = "metrics", feature = "tonic"))]
mod grpc;
#[cfg(any(feature = "reqwest", all(feature = "http", feature = "tower")))]
mod http_span;
#[cfg(feature = "metrics")]
mod metrics;

pub(crate) use events::{ended, hedged, held, paced, queued, retried};
#[cfg(all(feature = "metrics", feature = "tonic"))]
pub(crate) use grpc::{GrpcAttempts, grpc_call};
#[cfg(all(feature = "http", feature = "tower"))]
pub(crate) use http_span::error_kind;
#[cfg(any(feature = "reqwest", all(feature = "http", feature = "tower")))]
#[cfg_attr(
    docsrs,
    doc(cfg(any(feature = "reqwest", all(feature = "http", feature = "tower"))))
)]
pub use http_span::{HttpSpan, HttpTarget};
#[cfg(feature = "metrics")]
#[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
pub use metrics::{describe_metrics, report_ledger};
