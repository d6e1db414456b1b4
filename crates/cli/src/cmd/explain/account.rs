//! One policy and everything that is said about it, in figures that no line break tears apart.

use stagger_core::{Policy, Span};
use stagger_explain::{Explanation, Setting, Severity};

use crate::flags::CallsFlags;
use crate::policy_file::{NamedPolicy, in_own_words, of_breaker};

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
        if let Some(facts) = &entry.route {
            figures.findings.retain(|finding| !facts.tunnel || of_breaker(finding));
            figures.findings.extend(stagger_explain::lint_route(&entry.policy, facts));
        }
        figures.findings.retain(|finding| !entry.calls.allows(finding.code));
        if let Some(product) = entry.product {
            let own = |finding| in_own_words(product, finding);
            figures.findings = figures.findings.into_iter().map(own).collect();
        }
        Self { name: entry.name.clone(), policy: entry.policy, setting, figures }
    }

    /// Whether one of the findings must not ship.
    pub(super) fn fails(&self) -> bool {
        self.figures.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// The blank that holds a figure together.
pub(super) const BLANK: char = stagger_text::NO_BREAK;

/// A span with three digits and one unit.
pub(super) fn brief(span: Span) -> String {
    glued(&stagger_text::brief(span))
}

/// A share as a percentage.
pub(super) fn percent(share: f64) -> String {
    glued(&stagger_text::percent(share))
}

/// A whole number in groups of three.
pub(super) fn grouped(value: f64) -> String {
    stagger_text::grouped(value, BLANK)
}

fn glued(text: &str) -> String {
    text.replace(' ', &BLANK.to_string())
}
