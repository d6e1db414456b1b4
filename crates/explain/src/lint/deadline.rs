//! Rules of the deadline, and the attempts that a call makes before it.

use stagger_core::{Backoff, Policy, Span};
use stagger_text::percent;

use super::delays::rounded_down;
use super::delays::{retries, retrying};
use crate::figure::Chance;
use crate::{Code, PolicyFinding, Setting};

/// An attempt that fewer calls come to is in nobody's plan.
const ALMOST_NEVER: f64 = 0.01;

pub(super) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    found.extend(hanging(policy));
    found.extend(cut_off(policy, setting));
    if !retrying(policy) {
        return;
    }
    if let Some(deadline) = policy.limits().deadline() {
        let reached = shares(policy);
        let idle = idle(policy, deadline, &reached);
        let below = if idle.is_some() { None } else { below_base(policy, deadline, &reached) };
        found.extend(idle);
        found.extend(below);
        found.extend(filled(policy, deadline, setting));
    }
}

/// Attempts that are promised and not made.
fn idle(policy: &Policy, deadline: Span, reached: &[f64]) -> Option<PolicyFinding> {
    let never = never(policy);
    let rare = (2..).zip(reached).find(|(_, share)| **share < ALMOST_NEVER);
    let last = policy.limits().max_attempts();
    // Without a limit no attempt is promised but the first retry.
    let counts = |attempt: u32| last.is_some() || attempt == 2;
    let impossible = never.filter(|(attempt, _)| counts(*attempt)).map(|(attempt, earliest)| {
        format!(
            "{} can never start: after the shortest delays {} due at {earliest}, and the deadline \
             is {deadline}",
            numbers(attempt, last),
            if last.is_some_and(|last| last > attempt) { "the first of them is" } else { "it is" },
        )
    });
    let (first, message) = match (rare, impossible) {
        (Some((attempt, share)), impossible) if counts(attempt) => {
            let end = never.map_or(last, |(never, _)| Some(never - 1));
            let rare = (never.is_none_or(|(never, _)| attempt < never)).then(|| {
                format!(
                    "{} almost never {} before the deadline of {deadline}: {} of calls whose \
                     attempts fail at once come to attempt {attempt}",
                    numbers(attempt, end),
                    if end == Some(attempt) { "starts" } else { "start" },
                    percent(*share)
                )
            });
            let both: Vec<String> = rare.into_iter().chain(impossible).collect();
            (attempt, both.join("; "))
        }
        (_, Some(impossible)) => (never?.0, impossible),
        _ => return None,
    };
    let key = "limits.max_attempts";
    let fix = if first == 2 {
        format!("a deadline well above {}, the first ceiling", policy.backoff().ceiling(1))
    } else {
        format!("max_attempts = {}, or a longer deadline", first - 1)
    };
    // Without its first retry it is no retry policy.
    if never.is_some_and(|(attempt, _)| attempt == 2) {
        return Some(PolicyFinding::error(Code::AttemptsNeverStart, key, message, fix));
    }
    Some(PolicyFinding::warning(Code::AttemptsNeverStart, key, message, fix))
}

/// `attempt 4`, `attempts 4 to 6`, or `attempts from 4 on`.
fn numbers(first: u32, last: Option<u32>) -> String {
    match last {
        Some(last) if last == first => format!("attempt {first}"),
        Some(last) => format!("attempts {first} to {last}"),
        None => format!("attempts from {first} on"),
    }
}

/// Calls whose first retry is drawn beyond the deadline.
fn below_base(policy: &Policy, deadline: Span, reached: &[f64]) -> Option<PolicyFinding> {
    let longest = policy.backoff().range(1).1;
    let share = reached.first().copied().filter(|_| !fits(policy, longest))?;
    Some(PolicyFinding::warning(
        Code::DeadlineBelowBase,
        "limits.deadline",
        format!(
            "the first delay is up to {longest} and the deadline {deadline}: {} of calls end without \
             a retry",
            percent(1.0 - share)
        ),
        format!("deadline above {longest}, or a shorter base"),
    ))
}

