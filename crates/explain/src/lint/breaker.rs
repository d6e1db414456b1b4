//! Rules of a breaker's opening, open time and closing.

use stagger_core::breaker::{BreakerPlan, WindowKind};
use stagger_core::{Policy, Ratio, Span};
use stagger_text::{percent, rough_count};

use super::delays::rounded_down;
use crate::{Code, PolicyFinding, Setting};

pub(super) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    let Some(plan) = policy.breaker() else { return };
    share(plan, setting, found);
    found.extend(in_a_row(plan));
    found.extend(slow_unreachable(policy, plan));
    found.extend(throttled_fails(plan));
    found.extend(open_time(plan));
    found.extend(many_probes(plan));
    found.extend(short_lease(policy, plan));
    found.extend(unbounded_wait(policy, plan));
}

/// The share of failures of a destination that is up: less than any share of calls that opens a
/// breaker.
const FAILING_IN_A_ROW: f64 = 0.05;

/// Calls, in the mean, in which such a destination must not open the breaker.
const CALLS: f64 = 1_000.0;

fn in_a_row(plan: &BreakerPlan) -> Option<PolicyFinding> {
    let row = plan.consecutive()?;
    let calls = calls_until(row);
    (calls < CALLS).then(|| {
        let failures = if row == 1 { "1 failure".to_owned() } else { format!("{row} in a row") };
        PolicyFinding::warning(
            Code::BreakerConsecutive,
            "breaker.consecutive",
            format!(
                "{failures} opens it: a destination that fails 1 call in 20 opens it every {} calls",
                rough_count(calls)
            ),
            "consecutive = 5",
        )
    })
}

/// The calls, in the mean, until so many in a row fail (Feller, *An Introduction to Probability
/// Theory*, XIII.7).
fn calls_until(row: u32) -> f64 {
    let chance = libm::pow(FAILING_IN_A_ROW, f64::from(row));
    (1.0 - chance) / ((1.0 - FAILING_IN_A_ROW) * chance)
}

/// The chance at most that a destination with half of the tolerated failures opens the breaker with the
/// first calls of a window.
const BY_CHANCE: f64 = 0.05;

/// The most calls that a window of calls holds, and so the largest minimum that is proposed.
const MOST: u32 = 1_000;

/// A chance that changes no finding.
const NEGLIGIBLE: f64 = 1e-9;

const KEY: &str = "breaker.minimum_calls";

