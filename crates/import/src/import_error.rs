//! The error of settings that cannot be read: the setting, its value, and the bound that it breaks.

use std::fmt;

/// A setting that was refused, by the bounds of its product or of the engine.
///
/// ```
/// use stagger_import::import;
/// let error = import("{\"retry_policy\":{\"num_retries\":-1}}", None).unwrap_err();
/// assert_eq!((error.field(), error.value()), ("retry_policy.num_retries", "-1"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    field: String,
    value: String,
    bound: String,
}

impl ImportError {
    pub(crate) fn new(
        field: impl Into<String>,
        value: impl fmt::Display,
        bound: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), value: value.to_string(), bound: bound.into() }
    }

    /// The dotted path of the setting, empty for the whole text.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The value that stands there.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The values that are allowed.
    #[must_use]
    pub fn bound(&self) -> &str {
        &self.bound
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.field.as_str(), self.value.as_str()) {
            ("", value) => write!(f, "{value}: must be {}", self.bound),
            (field, "") => write!(f, "{field}: must be {}", self.bound),
            (field, value) => write!(f, "{field} = {value}: must be {}", self.bound),
        }
    }
}

impl std::error::Error for ImportError {}
