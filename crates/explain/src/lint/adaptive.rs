//! Rules of adaptive limits: `throttle-window`, `throttle-multiplier`, `cubic-wait`.

use stagger_core::adaptive::{AdaptivePlan, ClientThrottlePlan};
use stagger_core::{Policy, Ratio, Span};
use stagger_text::rough_count;

use super::deadline::fits;
use crate::{Code, PolicyFinding, Setting};

/// The fewest requests in a window that measure a share: one more failure among ten moves it by a tenth.
const MEASURED: f64 = 10.0;
/// The lowest multiplier of the source: "Handling Overload", *Site Reliability Engineering*.
const LEAST_MULTIPLIER: Ratio = Ratio::from_percent(110);
/// The longest time between two calls under CUBIC: its lowest rate is half a call a second.
const SLOWEST: Span = Span::from_secs(2);

pub(super) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    match policy.adaptive() {
        None => {}
        Some(AdaptivePlan::Throttle(plan)) => {
            found.extend(multiplier(plan));
            found.extend(window(policy, plan, setting));
        }
        Some(AdaptivePlan::Cubic) => found.extend(cubic(policy)),
    }
}

fn multiplier(plan: &ClientThrottlePlan) -> Option<PolicyFinding> {
    (plan.multiplier() < LEAST_MULTIPLIER).then(|| {
        PolicyFinding::warning(
            Code::ThrottleMultiplier,
            "adaptive.throttle.multiplier",
            format!(
                "a multiplier of {} lets hardly more requests through than are accepted: a server that \
                 recovers is given no more than before",
                plan.multiplier().as_f64()
            ),
            "multiplier = 2, which sends twice what was accepted",
        )
    })
}

/// A share that is measured with too few requests, or before their replies are there.
fn window(policy: &Policy, plan: &ClientThrottlePlan, setting: &Setting) -> Option<PolicyFinding> {
    let key = "adaptive.throttle.window";
    let window = plan.window();
    let finding =
        |message, fix| Some(PolicyFinding::warning(Code::ThrottleWindow, key, message, fix));
    let late = policy.limits().attempt_timeout().filter(|timeout| *timeout >= window);
    if let Some(timeout) = late {
        return finding(
            format!(
                "an attempt may take {timeout} and its request counts for {window}: a slow reply is \
                 accepted after its request is forgotten"
            ),
            format!("window = \"{}\" at least, ten times an attempt", timeout.saturating_mul(10)),
        );
    }
    let rps = setting.rps.filter(|rps| *rps > 0.0)?;
    let requests = rps * window.as_secs_f64();
    if requests >= MEASURED {
        return None;
    }
    finding(
        format!(
            "{} requests in a window of {window}: too few to measure which share is accepted",
            rough_count(requests)
        ),
        format!("window = \"{}s\" at least, or no [adaptive]", (MEASURED / rps).ceil()),
    )
}

/// A wait that no call has time for, or that nothing bounds.
fn cubic(policy: &Policy) -> Option<PolicyFinding> {
    let finding = |message, fix| {
        Some(PolicyFinding::warning(Code::CubicWait, "limits.deadline", message, fix))
    };
    let Some(deadline) = policy.limits().deadline() else {
        return finding(
            "calls wait in turn for the rate that the server takes, and nothing bounds the wait: \
             a throttled call rate of more than half a call a second lets it grow"
                .to_owned(),
            "a deadline, which ends calls whose turn comes too late",
        );
    };
    if fits(policy, SLOWEST) {
        return None;
    }
    finding(
        format!(
            "a throttled server is called every {SLOWEST} at first, and the deadline is {deadline}: \
             calls that wait for their turn end without an attempt"
        ),
        "a deadline of some turns, 10s or more",
    )
}
