//! The telemetry of a node: metrics for Prometheus, log lines, and traces.
//!
//! A success at the first attempt is counted, but not logged. Names follow those of
//! `stagger::observe`; all labels are bounded: verdicts and states, nothing of an application.
//!
//! # Lines
//!
//! | line | level | when |
//! | --- | --- | --- |
//! | `retry_attempt=N` | info | a retry is decided; N is the number of the attempt to come |
//! | delivery is dead | warn | no further attempt will be made |
//! | breaker opened, stays open, closed | warn, info | an endpoint's breaker moved |
//! | endpoint disabled, enabled | warn, info | by hand, by a 410, or after failing for too long |
//! | attempts cannot be stored | error | the store is away; the next line tells when it is back |
//!
//! # Figures
//!
//! Names as in `stagger::observe`; in the text for Prometheus full stops are underscores, counters end
//! in `_total`, and times in `_seconds`.

mod attempt_span;
#[cfg(feature = "otel")]
mod exposition;
mod instruments;
mod logs;
mod metrics;
#[cfg(feature = "otel")]
mod otlp;
#[cfg(feature = "otel")]
mod otlp_metrics;

pub(crate) use attempt_span::AttemptSpan;
#[cfg(feature = "otel")]
pub(crate) use instruments::METRIC_NAMES;
pub(crate) use instruments::{Gauges, Instruments};
pub use logs::{LogFormat, init_logs};
pub(crate) use logs::{moved, settled};
pub use metrics::{Metrics, init_metrics, metrics_route};
#[cfg(feature = "otel")]
#[cfg_attr(docsrs, doc(cfg(feature = "otel")))]
pub use otlp::init_logs_and_traces;
#[cfg(feature = "otel")]
#[cfg_attr(docsrs, doc(cfg(feature = "otel")))]
pub use otlp_metrics::{MetricNames, MetricsExport, export_metrics};
