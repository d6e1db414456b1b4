//! The error of a refused setting: the field, the value, and the bound that it broke.

use alloc::string::{String, ToString};
use core::fmt;

/// A setting that no policy may have.
///
/// Returned by every builder; names the field as it is written in TOML, the value given and the
/// bound, so that the message alone is enough to mend it.
///
/// ```
/// use stagger_core::{Backoff, Span};
/// let error = Backoff::exponential(Span::from_secs(10), Span::from_secs(1)).unwrap_err();
/// assert_eq!(error.field(), "backoff.cap");
/// assert_eq!(error.to_string(), "backoff.cap = 1s: must be at least backoff.base (10s)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    field: &'static str,
    value: String,
    bound: String,
}

impl ConfigError {
    /// A refusal of `value` for `field`; `bound` completes the words "must be ...".
    pub fn new(field: &'static str, value: impl ToString, bound: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), bound: bound.into() }
    }

    /// The field's dotted name, as it is written in TOML.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// The value that was refused.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The bound on the value.
    #[must_use]
    pub fn bound(&self) -> &str {
        &self.bound
    }

    /// The same refusal under the field's full name, for a part that is used in a larger whole.
    #[must_use]
    pub fn at(self, field: &'static str) -> Self {
        Self { field, ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: must be {}", self.field, self.value, self.bound)
    }
}

impl core::error::Error for ConfigError {}
