//! Files to findings, findings to a page and an exit code.

use std::process::ExitCode;

use stagger_explain::Severity;

use super::json::json;
use super::sheet::Sheet;
use super::text::text;
use crate::flags::{Deny, LintFlags, LintFormat};
use crate::{stderr, stdout};

/// Runs the command: every file is looked at, also after one that is refused.
pub(crate) fn lint(flags: &LintFlags) -> ExitCode {
    let mut refused = None;
    let mut sheets = Vec::new();
    for file in &flags.files {
        match Sheet::of(file, &flags.calls) {
            Ok(sheet) => {
                let shown = sheet.flaws.iter().map(|flaw| flaw.show(&sheet.file, &sheet.text));
                let shown: Vec<String> = shown.collect();
                if !shown.is_empty() {
                    refused = Some(stderr::refused(&shown.join("\n\n")));
                }
                sheets.push(sheet);
            }
            Err(refusal) => refused = Some(refusal.tell("lint")),
        }
    }
    let page = match flags.format {
        LintFormat::Text if refused.is_some() && sheets.iter().all(|it| it.policies == 0) => {
            String::new()
        }
        LintFormat::Text => text(&sheets),
        LintFormat::Json => json(&sheets),
    };
    let wrote = stdout::write(&page);
    let some = |severity| sheets.iter().any(|sheet| sheet.count(severity) > 0);
    let failed =
        some(Severity::Error) || (flags.deny == Some(Deny::Warnings) && some(Severity::Warning));
    match refused {
        Some(code) => code,
        None if failed => ExitCode::FAILURE,
        None => wrote,
    }
}
