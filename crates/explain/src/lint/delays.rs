//! Rules of the delays: a base that is too short, jitter, which spreads callers, and spans as fixes name them.

use stagger_core::{Backoff, Envelope, Jitter, Policy, Span};
use stagger_text::percent;

use crate::delay::cap_share;
use crate::{Code, PolicyFinding, Setting};

/// A delay rule and its keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays<'p> {
    pub(super) rule: &'p Backoff,
    pub(super) base: &'static str,
    pub(super) jitter: &'static str,
}

impl<'p> Delays<'p> {
    /// The general rule, and the one after throttled verdicts where it is another one.
    pub(super) fn of(policy: &'p Policy) -> impl Iterator<Item = Self> {
        let general =
            Self { rule: policy.backoff(), base: "backoff.base", jitter: "backoff.jitter" };
        let throttled = Self {
            rule: policy.throttled_backoff(),
            base: "throttled_backoff.base",
            jitter: "throttled_backoff.jitter",
        };
        let own = throttled.rule != general.rule;
        core::iter::once(general).chain(own.then_some(throttled))
    }
}

/// The retries of a call, or `most` when there are more or nothing bounds them.
pub(super) fn retries(policy: &Policy, most: u32) -> u32 {
    policy.limits().max_attempts().map_or(most, |attempts| (attempts - 1).min(most))
}

/// Whether a failed attempt can be followed by another one at all.
pub(super) fn retrying(policy: &Policy) -> bool {
    retries(policy, 1) > 0
}

/// The longest ceiling that a call can come to: no longer than its deadline. Symmetric jitter goes
/// above a ceiling, and that is a finding of its own.
pub(super) fn longest_ceiling(policy: &Policy) -> Span {
    // The ranges grow with the retry number, so the last one is the longest.
    let last = retries(policy, u32::MAX);
    if last == 0 {
        return Span::ZERO;
    }
    let ceiling = |rule: &Backoff| rule.range(last).1.min(rule.cap());
    let reached = Delays::of(policy).map(|delays| ceiling(delays.rule)).max();
    let reached = reached.unwrap_or(Span::ZERO);
    policy.limits().deadline().map_or(reached, |deadline| reached.min(deadline))
}

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
    if rule.jitter() == Jitter::Decorrelated {
        decorrelated(rule)
    } else {
        rule.jitter().random_share().as_f64()
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
                percent(share),
                stagger_text::rough_count(1.0 / share)
            ),
            fix("jitter = \"full\", or \"equal\" where a minimum is needed"),
        )
    })
}

fn clamped(policy: &Policy, delays: &Delays<'_>) -> Option<PolicyFinding> {
    let (law, cap) = (delays.rule.jitter(), delays.rule.cap());
    let longest = delays.rule.range(retries(policy, u32::MAX)).1;
    let (message, fix) = if law == Jitter::DecorrelatedClamped {
        (
            format!("the cap of {cap} is applied after the draw, so delays pile up on it"),
            "jitter = \"decorrelated\", which draws within the cap",
        )
    // A constant rule has no cap of its own: its cap is its base.
    } else if longest > cap && delays.rule.envelope() != Envelope::Constant {
        (
            format!(
                "symmetric jitter of {} is drawn around the capped ceiling: delays reach {longest}, \
                 above the cap of {cap}",
                percent(law.random_share().as_f64() / 2.0)
            ),
            "jitter = { proportional = ... }, which draws downward, or a lower cap",
        )
    } else {
        return None;
    };
    Some(PolicyFinding::warning(Code::ClampAfterJitter, delays.jitter, message, fix))
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
            percent(share.of_all),
            policy.backoff().cap(),
            percent(share.of_last)
        ),
        "jitter = \"decorrelated\" or \"full\", or a higher cap",
    ));
}

/// A retry that follows sooner meets the failure that it follows: a packet and its answer take this
/// long within a datacentre.
const SHORTEST: Span = Span::from_micros(500);

const FIX: &str = "base = \"100ms\", or at least the time that one attempt takes";

pub(super) fn short_base(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
    if !retrying(policy) {
        return;
    }
    for delays in Delays::of(policy) {
        if delays.rule.base().is_zero() {
            found.push(zero(policy, &delays));
        } else if delays.rule.base() < SHORTEST {
            found.push(short(policy, &delays));
        }
    }
}

fn zero(policy: &Policy, delays: &Delays<'_>) -> PolicyFinding {
    let retries = match retries(policy, u32::MAX) {
        1 => "its retry follows".to_owned(),
        retries => format!("its {retries} retries follow"),
    };
    PolicyFinding::error(
        Code::ZeroBase,
        delays.base,
        format!("a base of 0s makes every ceiling 0s: {retries} at once"),
        FIX,
    )
}

fn short(policy: &Policy, delays: &Delays<'_>) -> PolicyFinding {
    let soon =
        (1..=retries(policy, u32::MAX).min(64)).take_while(|k| delays.rule.range(*k).1 < SHORTEST);
    let soon = soon.count().max(1);
    PolicyFinding::warning(
        Code::ShortBase,
        delays.base,
        format!(
            "a base of {}: the first {} within less than {SHORTEST} each, before a failure can pass",
            delays.rule.base(),
            if soon == 1 { "retry follows".to_owned() } else { format!("{soon} retries follow") },
        ),
        FIX,
    )
}

/// Retries that are added up: the delays of those beyond are at their caps.
const COUNTED: u32 = 100;

pub(super) fn throttled_sooner(policy: &Policy, _: &Setting, found: &mut Vec<PolicyFinding>) {
    let retries = retries(policy, COUNTED);
    let (failed, throttled) =
        (total(policy.backoff(), retries), total(policy.throttled_backoff(), retries));
    if throttled >= failed {
        return;
    }
    let base = policy.backoff().base();
    found.push(PolicyFinding::warning(
        Code::ThrottledSooner,
        "throttled_backoff.base",
        format!(
            "a throttled call waits {throttled} in all, a failed one {failed}: the server that asks \
             for less load gets more"
        ),
        format!("base = \"{}\" and a cap above it, or no [throttled_backoff]", base.max(Span::from_secs(1))),
    ));
}

/// The middle delays of so many retries together.
fn total(rule: &Backoff, retries: u32) -> Span {
    (1..=retries).fold(Span::ZERO, |sum, k| {
        let (shortest, longest) = rule.range(k);
        sum + shortest + Span::from_nanos((longest - shortest).as_nanos() / 2)
    })
}

/// A span to be written into a policy: no longer, and without digits that nobody would write.
pub(super) fn rounded_down(span: Span) -> Span {
    let unit =
        if span >= Span::from_secs(1) { Span::from_millis(10) } else { Span::from_millis(1) };
    if span < Span::from_millis(10) {
        return span;
    }
    Span::from_nanos(span.as_nanos() / unit.as_nanos() * unit.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_rounded_down_and_never_to_nothing() {
        let rounded = |nanos| rounded_down(Span::from_nanos(nanos)).to_string();
        assert_eq!(rounded(1_666_666_666), "1.66s");
        assert_eq!(rounded(666_666_666), "666ms");
        assert_eq!(rounded(3), "3ns");
    }
}
