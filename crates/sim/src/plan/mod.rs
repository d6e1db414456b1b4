//! The parts of a run, as data: nothing here draws a number or knows the time.

mod arrivals;
mod backend;
mod bystanders;
mod caller;
mod fault;
mod fleet;
mod network;
mod ramp;
mod watch;
mod whole;

pub use arrivals::{ArrivalProcess, ArrivalTimes, FirstCalls};
pub use backend::{
    Backend, Cancel, ColdStart, Full, QueueDiscipline, ServerRateLimit, Service, Workers,
};
pub use bystanders::Bystanders;
pub use caller::CallerLayer;
pub use fault::{Fault, Trouble};
pub use fleet::{Away, Connections, Deposit, Fleet, LedgerModel, Paying, Scope, SharedBudget};
pub use network::Hop;
pub use ramp::Ramp;
pub use watch::{FirstTriesRule, MeasurementPlan, Recovery, RecoveryState};
pub use whole::RunPlan;
