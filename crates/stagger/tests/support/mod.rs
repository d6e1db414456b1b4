//! Time that a test moves, and listeners that write down what they hear.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

mod diary;
#[cfg(feature = "tracing")]
mod listener;
#[cfg(feature = "metrics")]
mod recorder;
mod time;

pub(crate) use diary::{Diary, Line};
#[cfg(feature = "tracing")]
pub(crate) use listener::Listener;
#[cfg(feature = "metrics")]
pub(crate) use recorder::Figures;
pub(crate) use time::{ManualTime, poll};
