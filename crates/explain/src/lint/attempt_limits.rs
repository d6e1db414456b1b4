//! Rules of concurrency and rate limits: `limit-wait`, `concurrency-below-load`, `rate-below-load`, `rate-burst`.

use stagger_core::{Policy, Rate, Span};
use stagger_text::rough_count;

use super::deadline::fits;
use crate::{Code, PolicyFinding, Setting};

/// The share of its time limit that an attempt to a healthy server takes at least: a limit ten times the
/// usual latency is what the guides advise.
const HEALTHY_SHARE: f64 = 0.1;
/// The burst that is no pulse, whatever the rate: as many as a caller has at hand anyway.
const SMALL_BURST: u32 = 10;

pub(super) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    let place = policy.concurrency_limit().map(|plan| plan.max_wait());
    found.extend(wait(policy, "concurrency_limit.max_wait", "a place", place));
    found.extend(places(policy, setting));
    let start = policy.rate_limit().map(|plan| plan.max_wait());
    found.extend(wait(policy, "rate_limit.max_wait", "its start", start));
    found.extend(rate(policy, setting));
    found.extend(burst(policy));
}

/// A wait that leaves no time for the attempt that it was for.
fn wait(
    policy: &Policy,
    key: &'static str,
    what: &str,
    wait: Option<Span>,
) -> Option<PolicyFinding> {
    let (wait, deadline) = (wait?, policy.limits().deadline()?);
    if wait.is_zero() || fits(policy, wait) {
        return None;
    }
    Some(PolicyFinding::warning(
        Code::LimitWait,
        key,
        format!(
            "an attempt may wait {wait} for {what} and the deadline is {deadline}: a call waits out its \
             time and ends without an attempt"
        ),
        "a max_wait well below the deadline, which leaves time for an attempt",
    ))
}

/// Fewer places than a healthy server needs, by Little's law.
fn places(policy: &Policy, setting: &Setting) -> Option<PolicyFinding> {
    let most = policy.concurrency_limit()?.max_concurrent();
    let each = policy.limits().attempt_timeout()?;
    let rps = setting.rps.filter(|rps| *rps > 0.0)?;
    let needed = rps * each.as_secs_f64() * HEALTHY_SHARE;
    if needed <= f64::from(most) {
        return None;
    }
    Some(PolicyFinding::warning(
        Code::ConcurrencyBelowLoad,
        "concurrency_limit.max_concurrent",
        format!(
            "{} calls a second, whose attempts take a tenth of their {each}, need {} places, and there \
             are {most}: calls to a healthy server are refused",
            rough_count(rps),
            rough_count(needed.ceil())
        ),
        format!("max_concurrent = {} at least, or a shorter attempt_timeout", needed.ceil()),
    ))
}

/// A rate that first attempts alone exceed.
fn rate(policy: &Policy, setting: &Setting) -> Option<PolicyFinding> {
    let rate = policy.rate_limit()?.rate();
    let rps = setting.rps?;
    if rps <= rate.as_f64() {
        return None;
    }
    Some(PolicyFinding::warning(
        Code::RateBelowLoad,
        "rate_limit.rate",
        format!(
            "{} calls a second begin and {rate} attempts may start: calls are refused before any fails",
            rough_count(rps)
        ),
        format!("rate = {} or more, which leaves room for retries too", (rps * 11.0 / 10.0).ceil()),
    ))
}

/// A burst of more than a second's attempts.
fn burst(policy: &Policy) -> Option<PolicyFinding> {
    let plan = policy.rate_limit()?;
    let (rate, burst) = (plan.rate(), plan.burst());
    if burst <= SMALL_BURST || Rate::per_second(burst) <= rate {
        return None;
    }
    let seconds = f64::from(burst) / rate.as_f64();
    Some(PolicyFinding::warning(
        Code::RateBurst,
        "rate_limit.burst",
        format!(
            "a burst of {burst} is what {rate} allows in {} s: after a quiet time the server meets it in one \
             pulse",
            rough_count(seconds)
        ),
        format!("burst = {} at most", rate.as_f64().ceil().max(f64::from(SMALL_BURST))),
    ))
}
