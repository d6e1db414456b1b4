//! A store that a test may stop, a network that it may cut, listeners that write down what they hear.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

#[cfg(feature = "tracing")]
#[path = "../../../stagger/tests/support/listener.rs"]
mod listener;
mod proxy;
#[cfg(feature = "metrics")]
#[path = "../../../stagger/tests/support/recorder.rs"]
mod recorder;
mod redis;

#[cfg(feature = "tracing")]
pub(crate) use listener::Listener;
pub(crate) use proxy::Proxy;
#[cfg(feature = "metrics")]
pub(crate) use recorder::Figures;
pub(crate) use redis::{Redis, shared_redis};
