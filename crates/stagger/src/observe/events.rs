//! The events of a call, for its subscribers.
#![cfg_attr(
    not(feature = "tracing"),
    expect(
        unused_variables,
        reason = "metrics take less than events, and without both nothing is taken"
    )
)]

use stagger_core::retry::{Done, Stop};
use stagger_core::{Outcome, Span};

/// A retry was decided: `attempt` came to `outcome`, and the next one follows after `delay`.
pub(crate) fn retried(name: Option<&'static str>, attempt: u32, delay: Span, outcome: &Outcome) {
    #[cfg(feature = "tracing")]
    super::tracing::retried(name, attempt, delay, outcome);
    #[cfg(feature = "metrics")]
    super::metrics::retried(name, delay, outcome);
}

/// An attempt waits for its destination before it starts.
pub(crate) fn held(name: Option<&'static str>, delay: Span) {
    #[cfg(feature = "tracing")]
    super::tracing::held(name, delay);
}

/// A further copy, of this number, was launched.
pub(crate) fn hedged(name: Option<&'static str>, attempt: u32) {
    #[cfg(feature = "tracing")]
    super::tracing::hedged(name, attempt);
    #[cfg(feature = "metrics")]
    super::metrics::hedged(name);
}

/// A call ended. A clean first try is not worth a word.
pub(crate) fn ended(name: Option<&'static str>, done: &Done) {
    let clean_first_try = done.stop == Stop::Succeeded && done.attempts <= 1;
    if !clean_first_try {
        #[cfg(feature = "tracing")]
        super::tracing::ended(name, done);
        #[cfg(feature = "metrics")]
        super::metrics::ended(name, done);
    }
}

/// The store of the budget of this name does not answer any more.
#[cfg(feature = "redis")]
pub(crate) fn store_unreachable(budget: &str, place: &str) {
    #[cfg(feature = "tracing")]
    super::tracing::store_unreachable(budget, place);
}

/// It answers again.
#[cfg(feature = "redis")]
pub(crate) fn store_reachable(budget: &str, place: &str) {
    #[cfg(feature = "tracing")]
    super::tracing::store_reachable(budget, place);
}

/// The fleet's breaker of this name has opened, for what another process saw.
#[cfg(feature = "redis")]
pub(crate) fn breaker_opened(breaker: &str, place: &str) {
    #[cfg(feature = "tracing")]
    super::tracing::breaker_opened(breaker, place);
}

/// It has closed.
#[cfg(feature = "redis")]
pub(crate) fn breaker_closed(breaker: &str, place: &str) {
    #[cfg(feature = "tracing")]
    super::tracing::breaker_closed(breaker, place);
}
