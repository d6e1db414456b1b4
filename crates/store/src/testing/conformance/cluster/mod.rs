//! The conformance suite of stores that several nodes share.

mod arrivals;
mod change_log;
mod fixture;
mod members;

pub(crate) use arrivals::*;
pub(crate) use change_log::*;
pub(crate) use fixture::cluster_suite;
pub(crate) use members::*;
