//! Checks that every store passes, comparisons of two stores, and the rows that they use.

pub(crate) mod cluster_differential;
pub(crate) mod conformance;
pub(crate) mod differential;
pub(crate) mod fixture;
mod sole_cluster;
