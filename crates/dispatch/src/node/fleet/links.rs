//! The parts of a node that a membership moves.

use std::sync::Arc;

use stagger::Span;
use tokio::sync::watch;

use super::leadership::Leadership;
use super::settings_sync::SettingsSync;
use super::shard_mover::ShardMover;
use super::view::FleetView;
use super::work::Work;
use crate::node::clock::EngineClock;
use crate::node::health::NodeHealth;
use crate::node::inbox::Inbox;
use crate::node::notifications::PendingNotifications;
use crate::store::{ClusterHandle, Fence};

/// The parts of a node that a membership moves.
#[derive(Debug)]
pub(in crate::node) struct FleetLinks {
    pub(in crate::node) cluster: ClusterHandle,
    pub(in crate::node) leadership: Arc<Leadership>,
    pub(in crate::node) settings: Arc<SettingsSync>,
    pub(in crate::node) view: Arc<FleetView>,
    pub(in crate::node) mover: Arc<ShardMover>,
    pub(in crate::node) work: Arc<Work>,
    /// Shards with new work, of which the other nodes have not been notified yet.
    pub(in crate::node) notifications: Arc<PendingNotifications>,
    /// The membership under which settlements were refused last: it has ended.
    pub(in crate::node) lost: watch::Sender<Option<Fence>>,
    pub(in crate::node) health: Arc<NodeHealth>,
    pub(in crate::node) inbox: Inbox,
    pub(in crate::node) clock: EngineClock,
    /// The name of the node, for people.
    pub(in crate::node) name: String,
    pub(in crate::node) lease: Span,
}
