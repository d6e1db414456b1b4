//! Rows and a store with faults, for tests; the checks that every store passes, and comparisons of two
//! stores.

#[cfg(test)]
pub(crate) mod cluster_differential;
#[cfg(test)]
pub(crate) mod conformance;
#[cfg(test)]
pub(crate) mod differential;
mod faulty;
pub mod fixture;
mod shared_memory;
#[cfg(test)]
mod sole_cluster;

pub use faulty::{FaultyStore, LinkFault};
