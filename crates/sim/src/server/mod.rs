//! The backend at work: what answers an attempt, and when.

mod backend;
mod backend_machine;
mod balancer;
mod cache;
mod faults;
mod limiter;
mod scaling;
mod shedding;
mod station;
mod waiting;
mod work;

pub(crate) use backend::{Admission, BackendState, REFUSED, answers_at_once};
pub use backend_machine::{AttemptTicket, BackendMachine, OfferedAttempt};
pub(crate) use station::CrashLoss;
pub(crate) use waiting::QueuedAttempt;
pub(crate) use work::{Placement, QueueTurn, StartedWork};
