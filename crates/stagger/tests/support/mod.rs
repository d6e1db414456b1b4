//! Time that a test moves, listeners that write down what they hear, a store that a test may stop, a network that it may cut.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

mod diary;
#[cfg(feature = "tracing")]
mod listener;
#[cfg(feature = "redis")]
mod proxy;
#[cfg(feature = "metrics")]
mod recorder;
#[cfg(feature = "redis")]
mod redis;
mod time;

pub(crate) use diary::{Diary, Line};
#[cfg(feature = "tracing")]
pub(crate) use listener::Listener;
#[cfg(feature = "redis")]
pub(crate) use proxy::Proxy;
#[cfg(feature = "metrics")]
pub(crate) use recorder::Figures;
#[cfg(feature = "redis")]
pub(crate) use redis::{Redis, shared_redis};
pub(crate) use time::{ManualTime, poll};
