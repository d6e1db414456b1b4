//! All checks and what they found.

use serde::Serialize;

use super::finding::StyleFinding;
use super::openings::Openings;
use super::sizes::Sizes;
use super::tree::Tree;
use super::{
    arrows, circles, clock, dead, front, layers, map, msrv, names, paths, test_files, type_names,
    unused,
};
use xtask_workbench::Package;

/// All checks and what they found.
#[derive(Debug, Serialize)]
pub(super) struct TidyReport {
    pub(super) sizes: Sizes,
    pub(super) openings: Openings,
    pub(super) checks: Vec<Check>,
}

/// One check.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) findings: Vec<StyleFinding>,
    /// Findings from before the check, which are let through. The number only goes down.
    pub(super) allowed: usize,
}

impl Check {
    pub(super) fn is_clean(&self) -> bool {
        self.findings.len() <= self.allowed
    }
}

/// Public items without a use that are left.
const UNUSED: usize = 8;

impl TidyReport {
    /// Checks everything.
    pub(super) fn of(tree: &Tree, packages: &[Package]) -> Self {
        let mut sizes = Sizes::of(&tree.sources);
        let (sources, texts) = (&tree.sources, &tree.texts);
        let openings = Openings::of(sources);
        let check = |name, findings| Check { name, findings, allowed: 0 };
        let check_most = |allowed, name, findings| Check { name, findings, allowed };
        let checks = vec![
            check("too long without a reason", std::mem::take(&mut sizes.findings)),
            check("clock reads outside their two files", clock::check(sources)),
            check("arrows against the rule, between crates", arrows::check(packages)),
            check("arrows against the rule, inside crates", layers::check(sources)),
            check("circles of files", circles::check(sources)),
            check("type names that are defined more than twice", type_names::check(sources)),
            check_most(UNUSED, "unused public items", unused::check(sources, texts)),
            check("test-only files that do not say so", test_files::check(sources)),
            check("first lines that open with a relative clause", openings.findings()),
            check("banned names and words", names::check(sources, texts)),
            check("dead files", dead::check(sources)),
            check("items on a front page", front::check(sources)),
            check("map in ARCHITECTURE.md", map::check(sources, texts)),
            check("paths of one machine", paths::check(texts)),
            check("syntax newer than Rust 1.85 in core and stagger", msrv::check(sources)),
        ];
        Self { sizes, openings, checks }
    }

    /// Whether nothing was found.
    pub(super) fn is_clean(&self) -> bool {
        self.checks.iter().all(Check::is_clean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::SourceFile;

    fn report(path: &str, text: &str) -> TidyReport {
        let source = SourceFile::parse(path, text).expect("the fixture is valid");
        let texts = vec![(path.to_owned(), text.to_owned())];
        TidyReport::of(&Tree { sources: vec![source], texts }, &[])
    }

    #[test]
    fn one_finding_is_enough_to_be_untidy_and_is_shown_with_its_place() {
        let report = report("fuzz/src/lib.rs", "mod a;\n\nfn b() { Instant::now(); }\n");
        assert!(!report.is_clean());
        let shown = report.to_string();
        assert!(shown.contains("fuzz/src/lib.rs:3: Instant::now"), "{shown}");
        assert!(shown.ends_with("\nnot tidy\n"), "{shown}");
    }

    #[test]
    fn nothing_found_is_tidy() {
        let report = report("fuzz/src/lib.rs", "//! Doc.\nmod a;\n");
        assert!(report.is_clean(), "{report}");
        assert_eq!((report.sizes.files.count, report.sizes.files.max), (1, 2));
    }
}
