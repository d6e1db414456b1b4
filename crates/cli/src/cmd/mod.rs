//! One file a command.

mod demo;
mod serve;
mod store;
mod storm;

pub(crate) use demo::demo;
pub(crate) use serve::serve;
pub(crate) use store::store;
pub(crate) use storm::storm;
