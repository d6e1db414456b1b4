//! Membership in a cluster: leadership of shards, and work exchanged with other nodes.
//!
//! One task keeps the membership: it sends heartbeats, evicts dead members, and moves shards. The
//! scheduler holds exactly the endpoints of the shards that this node leads. Every node accepts
//! messages. Deliveries to endpoints that other nodes lead are stored as arrivals, which their
//! leaders take.
//!
//! A node that has its store alone is a cluster of one: it leads all shards from the start, sends no
//! heartbeats, and is the leader of all that arrives.
//!
//! All nodes share the settings. The directory changes in one way only, by reading the change log
//! of the store, so that all nodes see changes in one order.

mod leadership;
mod member;
mod node_list;
mod settings_sync;
mod shard_mover;
mod task;
mod work;

pub(super) use leadership::{FleetView, LeadGuard, Leadership, recover};
pub use node_list::NodeInfo;
pub(super) use settings_sync::SettingsSync;
pub(super) use shard_mover::{FleetLinks, ShardMover};
pub(super) use task::{join, run};
pub(super) use work::{CommandExecutor, Work, apply};
