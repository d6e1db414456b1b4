//! The result of one promise for one integration.

use std::fmt::{self, Debug};

use serde::Serialize;

/// The result of one promise for one integration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ContractCell {
    /// Checks that passed, of how many, and what failed.
    Checked {
        /// Checks that passed.
        passed: usize,
        /// Checks that were made.
        total: usize,
        /// The failures: got and wanted.
        failed: Vec<String>,
    },
    /// The promise does not apply, for this reason.
    Waived {
        /// Why.
        reason: &'static str,
    },
}

/// The checks of one promise, as they are made.
#[derive(Debug, Default)]
pub struct Checks {
    total: usize,
    failed: Vec<String>,
}

impl ContractCell {
    /// Every check passed, and there was one; or there is a reason for none.
    #[must_use]
    pub fn is_good(&self) -> bool {
        match self {
            Self::Checked { passed, total, .. } => *total > 0 && passed == total,
            Self::Waived { reason } => !reason.is_empty(),
        }
    }
}

impl Checks {
    /// Checks that `got` equals `want`.
    pub fn equal<T: PartialEq + Debug>(&mut self, what: &str, got: &T, want: &T) {
        self.holds(&format!("{what}: got {got:?}, want {want:?}"), got == want);
    }

    /// Checks that this holds.
    pub fn holds(&mut self, what: &str, holds: bool) {
        self.total += 1;
        if !holds {
            self.failed.push(what.to_owned());
        }
    }

    /// The cell of these.
    #[must_use]
    pub fn finish(self) -> ContractCell {
        let passed = self.total - self.failed.len();
        ContractCell::Checked { passed, total: self.total, failed: self.failed }
    }
}

impl fmt::Display for ContractCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checked { passed, total, .. } => write!(f, "{passed}/{total}"),
            Self::Waived { reason } => f.write_str(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cell_proves_nothing() {
        assert!(!Checks::default().finish().is_good());
        assert!(!ContractCell::Waived { reason: "" }.is_good());
    }

    #[test]
    fn one_failed_check_spoils_the_cell() {
        let mut checks = Checks::default();
        checks.equal("attempts", &1, &1);
        checks.equal("attempts", &2, &1);
        let cell = checks.finish();
        assert!(!cell.is_good());
        assert_eq!(cell.to_string(), "1/2");
    }
}
