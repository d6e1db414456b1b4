//! Findings for people.

use std::io;

use annotate_snippets::Level;
use stagger_explain::Severity;

use super::sheet::{Placed, Sheet};
use crate::colour;
use crate::toml_file::{Excerpt, Source};

/// All findings, each with its lines, and how many there are.
pub(super) fn text(sheets: &[Sheet]) -> String {
    let colours = colour::wanted(&io::stdout());
    let mut page = String::new();
    for sheet in sheets {
        for placed in &sheet.findings {
            page += &shown(sheet, placed, colours);
            page += "\n\n";
        }
    }
    page + &summary(sheets)
}

fn shown(sheet: &Sheet, placed: &Placed, colours: bool) -> String {
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
    excerpt.show(Source { file: &sheet.file, text: &sheet.text }, colours)
}

fn summary(sheets: &[Sheet]) -> String {
    let count = |severity| sheets.iter().map(|sheet| sheet.count(severity)).sum();
    let (errors, warnings): (usize, usize) = (count(Severity::Error), count(Severity::Warning));
    let policies = sheets.iter().map(|sheet| sheet.policies).sum();
    format!(
        "{}: {}, {}\n",
        many(policies, "policy", "policies"),
        many(errors, "error", "errors"),
        many(warnings, "warning", "warnings")
    )
}

fn many(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}
