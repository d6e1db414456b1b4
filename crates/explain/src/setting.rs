//! Facts about the calls that a policy is for.

use stagger_core::Span;

/// Facts about the calls that a policy is for; an unknown fact is not judged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Setting {
    /// The longest time that a call may take, retries included.
    pub slo: Option<Span>,
    /// First attempts a second of one process.
    pub rps: Option<f64>,
    /// Processes that call the same destination.
    pub fleet: Option<u32>,
    /// Calls a second that the destination serves.
    pub downstream_capacity: Option<f64>,
    /// Services of a chain, one above the other, each of which retries under this policy.
    pub layers: Option<u32>,
    /// Whether the calls may be repeated without harm.
    pub idempotent: Option<bool>,
}
