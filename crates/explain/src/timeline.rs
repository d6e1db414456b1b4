//! The time line: when each attempt of a failing call starts, and the longest outage that it rides out.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Policy, Span, Verdict};

use crate::calls::{PlayedCalls, backoff};
use crate::delay::MAX_ROWS;
use crate::delay::{Delay, delays};
use crate::figure::quantile;
use crate::{Extent, Method, PlannedAttempt, Quantiles};

/// The share of calls below which a deadline or a budget has ended the time line: one of a thousand.
const HARDLY: f64 = 0.001;

/// The rows, how their delays were come by, and where they end.
pub(crate) fn timeline(
    policy: &Policy,
    verdict: Verdict,
    calls: &PlayedCalls,
) -> (Vec<PlannedAttempt>, Method, Extent) {
    let (rows, extent) = rows(policy, calls);
    // OK because there are at most MAX_ROWS rows.
    let retries = u32::try_from(rows - 1).unwrap_or(0);
    let (delays, method) = delays(backoff(policy, verdict), retries);
    let mut line = vec![first()];
    for delay in &delays {
        let before = line[line.len() - 1];
        line.push(next(policy, calls, &before, delay));
    }
    (line, method, extent)
}

/// The latest start of an attempt that the deadline leaves time for.
pub(crate) fn latest_start(policy: &Policy) -> Option<Span> {
    let limits = policy.limits();
    let least = limits.min_attempt_time().max(Span::from_nanos(1));
    limits.deadline().map(|deadline| deadline - least)
}

fn rows(policy: &Policy, calls: &PlayedCalls) -> (usize, Extent) {
    let rows = |share: &dyn Fn(usize) -> f64| {
        (1..=MAX_ROWS).take_while(|&row| share(row) >= HARDLY).count().max(1)
    };
    let reached = rows(&|row| calls.reached(row));
    let granted = rows(&|row| calls.granted(row));
    let allowed = policy.limits().max_attempts().map(|max| max as usize);
    match allowed {
        _ if granted < reached => (granted, Extent::Budget),
        Some(allowed) if reached >= allowed => (allowed, Extent::Attempts),
        _ if reached < MAX_ROWS => (reached, Extent::Deadline),
        _ => (MAX_ROWS, Extent::Rows),
    }
}

const fn first() -> PlannedAttempt {
    PlannedAttempt {
        attempt: 1,
        ceiling: Span::ZERO,
        shortest: Span::ZERO,
        longest: Span::ZERO,
        mean: Span::ZERO,
        p50: Span::ZERO,
        p99: Span::ZERO,
        cumulative_best: Span::ZERO,
        cumulative_mean: Span::ZERO,
        cumulative_worst: Span::ZERO,
        reached: 1.0,
    }
}

fn next(
    policy: &Policy,
    calls: &PlayedCalls,
    before: &PlannedAttempt,
    delay: &Delay,
) -> PlannedAttempt {
    let attempt = before.attempt + 1;
    let longest = before.cumulative_worst + delay.longest;
    let latest = latest_start(policy).unwrap_or(Span::MAX);
    // Where deadline and budget cut nothing off, the means add up; else only calls that come so far
    // count.
    let whole = before.reached >= 1.0 && longest <= latest && !calls.refused();
    PlannedAttempt {
        attempt,
        ceiling: delay.ceiling,
        shortest: delay.shortest,
        longest: delay.longest,
        mean: delay.mean,
        p50: delay.p50,
        p99: delay.p99,
        cumulative_best: before.cumulative_best + delay.shortest,
        cumulative_mean: match whole {
            true => before.cumulative_mean + delay.mean,
            false => calls.start(attempt as usize),
        },
        cumulative_worst: longest.min(latest),
        reached: if whole { 1.0 } else { calls.granted(attempt as usize) },
    }
}

/// The start of the last attempt, of calls that begin with the outage and fail at once: whoever comes
/// back after its end has ridden it out. A budget that still grants is taken for granted.
pub(crate) fn outage(policy: &Policy, mut calls: PlayedCalls) -> Quantiles {
    if *policy.budget() == BudgetPlan::None {
        return Quantiles { p5: Span::ZERO, p50: Span::ZERO, method: Method::Exact };
    }
    let method = calls.method();
    let p5 = quantile(&mut calls.lasts, 5);
    Quantiles { p5, p50: quantile(&mut calls.lasts, 50), method }
}
