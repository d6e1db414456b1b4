//! Numbers as they are written, into what the plans take.

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
