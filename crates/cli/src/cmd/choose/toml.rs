//! The policy as a file, each line with its reason.

use std::fmt::Write;

use stagger_core::Policy;
use stagger_explain::Choice;

use super::answers::Said;
use crate::render::wrapped;

/// Comments begin here at the latest, so that they stand below each other where lines are short.
const COLUMN: usize = 32;
/// Columns of a comment that has lines of its own.
pub(super) const COMMENT: usize = 96;

/// The file. What has no reason is as usual, and left out.
pub(super) fn page(said: &Said, choice: &Choice, policy: &Policy) -> String {
    let mut page = String::from("# Chosen by `stagger choose`.\n");
    for line in said.lines().iter().chain(&choice.notes) {
        for part in wrapped(line, COMMENT) {
            let _ = writeln!(page, "# {part}");
        }
    }
    let text = ::toml::to_string(policy).expect("every policy can be written");
    let mut table = "";
    let mut shown = "";
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            table = name;
            continue;
        }
        let Some((key, _)) = line.split_once(" = ") else { continue };
        let Some(reason) = choice.reason(&format!("{table}.{key}")) else { continue };
        if table != shown {
            let _ = writeln!(page, "\n[{table}]");
            shown = table;
        }
        let _ = writeln!(page, "{line:COLUMN$}  # {reason}");
    }
    page
}
