//! The conformance suite of stores that several nodes share.

mod arrivals;
mod change_log;
mod commands;
mod entering;
mod fixture;
mod loading;
mod members;
mod shards;
mod suite;

pub(crate) use arrivals::*;
pub(crate) use change_log::*;
pub(crate) use commands::*;
pub(crate) use entering::*;
pub(crate) use loading::*;
pub(crate) use members::*;
pub(crate) use shards::*;
pub(crate) use suite::cluster_suite;
