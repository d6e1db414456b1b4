//! What the database offers to several nodes: rows that say who is there, who leads what, what waits for
//! whom. Nobody's clock is read, neither the server's nor a client's.

mod arrivals;
mod contract;
mod hints;
mod members;
mod news;
mod orders;
mod shards;
mod wire_text;

pub(super) use hints::{Hints, Line};
pub(super) use members::BeginRun;
pub(super) use news::Changed;
