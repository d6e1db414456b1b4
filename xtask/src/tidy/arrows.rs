//! Dependencies between crates, and between the layers inside a crate. Names may change, the direction of
//! the arrows may not.

use xtask_workbench::{Dependency, Package};

use super::layer_table::{CRATES, Layers};
use super::source::{SourceFile, StyleFinding};
use super::uses;
use super::uses::Uses;

/// The allowed dependencies of what ships.
const ARROWS: &[(&str, &[&str])] = &[
    ("stagger-core", &[]),
    ("stagger-text", &["stagger-core"]),
    ("stagger-macros", &[]),
    ("stagger", &["stagger-core", "stagger-macros"]),
    ("stagger-redis", &["stagger"]),
    ("stagger-sim", &["stagger-core"]),
    ("stagger-replay", &["stagger-core", "stagger-sim", "stagger-text"]),
    ("stagger-tune", &["stagger-core", "stagger-explain", "stagger-sim", "stagger-text"]),
    ("stagger-watch", &["stagger-core", "stagger-replay"]),
    ("stagger-load", &["stagger-core", "stagger", "stagger-sim"]),
    ("stagger-scheduler", &["stagger-core"]),
    ("stagger-store", &["stagger-core", "stagger", "stagger-scheduler"]),
    ("stagger-sender", &["stagger-core", "stagger", "stagger-scheduler"]),
    ("stagger-brokers", &["stagger-core", "stagger", "stagger-scheduler", "stagger-sender"]),
    (
        "stagger-proxy",
        &["stagger-core", "stagger", "stagger-redis", "stagger-sender", "stagger-text"],
    ),
    (
        "stagger-dispatch",
        &[
            "stagger-core",
            "stagger",
            "stagger-redis",
            "stagger-scheduler",
            "stagger-store",
            "stagger-sender",
            "stagger-brokers",
            "stagger-text",
        ],
    ),
    (
        "stagger-cli",
        &[
            "stagger-core",
            "stagger",
            "stagger-sim",
            "stagger-exec",
            "stagger-explain",
            "stagger-import",
            "stagger-load",
            "stagger-report",
            "stagger-replay",
            "stagger-dispatch",
            "stagger-proxy",
            "stagger-text",
            "stagger-tune",
            "stagger-watch",
        ],
    ),
    ("stagger-exec", &["stagger-core", "stagger"]),
    ("stagger-explain", &["stagger-core", "stagger-text"]),
    ("stagger-import", &["stagger-core"]),
    ("stagger-playground", &["stagger-core", "stagger-sim"]),
    ("stagger-report", &["stagger-core", "stagger-sim", "stagger-text", "stagger-tune"]),
    ("stagger-testkit", &["stagger-core", "stagger-import"]),
    // Never shipped, so the testkit is an ordinary part of it.
    ("stagger-contracts", &["stagger-core", "stagger", "stagger-proxy", "stagger-testkit"]),
    (
        "stagger-harness",
        &[
            "stagger-core",
            "stagger",
            "stagger-redis",
            "stagger-replay",
            "stagger-sim",
            "stagger-testkit",
            "stagger-watch",
            "xtask-workbench",
        ],
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

/// Every use of a module that lies beside or above the user, and every crate and module without a place.
pub(super) fn layers(sources: &[SourceFile]) -> Vec<StyleFinding> {
    uses::roots(sources).iter().flat_map(|root| in_crate(root, sources)).collect()
}

fn in_crate(root: &str, sources: &[SourceFile]) -> Vec<StyleFinding> {
    match CRATES.iter().find(|(at, _)| *at == root) {
        Some((_, layers)) => {
            let mut findings = wrong_layer(root, layers, sources);
            findings.extend(gone(root, layers, sources));
            findings
        }
        None => {
            let what = format!("the crate at `{root}` has no layers in layer_table.rs");
            vec![StyleFinding::new(root, 0, what)]
        }
    }
}

fn wrong_layer(root: &str, layers: Layers, sources: &[SourceFile]) -> Vec<StyleFinding> {
    let inside = sources.iter().filter(|source| source.path.starts_with(root));
    let homeless = |source: &SourceFile| {
        let module = top(root, source);
        let what =
            || format!("module `{module}` has no place in the layers of `{root}` (layer_table.rs)");
        (!is_root(&module) && place(&module, layers).is_none())
            .then(|| StyleFinding::new(&source.path, 0, what()))
    };
    let mut findings: Vec<_> = inside.filter_map(homeless).collect();
    for one in Uses::of(root, sources).all() {
        let (from, to) = (top(root, one.from), top(root, one.to));
        if let (Some(user), Some(used)) = (place(&from, layers), place(&to, layers))
            && user != used
            && used.0 >= user.0
        {
            let what = format!("`{from}` must not see `{to}` in `{root}`");
            findings.push(StyleFinding::new(&one.from.path, one.line, what));
        }
    }
    findings
}

/// Every name in the layers that no file has: a renamed module leaves its old place behind.
fn gone<'a>(
    root: &'a str,
    layers: Layers,
    sources: &'a [SourceFile],
) -> impl Iterator<Item = StyleFinding> + 'a {
    let there =
        move |name: &str| sources.iter().any(|s| s.path.starts_with(root) && top(root, s) == name);
    let names = layers.iter().flat_map(|places| places.iter()).flat_map(|place| place.split(' '));
    names.filter(move |name| !there(name)).map(move |name| {
        let what = format!("layer_table.rs has a place for `{name}`, which `{root}` has not");
        StyleFinding::new(root, 0, what)
    })
}

