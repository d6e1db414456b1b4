//! The memory of processes about their destination: the engine's ledgers, and those of others.

mod deposit;
mod fleet_ledgers;
mod intervals;
mod leased;
mod process_ledger;
mod store;
mod window_block;

pub(crate) use fleet_ledgers::FleetLedgers;
pub(crate) use leased::LeaseRequest;
