//! Findings for programs: one JSON object, workflow commands of GitHub Actions, or SARIF 2.1.0 (OASIS 2020).
//!
//! Code scanning and editors read SARIF.

use std::ops::Range;

use serde::Serialize;
use serde_json::{Value, json};
use stagger_explain::{Code, Severity};
use stagger_text::position;
use stagger_text::settings::Flaw;

use super::findings::{FileFindings, LintReport, PlacedFinding, Unread, summary};
use crate::policy_file::titled;

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

/// One command a line, and a line for people who read the log.
pub(super) fn github(report: &LintReport) -> String {
    let mut page = String::new();
    for sheet in &report.files {
        page.extend(sheet.flaws.iter().map(|flaw| refused_line(sheet, flaw)));
        page.extend(sheet.findings.iter().map(|placed| found_line(sheet, placed)));
    }
    page.extend(report.unread.iter().map(unread_line));
    page + &summary(report)
}

fn found_line(sheet: &FileFindings, placed: &PlacedFinding) -> String {
    let finding = &placed.finding;
    let message = format!("{}. Fix: {}", finding.message, finding.fix);
    let title = match &placed.policy {
        Some(name) => format!("{} in {}", finding.code, titled(name)),
        None => finding.code.to_string(),
    };
    command(&finding.severity.to_string(), sheet, placed.at.start, &title, &message)
}

fn refused_line(sheet: &FileFindings, flaw: &Flaw) -> String {
    command("error", sheet, flaw.at().start, "invalid policy file", flaw.message())
}

fn command(level: &str, sheet: &FileFindings, at: usize, title: &str, message: &str) -> String {
    let (line, column) = position(&sheet.text, at);
    let (file, title) = (property(&sheet.file), property(title));
    format!("::{level} file={file},line={line},col={column},title={title}::{}\n", data(message))
}

fn unread_line(unread: &Unread) -> String {
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

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The rule of what is no policy at all.
const INVALID: &str = "invalid-policy";

/// One log with one run.
pub(super) fn sarif(report: &LintReport) -> String {
    let sheets = || report.files.iter();
    let flaws =
        sheets().flat_map(|sheet| sheet.flaws.iter().map(move |flaw| flaw_result(sheet, flaw)));
    let found =
        sheets().flat_map(|sheet| sheet.findings.iter().map(move |it| finding_result(sheet, it)));
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "stagger lint",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": flaws.chain(found).collect::<Vec<_>>(),
            "invocations": [{
                "executionSuccessful": report.refused() == 0,
                "toolExecutionNotifications": report.unread.iter().map(unread).collect::<Vec<_>>(),
            }],
        }],
    });
    format!("{log:#}\n")
}

fn rules() -> Vec<Value> {
    let rule = |id: &str, about: &str| json!({ "id": id, "shortDescription": { "text": about } });
    let codes = Code::ALL.iter().map(|code| rule(code.name(), code.about()));
    codes.chain([rule(INVALID, "The file is no policy.")]).collect()
}

fn finding_result(sheet: &FileFindings, placed: &PlacedFinding) -> Value {
    let finding = &placed.finding;
    let policy =
        placed.policy.as_ref().map_or_else(String::new, |name| format!("{}: ", titled(name)));
    result(
        finding.code.name(),
        &finding.severity.to_string(),
        &format!("{policy}{}. Fix: {}", finding.message, finding.fix),
        &location(sheet, &placed.at),
    )
}

fn flaw_result(sheet: &FileFindings, flaw: &Flaw) -> Value {
    result(INVALID, "error", flaw.message(), &location(sheet, flaw.at()))
}

fn result(rule: &str, level: &str, message: &str, location: &Value) -> Value {
    json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": message },
        "locations": [{ "physicalLocation": location }],
    })
}

fn location(sheet: &FileFindings, at: &Range<usize>) -> Value {
    let (line, column) = position(&sheet.text, at.start);
    let (end_line, end_column) = position(&sheet.text, at.end.max(at.start));
    json!({
        "artifactLocation": { "uri": uri(&sheet.file) },
        "region": {
            "startLine": line,
            "startColumn": column,
            "endLine": end_line,
            "endColumn": end_column,
        },
    })
}

fn unread(unread: &Unread) -> Value {
    json!({
        "level": "error",
        "message": { "text": unread.message },
        "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(&unread.file) } } }],
    })
}

/// A path as a URI reference (RFC 3986): relative paths stay relative to where the command ran.
fn uri(path: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(byte);
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    let encoded = path.bytes().map(|byte| match plain(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    format!("{scheme}{}", encoded.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_uri_reference() {
        assert_eq!(uri("policies/shop.toml"), "policies/shop.toml");
        assert_eq!(uri("/a b/é#1.toml"), "file:///a%20b/%C3%A9%231.toml");
    }
}
