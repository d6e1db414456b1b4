//! The programs of the guide for reqwest-retry.

pub(crate) mod after;
pub(crate) mod before;