/// The layer and the place in it.
fn place(module: &str, layers: Layers) -> Option<(usize, usize)> {
    let in_layer = |places: &&[&str]| {
        places.iter().position(|place| place.split(' ').any(|one| one == module))
    };
    layers.iter().enumerate().find_map(|(layer, places)| Some((layer, in_layer(places)?)))
}

/// The module below the crate's root that a file belongs to.
fn top(root: &str, source: &SourceFile) -> String {
    let below = source.path.trim_start_matches(root).trim_end_matches(".rs");
    below.split('/').next().unwrap_or_default().to_owned()
}

fn is_root(module: &str) -> bool {
    matches!(module, "lib" | "main" | "bin")
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

#[cfg(test)]
mod layers_tests {
    use super::*;

    const CORE: &str = "crates/core/src/";

    fn found(path: &str, text: &str) -> Vec<String> {
        let files = [
            ("lib.rs", "pub use time::{Instant, Span};\npub use retry::Retry;\n"),
            ("time.rs", ""),
            ("jitter.rs", ""),
            ("hint/mod.rs", "pub use wall::Wall;"),
            ("hint/wall.rs", ""),
            ("breaker/mod.rs", "pub use trip::Trip;"),
            ("breaker/trip.rs", ""),
            ("budget/mod.rs", ""),
            ("policy/mod.rs", "pub use plan::Policy;"),
            ("policy/plan.rs", ""),
            ("retry/mod.rs", "pub use machine::Retry;"),
            ("retry/machine.rs", ""),
        ];
        let parse = |path: &str, text: &str| {
            SourceFile::parse(&format!("{CORE}{path}"), text).expect("the fixture is valid")
        };
        let others = files.iter().filter(|(other, _)| *other != path);
        let mut sources: Vec<_> = others.map(|(path, text)| parse(path, text)).collect();
        sources.push(parse(path, text));
        let (_, layers) = CRATES.iter().find(|(root, _)| *root == CORE).expect("core is there");
        let found = wrong_layer(CORE, layers, &sources);
        found.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn downward_and_inside_one_place_is_fine() {
        let text = "use crate::time::Span; use super::trip::Trip;";
        assert!(found("breaker/closed.rs", text).is_empty());
        assert!(found("backoff.rs", "use crate::jitter::Jitter;").is_empty());
        let text = "use crate::{Span, policy::Policy, breaker::Trip};";
        assert!(found("retry/step.rs", text).is_empty());
    }

    #[test]
    fn ideas_never_meet() {
        let want = ["`budget` must not see `breaker` in `crates/core/src/`"];
        assert_eq!(found("budget/window.rs", "use crate::breaker::Trip;"), want);
        assert_eq!(found("budget/window.rs", "use super::super::breaker::Trip;"), want);
        assert_eq!(found("budget/window.rs", "use crate::{time::{Span}, breaker::{Trip}};"), want);
        assert_eq!(found("budget/window.rs", "fn a() { b!(crate::breaker::Trip::c()) }"), want);
    }

    #[test]
    fn a_re_export_at_the_root_is_no_way_around() {
        let want = ["`policy` must not see `retry` in `crates/core/src/`"];
        assert_eq!(found("policy/builder.rs", "use crate::Retry;"), want);
        assert_eq!(
            found("time.rs", "use crate::hint::Wall;"),
            ["`time` must not see `hint` in `crates/core/src/`"]
        );
        assert_eq!(
            found("time.rs", "use crate::hint;"),
            ["`time` must not see `hint` in `crates/core/src/`"]
        );
    }

    #[test]
    fn a_new_module_needs_a_place() {
        let want =
            "module `extra` has no place in the layers of `crates/core/src/` (layer_table.rs)";
        assert_eq!(found("extra.rs", ""), [want]);
    }

    #[test]
    fn a_new_crate_and_a_module_that_is_gone_are_found() {
        let source = SourceFile::parse("crates/extra/src/lib.rs", "").expect("it is valid");
        let found = layers(std::slice::from_ref(&source));
        assert_eq!(
            found[0].what,
            "the crate at `crates/extra/src/` has no layers in layer_table.rs"
        );
        let layers: Layers = &[&["lib", "old"]];
        let found: Vec<_> = gone("crates/extra/src/", layers, &[source]).collect();
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("a place for `old`"), "{}", found[0].what);
    }
}
