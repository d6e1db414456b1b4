//! The egress proxy beside HAProxy: a herd through an outage with hints, the cost of a request in time and processor;
//! three proxies with one budget in Redis, and an outage of the lab over real sockets.

mod chore;
mod fleet;
mod herd;
mod latency;
mod outage;
mod process;
mod upstream;

pub(super) use chore::run;
