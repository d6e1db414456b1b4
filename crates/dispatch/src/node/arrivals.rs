//! Attempts a second, first ones and retries apart: what shows whether retries stampede.

use stagger::Instant;

/// The attempts of the last 5 minutes by the second, of one endpoint or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Oldest first; seconds without attempts included.
    pub seconds: Vec<Second>,
}

/// The attempts of one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// When it begins.
    pub at: Instant,
    /// First attempts.
    pub first: u32,
    /// Retries.
    pub retries: u32,
}