fn share(plan: &BreakerPlan, setting: &Setting, found: &mut Vec<PolicyFinding>) {
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
    let percents = |ratio: Ratio| percent(ratio.as_f64());
    Some(PolicyFinding::warning(
        Code::BreakerMinimum,
        KEY,
        format!(
            "{calls} {} too few for a share of {}: a destination that fails half as often opens the \
             breaker by chance, in {} of its windows",
            if calls == 1 { "call is" } else { "calls are" },
            percents(share),
            percent(chance)
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

/// The shortest open time: Polly refuses a shorter break.
const SHORTEST: Span = Span::from_millis(500);

/// The longest first open time. Envoy ejects a host for 5 min at most unless it is told otherwise.
const LONGEST: Span = Span::from_secs(10 * 60);

/// The longest open time.
const LONGEST_CAP: Span = Span::from_secs(60 * 60);

fn open_time(plan: &BreakerPlan) -> Option<PolicyFinding> {
    let (first, cap) = (plan.open_time(), plan.open_cap());
    if first < SHORTEST {
        let probes = f64::from(plan.probes()) / first.as_secs_f64();
        let message = format!(
            "it opens for {first} at first: a destination that fails gets up to {} probes a second, \
             and no rest",
            rough_count(probes)
        );
        return finding("breaker.open_time", message, "open_time = \"5s\"");
    }
    let late = |open: Span| {
        // An open time is stretched by up to a half.
        let most = open.saturating_add(Span::from_nanos(open.as_nanos() / 2));
        format!(
            "it stays open for up to {most}: that long after a recovery calls are still refused"
        )
    };
    if cap > LONGEST_CAP {
        return finding("breaker.open_cap", late(cap), "open_cap = \"60s\", or some minutes");
    }
    if first > LONGEST {
        return finding(
            "breaker.open_time",
            late(first),
            "open_time = \"5s\", which grows to open_cap",
        );
    }
    None
}

fn finding(key: &'static str, message: String, fix: &str) -> Option<PolicyFinding> {
    Some(PolicyFinding::warning(Code::BreakerOpenTime, key, message, fix))
}

fn unbounded_wait(policy: &Policy, plan: &BreakerPlan) -> Option<PolicyFinding> {
    if !policy.waits_for_breaker() || policy.limits().deadline().is_some() {
        return None;
    }
    // An open time is stretched by up to a half.
    let cap = plan.open_cap();
    let most = cap.saturating_add(Span::from_nanos(cap.as_nanos() / 2));
    Some(PolicyFinding::warning(
        Code::BreakerWaitUnbounded,
        "on_refusal.wait_for_breaker",
        format!(
            "a call waits for an open breaker up to {most} at a time, and no deadline ends it while \
             the outage lasts"
        ),
        "deadline = ..., or wait_for_breaker = false",
    ))
}

fn slow_unreachable(policy: &Policy, plan: &BreakerPlan) -> Option<PolicyFinding> {
    let ((after, _), timeout) = (plan.slow_calls()?, policy.limits().attempt_timeout()?);
    (after >= timeout).then(|| {
        let half = Span::from_nanos(timeout.as_nanos() / 2);
        PolicyFinding::warning(
            Code::BreakerSlowUnreachable,
            "breaker.slow_after",
            format!(
                "a call is slow after {after}, and its attempt is cut off after {timeout}: only \
                 timeouts are that slow, and they fail already"
            ),
            format!(
                "slow_after = \"{}\", or another time below attempt_timeout",
                rounded_down(half)
            ),
        )
    })
}

fn throttled_fails(plan: &BreakerPlan) -> Option<PolicyFinding> {
    if !plan.throttled_fails() {
        return None;
    }
    let open = plan.open_time();
    let message = match plan.ratio() {
        Some(ratio) => format!(
            "throttled calls count as failures: a server that turns away {} of the calls serves {}, \
             and gets none for {open}",
            percent(ratio.as_f64()),
            percent(1.0 - ratio.as_f64())
        ),
        None => format!(
            "throttled calls count as failures: a server that is up and turns some away gets no call \
             for {open}"
        ),
    };
    Some(PolicyFinding::warning(
        Code::BreakerThrottled,
        "breaker.throttled_fails",
        message,
        "throttled_fails = false, and a [throttled_backoff] with a longer base",
    ))
}

/// The share of failures of a destination that has recovered.
const FAILING: f64 = 0.01;

/// The share of its rounds of probes that may open the breaker again. Ten probes, the default of
/// resilience4j, stay just within it.
const OPENED: f64 = 0.1;

fn many_probes(plan: &BreakerPlan) -> Option<PolicyFinding> {
    let probes = plan.probes();
    let opened = 1.0 - libm::pow(1.0 - FAILING, f64::from(probes));
    (opened > OPENED).then(|| {
        PolicyFinding::warning(
            Code::BreakerProbes,
            "breaker.probes",
            format!(
                "all {probes} probes must succeed: a destination that fails 1 call in 100 opens it \
                 again in {} of rounds",
                percent(opened)
            ),
            "probes = 1, and ramp_from = 0.1 to let the load grow after it closes",
        )
    })
}

fn short_lease(policy: &Policy, plan: &BreakerPlan) -> Option<PolicyFinding> {
    let (lease, timeout) = (plan.lease()?, policy.limits().attempt_timeout()?);
    (lease < timeout).then(|| {
        let more = timeout.as_nanos().div_ceil(lease.as_nanos().max(1));
        PolicyFinding::warning(
            Code::BreakerLease,
            "breaker.lease",
            format!(
                "a probe keeps its place for {lease} and may take {timeout}: up to {more} probes are \
                 under way for each place"
            ),
            format!("lease = \"{timeout}\" at least, the time that an attempt may take"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_as_rare_as_by_hand() {
        // E(n) = (E(n - 1) + 1) / p.
        let mut by_hand = 0.0;
        for row in 1..5 {
            by_hand = (by_hand + 1.0) / FAILING_IN_A_ROW;
            assert!((calls_until(row) / by_hand - 1.0).abs() < 1e-9, "{row}");
        }
    }

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
