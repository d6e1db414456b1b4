//! The parts of a run, as data: nothing here draws a number or knows the time.

mod arrivals;
mod backend;
mod caller_layer;
mod fault;
mod fleet;
mod measurement;
mod ramp;
mod run_plan;

pub use arrivals::{ArrivalProcess, ArrivalTimes, FirstCalls};
pub use backend::{
    Backend, Cancel, ColdStart, Full, Hop, QueueDiscipline, ServerRateLimit, Service, Workers,
};
pub use caller_layer::{Bystanders, CallerLayer};
pub use fault::{Fault, Trouble};
pub use fleet::{Away, Connections, Deposit, Fleet, LedgerModel, Paying, Scope, SharedBudget};
pub use measurement::{FirstTriesRule, MeasurementPlan, Recovery, RecoveryState, Stretch};
pub use ramp::Ramp;
pub use run_plan::RunPlan;
