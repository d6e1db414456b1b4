//! The conformance suite: the same checks for every store.

mod accepting;
mod answers;
mod cluster;
mod lists;
mod pruning;
mod replays;
mod settling;
mod suite;
mod tenants;

pub(crate) use accepting::*;
pub(crate) use cluster::*;
pub(crate) use lists::*;
pub(crate) use pruning::*;
pub(crate) use replays::*;
pub(crate) use settling::*;
pub(crate) use suite::{each, suite};
pub(crate) use tenants::*;
