//! The programs of the guide for tokio-retry.

pub(crate) mod after;
pub(crate) mod before;
