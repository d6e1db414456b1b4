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

pub use arrivals::{Arrivals, FirstCalls, Times};
pub use backend::{Backend, Cancel, ColdStart, Full, Limit, Order, Service, Workers};
pub use bystanders::Bystanders;
pub use caller::Caller;
pub use fault::{Fault, Trouble};
pub use fleet::{Away, Connections, Deposit, Fleet, LedgerModel, Paying, Scope, Shared};
pub use network::Hop;
pub use ramp::Ramp;
pub use watch::{FirstTriesRule, Recovery, RecoveryState, Watch};
pub use whole::Plan;
