//! `stagger import`: other products' settings as a policy file.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};
use stagger_core::Policy;
use stagger_import::Imported;

use crate::flags::{ImportFlags, ImportFormat};
use crate::render::wrapped;
use crate::terminal::USUAL_WIDTH;
use crate::{stderr, stdout};

/// The most that is read: settings are written by people, and the largest Envoy bootstraps are a few
/// megabytes.
const MOST_BYTES: u64 = 64 << 20;

/// Columns of a comment, whose lines but the first are indented.
const COMMENT: usize = USUAL_WIDTH - "#   ".len();

/// Imports a file: its policies go to standard output, and differences to standard error too.
pub(crate) fn import(flags: &ImportFlags) -> ExitCode {
    let stdin = flags.file.as_os_str() == "-";
    let name = if stdin { "standard input".to_owned() } else { flags.file.display().to_string() };
    let text = match read((!stdin).then_some(&flags.file)) {
        Ok(text) => text,
        Err(why) => return stderr::refuse(&format!("cannot read {name}: {why}")),
    };
    let imported = match stagger_import::import(&text, flags.from) {
        Ok(imported) => imported,
        Err(error) => return stderr::refuse(&format!("{name}: {error}")),
    };
    let shown = match flags.format {
        ImportFormat::Toml => toml_page(&imported),
        ImportFormat::Json => json_page(&imported),
    };
    let code = stdout::write(&shown);
    for line in remarks(&imported) {
        stderr::note(&line);
    }
    code
}

/// The text of a file, or of standard input.
fn read(file: Option<&PathBuf>) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = match file {
        None => io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes),
        Some(file) => {
            File::open(file).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
        }
    };
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("larger than 64 MiB".to_owned());
    }
    String::from_utf8(bytes).map_err(|error| format!("not UTF-8: {error}"))
}

/// The differences from the foreign settings, one line each.
fn remarks(imported: &Imported) -> Vec<String> {
    let left = imported
        .left_out
        .iter()
        .map(|left| format!("not exactly mapped: {} = {}: {}", left.path, left.value, left.why));
    let notes = imported.notes.iter().map(|note| format!("note: {note}"));
    left.chain(notes).collect()
}

/// The policy file: one policy is the whole file, several are tables of their own.
fn toml_page(imported: &Imported) -> String {
    let mut page = format!("# Imported from {} by `stagger import`.\n", imported.source);
    for line in remarks(imported) {
        for (number, part) in wrapped(&line.replace(['\n', '\r'], " "), COMMENT).iter().enumerate()
        {
            let indent = if number > 0 { "  " } else { "" };
            let _ = writeln!(page, "# {indent}{part}");
        }
    }
    let written = match imported.policies.as_slice() {
        [(_, policy)] => toml::to_string(policy),
        policies => {
            let policies: BTreeMap<&str, &Policy> =
                policies.iter().map(|(name, policy)| (name.as_str(), policy)).collect();
            toml::to_string(&BTreeMap::from([("policy", policies)]))
        }
    };
    page.push('\n');
    page + &written.expect("every policy can be written")
}

/// The object.
fn json_page(imported: &Imported) -> String {
    let left: Vec<Value> = imported
        .left_out
        .iter()
        .map(|left| json!({ "path": left.path, "value": left.value, "why": left.why }))
        .collect();
    let policies: serde_json::Map<String, Value> = imported
        .policies
        .iter()
        .map(|(name, policy)| {
            (name.clone(), serde_json::to_value(policy).expect("every policy can be written"))
        })
        .collect();
    let page = json!({
        "from": imported.source.name(),
        "policies": policies,
        "left_out": left,
        "notes": imported.notes,
    });
    format!("{page:#}\n")
}
