//! The admin listener: health checks, metrics for Prometheus, and a page for people. Nothing is changed by it.

mod exposition;
mod health;
mod metrics;
mod page;
mod reply;
mod requests;

pub(crate) use metrics::metrics;
pub(crate) use requests::answer;
