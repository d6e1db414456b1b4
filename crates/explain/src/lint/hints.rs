//! Rules of the longest wait: hints, and the worst case against the SLO.

use stagger_core::{HintRule, LongHint, Policy, Ratio, Span};

use super::delays::rounded_down;
use super::delays::{longest_ceiling, retrying};
use crate::worst_case::{worst_case, worst_case_hinted};
use crate::{Code, PolicyFinding, Setting};

pub(super) fn lint(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
    if !retrying(policy) {
        return;
    }
    found.extend(below_cap(policy));
    if waited_for(policy.hints()) && policy.hints().spread() == Ratio::ZERO {
        found.push(PolicyFinding::warning(
            Code::HintWithoutSpread,
            "hints.spread",
            "the spread of hints is 0: all callers that are told to come back in 10s come back in the \
             same instant",
            "spread = 0.5",
        ));
    }
}

/// Whether any hint is waited for.
fn waited_for(rule: &HintRule) -> bool {
    match rule.long() {
        LongHint::OwnDelayPlus(more) => !more.is_zero(),
        _ => !rule.max().is_zero(),
    }
}

fn below_cap(policy: &Policy) -> Option<PolicyFinding> {
    let (max, longest) = (policy.hints().max(), longest_ceiling(policy));
    let then = match policy.hints().long() {
        LongHint::Stop => "end the call",
        LongHint::Shorten => "are cut to that, and the attempt after it is known to fail",
        // The limit is the own delay then.
        _ => return None,
    };
    (max < longest).then(|| {
        PolicyFinding::warning(
            Code::HintBelowCap,
            "hints.max",
            format!("own delays reach {longest}, yet hints above {max} {then}"),
            format!("max = \"{longest}\" or more"),
        )
    })
}

/// The share of an SLO for retries; the rest is for the work, and for those above.
const SHARE: u64 = 3;

pub(super) fn over_slo(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    let Some(slo) = setting.slo else { return };
    let third = Span::from_nanos(slo.as_nanos() / SHARE);
    let fix = format!("deadline = \"{}\" at most, a third of the SLO", rounded_down(third));
    let key = "limits.deadline";
    let worst = worst_case(policy);
    if worst.is_some_and(|worst| worst <= slo) {
        found.extend(hinted(policy, slo, &fix));
    }
    found.extend(match worst {
        None => Some(PolicyFinding::error(
            Code::OverSlo,
            key,
            format!("nothing bounds the call, and its SLO is {slo}"),
            fix,
        )),
        Some(worst) if worst > slo => Some(PolicyFinding::error(
            Code::OverSlo,
            key,
            format!("the worst case is {worst}, above the SLO of {slo}"),
            fix,
        )),
        // Where the pace of the attempts is known, choosing their number by it is better than a third.
        Some(worst) if worst > third && setting.p99.is_none() => Some(PolicyFinding::warning(
            Code::OverSloThird,
            key,
            format!("the worst case is {worst}, above a third of the SLO of {slo}"),
            fix,
        )),
        Some(_) => None,
    });
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
