//! Why settings were refused.

use std::fmt;

/// A setting that is wrong, and where it stands: file, line and column, or variable, or flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    message: String,
}

impl ConfigFault {
    pub(super) fn at(place: &str, what: &dyn fmt::Display) -> Self {
        Self { message: format!("{place}: {what}") }
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigFault {}
