//! The scheduler's task and the settler without the rest of a node.

mod fences;
mod operator_events;
mod retention;
mod scheduler;
