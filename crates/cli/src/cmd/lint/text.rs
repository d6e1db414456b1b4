//! Findings for people.

use std::io;

use annotate_snippets::Level;
use stagger_explain::Severity;

use super::findings::{FileFindings, LintReport, PlacedFinding};
use crate::terminal;
use crate::toml_file::{Excerpt, SourceText};

/// All findings, each with its lines, and how many there are.
pub(super) fn text(report: &LintReport) -> String {
    let colours = terminal::has_colours(&io::stdout());
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
    let note = placed.policy.as_ref().map(|name| format!("in policy {name}"));
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

/// The numbers of policies, errors and warnings.
pub(super) fn summary(report: &LintReport) -> String {
    format!(
        "{}: {}, {}\n",
        many(report.policies(), "policy", "policies"),
        many(report.findings(Severity::Error), "error", "errors"),
        many(report.findings(Severity::Warning), "warning", "warnings")
    )
}

fn many(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}
