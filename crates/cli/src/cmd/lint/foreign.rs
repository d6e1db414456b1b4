//! Findings in the settings of other products: each at its line, in the words of its product.

use stagger_explain::{LayeredPolicy, PolicyFinding, Setting, multiplied};
use stagger_import::{ImportError, Imported, ImportedPolicy, LeftOut};
use stagger_text::settings::Flaw;

use super::findings::{FileFindings, PlacedFinding};
use crate::flags::LintFlags;
use crate::policy_file::{ForeignFile, ForeignFiles, in_own_words};

/// The files of other products in a run, whose documents are read together: one may refer to another.
#[derive(Debug, Default)]
pub(super) struct ForeignRun {
    files: ForeignFiles,
    /// The names of the policies that were asked for, by the number of the file; none for all.
    asked: Vec<Option<String>>,
}

impl ForeignRun {
    /// Adds a file, or one policy of it.
    ///
    /// # Errors
    /// A text that is in no known notation.
    pub(super) fn add(
        &mut self,
        file: String,
        text: String,
        name: Option<&str>,
    ) -> Result<(), ImportError> {
        self.files.add(file, text)?;
        self.asked.push(name.map(str::to_owned));
        Ok(())
    }

    /// The findings of each file.
    ///
    /// # Errors
    /// Settings without any policy.
    pub(super) fn findings(&self, flags: &LintFlags) -> Result<Vec<FileFindings>, ImportError> {
        if self.files.files().is_empty() {
            return Ok(Vec::new());
        }
        let imported = self.files.import(None)?;
        let across = self.across(&imported);
        let numbered = self.files.files().iter().zip(&self.asked);
        Ok(numbered
            .map(|(file, name)| self.one(file, name.as_deref(), &imported, &across, flags))
            .collect())
    }

    fn one(
        &self,
        file: &ForeignFile,
        name: Option<&str>,
        imported: &Imported,
        across: &[(usize, PolicyFinding)],
        flags: &LintFlags,
    ) -> FileFindings {
        let numbered = imported.policies.iter().enumerate();
        let own: Vec<(usize, &ImportedPolicy)> = numbered
            .filter(|(_, policy)| file.has(policy.document))
            .filter(|(_, policy)| {
                name.is_none_or(|name| name == policy.name || name == policy.own_name)
            })
            .collect();
        let mut findings = Vec::new();
        for (number, policy) in &own {
            let found =
                stagger_explain::lint(&policy.policy, &flags.calls.over(&Setting::default()));
            let found = found.into_iter().chain(
                across.iter().filter(|(of, _)| of == number).map(|(_, finding)| finding.clone()),
            );
            let found = found.filter(|finding| !flags.allow.contains(&finding.code));
            findings.extend(found.map(|finding| self.placed(policy, finding)));
        }
        findings.sort_by_key(|placed| (placed.at.start, placed.finding.code));
        let refused =
            imported.left_out.iter().filter(|left| left.refused && file.has(left.document));
        let flaw = |left: &LeftOut| {
            let message = format!("{} = {}: {}", left.path, left.value, left.why);
            Flaw::new(self.files.place(left.document, &left.path), message)
        };
        FileFindings {
            file: file.name.clone(),
            text: file.text.clone(),
            policies: own.len(),
            findings,
            flaws: refused.map(flaw).collect(),
        }
    }

    fn placed(&self, policy: &ImportedPolicy, finding: PolicyFinding) -> PlacedFinding {
        PlacedFinding {
            policy: Some(policy.own_name.clone()),
            at: self.files.place(policy.document, policy.place(finding.key)),
            finding: in_own_words(policy.source, finding),
        }
    }

    /// Findings of several layers together.
    fn across(&self, imported: &Imported) -> Vec<(usize, PolicyFinding)> {
        let shown = |policy: &ImportedPolicy| {
            let file = self.files.name_of(policy.document);
            format!("{} ({}, {file})", policy.own_name, policy.source.product())
        };
        let names: Vec<String> = imported.policies.iter().map(shown).collect();
        let layered = imported.policies.iter().zip(&names).map(|(policy, name)| LayeredPolicy {
            name,
            // OK because the layers are numbered from 0.
            layer: policy.source.layer() as u8,
            attempts: policy.policy.limits().max_attempts(),
        });
        multiplied(&layered.collect::<Vec<_>>())
    }
}
