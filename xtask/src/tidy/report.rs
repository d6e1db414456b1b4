//! All checks, what they found, and the report for people: figures first, then what is wrong, then the
//! verdict.

use std::error::Error;
use std::fmt;

use serde::Serialize;
use xtask_workbench::{Format, Package, Workspace};

use super::mod_lines::Tree;
use super::names::Openings;
use super::sizes::{CrateSize, Sizes, Spread};
use super::source::StyleFinding;
use super::{arrows, clock, map, mod_lines, msrv, named_paths, names, unused, uses};

/// Checks the workspace and shows the report; false when something is not tidy.
pub(crate) fn run(format: Format) -> Result<bool, Box<dyn Error>> {
    let workspace = Workspace::load()?;
    let tree = Tree::read(&workspace.workspace_root)?;
    let report = TidyReport::of(&tree, &workspace.packages);
    format.show(&report, &report)?;
    Ok(report.is_clean())
}

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
            check("arrows against the rule, inside crates", arrows::layers(sources)),
            check("circles of files", uses::check(sources)),
            check("type names that are defined more than twice", names::type_names(sources)),
            check_most(UNUSED, "unused public items", unused::check(sources, texts)),
            check("test-only files that do not say so", mod_lines::test_only_files(sources)),
            check("first lines that open with a relative clause", openings.findings()),
            check("banned names and words", names::check(sources, texts)),
            check("dead files", mod_lines::dead_files(sources)),
            check("items on a front page", mod_lines::front_pages(sources)),
            check("map in ARCHITECTURE.md", map::check(sources, texts)),
            check("named files that are not there", named_paths::check(texts)),
            check("paths of one machine", names::local_paths(texts)),
            check("syntax newer than Rust 1.85 in core and stagger", msrv::check(sources)),
        ];
        Self { sizes, openings, checks }
    }

    /// Whether nothing was found.
    pub(super) fn is_clean(&self) -> bool {
        self.checks.iter().all(Check::is_clean)
    }
}

impl fmt::Display for TidyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:48} {:>6} {:>6} {:>6} {:>6}",
            "lines that ship", "count", "med", "p90", "max"
        )?;
        spread(f, "files (aim 120, 300; tripwire 500)", &self.sizes.files)?;
        spread(f, "functions (aim 7, 25; tripwire 70)", &self.sizes.functions)?;
        writeln!(f, "{:48} {:>6}", "files under 40 lines", self.sizes.small_files)?;
        let Openings { first_lines: all, relative_percent, relative } = &self.openings;
        let relative = relative.len();
        writeln!(
            f,
            "{:48} {all:>6} of which {relative} ({relative_percent} %) open with a relative clause",
            "first lines"
        )?;
        for CrateSize { folder, lines, files } in &self.sizes.crates {
            writeln!(f, "  {folder:46} {lines:>6} in {files} files")?;
        }
        for waived in &self.sizes.waived {
            writeln!(f, "  long because: {waived}")?;
        }
        for check in &self.checks {
            let Check { name, findings, allowed } = check;
            let most = if *allowed > 0 { format!(" at most {allowed}") } else { String::new() };
            writeln!(f, "{name:48} {:>6}{most}", findings.len())?;
        }
        for check in self.checks.iter().filter(|check| !check.is_clean()) {
            check.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))?;
        }
        writeln!(f, "{}", if self.is_clean() { "tidy" } else { "not tidy" })
    }
}

fn spread(f: &mut fmt::Formatter<'_>, name: &str, spread: &Spread) -> fmt::Result {
    let Spread { count, median, p90, max, longest } = spread;
    writeln!(f, "{name:48} {count:>6} {median:>6} {p90:>6} {max:>6}  {longest}")
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
