//! The settings of a node.

use std::num::NonZeroU32;

use stagger::Span;

/// The settings of a node; its bounds against memory and load.
#[derive(Clone, Copy, Debug)]
pub struct NodeOptions {
    /// Attempts under way at once, of all applications together: default 1024.
    pub slots: NonZeroU32,
    /// Open deliveries in memory at which no more messages are accepted: default 5 000 000.
    pub max_open: usize,
    /// Payload bytes kept in memory for attempts that are due: default 64 MiB; more are read back
    /// from the store.
    pub payload_memory: usize,
    /// How long finished messages are kept: default 30 days.
    pub retention: Span,
}

impl Default for NodeOptions {
    fn default() -> Self {
        let slots = const { NonZeroU32::new(1024).expect("above zero") };
        let retention = Span::from_secs(30 * 24 * 60 * 60);
        Self { slots, max_open: 5_000_000, payload_memory: 64 << 20, retention }
    }
}
