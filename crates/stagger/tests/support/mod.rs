//! Time that a test moves, and a ledger that writes down what it hears.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

mod diary;
mod time;

pub(crate) use diary::{Diary, Line};
pub(crate) use time::{ManualTime, poll};
