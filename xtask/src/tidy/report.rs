//! All checks and what they found.

use serde::Serialize;

use super::finding::Finding;
use super::sizes::Sizes;
use super::tree::Tree;
use super::{arrows, clock, dead, front, layers, names, paths};
use crate::workspace::Package;

/// All checks and what they found.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) sizes: Sizes,
    pub(super) checks: Vec<Check>,
}

/// One check.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) findings: Vec<Finding>,
}

impl Report {
    /// Checks everything.
    pub(super) fn of(tree: &Tree, packages: &[Package]) -> Self {
        let mut sizes = Sizes::of(&tree.sources);
        let (sources, texts) = (&tree.sources, &tree.texts);
        let check = |name, findings| Check { name, findings };
        let checks = vec![
            check("too long without a reason", std::mem::take(&mut sizes.findings)),
            check("clock reads outside their two files", clock::check(sources)),
            check("arrows against the rule, between crates", arrows::check(packages)),
            check("arrows against the rule, inside core", layers::check(sources)),
            check("banned names and words", names::check(sources, texts)),
            check("dead files", dead::check(sources)),
            check("items on a front page", front::check(sources)),
            check("paths of one machine", paths::check(texts)),
        ];
        Self { sizes, checks }
    }

    /// Whether nothing was found.
    pub(super) fn is_clean(&self) -> bool {
        self.checks.iter().all(|check| check.findings.is_empty())
    }
}
