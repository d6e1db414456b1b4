//! The settings of a node.

use std::net::SocketAddr;
use std::num::NonZeroU32;

use stagger::Span;

/// The settings of a node; its bounds against memory and load.
#[derive(Clone, Copy, Debug)]
pub struct NodeOptions {
    /// The most attempts in flight, of all applications together: default 1024.
    pub slots: NonZeroU32,
    /// Open deliveries in memory at which no more messages are accepted: default 5 000 000.
    pub max_open: usize,
    /// Payload bytes kept in memory for attempts that are due: default 64 MiB; more are read back
    /// from the store.
    pub payload_memory: usize,
    /// The time for which finished messages are kept: default 30 days.
    pub retention: Span,
    /// With a store of several nodes: within which time a node that died is replaced. Default 10 s; the
    /// nodes of a store should agree.
    pub lease: Span,
    /// The address on which this node listens: its name for other nodes and for people.
    pub address: Option<SocketAddr>,
}

impl NodeOptions {
    /// The name of this node.
    pub(super) fn name(&self) -> String {
        self.address.map_or_else(|| "unnamed".to_owned(), |address| address.to_string())
    }
}

impl Default for NodeOptions {
    fn default() -> Self {
        let slots = const { NonZeroU32::new(1024).expect("above zero") };
        let retention = Span::from_secs(30 * 24 * 60 * 60);
        Self {
            slots,
            max_open: 5_000_000,
            payload_memory: 64 << 20,
            retention,
            lease: Span::from_secs(10),
            address: None,
        }
    }
}
