//! Hedging: when to launch a further copy of a call.
//!
//! A [`HedgePlan`] says how long to wait for an answer before a second copy goes out, fixed or as a
//! quantile of the [`Latencies`] seen lately. [`Hedging`] follows one call: it is told what
//! happened and says when the next copy is due. Whether the copy may go, by budget, breaker and
//! attempt count, is for others to say; a refusal just means no hedge.

mod copies;
mod latencies;
mod plan;

pub use copies::Hedging;
pub use latencies::Latencies;
pub use plan::HedgePlan;
