#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod api;
pub mod config;
mod egress;
mod error;
pub mod model;
pub mod node;
pub mod observe;
pub mod send;
pub mod server;
pub mod sign;
pub mod store;
mod store_backoff;
pub mod ui;

pub use error::Error;
pub use stagger_scheduler::{self as scheduler, leadership};
