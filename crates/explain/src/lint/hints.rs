//! Rules of hints: `hint-below-cap`, `hint-without-spread`.

use stagger_core::{HintRule, LongHint, Policy, Ratio};

use super::delays::{longest_ceiling, retrying};
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
