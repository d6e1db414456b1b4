//! Costs, measured on this machine: the engine, the library beside its peers and by its allocations, the
//! lab beside other simulators, the dispatcher under load (one node or several, with a deep queue, after many
//! deliveries), what one bad endpoint costs the others, how many retries the default budget lets through, and the
//! egress proxy beside HAProxy.

mod allocations;
mod bloat;
mod budget;
mod chore;
mod core;
mod dispatch;
mod load;
mod load_fixture;
mod neighbours;
mod nodes;
mod peers;
mod proxy;
mod queue;
mod sim;

pub(crate) use chore::{Bench, run};
