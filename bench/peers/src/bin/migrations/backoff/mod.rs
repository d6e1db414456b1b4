//! The programs of the guide for backoff.

pub(crate) mod after;
pub(crate) mod before;
