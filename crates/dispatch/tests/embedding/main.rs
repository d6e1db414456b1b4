//! A node inside a program of its own: its API below a path of the host, and messages within the host's transactions.

mod database;
mod nested;
mod outbox;
mod page;
#[path = "../shared/mod.rs"]
mod shared;
