//! Findings for programs.

use serde::Serialize;
use stagger_explain::Severity;

use super::findings::{FileFindings, LintReport, PlacedFinding};
use crate::toml_file::Flaw;
use stagger_text::position;

/// Lines and columns are counted from 1, columns in characters.
#[derive(Debug, Serialize)]
struct LintPage<'a> {
    policies: usize,
    /// Findings that are errors, and everything that kept policies from being looked at: what could
    /// not be judged must not look clean.
    errors: usize,
    warnings: usize,
    findings: Vec<Found<'a>>,
    /// Mistakes in the files themselves.
    refused: Vec<Refused<'a>>,
    /// Files that cannot be read, and policies that are not in their files.
    unread: Vec<Missing<'a>>,
}

#[derive(Debug, Serialize)]
struct Found<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    /// Null for a file that is one whole policy.
    policy: Option<&'a str>,
    code: &'static str,
    severity: String,
    key: &'static str,
    message: &'a str,
    fix: &'a str,
}

#[derive(Debug, Serialize)]
struct Refused<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    message: &'a str,
}

#[derive(Debug, Serialize)]
struct Missing<'a> {
    file: &'a str,
    message: &'a str,
}

/// One object on several lines.
pub(super) fn json(report: &LintReport) -> String {
    let found = |sheet| move |placed| found(sheet, placed);
    let refused = |sheet| move |flaw| refused(sheet, flaw);
    let sheets = || report.files.iter();
    let unread = report.unread.iter();
    let page = LintPage {
        policies: report.policies(),
        errors: report.findings(Severity::Error) + report.refused(),
        warnings: report.findings(Severity::Warning),
        findings: sheets().flat_map(|sheet| sheet.findings.iter().map(found(sheet))).collect(),
        refused: sheets().flat_map(|sheet| sheet.flaws.iter().map(refused(sheet))).collect(),
        unread: unread.map(|it| Missing { file: &it.file, message: &it.message }).collect(),
    };
    let text = serde_json::to_string_pretty(&page);
    text.expect("plain structs with string keys have a JSON form") + "\n"
}

fn found<'a>(sheet: &'a FileFindings, placed: &'a PlacedFinding) -> Found<'a> {
    let (line, column) = position(&sheet.text, placed.at.start);
    let finding = &placed.finding;
    Found {
        file: &sheet.file,
        line,
        column,
        policy: placed.policy.as_deref(),
        code: finding.code.name(),
        severity: finding.severity.to_string(),
        key: finding.key,
        message: &finding.message,
        fix: &finding.fix,
    }
}

fn refused<'a>(sheet: &'a FileFindings, flaw: &'a Flaw) -> Refused<'a> {
    let (line, column) = position(&sheet.text, flaw.at().start);
    Refused { file: &sheet.file, line, column, message: flaw.message() }
}
