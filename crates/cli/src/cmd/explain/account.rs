//! One policy and everything that is said about it.

use stagger_core::Policy;
use stagger_explain::{Explanation, PolicyFinding, Setting, Severity};

use crate::flags::CallsFlags;
use crate::policy_file::NamedPolicy;

/// A policy with its figures.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) policy: Policy,
    pub(super) setting: Setting,
    pub(super) figures: Explanation,
}

impl Account {
    /// The account of one policy, without the findings that its file accepts.
    pub(super) fn of(entry: &NamedPolicy, flags: &CallsFlags) -> Self {
        let setting = flags.over(&entry.calls.setting);
        let mut figures = stagger_explain::explain(&entry.policy, &setting);
        figures.findings.retain(|finding| !entry.calls.allows(finding.code));
        Self { name: entry.name.clone(), policy: entry.policy, setting, figures }
    }

    /// Whether one of the findings must not ship.
    pub(super) fn fails(&self) -> bool {
        self.figures.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// The stable name of a finding's kind.
pub(super) const fn code(finding: &PolicyFinding) -> &'static str {
    finding.code.name()
}

/// The name of a severity.
pub(super) const fn severity(finding: &PolicyFinding) -> &'static str {
    match finding.severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}
