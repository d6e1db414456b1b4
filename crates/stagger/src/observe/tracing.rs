//! Events for subscribers of `tracing`.

use stagger_core::retry::{Done, Stop};
use stagger_core::{Hint, Outcome, Span};

pub(super) fn retried(name: Option<&'static str>, attempt: u32, delay: Span, outcome: &Outcome) {
    tracing::event!(
        name: "stagger.retry",
        target: "stagger",
        tracing::Level::INFO,
        stagger.destination = name,
        stagger.attempt = attempt,
        stagger.delay = delay.as_secs_f64(),
        stagger.verdict = outcome.verdict.name(),
        stagger.hint = outcome.hint.and_then(Hint::span).map(Span::as_secs_f64),
        "attempt failed, retrying after the delay"
    );
}

pub(super) fn held(name: Option<&'static str>, delay: Span) {
    tracing::event!(
        name: "stagger.hold",
        target: "stagger",
        tracing::Level::INFO,
        stagger.destination = name,
        stagger.delay = delay.as_secs_f64(),
        "attempt held, the destination asked all callers to stay away"
    );
}

pub(super) fn hedged(name: Option<&'static str>, attempt: u32) {
    tracing::event!(
        name: "stagger.hedge",
        target: "stagger",
        tracing::Level::DEBUG,
        stagger.destination = name,
        stagger.attempt = attempt,
        "no answer yet, launching a further copy"
    );
}

/// The level is part of what a subscriber filters by, so each one is an event of its own.
macro_rules! end {
    ($level:ident, $name:expr, $done:expr, $message:literal) => {
        tracing::event!(
            name: "stagger.end",
            target: "stagger",
            tracing::Level::$level,
            stagger.destination = $name,
            stagger.stop_reason = $done.stop.name(),
            stagger.attempts = $done.attempts,
            stagger.elapsed = $done.elapsed.as_secs_f64(),
            stagger.hint = $done.hint.map(Span::as_secs_f64),
            $message
        )
    };
}

pub(super) fn ended(name: Option<&'static str>, done: &Done) {
    match done.stop {
        Stop::Succeeded => end!(INFO, name, done, "call succeeded after all"),
        Stop::Permanent | Stop::Cancelled => end!(DEBUG, name, done, "call ended"),
        _ => end!(WARN, name, done, "call failed, no further attempt"),
    }
}

#[cfg(feature = "redis")]
pub(super) fn store_unreachable(budget: &str, place: &str) {
    tracing::event!(
        name: "stagger.store.unreachable",
        target: "stagger",
        tracing::Level::WARN,
        stagger.budget = budget,
        stagger.store = place,
        "the store of a shared budget does not answer, going on without it"
    );
}

#[cfg(feature = "redis")]
pub(super) fn store_reachable(budget: &str, place: &str) {
    tracing::event!(
        name: "stagger.store.reachable",
        target: "stagger",
        tracing::Level::INFO,
        stagger.budget = budget,
        stagger.store = place,
        "the store of a shared budget answers again"
    );
}

#[cfg(feature = "redis")]
pub(super) fn breaker_opened(breaker: &str, place: &str) {
    tracing::event!(
        name: "stagger.breaker.opened",
        target: "stagger",
        tracing::Level::WARN,
        stagger.breaker = breaker,
        stagger.store = place,
        "another process of the fleet has opened the shared breaker"
    );
}

#[cfg(feature = "redis")]
pub(super) fn breaker_closed(breaker: &str, place: &str) {
    tracing::event!(
        name: "stagger.breaker.closed",
        target: "stagger",
        tracing::Level::INFO,
        stagger.breaker = breaker,
        stagger.store = place,
        "the shared breaker has closed"
    );
}
