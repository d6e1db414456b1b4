//! How far callers that fail together are spread: `no-jitter`, `thin-jitter`, `clamp-after-jitter`.

use stagger_core::{Backoff, Jitter, Policy, Span};

use super::delays::{Delays, retries, retrying};
use super::figure::percent;
use crate::{Code, Finding, Setting};

/// The least share of a delay that is random: below a fifth a herd keeps five times the density that
/// full jitter leaves it. gRPC's symmetric 0.2 spreads over two fifths.
const LEAST_SPREAD: f64 = 0.2;

pub(super) fn lint(policy: &Policy, _: &Setting, found: &mut Vec<Finding>) {
    if !retrying(policy) {
        return;
    }
    for delays in Delays::of(policy) {
        found.extend(spread_of(&delays));
        found.extend(clamped(policy, &delays));
    }
}

/// The random share of a delay at its ceiling.
pub(super) fn spread(rule: &Backoff) -> f64 {
    match rule.jitter() {
        Jitter::None => 0.0,
        Jitter::Equal => 0.5,
        Jitter::Proportional(r) => r.as_f64(),
        Jitter::Symmetric(r) => 2.0 * r.as_f64(),
        _ => 1.0,
    }
}

fn spread_of(delays: &Delays<'_>) -> Option<Finding> {
    let (share, base) = (spread(delays.rule), delays.rule.base());
    if share == 0.0 {
        return Some(Finding::error(
            Code::NoJitter,
            delays.jitter,
            format!("no jitter: all callers that fail together come back together, {base} later"),
            "jitter = \"full\"",
        ));
    }
    (share < LEAST_SPREAD).then(|| {
        Finding::warning(
            Code::ThinJitter,
            delays.jitter,
            format!(
                "only {} of a delay is random: callers that fail together come back {} times as \
                 dense as under full jitter",
                percent(share),
                super::figure::count(1.0 / share)
            ),
            "jitter = \"full\", or \"equal\" where a minimum is needed",
        )
    })
}

fn clamped(policy: &Policy, delays: &Delays<'_>) -> Option<Finding> {
    let message = match delays.rule.jitter() {
        Jitter::DecorrelatedClamped => format!(
            "the cap of {} is applied after the draw, so delays pile up on it",
            delays.rule.cap()
        ),
        Jitter::Symmetric(r) => {
            let longest = longest_symmetric(policy, delays.rule);
            if longest <= delays.rule.cap() {
                return None;
            }
            format!(
                "symmetric jitter of {} is drawn around the capped ceiling: delays reach {longest}, \
                 above the cap of {}",
                percent(r.as_f64()),
                delays.rule.cap()
            )
        }
        _ => return None,
    };
    let fix = match delays.rule.jitter() {
        Jitter::DecorrelatedClamped => "jitter = \"decorrelated\", which draws within the cap",
        _ => "jitter = { proportional = ... }, which draws downward, or a lower cap",
    };
    Some(Finding::warning(Code::ClampAfterJitter, delays.jitter, message, fix))
}

fn longest_symmetric(policy: &Policy, rule: &Backoff) -> Span {
    rule.range(retries(policy, u32::MAX)).1
}
