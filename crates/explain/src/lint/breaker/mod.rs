//! Rules of a breaker's opening, open time and closing: one file a rule.

mod lease;
mod open_time;
mod probes;
mod row;
mod rules;
mod share;
mod slow;
mod throttled;
mod wait;

pub(super) use rules::lint;
