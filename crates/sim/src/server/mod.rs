//! The backend at work: what answers an attempt, and when.

mod backend;
mod backend_machine;
mod faults;
mod station;

pub(crate) use backend::{Admission, BackendState, Placement, REFUSED, answers_at_once};
pub use backend_machine::{AttemptTicket, BackendMachine, OfferedAttempt};
pub(crate) use station::QueuedAttempt;
