//! Files of policies: which there are, and where each setting stands.

mod policies;
mod source;

pub(crate) use policies::{named, policies};
pub(crate) use source::{Entry, Loaded, PolicySource};
