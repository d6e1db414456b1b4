//! The programs of the guide for tower.

pub(crate) mod after;
pub(crate) mod before;
