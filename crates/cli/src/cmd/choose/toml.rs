//! The policy as a file, each line with its reason.

use std::fmt::Write;

use stagger_core::Policy;
use stagger_explain::Choice;

use super::answers::Said;
use crate::render::wrapped;
use crate::width::USUAL;

/// Comments begin here at the latest, so that they stand below each other where lines are short.
const COLUMN: usize = 32;
/// Columns of a comment that has lines of its own.
const COMMENT: usize = USUAL - "# ".len();

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
        page += &reasoned(line, reason);
    }
    page
}

/// A setting with its reason beside it, or above it where both are too long for one line.
fn reasoned(setting: &str, reason: &str) -> String {
    let beside = format!("{setting:COLUMN$}  # {reason}\n");
    if beside.trim_end().chars().count() <= USUAL {
        return beside;
    }
    let above: String = wrapped(reason, COMMENT).iter().map(|part| format!("# {part}\n")).collect();
    format!("{above}{setting}\n")
}
