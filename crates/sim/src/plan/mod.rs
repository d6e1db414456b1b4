//! The parts of a run, as data: nothing here draws a number or knows the time.

mod arrivals;
mod backend;
mod measurement;
mod memory;
mod run_plan;

pub use arrivals::{ArrivalProcess, ArrivalTimes, FirstCalls, Ramp, RateStep};
pub use backend::{
    Backend, Cancel, ColdStart, Fault, Full, Hop, QueueDiscipline, ServerRateLimit, Service,
    Trouble, Workers,
};
pub use measurement::{FirstTriesRule, MeasurementPlan, Recovery, RecoveryState, Stretch};
pub(crate) use memory::MOST_PARKED_ATTEMPTS;
pub use run_plan::{
    Away, Bystanders, CallerLayer, Connections, Deposit, Fleet, LedgerModel, Paying, Propagation,
    RunPlan, Scope, SharedBudget,
};
