//! The share of failures that opens a breaker: `breaker-minimum`, `breaker-never-opens`.

use stagger_core::Ratio;
use stagger_core::breaker::{BreakerPlan, WindowKind};
use stagger_text::{rough_count, rough_percent};

use crate::{Code, PolicyFinding, Setting};

/// The chance at most that a destination with half of the tolerated failures opens the breaker with the
/// first calls of a window.
const BY_CHANCE: f64 = 0.05;
/// The most calls that a window of calls holds, and so the largest minimum that is proposed.
const MOST: u32 = 1_000;

/// A chance that changes no finding.
const NEGLIGIBLE: f64 = 1e-9;

const KEY: &str = "breaker.minimum_calls";

pub(super) fn lint(plan: &BreakerPlan, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    let share = plan.ratio().or_else(|| plan.slow_calls().map(|(_, ratio)| ratio));
    if let Some(share) = share {
        found.extend(minimum(plan, share));
        found.extend(idle(plan, setting));
    }
}

fn minimum(plan: &BreakerPlan, share: Ratio) -> Option<PolicyFinding> {
    let calls = plan.minimum_calls();
    if calls >= MOST {
        return None;
    }
    let chance = by_chance(calls, horizon(plan, calls), share);
    if chance <= BY_CHANCE {
        return None;
    }
    let enough = enough(plan, share);
    let fix = match (enough, plan.window()) {
        (Some(enough), WindowKind::Calls(window)) if window < enough => {
            format!("minimum_calls = {enough}, in a window of as many calls or more")
        }
        (Some(enough), _) => format!("minimum_calls = {enough}"),
        (None, _) => "a larger ratio: this one takes more calls to tell than there are".to_owned(),
    };
    let percents = |ratio: Ratio| rough_percent(ratio.as_f64());
    Some(PolicyFinding::warning(
        Code::BreakerMinimum,
        KEY,
        format!(
            "{calls} {} too few for a share of {}: a destination that fails half as often opens the \
             breaker by chance, in {} of its windows",
            if calls == 1 { "call is" } else { "calls are" },
            percents(share),
            rough_percent(chance)
        ),
        fix,
    ))
}

/// The calls of a window that are judged, each after the minimum: a window of time may hold any number.
fn horizon(plan: &BreakerPlan, minimum: u32) -> u32 {
    match plan.window() {
        WindowKind::Calls(calls) => calls.clamp(minimum, MOST),
        _ => MOST,
    }
}

/// The smallest minimum that is enough; the chance falls as the minimum grows.
fn enough(plan: &BreakerPlan, share: Ratio) -> Option<u32> {
    let passes = |calls| by_chance(calls, horizon(plan, calls), share) <= BY_CHANCE;
    if !passes(MOST) {
        return None;
    }
    let (mut fails, mut enough) = (0, MOST);
    while fails + 1 < enough {
        let middle = fails.midpoint(enough);
        if passes(middle) { enough = middle } else { fails = middle }
    }
    Some(enough)
}

/// The chance that after some call from the `minimum`th to the `horizon`th at least `share` of the
/// calls have failed, when half of it is the true share.
fn by_chance(minimum: u32, horizon: u32, share: Ratio) -> f64 {
    let p = share.as_f64() / 2.0;
    // The chances of 0, 1, 2 ... failures in a window that has not opened the breaker yet.
    let mut closed = vec![1.0];
    let mut opened = 0.0;
    for calls in 1..=horizon {
        closed.push(0.0);
        for failed in (1..closed.len()).rev() {
            closed[failed] = closed[failed] * (1.0 - p) + closed[failed - 1] * p;
        }
        closed[0] *= 1.0 - p;
        if calls >= minimum {
            let needed =
                (u64::from(calls) * u64::from(share.ppm())).div_ceil(u64::from(Ratio::SCALE));
            let needed = usize::try_from(needed.max(1)).unwrap_or(usize::MAX).min(closed.len());
            opened += closed.drain(needed..).sum::<f64>();
            // Calls open the breaker from the last state only, and drift away from it.
            if closed.last().is_none_or(|next| *next < NEGLIGIBLE) {
                break;
            }
        }
    }
    opened
}

/// A window that never sees its minimum.
fn idle(plan: &BreakerPlan, setting: &Setting) -> Option<PolicyFinding> {
    let (WindowKind::Time(window), Some(rps)) = (plan.window(), setting.rps) else { return None };
    if plan.consecutive().is_some() {
        return None;
    }
    let seen = rps * window.as_secs_f64();
    let calls = plan.minimum_calls();
    (seen < f64::from(calls)).then(|| {
        PolicyFinding::warning(
            Code::BreakerNeverOpens,
            KEY,
            format!(
                "a window of {window} sees {} calls and the breaker wants {calls}: it never opens",
                rough_count(seen)
            ),
            "a longer window, a window of calls, or consecutive = 5",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_the_binomial_distribution() {
        let near = |calls, percent, want: f64| {
            let chance = by_chance(calls, calls, Ratio::from_percent(percent));
            assert!((chance - want).abs() < 1e-6, "{calls}, {percent}: {chance}");
        };
        near(1, 50, 0.25);
        near(2, 50, 1.0 - 0.75 * 0.75);
        near(3, 100, 0.125);
        // By hand: 1 - sum of C(20, i) 0.25^i 0.75^(20-i) for i up to 9.
        near(20, 50, 0.013_864_417);
    }
}
