//! Dependencies between crates. Names may change, the direction of the arrows may not.

use super::finding::StyleFinding;
use xtask_workbench::{Dependency, Package};

/// The allowed dependencies of what ships.
const ARROWS: [(&str, &[&str]); 17] = [
    ("stagger-core", &[]),
    ("stagger-text", &["stagger-core"]),
    ("stagger", &["stagger-core"]),
    ("stagger-sim", &["stagger-core"]),
    ("stagger-replay", &["stagger-core", "stagger-sim", "stagger-text"]),
    ("stagger-scheduler", &["stagger-core"]),
    ("stagger-dispatch", &["stagger-core", "stagger", "stagger-scheduler", "stagger-text"]),
    (
        "stagger-cli",
        &[
            "stagger-core",
            "stagger",
            "stagger-sim",
            "stagger-explain",
            "stagger-import",
            "stagger-report",
            "stagger-replay",
            "stagger-dispatch",
            "stagger-text",
        ],
    ),
    ("stagger-explain", &["stagger-core", "stagger-text"]),
    ("stagger-import", &["stagger-core"]),
    ("stagger-playground", &["stagger-core", "stagger-sim"]),
    ("stagger-report", &["stagger-core", "stagger-sim", "stagger-text"]),
    ("stagger-testkit", &["stagger-core"]),
    // Never shipped, so the testkit is an ordinary part of it.
    ("stagger-contracts", &["stagger-core", "stagger", "stagger-testkit"]),
    (
        "stagger-harness",
        &["stagger-core", "stagger", "stagger-sim", "stagger-testkit", "xtask-workbench"],
    ),
    ("xtask-workbench", &[]),
    ("xtask", &["stagger-testkit", "xtask-workbench"]),
];
/// The further dependencies that only tests have: every crate the testkit, and the lab those who compare
/// themselves with it.
const IN_TESTS: [(&str, &str); 1] = [("stagger-contracts", "stagger-sim")];
const TESTKIT: &str = "stagger-testkit";

/// Every dependency between our own crates that runs against the arrows, and every unknown crate.
pub(super) fn check(packages: &[Package]) -> Vec<StyleFinding> {
    packages.iter().flat_map(wrong).collect()
}

fn wrong(package: &Package) -> Vec<StyleFinding> {
    let name = package.name.as_str();
    let finding = |what: String| StyleFinding::new(&format!("{name}/Cargo.toml"), 0, what);
    let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
        return vec![finding("a crate without a place among the arrows".into())];
    };
    let ours = |d: &&Dependency| ARROWS.iter().any(|(known, _)| *known == d.name);
    let against = |d: &&Dependency| !allowed.contains(&d.name.as_str()) && !test_only(name, d);
    let arrow = |d: &Dependency| finding(format!("{name} must not see {}", d.name));
    package.dependencies.iter().filter(ours).filter(against).map(arrow).collect()
}

fn test_only(name: &str, dependency: &Dependency) -> bool {
    let to = dependency.name.as_str();
    dependency.kind.as_deref() == Some("dev") && (to == TESTKIT || IN_TESTS.contains(&(name, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(from: &str, to: &str, kind: Option<&str>) -> Vec<String> {
        let json = serde_json::json!([{
            "name": from, "features": {},
            "dependencies": [{"name": to, "kind": kind}, {"name": "serde", "kind": null}],
        }]);
        let packages: Vec<Package> = serde_json::from_value(json).expect("the fixture is valid");
        check(&packages).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn the_lab_and_the_shell_never_see_each_other_not_even_in_tests() {
        for kind in [None, Some("dev"), Some("build")] {
            assert_eq!(found("stagger-sim", "stagger", kind), ["stagger-sim must not see stagger"]);
            assert_eq!(found("stagger", "stagger-sim", kind), ["stagger must not see stagger-sim"]);
        }
    }

    #[test]
    fn the_testkit_is_for_tests() {
        assert!(found("stagger-core", "stagger-testkit", Some("dev")).is_empty());
        assert_eq!(found("stagger-core", "stagger-testkit", None).len(), 1);
    }

    #[test]
    fn downward_is_fine_and_a_new_crate_needs_a_place() {
        assert!(found("stagger-cli", "stagger-sim", None).is_empty());
        assert!(found("stagger-contracts", "stagger-sim", Some("dev")).is_empty());
        assert_eq!(found("stagger-contracts", "stagger-sim", None).len(), 1);
        assert_eq!(found("stagger-extra", "stagger", None).len(), 1);
    }
}
