//! The caption of every picture: the subject, the parameters, the seed and the runs.

use stagger_sim::{CaseReport, StormReport};

/// `what` is seen, as a sentence without its full stop.
pub(super) fn caption(report: &StormReport, case: Option<&CaseReport>, what: &str) -> String {
    let of_case = case.filter(|_| report.cases.len() > 1);
    let case = of_case.map(|case| format!(", {}", case.label)).unwrap_or_default();
    let settings = settings(&report.parameters, report.seed, report.runs);
    format!("{what}{case}. {settings}")
}

/// The parameters, the seed and the number of runs as one sentence.
pub(super) fn settings(parameters: &[(String, String)], seed: u64, runs: u32) -> String {
    let mut all: Vec<_> =
        parameters.iter().map(|(name, value)| format!("{name} {value}")).collect();
    all.push(format!("seed {seed}"));
    all.push(if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") });
    // A sentence begins with a capital letter.
    let text = all.join(", ");
    let mut rest = text.chars();
    let first = rest.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", rest.as_str())
}
