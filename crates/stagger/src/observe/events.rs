//! The events of a call, for its subscribers.
#![cfg_attr(
    not(feature = "tracing"),
    expect(
        unused_variables,
        reason = "metrics take less than events, and without both nothing is taken"
    )
)]

#[cfg(feature = "tracing")]
use stagger_core::Hint;
use stagger_core::retry::{Done, Stop};
use stagger_core::{Outcome, Span};

/// A retry was decided: `attempt` came to `outcome`, and the next one follows after `delay`.
pub(crate) fn retried(name: Option<&'static str>, attempt: u32, delay: Span, outcome: &Outcome) {
    #[cfg(feature = "tracing")]
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
    #[cfg(feature = "metrics")]
    super::metrics::retried(name, delay, outcome);
}

/// An attempt waits for its destination before it starts.
pub(crate) fn held(name: Option<&'static str>, delay: Span) {
    #[cfg(feature = "tracing")]
    tracing::event!(
        name: "stagger.hold",
        target: "stagger",
        tracing::Level::INFO,
        stagger.destination = name,
        stagger.delay = delay.as_secs_f64(),
        "attempt held, the destination asked all callers to stay away"
    );
}

/// An attempt waits for its turn by the adaptive limit or the rate limit before it starts.
pub(crate) fn paced(name: Option<&'static str>, delay: Span) {
    #[cfg(feature = "tracing")]
    tracing::event!(
        name: "stagger.pace",
        target: "stagger",
        tracing::Level::DEBUG,
        stagger.destination = name,
        stagger.delay = delay.as_secs_f64(),
        "attempt waits, a limit paces calls to the destination"
    );
}

/// An attempt waits for a place by the concurrency limit, for at most so long.
pub(crate) fn queued(name: Option<&'static str>, longest: Span) {
    #[cfg(feature = "tracing")]
    tracing::event!(
        name: "stagger.queue",
        target: "stagger",
        tracing::Level::DEBUG,
        stagger.destination = name,
        stagger.longest = longest.as_secs_f64(),
        "attempt waits for a place, the concurrency limit is reached"
    );
}

/// A further copy, of this number, was launched.
pub(crate) fn hedged(name: Option<&'static str>, attempt: u32) {
    #[cfg(feature = "tracing")]
    tracing::event!(
        name: "stagger.hedge",
        target: "stagger",
        tracing::Level::DEBUG,
        stagger.destination = name,
        stagger.attempt = attempt,
        "no answer yet, launching a further copy"
    );
    #[cfg(feature = "metrics")]
    super::metrics::hedged(name);
}

/// The level is part of what a subscriber filters by, so each one is an event of its own.
#[cfg(feature = "tracing")]
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

/// A call ended. A clean first try is not worth a word.
pub(crate) fn ended(name: Option<&'static str>, done: &Done) {
    let clean_first_try = done.stop == Stop::Succeeded && done.attempts <= 1;
    if !clean_first_try {
        #[cfg(feature = "tracing")]
        match done.stop {
            Stop::Succeeded => end!(INFO, name, done, "call succeeded after all"),
            Stop::Permanent | Stop::Cancelled => end!(DEBUG, name, done, "call ended"),
            _ => end!(WARN, name, done, "call failed, no further attempt"),
        }
        #[cfg(feature = "metrics")]
        super::metrics::ended(name, done);
    }
}
