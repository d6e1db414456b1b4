//! Other projects' test vectors, run against the engine. `vectors/SOURCES.md` names their origins.

mod aws;
mod backoff;
mod breaker;
mod budgets;
mod cubic;
mod grpc;
mod headers;
mod retry_after;
mod run;
mod structured_fields;
mod suite;

pub use run::run_all;
pub use suite::{Deliberate, Suite};
