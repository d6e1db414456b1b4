//! The programs of the guide for backon.

pub(crate) mod after;
pub(crate) mod before;
