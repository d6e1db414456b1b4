//! The command: files to findings, findings to a page for people and an exit code.

use std::io;
use std::process::ExitCode;

use stagger_explain::Severity;
use stagger_text::settings::{Excerpt, Level, SourceText};

use super::findings::{FileFindings, LintReport, PlacedFinding, Unread, summary};
use super::foreign::ForeignRun;
use super::machine;
use crate::command_error::CommandError;
use crate::flags::{Deny, LintFlags, LintFormat};
use crate::policy_file::{PolicyArgument, files, is_foreign, read, titled};
use crate::streams;

/// Runs the command: every file is looked at, also after one that is refused.
pub(crate) fn lint(flags: &LintFlags) -> ExitCode {
    let (report, refused) = report(flags);
    let page = match flags.format {
        LintFormat::Text if refused.is_some() && report.policies() == 0 => String::new(),
        LintFormat::Text => text(&report),
        LintFormat::Json => machine::json(&report),
        LintFormat::Sarif => machine::sarif(&report),
        LintFormat::Github => machine::github(&report),
    };
    let wrote = streams::write(&page);
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
    let mut foreign = ForeignRun::default();
    for asked in &flags.files {
        let files = files(asked).unwrap_or_else(|why| {
            refused = Some(unread(asked, why, &mut report));
            Vec::new()
        });
        for file in files {
            let sheet = nameable(&file, flags.format).and_then(|()| of(&file, flags, &mut foreign));
            match sheet {
                Ok(None) => {}
                Ok(Some(sheet)) => {
                    refused = told(&sheet).or(refused);
                    report.files.push(sheet);
                }
                Err(why) => refused = Some(unread(&file, why, &mut report)),
            }
        }
    }
    match foreign.findings(flags) {
        Ok(sheets) => {
            for sheet in sheets {
                refused = told(&sheet).or(refused);
                report.files.push(sheet);
            }
        }
        Err(error) => {
            for asked in &flags.files {
                let why = CommandError::File(format!("error: {}: {error}", asked.file.display()));
                refused = Some(unread(asked, why, &mut report));
            }
        }
    }
    (report, refused)
}

/// The findings of a file of policies. One of another product is kept for later, with all others.
fn of(
    asked: &PolicyArgument,
    flags: &LintFlags,
    foreign: &mut ForeignRun,
) -> Result<Option<FileFindings>, CommandError> {
    let (file, text) = read(&asked.file)?;
    if !is_foreign(&asked.file, &text) {
        return FileFindings::of(asked, file, text, flags).map(Some);
    }
    let refused = |error| CommandError::File(format!("error: {file}: {error}"));
    foreign.add(file.clone(), text, asked.name.as_deref()).map_err(refused)?;
    Ok(None)
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
    let colours = streams::errors_have_colours();
    let shown = sheet.flaws.iter().map(|flaw| flaw.show(&sheet.file, &sheet.text, colours));
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| streams::refused(&shown.join("\n\n")))
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

/// All findings, each with its lines, and how many there are.
pub(super) fn text(report: &LintReport) -> String {
    let colours = streams::has_colours(&io::stdout());
    let mut page = String::new();
    for sheet in &report.files {
        for placed in &sheet.findings {
            page += &shown(sheet, placed, colours);
            page += "\n\n";
        }
    }
    page + &summary(report)
}

fn shown(sheet: &FileFindings, placed: &PlacedFinding, colours: bool) -> String {
    let finding = &placed.finding;
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let note = placed.policy.as_ref().map(|name| format!("in {}", titled(name)));
    let excerpt = Excerpt {
        level,
        code: Some(finding.code.name()),
        message: &finding.message,
        at: placed.at.clone(),
        help: Some(&finding.fix),
        note: note.as_deref(),
    };
    excerpt.show(SourceText { file: &sheet.file, text: &sheet.text }, colours)
}
