//! The findings of all files together.

use stagger_explain::Severity;

use super::file_findings::FileFindings;

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
