//! The egress proxy beside HAProxy: a herd through an outage with hints, the cost of a request in time and processor,
//! and three proxies with one budget in Redis.

mod chore;
mod fleet;
mod herd;
mod latency;
mod process;
mod upstream;

pub(super) use chore::run;
