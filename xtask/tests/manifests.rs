//! The manifests of the published crates: each has what registries and docs.rs show, and keeps its promise of an
//! oldest Rust.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn every_published_crate_has_a_page_licences_and_metadata() {
    let metadata = metadata(&["--no-deps"]);
    let published = published(&metadata);
    assert!(published.len() >= 14, "only {} crates", published.len());
    let faults: Vec<String> = published.iter().flat_map(|package| faults(package)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn no_crate_promises_an_older_rust_than_what_it_needs() {
    let metadata = metadata(&["--all-features", "--locked"]);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let all: BTreeMap<String, Value> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (text(&package, "id"), package))
        .collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node, "id"), node))
        .collect();
    let mut wrong = Vec::new();
    for package in published(&metadata) {
        let (promised, mut seen) = (version(package), vec![text(package, "id")]);
        let mut at = 0;
        while at < seen.len() {
            let needed = list(&nodes[&seen[at]]["deps"]).into_iter().filter(|needed| {
                list(&needed["dep_kinds"]).iter().any(|kind| kind["kind"] != "dev")
            });
            for id in needed.map(|needed| text(&needed, "pkg")) {
                if !seen.contains(&id) {
                    if version(&all[&id]) > promised {
                        wrong.push(format!("{} needs {id}", text(package, "name")));
                    }
                    seen.push(id);
                }
            }
            at += 1;
        }
    }
    assert!(wrong.is_empty(), "older than a dependency: {wrong:#?}");
}

#[test]
fn the_debian_package_has_the_files_that_its_metadata_names() {
    let metadata = metadata(&["--no-deps"]);
    let published = published(&metadata);
    let deb = published.iter().find(|package| package["metadata"]["deb"].is_object());
    let deb = deb.expect("the program's crate");
    let folder = text(deb, "manifest_path");
    let folder = Path::new(&folder).parent().expect("a folder");
    let assets = deb["metadata"]["deb"]["assets"].as_array().expect("a list");
    let sources = assets.iter().map(|asset| asset[0].as_str().expect("a path"));
    let (built, kept): (Vec<_>, Vec<_>) =
        sources.partition(|path| path.starts_with("target/release/"));
    assert!(built.contains(&"target/release/stagger"), "{built:?}");
    for source in kept {
        assert!(folder.join(source).is_file(), "{source}");
    }
    // What the unit and the metadata say of the settings is one place.
    let unit =
        std::fs::read_to_string(Path::new(ROOT).join("deploy/stagger.service")).expect("a unit");
    let settings = deb["metadata"]["deb"]["conf-files"][0].as_str().expect("a path");
    assert!(unit.contains(settings), "{settings}");
}

#[test]
fn what_is_missing_is_named() {
    let bare = serde_json::json!({ "name": "bare", "manifest_path": "/nowhere/Cargo.toml" });
    let found = faults(&bare).join("\n");
    for wanted in ["README.md", "LICENSE-MIT", "description", "rust_version", "keywords", "docs.rs"]
    {
        assert!(found.contains(wanted), "{wanted} in {found}");
    }
}

fn faults(package: &Value) -> Vec<String> {
    let name = text(package, "name");
    let folder = text(package, "manifest_path");
    let folder = Path::new(&folder).parent().expect("a folder");
    let files = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"].into_iter();
    let files = files.filter(|file| !folder.join(file).is_file()).map(str::to_owned);
    let fields =
        ["description", "license", "repository", "homepage", "documentation", "rust_version"];
    let fields =
        fields.into_iter().filter(|field| text(package, field).is_empty()).map(str::to_owned);
    // crates.io takes five of each.
    let lists = ["keywords", "categories"]
        .into_iter()
        .filter(|list| !package[list].as_array().is_some_and(|list| (1..=5).contains(&list.len())));
    let docs = package["metadata"]["docs"]["rs"]["all-features"] == true;
    let docs = (!docs).then(|| "[package.metadata.docs.rs] all-features".to_owned());
    let missing = files.chain(fields).chain(lists.map(str::to_owned)).chain(docs);
    missing.map(|missing| format!("{name}: {missing}")).collect()
}

fn published(metadata: &Value) -> Vec<&Value> {
    let packages = metadata["packages"].as_array().expect("a list").iter();
    packages.filter(|package| package["source"].is_null() && package["publish"].is_null()).collect()
}

/// The oldest Rust, as numbers; zero if there is no promise.
fn version(package: &Value) -> (u32, u32) {
    let text = text(package, "rust_version");
    let mut numbers = text.split('.').filter_map(|number| number.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn metadata(arguments: &[&str]) -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut ask = Command::new(cargo);
    ask.current_dir(ROOT).args(["metadata", "--format-version=1"]).args(arguments);
    let host = Command::new("rustc").arg("-vV").output().expect("rustc runs").stdout;
    let host = String::from_utf8(host).expect("text");
    ask.args([
        "--filter-platform",
        host.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host"),
    ]);
    let out = ask.output().expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("JSON")
}
