//! Retries that time earns.

use crate::Rate;

/// The retries that time earns, for destinations with little traffic.
///
/// Without a floor, a destination with two calls a minute would never see a retry
/// (envoyproxy/envoy pull request 9069).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloorRate {
    /// Earned on top of the share (Finagle).
    Add(Rate),
    /// Earned where it is more than the share (Envoy).
    AtLeast(Rate),
}

impl FloorRate {
    /// The retries a second.
    #[must_use]
    pub const fn rate(self) -> Rate {
        match self {
            Self::Add(rate) | Self::AtLeast(rate) => rate,
        }
    }
}
