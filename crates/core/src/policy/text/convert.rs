//! Conversions that all parts of the text share: numbers into what the plans take, refusals under the keys
//! of the text, and a type by way of its shadow.

use alloc::string::{String, ToString};

use crate::error::ConfigError;
use crate::rate::Rate;
use crate::ratio::Ratio;

/// A whole number that a plan counts with; the plan has bounds of its own.
pub(super) fn count(field: &'static str, n: i64) -> Result<u32, ConfigError> {
    u32::try_from(n).map_err(|_| ConfigError::new(field, n, "a whole number from 0 to 4294967295"))
}

/// A share, read as a float because whole numbers, infinities and NaN all arrive as one.
pub(super) fn share(field: &'static str, value: f64) -> Result<Ratio, ConfigError> {
    Ratio::try_from(value).map_err(|error| error.at(field))
}

/// A rate a second.
pub(super) fn rate(field: &'static str, value: f64) -> Result<Rate, ConfigError> {
    Rate::try_from(value).map_err(|error| error.at(field))
}

/// A plan's own name for a setting, and the key under which the text has it.
pub(super) type RenamedKey = (&'static str, &'static str);

/// The same refusal with the text's keys, in its field and where its bound speaks of a neighbour.
pub(super) fn renamed(error: &ConfigError, keys: &[RenamedKey]) -> ConfigError {
    let key = keys.iter().find(|(own, _)| *own == error.field());
    let field = key.map_or(error.field(), |(_, key)| *key);
    let bound = error.bound().split(' ').map(|word| {
        let key = keys.iter().find(|(own, _)| *own == word);
        key.map_or(word, |(_, key)| *key)
    });
    let bound = bound.fold(String::new(), |mut bound, word| {
        if !bound.is_empty() {
            bound.push(' ');
        }
        bound.push_str(word);
        bound
    });
    ConfigError::new(field, error.value().to_string(), bound)
}

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
