//! The licence of every dependency is one that deny.toml allows; cargo-deny is not needed for that.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn every_dependency_has_an_allowed_licence() {
    let allowed = allowed();
    let packages = dependencies();
    assert!(packages.len() > 100, "only {} dependencies", packages.len());
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !is_allowed(&text(package, "license"), &allowed))
        .map(|package| format!("{}: {}", text(package, "name"), text(package, "license")))
        .collect();
    assert!(refused.is_empty(), "not allowed by deny.toml: {refused:#?}");
}

#[test]
fn every_allowed_licence_is_needed() {
    let allowed = allowed();
    let packages = dependencies();
    for licence in &allowed {
        let without: BTreeSet<_> =
            allowed.iter().filter(|other| *other != licence).cloned().collect();
        let needed = |package: &Value| {
            !is_allowed(package["license"].as_str().unwrap_or_default(), &without)
        };
        // Apache-2.0 stands for our own licence, whether or not a dependency has no other.
        let ours = ["MIT", "Apache-2.0"].contains(&licence.as_str());
        assert!(
            ours || packages.iter().any(needed),
            "deny.toml allows {licence}, and nothing has it"
        );
    }
}

#[test]
fn expressions_are_read_as_spdx_writes_them() {
    let allowed: BTreeSet<String> = ["MIT", "ISC"].map(str::to_owned).into();
    for good in ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "MIT AND ISC", "(GPL-3.0 OR ISC) AND MIT"]
    {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    let exception = "Apache-2.0 WITH LLVM-exception";
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0", exception] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}

fn allowed() -> BTreeSet<String> {
    let text = fs::read_to_string(Path::new(ROOT).join("deny.toml")).expect("deny.toml");
    let file: toml::Table = text.parse().expect("it is TOML");
    let allow = file["licenses"]["allow"].as_array().expect("a list");
    allow.iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
}

/// The packages built on this platform, ours left out. cargo-deny looks at the other platforms too.
fn dependencies() -> Vec<Value> {
    let version = Command::new("rustc").arg("-vV").output().expect("rustc runs").stdout;
    let version = String::from_utf8(version).expect("text");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut ask = Command::new(cargo);
    ask.current_dir(ROOT).args(["metadata", "--locked", "--format-version=1", "--all-features"]);
    let out = ask.args(["--filter-platform", host]).output().expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let metadata: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    packages.iter().filter(|package| !package["source"].is_null()).cloned().collect()
}

/// Whether one choice in the expression is allowed. OR binds weaker than AND; old ones write `/` for OR.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    let answer = choice(&mut rest, allowed);
    answer && rest.is_empty()
}

fn choice(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut answer = both(words, allowed);
    while let ["OR", rest @ ..] = words {
        *words = rest;
        answer |= both(words, allowed);
    }
    answer
}

fn both(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut answer = one(words, allowed);
    while let ["AND", rest @ ..] = words {
        *words = rest;
        answer &= one(words, allowed);
    }
    answer
}

fn one(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let answer = choice(words, allowed);
            *words = words.strip_prefix(&[")"]).unwrap_or_default();
            answer
        }
        [name, "WITH", exception, rest @ ..] => {
            *words = rest;
            allowed.contains(&format!("{name} WITH {exception}"))
        }
        [name, rest @ ..] => {
            *words = rest;
            allowed.contains(*name)
        }
        [] => false,
    }
}
