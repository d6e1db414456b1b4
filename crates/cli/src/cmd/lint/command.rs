//! Files to findings, findings to a page and an exit code.

use std::process::ExitCode;

use stagger_explain::Severity;

use super::findings::{FileFindings, LintReport, Unread};
use super::{github, json, sarif, text};
use crate::command_error::CommandError;
use crate::flags::{Deny, LintFlags, LintFormat};
use crate::policy_file::{PolicyArgument, files};
use crate::{stderr, stdout};

/// Runs the command: every file is looked at, also after one that is refused.
pub(crate) fn lint(flags: &LintFlags) -> ExitCode {
    let (report, refused) = report(flags);
    let page = match flags.format {
        LintFormat::Text if refused.is_some() && report.policies() == 0 => String::new(),
        LintFormat::Text => text::text(&report),
        LintFormat::Json => json::json(&report),
        LintFormat::Sarif => sarif::sarif(&report),
        LintFormat::Github => github::github(&report),
    };
    let wrote = stdout::write(&page);
    let some = |severity| report.findings(severity) > 0;
    let failed =
        some(Severity::Error) || (flags.deny == Some(Deny::Warnings) && some(Severity::Warning));
    match refused {
        Some(code) => code,
        None if failed => ExitCode::FAILURE,
        None => wrote,
    }
}

/// The findings, and the exit code when something could not be looked at, which standard error tells.
fn report(flags: &LintFlags) -> (LintReport, Option<ExitCode>) {
    let (mut report, mut refused) = (LintReport::default(), None);
    for asked in &flags.files {
        let files = files(asked).unwrap_or_else(|why| {
            refused = Some(unread(asked, why, &mut report));
            Vec::new()
        });
        for file in files {
            let sheet =
                nameable(&file, flags.format).and_then(|()| FileFindings::of(&file, &flags.calls));
            match sheet {
                Ok(sheet) => {
                    refused = told(&sheet).or(refused);
                    report.files.push(sheet);
                }
                Err(why) => refused = Some(unread(&file, why, &mut report)),
            }
        }
    }
    (report, refused)
}

/// Refuses file names that are not text for formats that are.
fn nameable(asked: &PolicyArgument, format: LintFormat) -> Result<(), CommandError> {
    if format == LintFormat::Text || asked.file.to_str().is_some() {
        return Ok(());
    }
    let why =
        "the name is not UTF-8, which formats for programs need; rename it, or use --format text";
    Err(CommandError::File(format!("error: {}: {why}", asked.file.display())))
}

/// Tells the flaws of a file.
fn told(sheet: &FileFindings) -> Option<ExitCode> {
    let shown = sheet.flaws.iter().map(|flaw| flaw.show(&sheet.file, &sheet.text));
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| stderr::refused(&shown.join("\n\n")))
}

/// Tells of a file that cannot be read, and keeps it for programs.
fn unread(asked: &PolicyArgument, why: CommandError, report: &mut LintReport) -> ExitCode {
    let file = asked.file.display().to_string();
    if let CommandError::File(shown) = &why {
        let message = shown.trim_start_matches("error: ");
        let message = message.strip_prefix(&format!("{file}: ")).unwrap_or(message).to_owned();
        report.unread.push(Unread { file, message });
    }
    why.tell()
}
