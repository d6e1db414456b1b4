//! Reading and writing a type by way of its shadow.

/// Writes `$real` as its shadow `$text`, and reads it back through the checks of its builder.
///
/// The derive's own `try_from` would have to stand on the type itself, and so name the shadow where
/// the arrows of this crate do not allow it.
macro_rules! written_as {
    ($(#[$doc:meta])* $real:ty, $text:ty, $how:literal) => {
        impl serde::Serialize for $real {
            #[doc = concat!("Writes ", $how, ".")]
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(&<$text>::from(*self), serializer)
            }
        }

        $(#[$doc])*
        impl<'de> serde::Deserialize<'de> for $real {
            #[doc = concat!("Reads ", $how, ". Missing keys take their defaults, unknown keys are refused.")]
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text: $text = serde::Deserialize::deserialize(deserializer)?;
                Self::try_from(text).map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(super) use written_as;
