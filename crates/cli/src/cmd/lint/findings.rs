//! The findings of one file, and of all files together.

use std::ops::Range;

use stagger_explain::{Code, PolicyFinding, Severity};
use stagger_text::settings::Flaw;

use crate::command_error::CommandError;
use crate::flags::{CallsFlags, LintFlags};
use crate::policy_file::{PolicyArgument, Surveyed, absent, is_route, survey};

/// One file: its findings and its flaws, each in the order of the file.
#[derive(Debug)]
pub(super) struct FileFindings {
    pub(super) file: String,
    pub(super) text: String,
    /// The policies that were looked at.
    pub(super) policies: usize,
    pub(super) findings: Vec<PlacedFinding>,
    pub(super) flaws: Vec<Flaw>,
}

/// A finding where it stands.
#[derive(Debug)]
pub(super) struct PlacedFinding {
    /// None for a file that is one whole policy.
    pub(super) policy: Option<String>,
    pub(super) at: Range<usize>,
    pub(super) finding: PolicyFinding,
}

impl FileFindings {
    /// Looks at all policies of a file's text, or at the one of `FILE#NAME`.
    ///
    /// # Errors
    /// A name that is not in it.
    pub(super) fn of(
        asked: &PolicyArgument,
        file: String,
        text: String,
        flags: &LintFlags,
    ) -> Result<Self, CommandError> {
        let mut survey = survey(&asked.file, &text);
        if let Some(name) = &asked.name {
            only(&file, name, &mut survey.policies, survey.flaws.is_empty())?;
        }
        let mut findings: Vec<PlacedFinding> =
            survey.policies.iter().flat_map(|policy| findings(policy, &flags.calls)).collect();
        findings.retain(|placed| !flags.allow.contains(&placed.finding.code));
        findings.sort_by_key(|placed| (placed.at.start, placed.finding.code));
        let policies = survey.policies.iter().filter(|policy| policy.is_own()).count();
        let flaws = survey.flaws;
        Ok(Self { file, text, policies, findings, flaws })
    }

    /// The number of findings that are as severe as this.
    pub(super) fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|placed| placed.finding.severity == severity).count()
    }
}

/// The files that were read, and those that could not be.
#[derive(Debug, Default)]
pub(super) struct LintReport {
    pub(super) files: Vec<FileFindings>,
    pub(super) unread: Vec<Unread>,
}

/// A file that could not be read, or a policy that is not in its file.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) file: String,
    pub(super) message: String,
}

impl LintReport {
    /// The policies that were looked at.
    pub(super) fn policies(&self) -> usize {
        self.files.iter().map(|file| file.policies).sum()
    }

    /// The number of findings that are as severe as this.
    pub(super) fn findings(&self, severity: Severity) -> usize {
        self.files.iter().map(|file| file.count(severity)).sum()
    }

    /// The number of mistakes that kept policies from being looked at.
    pub(super) fn refused(&self) -> usize {
        self.files.iter().map(|file| file.flaws.len()).sum::<usize>() + self.unread.len()
    }
}

/// Keeps the policy of this name. In a file with flaws it may be among what could not be built.
fn only(
    file: &str,
    name: &str,
    policies: &mut Vec<Surveyed<'_>>,
    whole: bool,
) -> Result<(), CommandError> {
    let is = |known: &Surveyed<'_>| known.name.as_deref() == Some(name);
    let of_route = |known: &Surveyed<'_>| {
        known.route.is_some() && known.name.as_deref().is_some_and(|known| is_route(known, name))
    };
    let routed = !policies.iter().any(is);
    if whole && routed && !policies.iter().any(of_route) {
        return Err(absent(file, name, policies.iter().filter_map(|it| it.name.as_deref())));
    }
    policies.retain(|known| if routed { of_route(known) } else { is(known) });
    Ok(())
}

/// Findings of a policy that are not accepted, and accepted ones that it does not have.
fn findings(surveyed: &Surveyed<'_>, flags: &CallsFlags) -> Vec<PlacedFinding> {
    let found = surveyed.findings(&flags.over(&surveyed.calls.setting));
    let placed = |at, finding| PlacedFinding { policy: surveyed.name.clone(), at, finding };
    let unused =
        surveyed.calls.allow.iter().filter(|(code, _)| !found.iter().any(|it| it.1.code == *code));
    let unused: Vec<PlacedFinding> =
        unused.map(|(code, at)| placed(at.clone(), stale(*code))).collect();
    let left = found.into_iter().filter(|(_, finding)| !surveyed.calls.allows(finding.code));
    left.map(|(at, finding)| placed(at, finding)).chain(unused).collect()
}

fn stale(code: Code) -> PolicyFinding {
    PolicyFinding {
        code: Code::UnusedAllow,
        severity: Severity::Warning,
        key: "allow",
        message: format!("there is no {code} to be accepted here"),
        fix: "leave it out, so that the next one is seen".to_owned(),
    }
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
