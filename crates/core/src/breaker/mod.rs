//! Breakers: whether a destination may be called at all.
//!
//! A [`Breaker`] is told the time and the results and answers with data: it holds no lock, calls
//! nobody back and starts no timer. Closed it admits everybody and counts; too many failures open
//! it; after the open time it admits exactly as many probes as the plan says, and their results
//! decide.

mod destination;
mod machine;
mod plan;
mod report;
mod state;
mod ticket;
mod trip;
mod window;

pub use destination::Destination;
pub use machine::Breaker;
pub use plan::{BreakerPlan, BreakerPlanBuilder};
pub use report::Report;
pub use state::{StateKind, Transition};
pub use ticket::{Admission, Ticket};
pub use trip::Trip;
pub use window::{Call, Counts, WindowKind};
