//! The generated files of all packages: written, or compared with those that are there.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use xtask_workbench::note;

use super::document::ApiDocument;
use super::{golang, java, javascript, python};

/// The document, from the root of the repository.
const DOCUMENT: &str = "crates/dispatch/openapi.json";

/// Writes the generated files; with `check` it only compares them. False when one is not current.
pub(crate) fn run(check: bool) -> Result<bool, Box<dyn Error>> {
    let mut is_current = true;
    for (path, text) in files()? {
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        is_current = false;
        let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        if check {
            note(&format!("{shown} is not current: cargo xtask clients writes it"));
        } else {
            fs::write(&path, text)?;
            note(&format!("{shown} is written"));
        }
    }
    Ok(is_current || !check)
}

/// The generated files and their text.
fn files() -> Result<Vec<(PathBuf, String)>, Box<dyn Error>> {
    let text = fs::read_to_string(root().join(DOCUMENT))?;
    let api = ApiDocument::parse(&text)?;
    let all = [
        ("clients/python/src/stagger_webhooks/api.py", python::api(&api)),
        ("clients/python/src/stagger_webhooks/models.py", python::models(&api)),
        ("clients/javascript/src/api.js", javascript::api(&api)),
        ("clients/javascript/src/api.d.ts", javascript::declarations(&api)),
        ("clients/java/src/main/java/dev/stagger/webhooks/StaggerApi.java", java::api(&api)),
        ("clients/go/api.go", golang::api(&api)),
    ];
    Ok(all.into_iter().map(|(path, text)| (root().join(path), text)).collect())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn a_client_was_not_generated_from_the_document_of_now() {
    for (path, text) in files().expect("the document can be read") {
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(there == text, "{} is not current: cargo xtask clients", path.display());
    }
}
