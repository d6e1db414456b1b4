//! `stagger import`: settings of other products as a policy file.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use stagger_import::{Imported, ImportedPolicy, ImportedRoute, LeftOut};

use super::import_routes::{comment, routes_json, routes_toml};
use crate::command_error::CommandError;
use crate::flags::{ImportFlags, ImportFormat, ImportTarget};
use crate::policy_file::{ForeignFiles, read, settings_files};
use crate::streams;

/// The most files or documents of no known format that are named.
const MOST_NAMED: usize = 5;

/// Imports files and folders: their policies go to standard output, and differences to standard error too.
///
/// # Errors
/// A file that cannot be read, and files without any settings of a known format.
pub(crate) fn import(flags: &ImportFlags) -> Result<ExitCode, CommandError> {
    let mut sources = Sources::default();
    for asked in &flags.files {
        if asked.is_dir() {
            sources.add_folder(asked)?;
        } else {
            let (name, text) = read(asked)?;
            let refused = |error| CommandError::File(format!("error: {name}: {error}"));
            sources.files.add(name.clone(), text).map_err(refused)?;
        }
    }
    let refused = |error| {
        let names: Vec<String> = flags.files.iter().map(|file| shown(file)).collect();
        CommandError::File(format!("error: {}: {error}", names.join(", ")))
    };
    let (page, remarks) = match flags.to {
        ImportTarget::Policies => {
            let imported = sources.files.import(flags.from).map_err(refused)?;
            let remarks = sources.remarks(&imported);
            let page = match flags.format {
                ImportFormat::Toml => toml_page(&imported, &remarks),
                ImportFormat::Json => sources.json_page(&imported),
            };
            (page, remarks)
        }
        ImportTarget::Routes => {
            let found = sources.files.routes(flags.from).map_err(refused)?;
            let remarks = sources.remarks(&found.imported);
            let place = |route: &ImportedRoute| sources.at(route.document, &route.source_path);
            let page = match flags.format {
                ImportFormat::Toml => routes_toml(&found, &remarks, place),
                ImportFormat::Json => routes_json(&found, sources.left_out(&found.imported)),
            };
            (page, remarks)
        }
    };
    let code = streams::write(&page);
    remarks.iter().for_each(|line| streams::note(line));
    Ok(code)
}

fn shown(file: &Path) -> String {
    if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() }
}

/// The files of an import, and those of folders that could not be read.
#[derive(Debug, Default)]
struct Sources {
    files: ForeignFiles,
    unread: Vec<String>,
}

impl Sources {
    /// Adds the files below a folder; one that cannot be read is told of, and does not end the import.
    fn add_folder(&mut self, folder: &Path) -> Result<(), CommandError> {
        let found = settings_files(folder);
        let found = found
            .map_err(|error| CommandError::File(format!("error: {}: {error}", folder.display())))?;
        for file in found.iter().filter(|file| file.extension().is_none_or(|end| end != "toml")) {
            let added = match read(file) {
                Ok((name, text)) => {
                    let added = self.files.add(name.clone(), text);
                    added.map_err(|error| format!("not read: {name}: {error}"))
                }
                Err(CommandError::File(why)) => {
                    Err(format!("not read: {}", why.trim_start_matches("error: ")))
                }
                Err(other) => return Err(other),
            };
            self.unread.extend(added.err());
        }
        Ok(())
    }

    /// The file of a document before its paths, where there are several files.
    fn at(&self, document: usize, path: &str) -> String {
        match self.files.files() {
            [_] => path.to_owned(),
            _ => format!("{}: {path}", self.files.name_of(document)),
        }
    }

    /// The differences from the foreign settings, one line each.
    fn remarks(&self, imported: &Imported) -> Vec<String> {
        let left = imported.left_out.iter().map(|left| {
            let kind = if left.refused { "not imported" } else { "not exactly mapped" };
            let why = left.why.strip_prefix("not imported: ").unwrap_or(&left.why);
            format!("{kind}: {} = {}: {why}", self.at(left.document, &left.path), left.value)
        });
        let notes = imported.notes.iter().map(|note| format!("note: {note}"));
        let named = imported.unknown.iter().take(MOST_NAMED);
        let unknown = named.map(|unknown| {
            let at = self.at(unknown.document, "document");
            format!("no known format: {at} {}: {}", unknown.document + 1, unknown.found)
        });
        let more = imported.unknown.len().saturating_sub(MOST_NAMED);
        let more = (more > 0).then(|| format!("no known format: {more} documents more"));
        left.chain(notes).chain(unknown).chain(more).chain(self.unread.iter().cloned()).collect()
    }

    /// The entries that are left out, each with its file.
    fn left_out(&self, imported: &Imported) -> Vec<Value> {
        let row = |left: &LeftOut| {
            let file = self.files.name_of(left.document);
            json!({ "file": file, "path": left.path, "value": left.value, "why": left.why, "refused": left.refused })
        };
        imported.left_out.iter().map(row).collect()
    }

    /// The object.
    fn json_page(&self, imported: &Imported) -> String {
        let left = self.left_out(imported);
        let mut policies = Map::new();
        let mut same = Map::new();
        for group in imported.groups() {
            let first = group[0];
            let written = serde_json::to_value(first.policy).expect("every policy can be written");
            policies.insert(first.name.clone(), written);
            let others =
                group[1..].iter().map(|other| (other.name.clone(), first.name.clone().into()));
            same.extend(others);
        }
        let page = json!({
            "from": imported.sources.iter().map(|source| source.name()).collect::<Vec<_>>(),
            "policies": policies,
            "same": same,
            "left_out": left,
            "notes": imported.notes,
        });
        format!("{page:#}\n")
    }
}

/// The policy file: one policy is the whole file, several are tables of their own. Equal ones are one table.
fn toml_page(imported: &Imported, remarks: &[String]) -> String {
    let sources: Vec<&str> = imported.sources.iter().map(|source| source.name()).collect();
    let mut page = format!("# Imported from {} by `stagger import`.\n", sources.join(", "));
    remarks.iter().for_each(|line| comment(&mut page, line));
    page.push('\n');
    if let [only] = imported.policies.as_slice() {
        return page + &toml::to_string(&only.policy).expect("every policy can be written");
    }
    let tables: Vec<String> = imported.groups().iter().map(|group| table(group)).collect();
    page + &tables.join("\n")
}

/// One table for equal policies, named by the first.
fn table(group: &[&ImportedPolicy]) -> String {
    let mut text = String::new();
    if let [_, others @ ..] = group
        && !others.is_empty()
    {
        let names: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
        comment(&mut text, &format!("Also the policy of: {}", names.join(", ")));
    }
    let policies = BTreeMap::from([(group[0].name.as_str(), &group[0].policy)]);
    let written = toml::to_string(&BTreeMap::from([("policy", policies)]));
    text + &written.expect("every policy can be written")
}
