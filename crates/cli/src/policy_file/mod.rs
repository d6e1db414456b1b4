//! Files of policies: which there are, and where each setting stands.

mod policies;

pub(crate) use policies::{named, policies};
