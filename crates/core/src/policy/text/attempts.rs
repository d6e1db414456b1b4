//! `limits.max_attempts`: a number of calls, or `"unlimited"`.

use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

/// The word for no limit.
const UNLIMITED: &str = "unlimited";

#[derive(Clone, Copy)]
pub(super) enum AttemptsText {
    Limited(i64),
    Unlimited,
}

impl Serialize for AttemptsText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Limited(calls) => serializer.serialize_i64(*calls),
            Self::Unlimited => serializer.serialize_str(UNLIMITED),
        }
    }
}

impl<'de> Deserialize<'de> for AttemptsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AttemptsVisitor)
    }
}

struct AttemptsVisitor;

impl Visitor<'_> for AttemptsVisitor {
    type Value = AttemptsText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number of calls, or {UNLIMITED:?}")
    }

    fn visit_i64<E: Error>(self, calls: i64) -> Result<AttemptsText, E> {
        Ok(AttemptsText::Limited(calls))
    }

    fn visit_u64<E: Error>(self, calls: u64) -> Result<AttemptsText, E> {
        // OK because what is cut off is beyond every limit, and refused as such.
        Ok(AttemptsText::Limited(i64::try_from(calls).unwrap_or(i64::MAX)))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<AttemptsText, E> {
        if word == UNLIMITED {
            return Ok(AttemptsText::Unlimited);
        }
        Err(E::invalid_value(Unexpected::Str(word), &self))
    }
}
