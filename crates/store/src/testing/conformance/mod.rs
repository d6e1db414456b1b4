//! The conformance suite: the same checks for every store.

mod cluster;
mod documents;
mod lists;
mod pruning;
mod settling;
mod suite;

pub(crate) use cluster::*;
pub(crate) use documents::*;
pub(crate) use lists::*;
pub(crate) use pruning::*;
pub(crate) use settling::*;
pub(crate) use suite::{each, suite};
