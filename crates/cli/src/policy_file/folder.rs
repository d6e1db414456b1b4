//! The files of a folder that hold policies, our own or those of other products.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use stagger_import::{SettingsDocument, is_known};
use stagger_text::nearest;
use stagger_text::settings::Document as OwnDocument;

use super::argument::PolicyArgument;
use super::reading::read;
use super::survey::has_routes;
use crate::command_error::CommandError;

/// Parts of a policy that other files hardly have.
const OURS: [&str; 9] = [
    "backoff",
    "throttled_backoff",
    "hints",
    "breaker",
    "hedge",
    "adaptive",
    "concurrency_limit",
    "rate_limit",
    "on_refusal",
];

/// Parts of a policy that other files have too.
const COMMON: [&str; 2] = ["limits", "budget"];

/// The ends of names that are looked at.
const ENDS: [&str; 9] = ["toml", "json", "yaml", "yml", "properties", "conf", "cfg", "ini", "env"];

/// The argument itself, or the files below a folder that hold policies, in the order of their names.
///
/// # Errors
/// A folder that cannot be read, or without a file that holds policies.
pub(crate) fn files(asked: &PolicyArgument) -> Result<Vec<PolicyArgument>, CommandError> {
    if !asked.file.is_dir() {
        return Ok(vec![asked.clone()]);
    }
    let folder = asked.file.display();
    let mut found = settings_files(&asked.file)
        .map_err(|error| CommandError::File(format!("error: {folder}: {error}")))?;
    found.retain(|file| read(file).map_or(true, |(_, text)| is_about_policies(file, &text)));
    if found.is_empty() {
        let ends = ENDS.map(|end| format!("*.{end}")).join(", ");
        let why = format!("no file in it holds policies; they are looked for in {ends}");
        return Err(CommandError::File(format!("error: {folder}: {why}")));
    }
    Ok(found.into_iter().map(PolicyArgument::from).collect())
}

/// The files below a folder that may hold settings. Hidden ones and links to folders are left out.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn settings_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    below(folder, &mut found)?;
    Ok(found)
}

fn below(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let looked_at = |end: &OsStr| ENDS.iter().any(|known| end == *known);
        if entry.file_type()?.is_dir() {
            below(&path, found)?;
        } else if path.is_file() && path.extension().is_some_and(looked_at) {
            found.push(path);
        }
    }
    Ok(())
}

/// Whether a text holds policies. One that cannot be read counts if it speaks of retries: what could not be
/// judged must not look clean.
fn is_about_policies(file: &Path, text: &str) -> bool {
    let toml = file.extension().is_some_and(|end| end == "toml");
    if holds_policies(text) {
        return true;
    }
    match SettingsDocument::read(text) {
        _ if toml => false,
        Ok(documents) => documents.iter().any(is_known),
        Err(_) => text.to_lowercase().contains("retr"),
    }
}

/// Whether a text is meant as a file of policies; a slip in one of its keys does not make it another
/// file.
pub(super) fn holds_policies(text: &str) -> bool {
    let (document, _) = OwnDocument::recovered(text);
    let reader = document.reader();
    let names: Vec<&str> = reader.names().map(|(name, _)| name).collect();
    let ours = |name: &&str| OURS.contains(name);
    let known = |name: &&str| ours(name) || COMMON.contains(name);
    names
        .iter()
        .any(|name| nearest(name, ["policy", "policies"].into_iter()).is_some() || ours(name))
        || (!names.is_empty() && names.iter().all(known))
        || has_routes(&reader)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_of_a_folder_are_no_policies() {
        for text in ["", "[package]\nname = 'a'", "[limits]\nx = 1\n[server]", "[]", "{\"a\": 1}"] {
            assert!(!holds_policies(text), "{text}");
        }
        for text in [
            "[policy.a]",
            "[polcy.a]\n[server]",
            "[backof]\n[backoff]\nbase = ",
            "limits = {}",
            "[route.a]\nupstream = 'http://a'",
            "{\"policy\": {}}",
            "{\"policies\": {}, \"left_out\": []}",
        ] {
            assert!(holds_policies(text), "{text}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_looked_clean() {
        let (chart, other) = (Path::new("chart.yaml"), Path::new("a.toml"));
        assert!(is_about_policies(chart, "spec: {{ .Values.retries }}\n  x: ["));
        assert!(!is_about_policies(chart, "kind: Deployment\n"));
        assert!(!is_about_policies(other, "[retries]\nx = "));
    }
}
