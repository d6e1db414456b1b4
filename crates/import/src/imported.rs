//! The policies of a foreign file.

use stagger_core::{HintRule, LongHint, Policy, Span};

use crate::ImportSource;

/// The policies of a file, and what of it they do not say.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The product that the settings are of.
    pub source: ImportSource,
    /// Policies by their names, in the order of the file.
    pub policies: Vec<(String, Policy)>,
    /// Settings that have no counterpart, or none that is exactly the same.
    pub left_out: Vec<LeftOut>,
    /// Differences in behaviour without a setting of their own.
    pub notes: Vec<String>,
}

/// A setting that could not be mapped exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its dotted path in the file.
    pub path: String,
    /// Its value, as JSON.
    pub value: String,
    /// The reason, and what the policy has instead.
    pub why: String,
}

impl Imported {
    pub(crate) const fn new(source: ImportSource) -> Self {
        Self { source, policies: Vec::new(), left_out: Vec::new(), notes: Vec::new() }
    }

    /// Adds a policy; a name that is taken gets a number. Hints are obeyed for at least as long as
    /// its own delays, whatever its product does with longer ones: it would wait that long anyway.
    pub(crate) fn add(&mut self, name: &str, policy: Policy) {
        let taken = |name: &str| self.policies.iter().any(|(known, _)| known == name);
        let mut free = name.to_owned();
        let mut number = 2_u32;
        while taken(&free) {
            free = format!("{name}-{number}");
            number += 1;
        }
        self.policies.push((free, obeying_hints(&policy)));
    }

    pub(crate) fn leave_out(
        &mut self,
        path: impl Into<String>,
        value: impl ToString,
        why: impl Into<String>,
    ) {
        self.left_out.push(LeftOut {
            path: path.into(),
            value: value.to_string(),
            why: why.into(),
        });
    }

    /// Says something once, however many policies it holds for.
    pub(crate) fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }
}

fn obeying_hints(policy: &Policy) -> Policy {
    let (rule, longest) = (policy.hints(), longest_delay(policy));
    if rule.long() != LongHint::Stop || rule.max() >= longest {
        return *policy;
    }
    let wider = HintRule::new(longest, rule.spread(), rule.long()).ok();
    let built = wider.and_then(|rule| policy.to_builder().hints(rule).build().ok());
    built.unwrap_or(*policy)
}

/// The longest delay before the last retry.
fn longest_delay(policy: &Policy) -> Span {
    let retries = policy.limits().max_attempts().map_or(u32::MAX, |attempts| attempts - 1);
    if retries == 0 { Span::ZERO } else { policy.backoff().range(retries).1 }
}
