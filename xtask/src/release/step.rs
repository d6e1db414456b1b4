//! One thing that a release publishes, and the result of building it.

use std::error::Error;
use std::fmt;

use serde::Serialize;

/// One thing, and the result of building it.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    part: &'static str,
    name: String,
    #[serde(flatten)]
    outcome: StepResult,
}

/// The result of building something.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", content = "detail", rename_all = "lowercase")]
pub(super) enum StepResult {
    /// It is there, and has this size.
    Built { bytes: u64 },
    /// It cannot be built on this machine.
    Skipped(String),
    /// It is wrong.
    Failed(String),
}

/// All of them, for people.
#[derive(Debug)]
pub(super) struct Steps(pub(super) Vec<Step>);

impl Step {
    pub(super) fn new(part: &'static str, name: impl Into<String>, outcome: StepResult) -> Self {
        Self { part, name: name.into(), outcome }
    }
}

impl StepResult {
    /// The step that built something of a size, or failed.
    pub(super) fn of(size: Result<u64, Box<dyn Error>>) -> Self {
        size.map_or_else(|error| Self::Failed(error.to_string()), |bytes| Self::Built { bytes })
    }
}

impl Steps {
    /// Whether nothing is wrong. What was skipped is not.
    pub(super) fn are_good(&self) -> bool {
        !self.0.iter().any(|step| matches!(step.outcome, StepResult::Failed(_)))
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|step| step.name.len()).max().unwrap_or_default();
        for Step { part, name, outcome } in &self.0 {
            writeln!(f, "{part:<8} {name:<width$}  {outcome}")?;
        }
        Ok(())
    }
}

impl fmt::Display for StepResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Built { bytes } => write!(f, "ok, {} KiB", bytes.div_ceil(1024)),
            Self::Skipped(reason) => write!(f, "skipped: {reason}"),
            Self::Failed(reason) => write!(f, "FAILED: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_and_a_skipped_step_is_not() {
        let built = || Step::new("package", "a", StepResult::Built { bytes: 1025 });
        let skipped = || Step::new("binary", "b-c", StepResult::Skipped("no target".to_owned()));
        let failed = Step::new("deb", "d", StepResult::Failed("no room".to_owned()));
        assert!(Steps(vec![built(), skipped()]).are_good());
        let all = Steps(vec![built(), skipped(), failed]);
        assert!(!all.are_good());
        let wanted = "package  a    ok, 2 KiB\n\
                      binary   b-c  skipped: no target\n\
                      deb      d    FAILED: no room\n";
        assert_eq!(all.to_string(), wanted);
        let json = serde_json::to_string(&all.0[0]).expect("it is plain data");
        let wanted = r#"{"part":"package","name":"a","result":"built","detail":{"bytes":1025}}"#;
        assert_eq!(json, wanted);
    }
}
