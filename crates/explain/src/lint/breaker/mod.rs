//! Rules of a breaker's opening, open time and closing: one file a rule.

mod open_time;
mod outcomes;
mod probes;
mod row;
mod rules;
mod share;

pub(super) use rules::lint;
