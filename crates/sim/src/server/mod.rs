//! The backend at work: what answers an attempt, and when.

mod backend;
mod faults;
mod station;

pub(crate) use backend::{Admission, BackendState, Placement, REFUSED, answers_at_once};
pub(crate) use station::QueuedAttempt;
