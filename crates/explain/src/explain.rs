//! All figures of a policy together.

use stagger_core::{Policy, Span, Verdict};

use crate::calls::PlayedCalls;
use crate::delay::cap_share;
use crate::granted::fleet;
use crate::lint::lint;
use crate::timeline::{outage, timeline};
use crate::worst_case::{amplification, load, worst_case, worst_case_hinted, worst_waits};
use crate::{Explanation, Setting, SloCheck};

/// The part of an SLO that retries may take: the rest is for the work itself.
const SLO_PARTS: u64 = 3;

/// Explains a policy, as far as the setting is known.
#[must_use]
pub fn explain(policy: &Policy, setting: &Setting) -> Explanation {
    let calls = PlayedCalls::play(policy, Verdict::Transient, setting.rps);
    let (attempts, method, extent) = timeline(policy, Verdict::Transient, &calls);
    let (worst_case, hinted) = (worst_case(policy), worst_case_hinted(policy));
    Explanation {
        attempts,
        extent,
        method,
        throttled: throttled(policy, setting),
        worst_waits: worst_waits(policy),
        worst_case,
        worst_case_hinted: hinted,
        slo: setting.slo.map(|slo| slo_check(slo, worst_case, hinted)),
        load: load(policy, setting, &calls),
        amplification: setting.layers.map(|layers| amplification(policy, layers, &calls)),
        fleet: fleet(policy, setting),
        cap_share: cap_share(policy),
        rides_out: outage(policy, calls),
        findings: lint(policy, setting),
    }
}

/// The time line after throttled verdicts, where it differs.
fn throttled(policy: &Policy, setting: &Setting) -> Option<Vec<crate::PlannedAttempt>> {
    if policy.throttled_backoff() == policy.backoff() {
        return None;
    }
    let calls = PlayedCalls::play(policy, Verdict::Throttled, setting.rps);
    Some(timeline(policy, Verdict::Throttled, &calls).0)
}

fn slo_check(slo: Span, worst_case: Option<Span>, hinted: Option<Span>) -> SloCheck {
    let limit = Span::from_nanos(slo.as_nanos() / SLO_PARTS);
    let within = |worst: Option<Span>, limit| worst.is_some_and(|worst| worst <= limit);
    SloCheck { limit, ok: within(worst_case, limit), hinted_ok: within(hinted, slo) }
}
