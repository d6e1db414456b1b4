//! The indexes of examples: each names every example of its folder, with the features that it needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const CRATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates");

#[test]
fn every_example_of_the_libraries_has_its_line() {
    for krate in ["stagger", "redis"] {
        let folder = Path::new(CRATES).join(krate).join("examples");
        let index = fs::read_to_string(folder.join("README.md")).expect("an index");
        assert_eq!(listed(&index), there(&folder), "{}", folder.display());
    }
}

#[test]
fn the_features_of_each_line_are_those_of_the_manifest() {
    let read =
        |file| fs::read_to_string(Path::new(CRATES).join("stagger").join(file)).expect("a file");
    let manifest: toml::Table = read("Cargo.toml").parse().expect("it is TOML");
    let index = read("examples/README.md");
    for example in manifest["example"].as_array().expect("a list") {
        let name = example["name"].as_str().expect("a name");
        let features = example["required-features"].as_array().expect("a list");
        let line = index.lines().find(|line| line.starts_with(&format!("| [{name}]"))).expect(name);
        let shown = line.trim_end_matches('|').rsplit('|').next().expect("a column").trim();
        let wanted: Vec<String> =
            features.iter().map(|name| format!("`{}`", name.as_str().expect("a name"))).collect();
        assert_eq!(shown, wanted.join(", "), "{name}");
    }
}

/// The files that the lines of a table lead to.
fn listed(index: &str) -> BTreeSet<String> {
    let links = index.lines().filter_map(|line| line.strip_prefix("| [")?.split_once("]("));
    links.filter_map(|(_, rest)| Some(rest.split_once(')')?.0.to_owned())).collect()
}

fn there(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file"));
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".rs")).collect()
}
