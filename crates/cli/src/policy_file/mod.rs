//! Files of policies: which there are, and where each setting stands.

mod bounds;
mod policies;
mod source;

pub(crate) use bounds::{CAPACITY, FLEET, LAYERS, RPS};
pub(crate) use policies::{named, policies};
pub(crate) use source::{Entry, Loaded, PolicySource};
