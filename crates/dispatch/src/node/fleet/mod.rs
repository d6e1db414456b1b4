//! A node among others: what it leads, what it hears of them, and what it leaves for them.
//!
//! One task keeps the membership: it beats, sees who is dead, and moves shards. What it leads is on the
//! floor, and nothing else: the floor is that of a node alone. Messages are accepted by every node;
//! deliveries to endpoints that others lead are stored as arrivals, which their leaders take.
//!
//! Settings are everybody's. They reach the directory in one way only, by following what the store says
//! has changed, so that all nodes see changes in one order.

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