/// A server that hangs is tried once.
fn filled(policy: &Policy, deadline: Span, setting: &Setting) -> Option<PolicyFinding> {
    let timeout = policy.limits().attempt_timeout()?;
    let half = Span::from_nanos(deadline.as_nanos() / 2);
    if setting.p99.is_some_and(|p99| half < p99.saturating_mul(ROOM)) {
        return None; // two such attempts would cut healthy ones off
    }
    let shortest = policy.backoff().range(1).0;
    // When no second attempt ever starts, it is not the timeout's doing.
    (fits(policy, shortest) && !fits(policy, timeout.saturating_add(shortest))).then(|| {
        PolicyFinding::warning(
            Code::TimeoutFillsDeadline,
            "limits.attempt_timeout",
            format!(
                "an attempt that times out after {timeout} leaves no time for another one before \
                 the deadline of {deadline}"
            ),
            format!("attempt_timeout = \"{}\" at most, so that two fit", rounded_down(half)),
        )
    })
}

/// The time limit of an attempt as a multiple of the p99 of a healthy one: an overload makes those slower too.
const ROOM: u64 = 3;

/// Healthy attempts that are cut off. A server that does not notice works on both, so that the limit
/// itself can overload it (Bronson et al., "Metastable Failures in Distributed Systems", HotOS 2021).
fn cut_off(policy: &Policy, setting: &Setting) -> Option<PolicyFinding> {
    let p99 = setting.p99?;
    let limits = policy.limits();
    let limit = limits.attempt_timeout().into_iter().chain(limits.deadline()).min()?;
    let then = if retrying(policy) { "repeated while the server works on it" } else { "lost" };
    (limit < p99).then(|| {
        PolicyFinding::error(
            Code::TimeoutBelowP99,
            if limits.attempt_timeout() == Some(limit) {
                "limits.attempt_timeout"
            } else {
                "limits.deadline"
            },
            format!(
                "an attempt has {limit}, and 1 healthy attempt in 100 takes more than {p99}: it is \
                 cut off, and {then}"
            ),
            format!("at least \"{}\", three times the p99", p99.saturating_mul(ROOM)),
        )
    })
}

/// Nothing ends an attempt that hangs, or only the end of the whole call.
fn hanging(policy: &Policy) -> Option<PolicyFinding> {
    let limits = policy.limits();
    if limits.attempt_timeout().is_some() {
        return None;
    }
    let message = match limits.deadline() {
        None => "an attempt that hangs is waited for without end".to_owned(),
        Some(deadline) if retrying(policy) => {
            format!("an attempt that hangs takes the whole deadline of {deadline}: it has no retry")
        }
        Some(_) => return None,
    };
    let key = "limits.attempt_timeout";
    let fix = "attempt_timeout = ..., some times the p99 of one attempt";
    Some(PolicyFinding::warning(Code::NoAttemptTimeout, key, message, fix))
}

/// Calls of a sample: a share of 1 % is known to within a tenth of itself.
const CALLS: u32 = 10_000;

/// The stream of these draws.
const STREAM: u64 = 3;

/// Attempts that are looked at: a policy of more has other troubles.
const ATTEMPTS: u32 = 200;

/// Whether an attempt may start so long after its call.
pub(super) fn fits(policy: &Policy, elapsed: Span) -> bool {
    let limits = policy.limits();
    limits.deadline().is_none_or(|limit| {
        elapsed < limit && elapsed.saturating_add(limits.min_attempt_time()) <= limit
    })
}

/// The first attempt that never starts, even after the shortest delays, and when it would.
pub(super) fn never(policy: &Policy) -> Option<(u32, Span)> {
    let shortest = |k| policy.backoff().range(k).0.min(policy.throttled_backoff().range(k).0);
    let mut elapsed = Span::ZERO;
    for k in 1..=retries(policy, ATTEMPTS) {
        elapsed = elapsed + shortest(k);
        if !fits(policy, elapsed) {
            return Some((k + 1, elapsed));
        }
    }
    None
}

/// The share of calls that start each attempt from the second on.
pub(super) fn shares(policy: &Policy) -> Vec<f64> {
    let rows = retries(policy, ATTEMPTS);
    let mut started = vec![0_u32; rows as usize];
    let mut chance = Chance::new(STREAM);
    for _ in 0..CALLS {
        let rule: &Backoff = policy.backoff();
        let (mut elapsed, mut prev) = (Span::ZERO, rule.base());
        for (k, started) in (1..).zip(&mut started) {
            prev = rule.delay(k, prev, &mut chance);
            elapsed = elapsed + prev;
            if !fits(policy, elapsed) {
                break;
            }
            *started += 1;
        }
    }
    started.into_iter().map(|calls| f64::from(calls) / f64::from(CALLS)).collect()
}
