//! The parts of a run, as data: nothing here draws a number or knows the time.

mod arrivals;
mod backend;
mod balancer;
mod cache;
mod measurement;
mod memory;
mod overload;
mod run_plan;
mod users;

pub use arrivals::{ArrivalProcess, ArrivalTimes, FirstCalls, Ramp, RateStep};
pub use backend::{
    Backend, Cancel, ColdStart, Fault, Full, Hop, QueueDiscipline, ServerRateLimit, Service,
    Trouble, Workers,
};
pub use balancer::{Balancer, Ejection, Routing};
pub use cache::{Cache, CacheFill};
pub use measurement::{FirstTriesRule, MeasurementPlan, Recovery, RecoveryState, Stretch};
pub(crate) use memory::MOST_PARKED_ATTEMPTS;
pub use overload::{Autoscaling, Crash, Shedding};
pub use run_plan::{
    Away, Bystanders, CallerLayer, Connections, Criticality, Deposit, Fleet, LedgerModel, Paying,
    Propagation, RunPlan, Scope, SharedBudget,
};
pub use users::{Abandonment, Clicks, Users};
