//! The events that the operator of a node is told: endpoints that fail or are well again, and deliveries that were
//! given up.
//!
//! | event | when |
//! | --- | --- |
//! | failing | the breaker opens, or every attempt of 5 minutes has failed |
//! | recovered | the breaker is closed and the last attempt has succeeded, a minute after that began |
//! | exhausted | a delivery is dead: one event a second for an endpoint, the others are counted in the next one |
//!
//! After a failing event of an endpoint no second one follows before it has recovered. The state of the endpoint says
//! so, which is stored together with the event: so a restart or another leader repeats none.

mod deadlines;
mod exhausted;
mod failing;

use deadlines::Deadlines;
pub use exhausted::ExhaustedAlerts;
pub use failing::FailingAlerts;
