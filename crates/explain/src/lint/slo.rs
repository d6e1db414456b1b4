//! The worst case against the SLO: `over-slo`, `over-slo-third`, `hint-over-slo`.

use stagger_core::{Policy, Span};

use super::figure::rounded_down;
use crate::worst_case::{worst_case, worst_case_hinted};
use crate::{Code, PolicyFinding, Setting};

/// The share of an SLO for retries; the rest is for the work, and for those above.
const SHARE: u64 = 3;

pub(super) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    let Some(slo) = setting.slo else { return };
    let third = Span::from_nanos(slo.as_nanos() / SHARE);
    let fix = format!("deadline = \"{}\" at most, a third of the SLO", rounded_down(third));
    let key = "limits.deadline";
    let worst = worst_case(policy);
    if worst.is_some_and(|worst| worst <= slo) {
        found.extend(hinted(policy, slo, &fix));
    }
    match worst {
        None => found.push(PolicyFinding::error(
            Code::OverSlo,
            key,
            format!("nothing bounds the call, and its SLO is {slo}"),
            fix,
        )),
        Some(worst) if worst > slo => found.push(PolicyFinding::error(
            Code::OverSlo,
            key,
            format!("the worst case is {worst}, above the SLO of {slo}"),
            fix,
        )),
        Some(worst) if worst > third => found.push(PolicyFinding::warning(
            Code::OverSloThird,
            key,
            format!("the worst case is {worst}, above a third of the SLO of {slo}"),
            fix,
        )),
        Some(_) => {}
    }
}

/// A call within its SLO as long as the server asks for no wait.
fn hinted(policy: &Policy, slo: Span, fix: &str) -> Option<PolicyFinding> {
    let worst = worst_case_hinted(policy)?;
    (worst > slo).then(|| {
        PolicyFinding::warning(
            Code::HintOverSlo,
            "hints.max",
            format!(
                "a server that asks for the longest wait that is obeyed makes a call take {worst}, \
                 above the SLO of {slo}"
            ),
            format!("{fix}: it bounds hints too; or a smaller hints.max"),
        )
    })
}
