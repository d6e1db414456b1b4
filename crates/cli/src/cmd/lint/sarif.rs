//! Findings as SARIF 2.1.0 (OASIS 2020), which code scanning and editors read.

use std::ops::Range;

use serde_json::{Value, json};
use stagger_explain::Code;

use super::findings::{FileFindings, LintReport, PlacedFinding, Unread};
use crate::toml_file::Flaw;
use stagger_text::position;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The rule of what is no policy at all.
const INVALID: &str = "invalid-policy";

/// One log with one run.
pub(super) fn sarif(report: &LintReport) -> String {
    let sheets = || report.files.iter();
    let flaws = sheets().flat_map(|sheet| sheet.flaws.iter().map(move |flaw| refused(sheet, flaw)));
    let found = sheets().flat_map(|sheet| sheet.findings.iter().map(move |it| found(sheet, it)));
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

fn found(sheet: &FileFindings, placed: &PlacedFinding) -> Value {
    let finding = &placed.finding;
    let policy = placed.policy.as_ref().map_or_else(String::new, |name| format!("policy {name}: "));
    result(
        finding.code.name(),
        &finding.severity.to_string(),
        &format!("{policy}{}. Fix: {}", finding.message, finding.fix),
        &location(sheet, &placed.at),
    )
}

fn refused(sheet: &FileFindings, flaw: &Flaw) -> Value {
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
