#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod access;
pub mod api;
pub mod config;
mod edge;
pub mod node;
pub mod observe;
#[cfg(feature = "oidc")]
pub mod oidc;
mod random;
pub mod server;
mod sources;
pub mod ui;

pub use random::IdGenerator;
pub use stagger_scheduler::{self as scheduler, leadership, model};
pub use stagger_sender as sender;
pub use stagger_store::{self as store, Error};
