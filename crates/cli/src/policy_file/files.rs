//! The files that an argument stands for: itself, or those of a folder that hold policies.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command_error::CommandError;
use crate::toml_file::Document;
use stagger_text::nearest;

use super::argument::PolicyArgument;
use super::text::read;

/// Parts of a policy that other files hardly have.
const OURS: [&str; 6] = ["backoff", "throttled_backoff", "hints", "breaker", "hedge", "on_refusal"];
/// Parts of a policy that other files have too.
const COMMON: [&str; 2] = ["limits", "budget"];

/// The argument itself, or the files below a folder that hold policies, in the order of their names.
///
/// # Errors
/// A folder that cannot be read, or without a file that holds policies.
pub(crate) fn files(asked: &PolicyArgument) -> Result<Vec<PolicyArgument>, CommandError> {
    if !asked.file.is_dir() {
        return Ok(vec![asked.clone()]);
    }
    let folder = asked.file.display();
    let mut found = Vec::new();
    below(&asked.file, &mut found)
        .map_err(|error| CommandError::File(format!("error: {folder}: {error}")))?;
    found.retain(|file| read(file).map_or(true, |(_, text)| holds_policies(&text)));
    if found.is_empty() {
        let why = "no file in it holds policies; they are looked for in *.toml and *.json";
        return Err(CommandError::File(format!("error: {folder}: {why}")));
    }
    Ok(found.into_iter().map(PolicyArgument::from).collect())
}

/// The TOML and JSON files below a folder. Hidden ones and links to folders are left out.
fn below(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let text = |ext: &std::ffi::OsStr| ext == "toml" || ext == "json";
        if entry.file_type()?.is_dir() {
            below(&path, found)?;
        } else if path.is_file() && path.extension().is_some_and(text) {
            found.push(path);
        }
    }
    Ok(())
}

/// Whether a text is meant as a file of policies; a slip in one of its keys does not make it another
/// file.
fn holds_policies(text: &str) -> bool {
    let (document, _) = Document::recovered(text);
    let reader = document.reader();
    let names: Vec<&str> = reader.names().map(|(name, _)| name).collect();
    let ours = |name: &&str| OURS.contains(name);
    let known = |name: &&str| ours(name) || COMMON.contains(name);
    names
        .iter()
        .any(|name| nearest(name, ["policy", "policies"].into_iter()).is_some() || ours(name))
        || (!names.is_empty() && names.iter().all(known))
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
            "{\"policy\": {}}",
            "{\"policies\": {}, \"left_out\": []}",
        ] {
            assert!(holds_policies(text), "{text}");
        }
    }
}
