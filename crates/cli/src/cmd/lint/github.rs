//! Findings as workflow commands of GitHub Actions, which show them at their lines in a pull request.

use super::findings::{FileFindings, LintReport, PlacedFinding, Unread};
use super::text::summary;
use crate::toml_file::Flaw;
use stagger_text::position;

/// One command a line, and a line for people who read the log.
pub(super) fn github(report: &LintReport) -> String {
    let mut page = String::new();
    for sheet in &report.files {
        page.extend(sheet.flaws.iter().map(|flaw| refused(sheet, flaw)));
        page.extend(sheet.findings.iter().map(|placed| found(sheet, placed)));
    }
    page.extend(report.unread.iter().map(unread));
    page + &summary(report)
}

fn found(sheet: &FileFindings, placed: &PlacedFinding) -> String {
    let finding = &placed.finding;
    let message = format!("{}. Fix: {}", finding.message, finding.fix);
    let title = match &placed.policy {
        Some(name) => format!("{} in policy {name}", finding.code),
        None => finding.code.to_string(),
    };
    command(&finding.severity.to_string(), sheet, placed.at.start, &title, &message)
}

fn refused(sheet: &FileFindings, flaw: &Flaw) -> String {
    command("error", sheet, flaw.at().start, "invalid policy file", flaw.message())
}

fn command(level: &str, sheet: &FileFindings, at: usize, title: &str, message: &str) -> String {
    let (line, column) = position(&sheet.text, at);
    let (file, title) = (property(&sheet.file), property(title));
    format!("::{level} file={file},line={line},col={column},title={title}::{}\n", data(message))
}

fn unread(unread: &Unread) -> String {
    let file = property(&unread.file);
    format!("::error file={file},title=unreadable policy file::{}\n", data(&unread.message))
}

/// The escapes of a message: a line end would end the command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The escapes of a property, which also ends with a comma or a colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
