//! What things cost, measured on this machine: the engine, the library beside its peers, the
//! lab beside other simulators, the dispatcher under load, and what one bad endpoint costs the others.

mod chore;
mod core;
mod dispatch;
mod load;
mod log;
mod neighbours;
mod peers;
mod sim;
mod stage;

pub(crate) use chore::{Bench, run};
