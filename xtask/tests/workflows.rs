//! The files below .github: each is valid YAML, and names only scripts, paths, packages, chores and jobs that there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The beginnings of words that name a file of this repository.
const FOLDERS: [&str; 7] = ["./", ".ci/", "crates/", "deploy/", "docs/", "scripts/", "xtask/"];

#[test]
fn every_file_is_yaml_and_names_what_there_is() {
    let root = Path::new(ROOT);
    let files = yaml_files(&root.join(".github"));
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).expect("it can be read");
        let value = read(&text);
        let unknown = unknown(root, &value);
        assert!(unknown.is_empty(), "{}: {unknown:#?}", file.display());
    }
}

#[test]
fn every_workflow_has_jobs_whose_needs_are_jobs() {
    for file in yaml_files(&Path::new(ROOT).join(".github/workflows")) {
        let workflow = read(&fs::read_to_string(&file).expect("it can be read"));
        assert!(workflow["on"].is_object(), "{} is never run", file.display());
        let jobs = workflow["jobs"].as_object().expect("jobs");
        for (name, job) in jobs {
            let place = format!("{}, {name}", file.display());
            assert!(job["runs-on"].is_string() && job["timeout-minutes"].is_u64(), "{place}");
            for needed in texts(&job["needs"]) {
                assert!(jobs.contains_key(&needed), "{place}: no job {needed}");
            }
            for step in job["steps"].as_array().expect("steps") {
                let (uses, run) = (step["uses"].as_str(), step["run"].as_str());
                assert!(uses.is_some() != run.is_some(), "{place}: {step}");
                assert!(
                    uses.is_none_or(|uses| uses.contains('@')),
                    "{place}: {step} has no version"
                );
                if let Some(script) = run {
                    checked_by_bash(script, &place);
                }
            }
        }
    }
}

#[test]
fn a_name_of_nothing_is_found() {
    let text = "jobs:\n  a:\n    steps:\n      - run: |\n          scripts/no-such-script --flag\n          \
                cargo test --package no-such-crate\n          cargo xtask no-such-chore\n      - run: ./test\n";
    let unknown = unknown(Path::new(ROOT), &read(text));
    let wanted =
        ["no chore no-such-chore", "no file scripts/no-such-script", "no package no-such-crate"];
    assert_eq!(unknown.into_iter().collect::<Vec<_>>(), wanted);
}

#[test]
fn the_archives_are_named_the_same_everywhere() {
    let read = |path| fs::read_to_string(Path::new(ROOT).join(path)).expect("it can be read");
    let manifest: toml::Table = read("crates/cli/Cargo.toml").parse().expect("it is TOML");
    let binstall = &manifest["package"]["metadata"]["binstall"];
    let wanted = "{ repo }/releases/download/v{ version }/stagger-{ version }-{ target }.tar.gz";
    assert_eq!(binstall["pkg-url"].as_str(), Some(wanted));
    let installer = read("deploy/install.sh");
    assert!(installer.contains("name=stagger-$version-$platform"));
    assert!(installer.contains("$releases/download/v$version/$name.tar.gz"));
    let chore = read("xtask/src/release/binaries.rs");
    assert!(chore.contains("\"stagger-{}-{platform}\""));
    let workflow = self::read(&read(".github/workflows/release.yml"));
    let matrix = &workflow["jobs"]["programs"]["strategy"]["matrix"]["include"];
    for row in matrix.as_array().expect("a list") {
        let target = row["target"].as_str().expect("a name");
        assert!(chore.contains(&format!("\"{target}\"")), "{target}");
        let (_, system) = target.split_once('-').expect("two parts");
        assert!(installer.contains(&format!("$machine-{system}")), "{target}");
    }
}

fn read(text: &str) -> Value {
    serde_saphyr::from_str(text).expect("it is YAML")
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            found.extend(yaml_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "yml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// All texts in a value.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// The files, packages and chores that are named and that there are not.
fn unknown(root: &Path, value: &Value) -> BTreeSet<String> {
    let packages = packages(root);
    let mut unknown = BTreeSet::new();
    for text in texts(value) {
        let words: Vec<&str> = text.split([' ', '\n', ',']).collect();
        let after = |word: &str| {
            words
                .windows(2)
                .filter(move |pair| pair[0] == word)
                .map(|pair| pair[1])
                .collect::<Vec<_>>()
        };
        for package in after("--package").into_iter().filter(|name| !name.starts_with(['$', '"'])) {
            if !packages.contains(package) {
                unknown.insert(format!("no package {package}"));
            }
        }
        for chore in after("xtask") {
            let mut help = Command::new(env!("CARGO_BIN_EXE_xtask"));
            if !help.args([chore, "--help"]).output().expect("it runs").status.success() {
                unknown.insert(format!("no chore {chore}"));
            }
        }
        let is_ours = |word: &&&str| {
            FOLDERS.iter().any(|folder| word.starts_with(folder)) && !word.contains(['*', '$', '{'])
        };
        // What a step itself has written is not in the repository.
        let is_made = |word: &&&str| word.contains("-sbom.cdx") || word.starts_with("./kit");
        for path in words.iter().filter(is_ours).filter(|word| !is_made(word)) {
            if !root.join(path).exists() {
                unknown.insert(format!("no file {path}"));
            }
        }
    }
    unknown
}

fn packages(root: &Path) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut ask = Command::new(cargo);
    ask.current_dir(root).args(["metadata", "--no-deps", "--format-version=1"]);
    let metadata: Value =
        serde_json::from_slice(&ask.output().expect("cargo runs").stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("a list").iter();
    packages.map(|package| package["name"].as_str().expect("a name").to_owned()).collect()
}

/// Lets bash read a script without running it.
fn checked_by_bash(script: &str, place: &str) {
    let script = script.replace("${{ ", "$").replace(" }}", "").replace('.', "_");
    let out = Command::new("bash").args(["-n", "-c", &script]).output().expect("bash runs");
    assert!(out.status.success(), "{place}: {}", String::from_utf8_lossy(&out.stderr));
}
