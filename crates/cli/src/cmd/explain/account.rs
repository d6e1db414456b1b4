//! One policy and everything that is said about it.

use stagger_core::Policy;
use stagger_explain::{Explanation, Finding, Setting, Severity};

use crate::policy_file::Entry;

/// A policy with its figures.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) policy: Policy,
    pub(super) setting: Setting,
    pub(super) figures: Explanation,
}

impl Account {
    /// The account of one policy.
    pub(super) fn of(entry: &Entry, setting: Setting) -> Self {
        let figures = stagger_explain::explain(&entry.policy, &setting);
        Self { name: entry.name.clone(), policy: entry.policy, setting, figures }
    }

    /// Whether one of the findings must not ship.
    pub(super) fn fails(&self) -> bool {
        self.figures.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// The stable name of a finding's kind.
pub(super) fn code(finding: &Finding) -> String {
    let mut name = String::new();
    for letter in format!("{:?}", finding.code).chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// The name of a severity.
pub(super) const fn severity(finding: &Finding) -> &'static str {
    match finding.severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}
