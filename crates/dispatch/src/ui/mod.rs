//! The operator's page: open deliveries, failing endpoints, and the reasons; served at `/` and
//! `/ui`.
//!
//! Pages are written by the server and readable without scripts; scripts only keep them fresh. All
//! they need is in the binary, so that they work on a machine without a network. Every answer forbids
//! inline scripts, foreign origins and frames.

mod asset;
mod page_state;
mod pages;
mod portal;
mod router;
mod sessions;
mod view;

pub use router::router;
pub use sessions::UiOptions;
