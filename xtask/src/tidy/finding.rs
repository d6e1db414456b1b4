//! One place that breaks a rule.

use std::fmt;

use serde::Serialize;

/// One place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct StyleFinding {
    pub(super) file: String,
    /// From 1; 0 when the whole file is meant.
    pub(super) line: usize,
    pub(super) what: String,
}

impl StyleFinding {
    /// `what` is wrong with `line` of `file`.
    pub(super) fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for StyleFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}
