//! The memory of processes about their destination: the engine's ledgers, and those of others.

mod fleet_ledgers;
mod foreign;
mod leased;
mod process_ledger;

pub(crate) use fleet_ledgers::FleetLedgers;
pub(crate) use leased::LeaseRequest;
