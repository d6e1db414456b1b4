//! Membership in a cluster: leadership of shards, and work exchanged with other nodes.
//!
//! One task keeps the membership: it sends heartbeats, evicts dead members, and moves shards. The
//! scheduler holds exactly the endpoints of the shards that this node leads. Every node accepts
//! messages. Deliveries to endpoints that other nodes lead are stored as arrivals, which their
//! leaders take.
//!
//! All nodes share the settings. The directory changes in one way only, by reading the change log
//! of the store, so that all nodes see changes in one order.

mod acquire;
mod commands;
mod leadership;
mod member;
mod release;
mod settings;
mod settings_sync;
mod task;
mod view;
mod work;

pub(super) use commands::send_command;
pub(super) use leadership::{LeadGuard, Leadership};
pub(super) use settings::{delete_application, delete_endpoint, put_application, put_endpoint};
pub(super) use settings_sync::{SettingsSync, sync_settings};
pub(super) use task::{join, run};
pub(super) use view::{FleetView, view};
