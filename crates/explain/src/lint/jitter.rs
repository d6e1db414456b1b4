//! Rules of jitter, which spreads callers: `no-jitter`, `thin-jitter`, `clamp-after-jitter`, `mass-at-cap`.

use stagger_core::{Backoff, Envelope, Jitter, Policy, Span};
use stagger_text::rough_percent;

use super::delays::{Delays, retries, retrying};
use crate::cap_share::cap_share;
use crate::{Code, PolicyFinding, Setting};

/// The least share of a delay that is random: below a fifth a herd keeps five times the density that
/// full jitter leaves it. gRPC's symmetric 0.2 spreads over two fifths.
const LEAST_SPREAD: f64 = 0.2;

pub(super) fn lint(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
    if !retrying(policy) {
        return;
    }
    for delays in Delays::of(policy) {
        // Without any delay there is nothing to spread: that is `zero-base`.
        if !delays.rule.base().is_zero() {
            found.extend(spread_of(&delays));
        }
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
        Jitter::Decorrelated => decorrelated(rule),
        _ => 1.0,
    }
}

/// The random share of the longest decorrelated delay: draws begin at the base and end at the cap.
fn decorrelated(rule: &Backoff) -> f64 {
    let cap = rule.cap().as_secs_f64();
    if cap > 0.0 { (cap - rule.base().as_secs_f64()) / cap } else { 0.0 }
}

fn spread_of(delays: &Delays<'_>) -> Option<PolicyFinding> {
    let (share, base) = (spread(delays.rule), delays.rule.base());
    let near_cap = delays.rule.jitter() == Jitter::Decorrelated;
    let fix = |usual: &str| match near_cap {
        true => format!("cap = \"{}\" at least, three times the base", base.saturating_mul(3)),
        false => usual.to_owned(),
    };
    if share == 0.0 {
        return Some(PolicyFinding::error(
            Code::NoJitter,
            delays.jitter,
            format!("no jitter: all callers that fail together come back together, {base} later"),
            fix("jitter = \"full\""),
        ));
    }
    // A base of four fifths of the cap leaves a fifth, and only after the first delay at the best.
    (share < LEAST_SPREAD || (near_cap && share <= LEAST_SPREAD)).then(|| {
        PolicyFinding::warning(
            Code::ThinJitter,
            delays.jitter,
            format!(
                "only {} of a delay is random: callers that fail together come back {} times as \
                 dense as under full jitter",
                rough_percent(share),
                stagger_text::rough_count(1.0 / share)
            ),
            fix("jitter = \"full\", or \"equal\" where a minimum is needed"),
        )
    })
}

fn clamped(policy: &Policy, delays: &Delays<'_>) -> Option<PolicyFinding> {
    let message = match delays.rule.jitter() {
        Jitter::DecorrelatedClamped => format!(
            "the cap of {} is applied after the draw, so delays pile up on it",
            delays.rule.cap()
        ),
        // A constant rule has no cap of its own: its cap is its base.
        Jitter::Symmetric(_) if delays.rule.envelope() == Envelope::Constant => return None,
        Jitter::Symmetric(r) => {
            let longest = longest_symmetric(policy, delays.rule);
            if longest <= delays.rule.cap() {
                return None;
            }
            format!(
                "symmetric jitter of {} is drawn around the capped ceiling: delays reach {longest}, \
                 above the cap of {}",
                rough_percent(r.as_f64()),
                delays.rule.cap()
            )
        }
        _ => return None,
    };
    let fix = match delays.rule.jitter() {
        Jitter::DecorrelatedClamped => "jitter = \"decorrelated\", which draws within the cap",
        _ => "jitter = { proportional = ... }, which draws downward, or a lower cap",
    };
    Some(PolicyFinding::warning(Code::ClampAfterJitter, delays.jitter, message, fix))
}

fn longest_symmetric(policy: &Policy, rule: &Backoff) -> Span {
    rule.range(retries(policy, u32::MAX)).1
}

/// More on one point than this, and the point is a herd.
const MOST: f64 = 0.1;
/// A law without any spread is `no-jitter`'s, and no other one has a share there.
pub(super) fn mass_at_cap(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
    if !retrying(policy) || policy.backoff().jitter() != Jitter::DecorrelatedClamped {
        return;
    }
    let share = cap_share(policy);
    if share.of_all <= MOST {
        return;
    }
    found.push(PolicyFinding::warning(
        Code::MassAtCap,
        "backoff.cap",
        format!(
            "{} of the delays of a call that goes on failing are exactly {}, and {} of those before \
             its last attempt",
            rough_percent(share.of_all),
            policy.backoff().cap(),
            rough_percent(share.of_last)
        ),
        "jitter = \"decorrelated\" or \"full\", or a higher cap",
    ));
}
