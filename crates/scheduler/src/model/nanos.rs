//! Instants as whole nanoseconds since the Unix epoch, in documents.

use serde::{Deserialize, Deserializer, Serializer};
use stagger_core::Instant;

pub(super) fn serialize<S: Serializer>(at: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(at.as_nanos())
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
    u64::deserialize(deserializer).map(Instant::from_nanos)
}

/// The same, where there may be none.
pub(super) mod option {
    use serde::Serialize;

    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        at: &Option<Instant>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        at.map(Instant::as_nanos).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Instant>, D::Error> {
        Ok(Option::deserialize(deserializer)?.map(Instant::from_nanos))
    }
}
