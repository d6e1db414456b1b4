//! The imported policies, as a policy file or as one object.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};
use stagger_core::Policy;
use stagger_import::Imported;

use crate::render::wrapped;
use crate::width::USUAL;

/// Columns of a comment, whose lines but the first are indented.
const COMMENT: usize = USUAL - "#   ".len();

/// The differences from the foreign settings, one line each.
pub(super) fn remarks(imported: &Imported) -> Vec<String> {
    let left = imported
        .left_out
        .iter()
        .map(|left| format!("not exactly mapped: {} = {}: {}", left.path, left.value, left.why));
    let notes = imported.notes.iter().map(|note| format!("note: {note}"));
    left.chain(notes).collect()
}

/// The policy file: one policy is the whole file, several are tables of their own.
pub(super) fn toml(imported: &Imported) -> String {
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
pub(super) fn json(imported: &Imported) -> String {
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
